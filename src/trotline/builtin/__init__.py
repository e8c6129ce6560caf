"""Built-in hooks: `trotline builtin NAME` in hooks.json is a complete hook.

`config/builtin_hooks.py` lists them; the module of each defines its click command.
"""

"""Ready hooks: uses that need no code of one's own. One file each, told by its line in hooks.json.

`config/ready_hooks.py` has the table of them; the file of each has its command, under the same name.
"""

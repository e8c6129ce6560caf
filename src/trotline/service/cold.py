"""The script that a client runs when no service answers, by `python -I -S`.

Python compiles this file every time, so it is short. Our package is the one that this file is part of: the code that
answers is the code whose client was called.
"""

import gc
import sys

if __name__ == "__main__":
    gc.disable()  # the process ends before collecting would pay
    sys.dont_write_bytecode = True  # bytecode.py says why
    sys.path.append(__file__.rsplit("/", 3)[0])
    try:
        from trotline.service.bootstrap import run_command
    except Exception as error:  # noqa: BLE001 - as in bootstrap.give_up
        print(f"trotline: cannot answer: {error!r}", file=sys.stderr)
        sys.exit(0 if ("--fail", "open") in zip(sys.argv, sys.argv[1:], strict=False) else 2)
    run_command()

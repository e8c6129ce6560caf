"""The script that runs bootstrap.py in a new process, by `python -I -S`: a client without a service, or a new service.

Python compiles a script at every start, so this file is short. It imports the package that it is part of, so the code
that answers belongs to the client that was called.
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

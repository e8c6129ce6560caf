"""The cold path: what a client ends in when no service answers it, with the whole payload and the id of the call.

The client runs this file by `python -I -S`, and Python compiles it anew every time, so that there is little in it. Our
package is where it is: the code which answers is the code whose client was called.
"""

import gc
import sys

if __name__ == "__main__":
    gc.disable()  # there is no time for rubbish to gather
    sys.dont_write_bytecode = True  # bytecode.py says why, and writes it
    sys.path.append(__file__.rsplit("/", 3)[0])
    try:
        from trotline.service.entrance import enter
    except Exception as error:  # noqa: BLE001 - as in entrance.give_up
        print(f"trotline: cannot answer: {error!r}", file=sys.stderr)
        sys.exit(0 if ("--fail", "open") in zip(sys.argv, sys.argv[1:], strict=False) else 2)
    enter()

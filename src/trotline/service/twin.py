"""The old name of python_client.py. It stays because hook lines that earlier versions installed run this file."""

import sys

if __name__ == "__main__":
    sys.dont_write_bytecode = True
    sys.path.append(__file__.rsplit("/", 3)[0])
    from trotline.service.python_client import main

    main()

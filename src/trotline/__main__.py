"""`trotline`: the command line. Everything but the version is loaded when it is needed."""

import sys

from trotline import __version__


def main() -> None:
    """Run the command line with the arguments of this process, and exit with its exit code."""
    if sys.argv[1:] == ["--version"]:
        print(f"trotline {__version__}")
        return
    from trotline.cli import run  # noqa: PLC0415 - the version needs no command line library

    sys.exit(run(sys.argv[1:]))


if __name__ == "__main__":
    main()

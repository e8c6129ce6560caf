"""What stands between a client and our code: our libraries are found, and as little else as can be is loaded.

The host waits, and most of what it waits for is importing.
"""

import gc
import posix
import sys
import time
from contextlib import suppress
from importlib import import_module
from types import ModuleType
from typing import Any, NoReturn

LIBRARIES = ("ahocorasick_rs", "msgspec", "re2", "regress", "sqlglot")
"""What answers may need, as directories."""

SELDOM: dict[str, tuple[str, ...]] = {
    "fcntl": (),
    "fnmatch": (),
    "hashlib": (),
    "ipaddress": (),
    "msgspec._json_schema": ("schema", "schema_components"),
    "msgspec.inspect": (),
    "msgspec.toml": (),
    "msgspec.yaml": (),
    "ntpath": (),
    "platform": (),
    "tempfile": (),
    "textwrap": (),
    "trotline.hosts.claude_code": (),
    "trotline.jsregex": (),
    "urllib.parse": ("quote_from_bytes",),
}
"""Modules that others import at once and that few calls use, with the functions that are imported out of them."""

SERVE = "serve"

Given = tuple[str, int, int, str, list[str], bytes | None, float]
"""What a client knows: conclusion.Known has the names."""


class Later(ModuleType):
    """Stands where a module belongs until somebody wants something of it, or calls one of its functions."""

    def __init__(self, name: str, functions: tuple[str, ...] = ()) -> None:
        super().__init__(name)
        for function in functions:
            setattr(self, function, lambda *given, wanted=function, **named: self._real(wanted)(*given, **named))

    def __getattr__(self, name: str) -> Any:
        if name.startswith("__"):
            raise AttributeError(name)
        return self._real(name)

    def _real(self, name: str) -> Any:
        if sys.modules.get(self.__name__) is self:
            del sys.modules[self.__name__]
        real = import_module(self.__name__)
        self.__dict__.update(vars(real))
        return getattr(real, name)


def enter() -> None:
    """From the C client, by way of cold.py; or from a call that has ended, for a service that starts."""
    if sys.argv[1] == SERVE:
        find_libraries()
        from trotline.service.beginning import begin  # noqa: PLC0415 - now it can be found

        begin(sys.argv[2])
        return
    call, received, left, finding, *words = sys.argv[1:]
    end((call, int(received), int(left), finding, words, None, time.monotonic()))


def end(given: Given) -> NoReturn:
    """Answer the call, and be gone."""
    gc.disable()  # there is no time for rubbish to gather
    try:
        find_libraries()
        _lighten()
        from trotline.service.conclusion import Known, conclude  # noqa: PLC0415 - now it can be found

        conclude(Known(*given))
    except Exception as error:  # noqa: BLE001 - a host must never see our traceback
        give_up(given[4], error)


def give_up(words: list[str], error: Exception) -> NoReturn:
    """Our own code is not whole. As the C client: exit 2 is what most hosts take for a refusal."""
    print(f"trotline: cannot answer: {error!r}", file=sys.stderr, flush=True)
    posix._exit(0 if ("--fail", "open") in zip(words[::2], words[1::2], strict=False) else 2)  # noqa: SLF001 - its name


def find_libraries() -> None:
    """They are beside our package, unless we are being developed."""
    package = __file__.rsplit("/", 3)[0]
    try:
        for library in LIBRARIES:
            posix.stat(f"{package}/{library}")
    except OSError:
        import site  # noqa: PLC0415 - seldom

        site.main()


def _lighten() -> None:
    """A third of the time until the answer is spent on modules that it does not need."""
    modules: Any = sys.modules
    for name, functions in SELDOM.items():
        modules.setdefault(name, Later(name, functions))
    modules["platform"].system = lambda: posix.uname().sysname  # all that uuid wants of it, and msgspec wants uuid
    modules["typing_extensions"] = None  # msgspec looks for it and does without
    with suppress(ImportError):
        import msgspec  # noqa: F401, PLC0415 - the look
    del modules["typing_extensions"]

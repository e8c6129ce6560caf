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
    "json": (),
    "msgspec._json_schema": ("schema", "schema_components"),
    "msgspec.inspect": (),
    "msgspec.toml": (),
    "msgspec.yaml": (),
    "ntpath": (),
    "tempfile": (),
    "textwrap": (),
    "trotline.hosts.claude_code": (),
    "trotline.jsregex": (),
    "urllib.parse": ("quote_from_bytes",),
}
"""Modules that others import at once and that few calls use, with the functions that are imported out of them."""

TYPES = {"decimal": ("Decimal",), "uuid": ("UUID", "SafeUUID")}
"""Modules of which msgspec wants types while it is loaded. Nothing of ours is declared with them: others will do."""

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
        gc.enable()  # cold.py has no time for it; a service has
        find_libraries()
        from trotline.service.beginning import begin  # noqa: PLC0415 - now it can be found

        begin(sys.argv[2])
        return
    call, received, left, finding, *words = sys.argv[1:]
    end((call, int(received), int(left), finding, words, None, time.monotonic()))


def end(given: Given) -> NoReturn:
    """Answer the call, and be gone."""
    gc.disable()  # as cold.py: others come here too
    try:
        find_libraries()
        _lighten()
        from trotline.service.conclusion import Known, conclude  # noqa: PLC0415 - now it can be found

        conclude(Known(*given))
    except Exception as error:  # noqa: BLE001 - a host must never see our traceback
        give_up(given[4], error)


def give_up(words: list[str], error: Exception) -> NoReturn:
    """Our own code is not whole. As the C client: exit 2 is what most hosts take for a refusal."""
    print(f"trotline: cannot answer: {_cause(error)}", file=sys.stderr, flush=True)
    posix._exit(0 if ("--fail", "open") in zip(words[::2], words[1::2], strict=False) else 2)  # noqa: SLF001 - its name


def _cause(error: Exception) -> str:
    """Of code that cannot be loaded, everything; whatever else an error says may quote the payload."""
    if isinstance(error, ImportError | SyntaxError):
        return repr(error)
    with suppress(Exception):
        from trotline.errors import cause_of  # noqa: PLC0415 - it may be what is broken

        return cause_of(error)
    return type(error).__name__


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
    with suppress(ImportError):
        modules.setdefault("datetime", import_module("_datetime"))  # all of it that is not written in Python as well
    stand_ins = {name: _stand_in(name, types) for name, types in TYPES.items() if name not in modules}
    modules |= stand_ins | {"typing_extensions": None}  # msgspec looks for the last and does without
    with suppress(ImportError):
        import msgspec  # noqa: F401, PLC0415 - the look
    for name in (*stand_ins, "typing_extensions"):
        del modules[name]


def _stand_in(name: str, types: tuple[str, ...]) -> ModuleType:
    module = ModuleType(name)
    for one in types:
        setattr(module, one, type(one, (), {"unknown": None}))  # a member of one of them
    return module

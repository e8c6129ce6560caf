"""Start our code in a new process: find the libraries, and load as few modules as possible.

The agent waits, and most of that time is spent on imports.
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
"""The directories of libraries that an answer may need."""

LAZY_MODULES: dict[str, tuple[str, ...]] = {
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
    "trotline.agents.claude_code": (),
    "trotline.formats.js_regex": (),
    "urllib.parse": ("quote_from_bytes",),
}
"""Modules that others import and few calls use, with the functions that are imported from them."""

STAND_IN_TYPES = {"decimal": ("Decimal",), "uuid": ("UUID", "SafeUUID")}
"""Modules that msgspec imports for these types. Nothing of ours uses the types, so stand-ins are enough."""

SERVE = "serve"

ClientFacts = tuple[str, int, int, str, list[str], bytes | None, float]
"""The fields of cold_path.ClientCall, which cannot be imported yet."""


class LazyModule(ModuleType):
    """A stand-in that loads the real module when an attribute is read or one of these functions is called."""

    def __init__(self, name: str, functions: tuple[str, ...] = ()) -> None:
        super().__init__(name)
        for function in functions:
            setattr(self, function, lambda *args, name=function, **kwargs: self._load(name)(*args, **kwargs))

    def __getattr__(self, name: str) -> Any:
        if name.startswith("__"):  # the import system asks for these, and must not load the module
            raise AttributeError(name)
        return self._load(name)

    def _load(self, name: str) -> Any:
        if sys.modules.get(self.__name__) is self:
            del sys.modules[self.__name__]
        module = import_module(self.__name__)
        self.__dict__.update(vars(module))
        return getattr(module, name)


def run_command() -> None:
    """Run what the command line says: answer a call for the C client, or serve a home."""
    if sys.argv[1] == SERVE:
        gc.enable()  # run_bootstrap.py disabled it
        find_libraries()
        from trotline.service.start import serve_in_launched_process  # noqa: PLC0415 - its libraries can be found now

        serve_in_launched_process(sys.argv[2])
        return
    call_id, received, remaining, cold_reason, *argv = sys.argv[1:]
    answer_cold((call_id, int(received), int(remaining), cold_reason, argv, None, time.monotonic()))


def answer_cold(facts: ClientFacts) -> NoReturn:
    """Answer a call on the cold path, and exit."""
    gc.disable()
    try:
        find_libraries()
        _install_lazy_modules()
        from trotline.service.cold_path import ClientCall, answer_client  # noqa: PLC0415 - the same

        answer_client(ClientCall(*facts))
    except Exception as error:  # noqa: BLE001 - an agent must never see our traceback
        give_up(facts[4], error)


def give_up(argv: list[str], error: Exception) -> NoReturn:
    """Exit because our own code is broken. As in the C client, 2 is a refusal to most agents."""
    print(f"trotline: cannot answer: {_describe(error)}", file=sys.stderr, flush=True)
    posix._exit(0 if ("--fail", "open") in zip(argv[::2], argv[1::2], strict=False) else 2)  # noqa: SLF001 - its name


def _describe(error: Exception) -> str:
    """Describe an error. Only errors of loading code are quoted: others may contain parts of the payload."""
    if isinstance(error, ImportError | SyntaxError):
        return repr(error)
    with suppress(Exception):
        from trotline.domain.errors import describe_error  # noqa: PLC0415 - it may be what is broken

        return describe_error(error)
    return type(error).__name__


def find_libraries() -> None:
    """Make the libraries importable. They are beside our package, except in a development checkout."""
    package = __file__.rsplit("/", 3)[0]
    try:
        for library in LIBRARIES:
            posix.stat(f"{package}/{library}")
    except OSError:
        import site  # noqa: PLC0415 - seldom

        site.main()


def _install_lazy_modules() -> None:
    """Replace modules that an answer does not need, which saves a third of the time until the answer."""
    modules: Any = sys.modules
    for name, functions in LAZY_MODULES.items():
        modules.setdefault(name, LazyModule(name, functions))
    with suppress(ImportError):
        modules.setdefault("datetime", import_module("_datetime"))  # without the Python version of the same
    stand_ins = {name: _build_stand_in(name, types) for name, types in STAND_IN_TYPES.items() if name not in modules}
    modules |= stand_ins | {"typing_extensions": None}  # msgspec can do without it
    with suppress(ImportError):
        import msgspec  # noqa: F401, PLC0415 - it looks for the stand-ins while it is loaded
    for name in (*stand_ins, "typing_extensions"):
        del modules[name]


def _build_stand_in(name: str, types: tuple[str, ...]) -> ModuleType:
    module = ModuleType(name)
    for type_name in types:
        setattr(module, type_name, type(type_name, (), {"unknown": None}))  # msgspec reads SafeUUID.unknown
    return module

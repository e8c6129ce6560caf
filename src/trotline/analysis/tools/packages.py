"""Package managers: what is installed, removed, published, or run, and where it comes from."""

from collections.abc import Callable
from typing import NamedTuple

from trotline.analysis.options import Options, options
from trotline.analysis.scene import Argument
from trotline.analysis.step import Handler, Step
from trotline.analysis.streams import Stream
from trotline.analysis.tools.packages_handed import handed
from trotline.analysis.tools.packages_installs import Line, installed, removed
from trotline.analysis.tools.packages_managers import MANAGERS
from trotline.analysis.tools.packages_row import Manager
from trotline.analysis.tools.packages_runs import carried, code, fetched, hidden_commands, interpreted, project_script
from trotline.analysis.tools.packages_settings import setting, source

_DRY = ("dry-run", "simulate", "just-print", "no-act", "whatif", "download-only", "print-uris")
_READS = frozenset("ls list get info show".split())


def _managed(step: Step) -> None:
    manager = MANAGERS.get(step.name.lower()) or MANAGERS[step.name.lower().rstrip("0123456789.-")]
    found = step.options(manager.valued.split(), stops=True, long_dash=manager.long_dash)
    step.out = Stream()
    hidden_commands(step, manager)
    rest = _project_named(step.name, list(found.rest))
    if handed(step, rest):
        return
    act, count = manager.act(rest[0].text if rest else "", rest[1].text if len(rest) > 1 else "")
    if manager.bare and not act:
        act, count = (manager.bare, 0) if not rest or manager.bare != "install" else ("scripts", 0)
    if not act:
        if step.name in {"bun", "deno"}:
            interpreted(step)
        return
    carries = act in {"carried", "code", "fetched"}
    later = options(rest[count:], manager.valued.split(), stops=carries, long_dash=manager.long_dash)
    together = Options({**found.flags, **later.flags}, later.rest)
    if together.has("help", "version") and not (carries or together.values("version")):
        return
    if not carries and _only_shown(manager, together):
        return
    verb = ".".join(word.text for word in rest[:count])
    _ACTS[act](Line(step, manager, verb, together))


def _project_named(name: str, rest: list[Argument]) -> list[Argument]:
    """`dotnet add APP package X` and `yarn workspace APP add X` name a project in between, `cargo +X` a toolchain."""
    if name == "dotnet" and len(rest) > 2 and rest[2].text in {"package", "reference"}:
        return [rest[0], *rest[2:]]
    if name == "cargo" and rest and rest[0].text.startswith("+"):
        return rest[1:]
    if name == "yarn" and len(rest) > 2 and rest[0].text == "workspace":
        return rest[2:]
    return rest


def _only_shown(manager: Manager, found: Options) -> bool:
    short = {"deb": "s", "brew": "n"}.get(manager.kind)
    return found.has(*_DRY) or (short is not None and found.has(short))


def _published(line: Line) -> None:
    if [word for word in line.found.rest[:1] if word.text in _READS] or line.found.has("list"):
        return
    names = " ".join(word.text for word in line.found.rest) or "this project"
    registry = line.found.value("registry", "repository-url", "publish-url", "source", "host")
    line.step.effect("publish", "publish", target=names, source=registry, writes=True)


def _withdrawn(line: Line) -> None:
    words = line.found.rest
    if words and words[0].text in _READS:
        return
    verb = line.verb.rpartition(".")[2]
    names = " ".join(word.text for word in words) or "this project"
    line.step.effect("publish", "unpublish", target=names, source=verb, writes=True)


def _cleaned(line: Line) -> None:
    line.step.effect("install", "clean-cache", target=line.manager.kind, writes=True)


def _unlocked(line: Line) -> None:
    forced = line.found.has("force")
    line.step.effect("install", "unlock" if forced else "install", source="manifest", target="project", writes=True)


_ACTS: dict[str, Callable[[Line], None]] = {
    "carried": carried,
    "clean": _cleaned,
    "code": code,
    "fetched": fetched,
    "install": installed,
    "publish": _published,
    "remove": removed,
    "scripts": project_script,
    "setting": setting,
    "source": source,
    "unlocked": _unlocked,
    "unpublish": _withdrawn,
}


class Lettered(NamedTuple):
    """A manager whose verbs are letters: which install, which remove, which only look."""

    kind: str
    install: str
    remove: str
    valued: str = ""


_LETTERED = {
    "dpkg": Lettered("deb", "i unpack install", "r P remove purge"),
    "pacman": Lettered("alpm", "S U sync upgrade", "R remove"),
    "paru": Lettered("alpm", "S U sync upgrade", "R remove"),
    "rpm": Lettered("rpm", "i U F install upgrade freshen", "e erase", "root dbpath"),
    "yay": Lettered("alpm", "S U sync upgrade", "R remove"),
}


def _lettered(step: Step) -> None:
    row = _LETTERED[step.name]
    found = step.options(row.valued.split())
    searches = row.kind == "alpm" and found.has("S", "sync") and found.has("s", "i", "l", "g", "search", "info", "list")
    looks = searches or found.has("q", "query", "print", "test", "dry-run", "no-act", "help", "version")
    step.out = Stream()
    if looks:
        return
    line = Line(step, Manager(row.kind, {}, scope="system"), step.name, found)
    if found.has(*row.remove.split()):
        removed(line)
    elif found.has(*row.install.split()):
        installed(line)


TOOLS: dict[str, Handler] = {
    **dict.fromkeys(MANAGERS, _managed),
    **dict.fromkeys(_LETTERED, _lettered),
}

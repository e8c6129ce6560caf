"""Writes everything that is made from the declarations: schemas/ and the reference pages. `--check` only compares."""

import importlib
import json
import pkgutil
import sys
import textwrap
from pathlib import Path

import msgspec

from trotline.analysis import tools
from trotline.cli.events import failure_words
from trotline.config.places import ENTERPRISE, STATE
from trotline.config.problems import CODES
from trotline.contracts import Fires, Surface
from trotline.events import EVENTS
from trotline.fields import FIELDS, sample
from trotline.guards import guards
from trotline.guards.guard import PRESETS
from trotline.hosts.cursor_editions import NAMES, NEWEST, QUIRKS, edition
from trotline.scanners.rules import read_pack
from trotline.scanners.secrets import OWN_RULES
from trotline.schemas import all_schemas

ROOT = Path(__file__).parent.parent
GENERATED = "<!-- made by scripts/generate.py from the declarations; edit those, then run `make schemas` -->\n"

HUNDREDS = {
    "1": "Syntax",
    "2": "Shape",
    "3": "Matchers",
    "4": "Commands and paths",
    "5": "Layers and trust",
    "6": "Surfaces",
}


def pages() -> dict[str, str]:
    """Every generated file by its path from the root of the repository."""
    schemas = {
        f"schemas/{name}": json.dumps(schema, indent=2, ensure_ascii=False) + "\n"
        for name, schema in all_schemas().items()
    }
    return {
        **schemas,
        "src/trotline/scanners/secrets.json": secret_rules(),
        "docs/problems.md": problems_page(),
        "docs/reference/events.md": events_page(),
        "docs/reference/editions.md": editions_page(),
        "docs/reference/guards.md": guards_page(),
        "src/trotline/analysis/tools/families.py": families_page(),
    }


def families_page() -> str:
    """Which family of tools knows a program: an index, so that a call imports no more than it needs."""
    lines = ['"""Which family knows a program; made by scripts/generate.py from the families themselves."""', ""]
    lines += ["FAMILIES = {"]
    for module in pkgutil.iter_modules(tools.__path__):
        programs = getattr(importlib.import_module(f"{tools.__name__}.{module.name}"), "TOOLS", None)
        if programs:
            whole = " ".join(sorted(programs))
            fits = len(f'    "{module.name}": "{whole}",') <= 120  # the formatter joins what fits in a line
            rows = [whole] if fits else textwrap.wrap(whole, 98, break_on_hyphens=False, break_long_words=False)
            texts = [f'"{row}{" " if row is not rows[-1] else ""}"' for row in rows]
            lines += [f'    "{module.name}": ' + "\n    ".join(texts) + ","]
    return "\n".join([*lines, "}", ""])


def guards_page() -> str:
    """Every guard: its rows by preset, and its own cases."""
    intro = (
        "What the guards say, by preset: `pass` is silence, `warn` tells the person, `ask` and `deny` stop. The first "
        "row that fits an effect speaks. A row on the floor cannot be switched off. `trotline guards NAME` shows the "
        "same.\n"
    )
    parts = ["# Guards\n", GENERATED, intro]
    for guard in guards():
        rows = [
            [row.name + (" (floor)" if row.floor else ""), *row.says.split(), row.reason.replace("|", "\\|")]
            for row in guard.rows
        ]
        parts += [f"## {guard.name}\n", f"{guard.danger.capitalize()}. Looks at: {', '.join(sorted(guard.kinds))}.\n"]
        parts += ["\n".join(_table(["case", *PRESETS, "reason"], rows)), ""]
        for title, lines in (("Stops, in strict", guard.stops), ("Lets pass, in standard", guard.passes)):
            if lines:
                parts += [f"{title}:\n", "```text", *(line.replace("\n", "\n  ") for line in lines), "```\n"]
    return "\n".join(parts)


def secret_rules() -> str:
    """The rules for secrets as JSON, which is read ten times as fast as TOML."""
    pack, broken = read_pack(OWN_RULES.with_suffix(".toml").read_text("utf-8"))
    if broken:
        raise SystemExit("\n".join(f"secrets.toml:{line}: {rule}: {message}" for line, rule, message in broken))
    return msgspec.json.format(msgspec.json.encode(pack), indent=1).decode() + "\n"


def problems_page() -> str:
    intro = (
        "What `trotline check` can say. `void` means that Cursor loads nothing from the file; which problems do that "
        "depends on the edition, and the list here is the newest's. Codes are never reused.\n"
    )
    lines = ["# Problems\n", GENERATED, intro]
    voids = edition(NEWEST).voids
    for hundred, title in HUNDREDS.items():
        lines.append(f"## {title}\n")
        for code, about in CODES.items():
            if code[2] == hundred:
                severity = "void" if code in voids else about.severity.value
                lines.append(f"### {code}\n\n**{about.title}** ({severity})\n\n{about.about}\n")
    return "\n".join(lines)


def events_page() -> str:
    marks = {Fires.YES: "yes", Fires.NO: "no", Fires.UNVERIFIED: "unverified"}
    newest = edition(NEWEST)
    header = ["event", "when", "can refuse", "matchers see", "may answer", *(surface.value for surface in Surface)]
    rows = [
        [
            f"[`{name}`](#{name.lower()})",
            cls.contract.when,
            "yes" if newest.refuses(name, refusable=cls.contract.refusable) else "no",
            str(cls.contract.subject),
            ", ".join(f"`{key}`" for key in cls.contract.answers) or "nothing",
            *(marks[cls.contract.fires(surface)] for surface in Surface),
        ]
        for name, cls in EVENTS.items()
    ]
    parts = ["# Events\n", GENERATED, "\n".join(_table(header, rows)), ""]
    for name, cls in EVENTS.items():
        payload = sample(name)
        fields = [[f"`{field}`", FIELDS[field].meaning] for field in payload if field != "hook_event_name"]
        parts += [
            f"## {name}\n",
            f"When: {cls.contract.when}. A failing hook: {failure_words(cls.contract, newest)}.\n",
            "\n".join(_table(["field", "meaning"], fields)),
            f"\n```json\n{json.dumps(payload, indent=2)}\n```\n",
        ]
    return "\n".join(parts)


def editions_page() -> str:
    rows = [[row.field.replace("_", " "), row.since, _value(row.value), row.source] for row in QUIRKS]
    intro = (
        "An edition is how Cursor of a given date behaves: the rows below that are in force at that date. "
        f"The default is the newest, {NEWEST}; `--edition` selects {', '.join(NAMES[:-1])}.\n"
    )
    places = [[system, f"`/{ENTERPRISE[system]}`", f"`~/{STATE[system]}/team/hooks.json`"] for system in ENTERPRISE]
    return "\n".join(
        [
            "# Editions\n",
            GENERATED,
            intro,
            "\n".join(_table(["what", "from", "value", "source"], rows)),
            "\n## Where the managed layers are\n",
            "\n".join(_table(["system", "enterprise", "team"], places)),
            "",
        ]
    )


def _value(value: object) -> str:
    if isinstance(value, frozenset):
        return ", ".join(sorted(map(str, value))) or "none"
    if isinstance(value, dict):
        return "; ".join(f"{key}: {' '.join(keys)}" for key, keys in value.items())
    return {True: "yes", False: "no"}.get(value, str(value)) if isinstance(value, bool) else str(value)


def _table(header: list[str], rows: list[list[str]]) -> list[str]:
    escaped = [[cell.replace("|", "\\|") for cell in row] for row in rows]
    return [f"| {' | '.join(row)} |" for row in [header, ["---"] * len(header), *escaped]]


def main() -> int:
    stale = []
    for name, text in pages().items():
        path = ROOT / name
        if not path.exists() or path.read_text("utf-8") != text:
            stale.append(name)
            if "--check" not in sys.argv:
                path.parent.mkdir(parents=True, exist_ok=True)
                path.write_text(text, "utf-8")
    print(f"{len(stale)} of {len(pages())} generated files {'are stale' if '--check' in sys.argv else 'written'}")
    return 1 if stale and "--check" in sys.argv else 0


if __name__ == "__main__":
    sys.exit(main())

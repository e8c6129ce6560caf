"""trotline hosts: what hooks can do under each agent, which of them are here, and what changed between versions."""

from typing import Any

import click

from trotline.checkup.agents import version_of
from trotline.checkup.monitoring import monitor_line
from trotline.cli.options import json_option, roots_options
from trotline.cli.output import bold, dim, envelope, paint, printable
from trotline.config.places import Roots
from trotline.config.problems import Severity
from trotline.config.wires import EVENT, found
from trotline.hosts import HOSTS, host_named
from trotline.hosts.host import Host
from trotline.hosts.reach import ACTIONS, changes, reach

HELP = """What hooks can do under each agent: prevented, only detected, or invisible.

\b
  trotline hosts                     all of them
  trotline hosts codex               one: its events, and what it hears at each
  trotline hosts --probe             those on this machine, with version and file
  trotline hosts cursor --diff 2.4 3.21.16
"""


@click.command("hosts", help=HELP)
@click.argument("name", required=False, type=click.Choice(list(HOSTS)))
@click.option("--probe", is_flag=True, help="Look at this machine.")
@click.option("--diff", "versions", nargs=2, metavar="OLD NEW", help="What changed between two versions of the host.")
@json_option
@roots_options
def command(name: str | None, probe: bool, versions: tuple[str, str] | None, as_json: bool, roots: Roots) -> int:
    hosts = [host_named(one) for one in ([name] if name else HOSTS)]
    if versions:
        data: Any = [_changes(host, *versions) for host in hosts if host.quirks]
        text = "\n".join(line for one in data for line in _changed(one, *versions))
    elif probe:
        data = [_probed(host, roots) for host in found(roots) if host in hosts]
        text = "\n".join(f"{bold(one['title'])}  {one['version'] or 'version unknown'}  {one['file']}" for one in data)
    elif name:
        data = _one(hosts[0])
        text = _told(hosts[0])
    else:
        data = {host.name: {action: reach(host, action) for action in ACTIONS} for host in hosts}
        text = _table(hosts)
    click.echo(envelope("trotline.hosts/1", ok=True, data=data, problems=[]) if as_json else text or "none")
    if monitors := monitor_line(roots):
        click.echo(paint(monitors, Severity.WARNING), err=True)
    return 0


def _table(hosts: list[Host]) -> str:
    head = f"{'':<16}" + "".join(f"{action:>11}" for action in ACTIONS)
    rows = [f"{host.name:<16}" + "".join(f"{reach(host, action):>11}" for action in ACTIONS) for host in hosts]
    return "\n".join([bold(head), *rows])


def _one(host: Host) -> dict[str, Any]:
    return {
        "title": host.title,
        "events": host.events,
        "hears": {event: sorted(powers) for event, powers in host.powers.items() if powers},
        "quirks": [quirk._asdict() for quirk in host.quirks],
        "loop_limit": host.loop_limit,
    }


def _told(host: Host) -> str:
    lines = [bold(host.title)]
    for theirs, ours in host.events.items():
        heard = ", ".join(sorted(host.powers.get(ours, frozenset()))) or "nothing: it is only told"
        lines.append(f"  {theirs:<32} {'' if theirs == ours else ours:<22} hears {heard}")
    lines += [f"  lost: {power}: {why}" for power, why in host.why_not.items()]
    lines += [
        dim(f"  {quirk.since or '-'} to {quirk.until or 'now'}: {quirk.what} ({quirk.source})") for quirk in host.quirks
    ]
    limit = (
        f"{host.loop_limit} follow-ups" if host.loop_limit else "no limit of its own for follow-ups; ours is in force"
    )
    return "\n".join([*lines, f"  {limit}"])


def _changes(host: Host, old: str, new: str) -> dict[str, Any]:
    rows = [
        {"event": event, "power": power, "heard": heard, "why": why}
        for event, power, heard, why in changes(host, old, new)
    ]
    return {"host": host.name, "title": host.title, "changes": rows}


def _changed(one: dict[str, Any], old: str, new: str) -> list[str]:
    lines = [f"{bold(one['title'])} {old} to {new}: {'no difference' if not one['changes'] else ''}".rstrip(": ")]
    for row in one["changes"]:
        lines.append(f"  {row['event']}: {row['power']} is {'heard' if row['heard'] else 'not heard any more'}")
        lines += [dim(f"    {row['why']}")] if row["why"] else []
    return lines


def _probed(host: Host, roots: Roots) -> dict[str, Any]:
    wiring = host.wiring
    named = roots.home / wiring.files["user"] if wiring and "user" in wiring.files else None
    file = named.parent if named is not None and EVENT in named.name else named
    exists = file is not None and file.exists()
    shown = f"{printable(str(file))} {'is there' if exists else 'is not there yet'}" if file else "no file for the user"
    return {"host": host.name, "title": host.title, "version": printable(version_of(host, roots)), "file": shown}

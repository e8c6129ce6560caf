"""`[[alert]]` in trotline.toml: which records trigger a message, and its destination. Nothing is sent without it."""

from collections.abc import Mapping
from typing import Annotated, Any, Literal, NamedTuple

import msgspec

from trotline.config.config_file import ConfigFile, parse_duration, read_config_files
from trotline.config.export_file import FilePath, expand_path, find_address_fault
from trotline.config.paths import Roots
from trotline.config.problems import Problem

ALERT_SCHEMA = "trotline.alert/1"
"""The schema identifier in every alert that is sent."""

ALERT_CODE, CHANNEL_CODE = "TL283", "TL284"

OCCASIONS = {
    "denied": "something was refused",
    "found": "a secret, personal data or an injection was found in a text",
    "slow": "an answer took longer than `over`",
    "failing": "a hook or a guard failed",
    "finished": "an agent has stopped",
    "silent": "no call has come for `after`",
    "alarm": "what was refused was done all the same, or something without a question",
}
"""The values of `on`, with their meanings."""

CHANNELS = ("desktop", "command", "webhook", "webhook_file")

Duration = Annotated[
    str,
    msgspec.Meta(
        pattern=r"^[1-9][0-9]{0,6}(?:ms|s|m|h|d)$(?!\n)",
        description="a length of time: `500ms`, `90s`, `10m`, `2h`, `1d`",
    ),
]


def _describe(description: str, **limits: Any) -> msgspec.Meta:
    return msgspec.Meta(description=description, **(limits or {"min_length": 1}))


class AlertTable(msgspec.Struct, frozen=True, kw_only=True):
    """One `[[alert]]`: its trigger, the records it is for, its destination and its limit."""

    noun = "an alert"

    name: Annotated[
        str,
        _describe("a name of letters, digits, `-`, `_` and `.`", pattern=r"^[A-Za-z0-9][A-Za-z0-9_.-]{0,63}$(?!\n)"),
    ]
    on: Literal["denied", "found", "slow", "failing", "finished", "silent", "alarm"]
    agent: Annotated[str, _describe("the name of an agent")] = ""
    event: Annotated[str, _describe("the name of an event")] = ""
    guard: Annotated[str, _describe("the name of a guard, a hook or a rule")] = ""  # it took part in the decision
    scanner: Annotated[str, _describe("the name of a scanner")] = ""  # it found something
    over: Duration = "1s"
    after: Duration = "1d"
    per: Duration = "10m"
    at_most: Annotated[int, msgspec.Meta(ge=1, le=100, description="a number from 1 to 100")] = 3
    details: bool = False  # include redacted details
    desktop: Annotated[bool, msgspec.Meta(description="`true`")] = False
    command: Annotated[
        tuple[Annotated[str, msgspec.Meta(pattern=r"^[^\x00]*$(?!\n)")], ...],
        msgspec.Meta(min_length=1, description="a list: the program and its arguments"),
    ] = ()
    webhook: Annotated[str, _describe("an address")] = ""
    webhook_file: FilePath = ""  # contains the address; must be readable by its owner only


class Alert(AlertTable, frozen=True, kw_only=True):
    """An alert in force."""

    layer: str

    @property
    def channel(self) -> str:
        """The key of the destination that is set, such as `desktop` or `webhook_file`."""
        return next(name for name in CHANNELS if getattr(self, name))

    @property
    def over_us(self) -> int:
        """The duration from which a call counts as slow, in microseconds."""
        return parse_duration(self.over)

    @property
    def after_us(self) -> int:
        """The time without records after which an agent counts as silent, in microseconds."""
        return parse_duration(self.after)

    @property
    def per_us(self) -> int:
        """The period in which at most `at_most` alerts are sent, in microseconds."""
        return parse_duration(self.per)


class Alerts(NamedTuple):
    """The alerts in force, and the problems of the files they come from."""

    alerts: tuple[Alert, ...] = ()
    files: tuple[str, ...] = ()
    problems: tuple[Problem, ...] = ()


ONLY_FOR = {"over": "slow", "after": "silent", "scanner": "found"}
"""Keys that are valid for one value of `on` only."""


def read_alerts(roots: Roots) -> Alerts:
    """Read the alerts of the machine and of the user. An invalid alert is left out; the others are in force."""
    alerts: list[Alert] = []
    files: list[str] = []
    problems: list[Problem] = []
    for config in read_config_files(roots, ALERT_CODE):
        for key, table in config.iterate_tables("alert"):
            config.has_section_problem = False
            values = config.convert_table(table, AlertTable, key)
            _check_alert(config, table, values, key, {alert.name for alert in alerts})
            if not config.has_section_problem:
                alerts.append(_build_alert(values, config, roots))
        files += [config.file] if "alert" in config.body else []
        problems += config.problems
    return Alerts(tuple(alerts), tuple(files), tuple(problems))


def _check_alert(
    config: ConfigFile, table: Mapping[str, Any], values: Mapping[str, Any], key: str, taken: set[str]
) -> None:
    if values.get("name") in taken:
        config.report_key(f"{key}.name", f"there is an alert `{values['name']}` already", "give it another name")
    for name, occasion in ONLY_FOR.items():
        if name in values and values.get("on") != occasion:
            config.report_key(f"{key}.{name}", f"`{name}` is only for alerts on `{occasion}`")
    if values.get("desktop") is False:
        config.report_key(f"{key}.desktop", "`desktop` must be `true`")
    _check_channel(config, table, values, key)


def _check_channel(config: ConfigFile, table: Mapping[str, Any], values: Mapping[str, Any], key: str) -> None:
    channels = [name for name in CHANNELS if name in table]
    if len(channels) != 1:
        message = f"it has {', '.join(f'`{name}`' for name in channels)}" if channels else "it goes nowhere"
        hint = "one of desktop = true, command = [...], webhook"
        config.report_key(f"{key}.{channels[-1]}" if channels else key, message, hint, CHANNEL_CODE)
    elif "command" in values and not values["command"][0].startswith(("/", "~/")):
        hint = "a name alone is another program wherever PATH is another"
        config.report_key(f"{key}.command", "name the program by its whole path", hint, CHANNEL_CODE)
    elif "webhook" in values:
        fault = find_address_fault(values["webhook"])
        if fault:
            config.report_key(f"{key}.webhook", fault[0], fault[1].partition(";")[0], CHANNEL_CODE)


def _build_alert(values: dict[str, Any], config: ConfigFile, roots: Roots) -> Alert:
    if "command" in values:
        program, *arguments = values["command"]
        values["command"] = (expand_path(program, config.file, roots), *arguments)
    if "webhook_file" in values:
        values["webhook_file"] = expand_path(values["webhook_file"], config.file, roots)
    stays_here = "webhook" not in values and "webhook_file" not in values  # details leave this machine only if enabled
    return Alert(**{"details": stays_here, **values}, layer=config.layer)

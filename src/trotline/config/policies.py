"""The policy in trotline.toml: preset, guard levels, rules, lists and waivers of each layer."""

import functools
import os
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from types import MappingProxyType
from typing import NamedTuple

from trotline.config.config_file import ConfigFile, LayerFile, read_layer_file
from trotline.config.paths import OLD_POLICY_FILE, Roots, list_config_layers
from trotline.config.problems import Problem, build_problem
from trotline.domain.hooks import Place
from trotline.formats.suggestions import suggest
from trotline.guards import GUARD_NAMES
from trotline.guards.guard import PRESETS, GuardLevel
from trotline.policy.policy import Policy, PolicyLayer, find_overruling_layer, merge_layers

POLICY_CODE = "TL258"
PARTS = ("rule", "lists", "waiver")
LAST_DAY = "9999-12-31"
"""The default date, for callers that do not know it: no waiver is in force."""

FALLBACK_PRESET = "strict"
"""The preset of a layer whose policy cannot be read, or is still in a file of an earlier version."""


class Policies(NamedTuple):
    """The policy in force, the files it comes from, and their problems."""

    policy: Policy
    files: tuple[str, ...] = ()
    problems: tuple[Problem, ...] = ()


class FileOverride(NamedTuple):
    """Content that is read instead of a file, with the name to report; None stands for a missing file."""

    name: str
    data: bytes | None


NO_OVERRIDES: Mapping[str, FileOverride] = MappingProxyType({})

LayerPolicy = tuple[PolicyLayer, tuple[Problem, ...]]


def read_policies(
    roots: Roots,
    projects: Sequence[Path] = (),
    *,
    today: str = LAST_DAY,
    overrides: Mapping[str, FileOverride] = NO_OVERRIDES,
) -> Policies:
    """Read all layers, from the highest authority to the lowest.

    The keys of `overrides` are real paths of files.
    """
    layers, files = [], []
    problems: list[Problem] = []
    for layer, file in list_config_layers(roots, map(str, projects)):
        override = overrides.get(os.path.realpath(file)) if overrides else None
        source = LayerFile(layer, *override) if override else read_layer_file(layer, file)
        read = _read_layer_policy(source, today)
        if read is not None:
            layers.append(read[0])
            problems += read[1]
            is_missing = override is None and not os.path.lexists(file)
            files.append(source.old_files[0] if is_missing else file)
    policy = merge_layers(layers)
    problems += _report_overruled_waivers(policy, layers, files)
    return Policies(policy, tuple(files), tuple(problems))


def _report_overruled_waivers(policy: Policy, layers: Sequence[PolicyLayer], files: Sequence[str]) -> Iterator[Problem]:
    for layer, file in zip(layers, files, strict=True):
        for waiver in layer.waivers:
            setter = find_overruling_layer(policy, waiver)
            if setter:
                message = f"the waiver of {waiver.guard}, {waiver.rule} is not in force: it was set by {setter}"
                yield build_problem(POLICY_CODE, message, place=Place(file, waiver.line, 1))


def _read_layer_policy(source: LayerFile, today: str) -> LayerPolicy | None:
    if source.data is None and not source.problems:
        return None
    policy, problems = PolicyLayer(source.layer), source.problems
    if source.data is not None:
        policy, new_problems = parse_policy(source.layer, source.file, source.data, today)
        problems += new_problems
    has_old_policy = any(Path(file).name == OLD_POLICY_FILE for file in source.old_files)
    is_weaker = PRESETS.index(policy.preset or PRESETS[0]) < PRESETS.index(FALLBACK_PRESET)
    if source.is_unreadable or (has_old_policy and is_weaker):
        policy = policy._replace(preset=FALLBACK_PRESET)
    return policy, problems


@functools.lru_cache(maxsize=64)
def parse_policy(layer: str, file: str, data: bytes, today: str = LAST_DAY) -> LayerPolicy:
    """Return the policy of one file and its problems. Results are cached."""
    config = ConfigFile(LayerFile(layer, file, data), POLICY_CODE)
    if config.fault:
        return PolicyLayer(layer, FALLBACK_PRESET), tuple(config.problems)
    policy = PolicyLayer(
        layer, _convert_preset(config), _convert_levels(config, "guards"), _convert_levels(config, "tab")
    )
    if not config.body.keys().isdisjoint(PARTS):
        from trotline.config.policy_parts import add_parts  # noqa: PLC0415 - it loads the library for conditions

        policy = add_parts(policy, config, today)
    return policy, tuple(config.problems)


def _convert_preset(config: ConfigFile) -> str:
    preset = config.body.get("preset", "")
    if isinstance(preset, str) and preset in ("", *PRESETS):
        return preset
    if isinstance(preset, str):
        config.report_key("preset", f"there is no preset `{preset}`", suggest(preset, PRESETS))
    else:
        config.report_key("preset", "`preset` is a text", f"one of {', '.join(PRESETS)}")
    return FALLBACK_PRESET


def _convert_levels(config: ConfigFile, table: str) -> dict[str, GuardLevel]:
    """Return the level of each guard; for an invalid one, the other layers decide."""
    values = config.body.get(table, {})
    if not isinstance(values, dict):
        config.report_key(table, f"`{table}` is a table: one line for each guard")
        return {}
    levels: dict[str, GuardLevel] = {}
    for guard, level in values.items():
        key = f"{table}.{guard}"
        if guard not in GUARD_NAMES:
            config.report_unknown(key, f"there is no guard `{guard}`", GUARD_NAMES)
        elif not isinstance(level, str) or level not in set(GuardLevel):
            subject = f"`{level}` is" if isinstance(level, str) else "this is"
            config.report_key(key, f"{subject} no level", f"one of {', '.join(GuardLevel)}")
        else:
            levels[guard] = GuardLevel(level)
    return levels

"""Set up Trotline for agents: plan what would be written, and write it."""

from collections.abc import Sequence
from pathlib import Path
from typing import NamedTuple

from trotline.config.install.hook_entries import HookFileTarget, get_location, list_hook_files
from trotline.config.install.installation import FileResult, InstallOutcome
from trotline.config.paths import CONFIG_FILE, Roots
from trotline.config.settings import MONITOR, read_managed_settings
from trotline.config.settings_edit import put_setting
from trotline.doctor.canary_call import CanaryResult, send_canary
from trotline.doctor.hook_lines import install_lines
from trotline.doctor.installed_agents import InstalledAgent
from trotline.domain.errors import TrotlineError, UsageError


class InstallPlan(NamedTuple):
    """One agent, and what installing would change in its files."""

    installed: InstalledAgent
    targets: list[HookFileTarget]
    planned: list[FileResult]
    why: str = ""  # why nothing can be written

    @property
    def outcome(self) -> InstallOutcome:
        """The worst result of the files."""
        return get_worst_outcome(self.planned)


class InstallTerms(NamedTuple):
    """The mode, the fail mode of our line, and the layer to install in."""

    mode: str
    fail_closed: bool
    layer: str = "user"


class SetupResult(NamedTuple):
    """The files that were written for each agent, the settings, and the canary of each agent."""

    plans: list[InstallPlan]
    files: list[list[FileResult]]
    canaries: list[CanaryResult | None]
    settings: FileResult

    @property
    def holds(self) -> bool:
        """True if at least one agent was set up, and all of them refuse the canary."""
        is_written = all(get_worst_outcome(files) is not InstallOutcome.REFUSED for files in self.files)
        return bool(self.files) and is_written and all(canary is not None and canary.holds for canary in self.canaries)


def get_worst_outcome(files: Sequence[FileResult]) -> InstallOutcome:
    """Return the worst result of these files."""
    outcomes = {file.outcome for file in files}
    by_severity = (InstallOutcome.REFUSED, InstallOutcome.WRITTEN)
    return next((outcome for outcome in by_severity if outcome in outcomes), InstallOutcome.NOTHING)


def choose_fail_mode(fail_closed: bool | None, *, mode: str, in_ci: bool) -> bool | None:
    """Return whether actions are blocked when our line breaks; None if a person should be asked.

    In CI a broken guard must not pass for one without objection. Monitoring must not block anything. The two conflict.
    """
    if fail_closed is not None:
        return fail_closed
    if in_ci and mode == MONITOR:
        hint = "in CI a line that breaks blocks the action; --fail-open says that you want it otherwise"
        raise UsageError("--monitor wants nothing blocked, and CI=true insists on failing closed", hint=hint)
    return True if in_ci else False if mode == MONITOR else None


def check_mode(mode: str, roots: Roots) -> None:
    """Raise an error if the owner of the machine has set another mode."""
    managed = read_managed_settings(roots).get("mode", mode)
    if managed != mode:
        file = roots.managed_config / CONFIG_FILE
        raise TrotlineError(f"this machine is set to `{managed}`", hint=f"its owner says so in {file}")


def plan_install(installed: InstalledAgent, roots: Roots, terms: InstallTerms) -> InstallPlan:
    """Return what installing would change; an agent whose file cannot be written does not stop the others."""
    targets = list_hook_files(installed.agent, terms.layer, roots, installed.version)
    try:
        planned = install_lines(targets, roots, fail_closed=terms.fail_closed, dry_run=True)
        return InstallPlan(installed, targets, planned)
    except TrotlineError as error:
        return InstallPlan(installed, targets, [], error.message)


def find_place(installed: InstalledAgent, layer: str, roots: Roots) -> Path:
    """Return the file or directory of the hooks of an agent."""
    return get_location(list_hook_files(installed.agent, layer, roots))


def run_install(plans: Sequence[InstallPlan], roots: Roots, terms: InstallTerms, *, dry_run: bool) -> SetupResult:
    """Write settings and lines, then send the canaries. Settings come first, so that monitor mode never refuses."""
    settings = put_setting(roots, "mode", terms.mode, dry_run=dry_run)
    files = [install_lines(plan.targets, roots, fail_closed=terms.fail_closed, dry_run=dry_run) for plan in plans]
    canaries = [] if dry_run else [send_canary(plan.targets, roots) for plan in plans]
    return SetupResult([*plans], files, canaries, settings)

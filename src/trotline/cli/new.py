"""trotline new: write a hook with its test, a project with hooks, or a test from a recorded call."""

import os
import shlex
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

import click

from trotline.cli.command import FILE, declare
from trotline.cli.output import Exit, Result, bold, dim, paint, plural, printable
from trotline.config.install.installation import FileResult, InstallOutcome
from trotline.config.paths import Roots, list_config_layers
from trotline.config.problems import Severity
from trotline.domain.errors import UsageError
from trotline.machine import find_roots, read_clock
from trotline.templates.hook_template import (
    LANGUAGES,
    HookSpec,
    build_entries,
    build_files,
    build_installation,
    build_sample_options,
    find_location,
    validate_spec,
)
from trotline.templates.template_files import (
    NewFile,
    build_project_files,
    find_missing,
    find_modified,
    remove_files,
    write_files,
)

HELP = """Write a hook with its test, a project with sample hooks, or a test from a recorded call.

\b
  trotline new hook no-force-push                     in this project, before shell commands
  trotline new hook notes --event stop --layer user   in all your projects, when the agent stops
  trotline new project shop                           hooks.json, six hooks and their tests
  trotline new test --from 12                         a pytest test from a recorded call
"""
TEST_DIRECTORY = Path(".trotline") / "tests"


class NewFiles(NamedTuple):
    """The files of a template that were written, or would be, and the next steps."""

    root: Path
    files: list[NewFile]
    installed: FileResult | None
    next: list[str]
    dry_run: bool
    existing: list[Path]  # shared files that were edited


@click.group("new", help=HELP)
def command() -> None:
    pass


@declare("hook", "trotline.new/1", parent=command)
@click.argument("name")
@click.option(
    "--event",
    "events",
    multiple=True,
    help="An event that the hook handles; may be repeated. [default: beforeShellExecution]",
)
@click.option("--layer", type=click.Choice(["project", "user"]), default="project", show_default=True)
@click.option("--language", type=click.Choice(list(LANGUAGES)), default="python", show_default=True)
@click.option(
    "--fail-open", is_flag=True, help="Let the action happen when the hook fails; without this it is refused."
)
@click.option("--dry-run", is_flag=True, help="Show what would be written, and write nothing.")
def new_hook(
    name: str, events: tuple[str, ...], layer: str, language: str, fail_open: bool, dry_run: bool, roots: Roots
) -> Result:
    """Write a commented hook, a passing test, and its entry in the layer's hooks.json.

    Existing files are not overwritten, and nothing else in hooks.json changes.
    """
    other_home = roots.home if roots.home != find_roots().home else None
    location = find_location(layer, roots, sys.executable, other_home)
    events = events or ("beforeShellExecution",)
    spec = validate_spec(HookSpec(name, events, language, not fail_open, location))
    existing = find_modified(build_files(spec))
    missing = find_missing(build_files(spec), location.root, hint="use another name, or move the existing file away")
    # checked before any file is written
    installed = build_installation(spec, roots).install(build_entries(spec), read_clock(), dry_run=True)
    if not dry_run and installed.outcome is not InstallOutcome.REFUSED:
        installed = _write_hook(spec, roots, missing)
    test = location.directory / "tests" / spec.test_file
    next_steps = [f"pytest {_quote_path(test)}", *(["trotline trust"] if layer == "project" else [])]
    next_steps.append(f"trotline fire {build_sample_options(spec)}")
    return _build_result(NewFiles(location.root, missing, installed, next_steps, dry_run, existing))


@declare("project", "trotline.new/1", parent=command)
@click.argument("directory", required=False, type=click.Path(file_okay=False, path_type=Path))
@click.option("--dry-run", is_flag=True, help="Show what would be written, and write nothing.")
def new_project(directory: Path | None, dry_run: bool, roots: Roots) -> Result:
    """Write hooks.json, six hooks, their tests and a page about them, in DIRECTORY or in this project.

    Existing files are not overwritten: if a hooks.json already exists, nothing is written.
    """
    root = roots.projects[0] if directory is None else directory.absolute()
    hint = "`trotline new hook` adds one to a project that has hooks; or name a directory that has none"
    existing = find_modified(build_project_files(root))
    missing = find_missing(build_project_files(root), root, hint=hint)
    if not dry_run:
        write_files(missing)
    next_steps = [f"cd {_quote_path(root)}"] if directory is not None else []
    next_steps += [
        "pytest .cursor/tests",
        "trotline trust",
        "trotline fire beforeShellExecution --set command='rm -rf /'",
    ]
    return _build_result(NewFiles(root, missing, None, next_steps, dry_run, existing))


def _write_hook(spec: HookSpec, roots: Roots, files: list[NewFile]) -> FileResult:
    """Write the files first, so that hooks.json never names a missing file; remove them if it cannot be changed."""
    directories = write_files(files)
    installed = None
    try:
        installed = build_installation(spec, roots).install(build_entries(spec), read_clock())
    finally:
        if installed is None or installed.outcome is InstallOutcome.REFUSED:
            remove_files([file.path for file in files], directories)
    return installed


def _build_result(new: NewFiles) -> Result:
    installed = new.installed
    is_ok = installed is None or installed.outcome is not InstallOutcome.REFUSED
    hooks_json = installed and {
        "file": str(installed.path),
        "done": installed.outcome,
        "difference": installed.difference,
        "backup": str(installed.backup) if installed.backup else None,
    }
    data = {
        "dry_run": new.dry_run,
        "files": [{"path": str(file.path), "executable": file.is_executable} for file in new.files if is_ok],
        "kept": [str(path) for path in new.existing],
        "hooks_json": hooks_json,
        "next": new.next if is_ok else [],
    }
    lines = _format_files(new) if is_ok or installed is None else _format_refusal(installed, new.root)
    return Result(data, lines, installed.problems if installed else (), ok=is_ok)


def _format_files(new: NewFiles) -> Iterator[str]:
    verb = "would write" if new.dry_run else "wrote"
    for file in new.files:
        yield f"{verb} {bold(_format_path(file.path, new.root))}"
        if new.dry_run:
            yield from (f"  {line}" for line in file.diff.splitlines())
    yield from (f"kept {bold(_format_path(path, new.root))}, which differs from the template" for path in new.existing)
    if new.installed is not None:
        yield from _format_hooks_json(new.installed, new)
    if not new.files and (new.installed is None or new.installed.outcome is InstallOutcome.NOTHING):
        yield "everything is already in place"
    if not new.dry_run:
        yield from ("", "next:", *(f"  {printable(step)}" for step in new.next))


def _format_hooks_json(installed: FileResult, new: NewFiles) -> Iterator[str]:
    is_new = installed.before is None
    verb = f"would {'write' if is_new else 'change'}" if new.dry_run else "wrote" if is_new else "changed"
    name = bold(_format_path(installed.path, new.root))
    yield f"{verb} {name}" if installed.outcome is InstallOutcome.WRITTEN else f"{name} has its line already"
    if new.dry_run:
        yield from (f"  {line}" for line in installed.difference.splitlines())
    if installed.backup:
        yield dim(f"  what was there is kept as {printable(str(installed.backup))}")
    yield from _format_problems(installed)


def _format_refusal(installed: FileResult, root: Path) -> Iterator[str]:
    yield f"{bold(_format_path(installed.path, root))} cannot be changed, and nothing was written"
    yield from _format_problems(installed)
    yield "fix it (`trotline check` shows the line), then try again"


def _format_problems(installed: FileResult) -> Iterator[str]:
    for problem in installed.problems:
        yield paint(f"  {problem.code} {printable(str(problem.place))}: {problem.message}", Severity.WARNING)


def _format_path(path: Path, root: Path) -> str:
    return printable(str(path.relative_to(root) if path.is_relative_to(root) else path))


def _quote_path(path: Path) -> str:
    """Return the path for a shell in the current directory."""
    here = Path.cwd()
    return shlex.quote(os.path.relpath(path, here) if path.is_relative_to(here) else str(path))


# A test from a recorded call


@declare("test", "trotline.new.test/1", parent=command)
@click.option("--from", "name", required=True, metavar="ID", help="The call, by its number or its id.")
@click.option("--to", "target", type=FILE, help="The file to write.")
def new_test(name: str, target: Path | None, roots: Roots) -> Result:
    """Write a pytest test from a recorded call.

    The test plays the call to the guards, under the policies that are in force. Nothing that is there is overwritten.
    """
    from trotline.audit.export.export_formats import format_time
    from trotline.audit.query.query import Query
    from trotline.cli.log_query import find_record, open_log
    from trotline.replay.call_sources import find_calls
    from trotline.replay.recorded_test import build_test

    if target is not None and target.suffix != ".py":
        raise UsageError(f"pytest reads files that end in `.py`, and `{target}` does not")
    with open_log(roots.state) as store:
        record = find_record(store, name)
        seq = record.seq
        calls = find_calls(store, Query(after_seq=seq - 1, until_seq=seq + 1, include_self_tests=True)).calls
    built = build_test(record, calls, format_time(calls[-1].at_us)[:10], roots.home, read_policy_texts(roots))
    root = roots.projects[0]
    file = NewFile((target or root / TEST_DIRECTORY / f"{built.name}.py").absolute(), built.source)
    absent = find_missing([file], root if target is None else file.path.parent, hint="choose another file with --to")
    write_files(absent)
    test = built.test
    data = {
        "seq": seq,
        "file": str(file.path),
        "text": file.text,
        "earlier": len(test.earlier),
        "policies": sorted(test.policies),
        "redacted": list(test.redacted),
    }
    shown = _format_path(file.path, root)
    lines = [f"{'wrote' if absent else 'kept'} {bold(shown)}"]
    lines += [f"  after {plural(len(test.earlier), 'earlier event')}"] if test.earlier else []
    lines += [f"  it holds the {layer} policy" for layer in test.policies]
    lines += [f"  {printable(line)}" for line in test.redacted or ("nothing was redacted",)]
    return Result(data, [*lines, f"next:\n  pytest {shown}"], exit_code=Exit.OK)


def read_policy_texts(roots: Roots) -> dict[str, str]:
    """Return the text of the policy of each layer; of the project, the one of the current directory."""
    from trotline.config.policies import FALLBACK_PRESET
    from trotline.system.files import read_file

    texts: dict[str, str] = {}
    for layer, file in list_config_layers(roots, map(str, roots.projects[:1])):
        try:
            texts[layer] = read_file(Path(file)).decode("utf-8", "replace")
        except (FileNotFoundError, NotADirectoryError):
            continue
        except OSError:  # an unreadable policy has the effect of this one
            texts[layer] = f'preset = "{FALLBACK_PRESET}"\n'
    return texts

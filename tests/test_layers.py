"""Layers: files by platform, order, working directories, and the layer of a named file."""

import os
from pathlib import Path

import msgspec
import pytest

from kit import FILES, Workspace, build_hooks_file, make_workspace, read_rows
from trotline.agents.cursor.cursor_editions import EDITION_NAMES, get_edition
from trotline.config.hooks_json import cursor_file
from trotline.config.hooks_json.configuration import load_configuration
from trotline.config.hooks_json.hooks_file import HooksFile
from trotline.config.hooks_json.layers import find_layers, get_layer
from trotline.config.paths import Platform, Roots, find_project
from trotline.domain.hooks import Hook, LayerKind

NEWEST = get_edition("2026-09")
OLDEST = get_edition("2025-11")
PLATFORMS: tuple[Platform, ...] = ("linux", "darwin", "windows")

ENTERPRISE = {
    "linux": "system/etc/cursor/hooks.json",
    "darwin": "system/Library/Application Support/Cursor/hooks.json",
    "windows": "system/ProgramData/Cursor/hooks.json",
}
TEAM = {
    "linux": "home/.local/state/trotline/v1/team/hooks.json",
    "darwin": "home/Library/Application Support/trotline/v1/team/hooks.json",
    "windows": "home/AppData/Local/trotline/v1/team/hooks.json",
}

ONE = build_hooks_file('{"command": "x"}')


def named(path: str, workspace: Workspace) -> str:
    """Return a path relative to the workspace."""
    return Path(path).relative_to(workspace.path).as_posix()


def files(roots: Roots, workspace: Workspace, **options: bool) -> list[str]:
    return [named(layer.file, workspace) for layer in find_layers(roots, NEWEST, **options)]


@pytest.mark.parametrize("platform", PLATFORMS)
def test_every_platform_has_its_own_managed_places_and_the_same_others(
    platform: Platform, workspace: Workspace
) -> None:
    assert files(workspace.roots(platform=platform), workspace) == [
        ENTERPRISE[platform],
        TEAM[platform],
        "project/.cursor/hooks.json",
        "home/.cursor/hooks.json",
        "project/.claude/settings.local.json",
        "project/.claude/settings.json",
        "home/.claude/settings.json",
    ]


@pytest.mark.parametrize("platform", PLATFORMS)
def test_the_managed_files_of_a_platform_are_read_on_it(platform: Platform, workspace: Workspace) -> None:
    for files_of in (ENTERPRISE, TEAM):
        for name, file in files_of.items():
            workspace.write(file, build_hooks_file(f'{{"command": "for {name}"}}'))
    hooks = load_configuration(workspace.roots(platform=platform), NEWEST).hooks
    assert [hook.command for hook in hooks] == [f"for {platform}"] * 2
    assert [hook.layer.kind for hook in hooks] == ["enterprise", "team"]


def test_hooks_run_in_layer_order(workspace: Workspace) -> None:
    for name in reversed(FILES):
        claude = '{"hooks": {"Stop": [{"hooks": [{"type": "command", "command": "%s"}]}]}}'
        workspace.write(
            name, claude % name if name.startswith("claude") else build_hooks_file(f'{{"command": "{name}"}}')
        )
    hooks = workspace.load().hooks
    assert [hook.command for hook in hooks] == list(FILES)
    assert [hook.layer.kind for hook in hooks] == list(LayerKind)
    assert [hook.layer.kind.rank for hook in hooks] == [1, 2, 3, 4, 5, 6, 7, 8]


@pytest.mark.parametrize("name", ["2026-02", "2026-09"])
def test_commands_run_from_the_root_of_their_layer(name: str, workspace: Workspace) -> None:
    workspace.write("plugin", ONE)
    layers = find_layers(workspace.roots(), get_edition(name))
    assert {layer.kind.value: named(layer.cwd, workspace) for layer in layers} == {
        "enterprise": "system/etc/cursor",
        "team": "home/.local/state/trotline/v1/team",
        "project": "project",
        "user": "home/.cursor",
        "claude-local": "project",
        "claude-project": "project",
        "claude-user": "project",
        "plugin": "home/.cursor/plugins/local/sample",
    }


def test_in_2025_commands_ran_from_the_directory_of_their_file(workspace: Workspace) -> None:
    workspace.write("plugin", ONE)
    for layer in find_layers(workspace.roots(), OLDEST):
        assert layer.cwd == str(Path(layer.file).parent)
        assert Path(layer.file).is_relative_to(layer.root) or layer.kind is LayerKind.CLAUDE_USER


def test_each_workspace_root_is_a_layer_of_its_own_with_its_own_directory(workspace: Workspace) -> None:
    second, third = workspace.path / "second", workspace.path / "third"
    layers = find_layers(workspace.roots(second, third), NEWEST)
    assert [
        (layer.kind.value, named(layer.file, workspace), named(layer.cwd, workspace)) for layer in layers[2:-1]
    ] == [
        ("project", "project/.cursor/hooks.json", "project"),
        ("project", "second/.cursor/hooks.json", "second"),
        ("project", "third/.cursor/hooks.json", "third"),
        ("user", "home/.cursor/hooks.json", "home/.cursor"),
        ("claude-local", "project/.claude/settings.local.json", "project"),
        ("claude-local", "second/.claude/settings.local.json", "second"),
        ("claude-local", "third/.claude/settings.local.json", "third"),
        ("claude-project", "project/.claude/settings.json", "project"),
        ("claude-project", "second/.claude/settings.json", "second"),
        ("claude-project", "third/.claude/settings.json", "third"),
    ]
    assert all(layer.root == layer.cwd for layer in layers)


def test_without_a_workspace_there_are_no_project_layers(workspace: Workspace) -> None:
    roots = msgspec.structs.replace(workspace.roots(), projects=())
    assert files(roots, workspace) == [
        "system/etc/cursor/hooks.json",
        "home/.local/state/trotline/v1/team/hooks.json",
        "home/.cursor/hooks.json",
        "home/.claude/settings.json",
    ]
    assert find_layers(roots, NEWEST)[-1].cwd == str(workspace.home)


def test_claude_codes_files_can_be_left_out(workspace: Workspace) -> None:
    assert not any(".claude" in file for file in files(workspace.roots(), workspace, claude=False))
    assert len(files(workspace.roots(), workspace, claude=False)) == 4


def test_only_layers_of_a_repository_need_trust() -> None:
    assert [kind.value for kind in LayerKind if kind.needs_trust] == ["project", "claude-local", "claude-project"]


def test_an_absent_file_is_listed_as_absent(workspace: Workspace) -> None:
    workspace.write("user", ONE)
    read = workspace.load().layers
    assert [layer.layer.kind.value for layer in read if layer.exists] == ["user"]
    assert len(read) == 7
    assert all(not layer.problems and not layer.fatal_reason and not layer.hooks for layer in read if not layer.exists)


def test_a_file_in_place_of_a_directory_is_an_absent_layer(workspace: Workspace) -> None:
    workspace.write("project/.claude", "notes")
    assert not workspace.layer("claude-project").exists


def test_plugins_come_last_sorted_by_name_and_without_the_hidden_ones(workspace: Workspace) -> None:
    plugins = "home/.cursor/plugins/local"
    for name in ("zebra", "ant", ".hidden"):
        workspace.write(f"{plugins}/{name}/hooks/hooks.json", ONE)
    workspace.write(f"{plugins}/a-file", "not a plugin")
    workspace.write(f"{plugins}/manifest/.cursor-plugin/plugin.json", "{}")
    assert files(workspace.roots(), workspace)[7:] == [
        f"{plugins}/ant/hooks/hooks.json",
        f"{plugins}/manifest/.cursor-plugin/plugin.json",
        f"{plugins}/zebra/hooks/hooks.json",
    ]


@pytest.mark.parametrize("manifest, file, command", read_rows("layers", "a_manifest_leads_to_the_hooks_of_its_plugin"))
def test_a_manifest_leads_to_the_hooks_of_its_plugin(
    manifest: str, file: str, command: str, workspace: Workspace
) -> None:
    plugin = "home/.cursor/plugins/local/p"
    workspace.write(f"{plugin}/.cursor-plugin/plugin.json", manifest)
    workspace.write(f"{plugin}/hooks/hooks.json", '{"hooks": {"stop": [{"command": "by default"}]}}')
    workspace.write(f"{plugin}/other/cursor.json", '{"hooks": {"stop": [{"command": "by name"}]}}')
    configuration = workspace.load()
    assert configuration.problems == []
    (hook,) = configuration.hooks
    assert (hook.command, named(hook.place.file, workspace), named(hook.layer.cwd, workspace)) == (
        command,
        f"{plugin}/{file}",
        plugin,
    )


def test_a_plugin_without_hooks_has_no_hooks_and_no_problems(workspace: Workspace) -> None:
    workspace.write("home/.cursor/plugins/local/p/.cursor-plugin/plugin.json", '{"name": "p"}')
    configuration = workspace.load()
    assert (configuration.hooks, configuration.problems) == ([], [])


@pytest.mark.parametrize(
    "manifest", ["", "{", "5", "[]", "null", '{"hooks": 5}', '{"hooks": []}', '{"hooks": "../../x"}', '{"hooks": ""}']
)
def test_no_manifest_makes_the_other_layers_unreadable(manifest: str, workspace: Workspace) -> None:
    workspace.write("home/.cursor/plugins/local/p/.cursor-plugin/plugin.json", manifest)
    workspace.write("user", ONE)
    assert [hook.command for hook in workspace.load().hooks] == ["x"]


@pytest.mark.parametrize("written", [r"a\u0000b", r"a\ud800b", "loop"])
def test_a_manifest_with_an_impossible_path_is_a_problem(written: str, workspace: Workspace) -> None:
    workspace.write("home/.cursor/plugins/local/p/.cursor-plugin/plugin.json", f'{{"hooks": "{written}"}}')
    (workspace.home / ".cursor/plugins/local/p/loop").symlink_to("loop")
    assert [problem.code for problem in workspace.load().problems] == ["TL511"]


@pytest.mark.parametrize("manifest", ['{"hooks": "hooks/hooks.json"}', "{}"])
def test_a_pipe_in_place_of_plugin_hooks_is_reported_without_blocking(manifest: str, workspace: Workspace) -> None:
    workspace.write("home/.cursor/plugins/local/p/.cursor-plugin/plugin.json", manifest)
    pipe = workspace.home / ".cursor/plugins/local/p/hooks/hooks.json"
    pipe.parent.mkdir()
    os.mkfifo(pipe)
    (problem,) = workspace.load().problems
    assert (problem.code, problem.message.rpartition(": ")[2]) == ("TL511", "not a regular file")


def test_a_file_that_goes_while_it_is_read_is_a_problem_and_nothing_is_raised(
    workspace: Workspace, monkeypatch: pytest.MonkeyPatch
) -> None:
    workspace.write("project", ONE)

    def read_cursor_hooks(file: HooksFile, *_: object, **__: object) -> list[Hook]:
        Path(file.layer.file).unlink()
        return []

    monkeypatch.setattr(cursor_file, "read_cursor_hooks", read_cursor_hooks)
    assert "TL109" in [problem.code for problem in workspace.load().problems]


def test_a_manifest_may_hold_addresses(workspace: Workspace) -> None:
    manifest = '{"homepage": "https://x.test", "hooks": {"stop": [{"command": "x"}]}}'
    workspace.write("home/.cursor/plugins/local/p/.cursor-plugin/plugin.json", manifest)
    assert [hook.command for hook in workspace.load().hooks] == ["x"]


def test_plugins_may_leave_the_version_out(workspace: Workspace) -> None:
    workspace.write("plugin", '{"hooks": {"stop": [{"command": "x"}]}}')
    assert (workspace.layer("plugin").problems, workspace.layer("plugin").fatal_reason) == ([], "")


@pytest.mark.parametrize("name", FILES)
@pytest.mark.parametrize("edition_name", EDITION_NAMES)
def test_a_named_file_in_a_known_place_is_the_layer_that_lives_there(
    name: str, edition_name: str, workspace: Workspace
) -> None:
    path = workspace.write(name, ONE)
    layer = get_layer(path, workspace.roots(), get_edition(edition_name))
    assert layer in find_layers(workspace.roots(), get_edition(edition_name))
    assert layer.kind == name


@pytest.mark.parametrize(
    "file, kind, cwd", read_rows("layers", "a_named_file_elsewhere_is_known_by_its_name_and_its_directory")
)
def test_a_named_file_elsewhere_is_known_by_its_name_and_its_directory(
    file: str, kind: str, cwd: str, workspace: Workspace
) -> None:
    layer = get_layer(workspace.write(file, ONE), workspace.roots(), NEWEST)
    assert (layer.kind.value, named(layer.root, workspace), named(layer.cwd, workspace), layer.note) == (
        kind,
        "other",
        cwd,
        "",
    )


@pytest.mark.parametrize(
    "file, kind", read_rows("layers", "a_file_in_no_project_is_read_and_says_what_was_not_looked_for")
)
def test_a_file_outside_projects_is_read_and_names_skipped_checks(file: str, kind: str, workspace: Workspace) -> None:
    layer = get_layer(workspace.write(file, ONE), workspace.roots(), NEWEST)
    assert (layer.kind.value, layer.root, layer.cwd) == (kind, "", "")
    assert "not looked for" in layer.note


@pytest.mark.parametrize("kind", LayerKind)
def test_a_named_file_can_be_treated_as_any_layer(kind: LayerKind, workspace: Workspace) -> None:
    path = workspace.write("other/.cursor/hooks.json", ONE)
    layer = get_layer(path, workspace.roots(), NEWEST, kind)
    assert (layer.kind, layer.file) == (kind, str(path))


def test_a_file_treated_as_user_layer_runs_from_its_directory(workspace: Workspace) -> None:
    path = workspace.write("other/.cursor/hooks.json", ONE)
    assert named(get_layer(path, workspace.roots(), NEWEST, LayerKind.USER).cwd, workspace) == "other/.cursor"
    assert named(get_layer(path, workspace.roots(), NEWEST, LayerKind.PROJECT).cwd, workspace) == "other"
    assert named(get_layer(path, workspace.roots(), OLDEST, LayerKind.PROJECT).cwd, workspace) == "other/.cursor"


@pytest.mark.parametrize("mark", [".cursor", ".claude", ".git"])
def test_the_project_is_the_nearest_directory_upwards_that_looks_like_a_root(mark: str, workspace: Workspace) -> None:
    (workspace.project / mark).mkdir()
    inner = workspace.project / "src" / "deep"
    inner.mkdir(parents=True)
    assert find_project(inner, workspace.home) == workspace.project
    assert find_project(workspace.project, workspace.home) == workspace.project


def test_the_nearer_of_two_roots_is_the_project(workspace: Workspace) -> None:
    (workspace.project / ".git").mkdir()
    inner = workspace.project / "packages" / "one"
    (inner / ".cursor").mkdir(parents=True)
    assert find_project(inner, workspace.home) == inner
    assert find_project(inner.parent, workspace.home) == workspace.project


def test_a_linked_worktree_is_a_root(workspace: Workspace) -> None:
    workspace.write("project/.git", "gitdir: elsewhere\n")
    (workspace.project / "src").mkdir()
    assert find_project(workspace.project / "src", workspace.home) == workspace.project


def test_the_home_directory_is_not_the_project_of_its_directories(tmp_path: Path) -> None:
    workspace = make_workspace(tmp_path)
    (workspace.home / ".cursor").mkdir()
    (tmp_path / ".git").mkdir()
    downloads = workspace.home / "downloads"
    downloads.mkdir()
    assert find_project(downloads, workspace.home) == downloads


def test_a_directory_without_any_root_above_is_its_own_project(workspace: Workspace) -> None:
    inner = workspace.home / "a" / "b"
    inner.mkdir(parents=True)
    assert find_project(inner, workspace.home) == inner


def test_hook_ids_stay_when_lines_move_and_differ_when_entries_repeat(workspace: Workspace) -> None:
    workspace.write("user", build_hooks_file('{"command": "x"}', '{"command": "y"}', '{"command": "x"}'))
    before = [hook.id for hook in workspace.layer("user").hooks]
    workspace.write(
        "user",
        "\n\n// moved\n"
        + build_hooks_file('{"command": "new"}', '{"command": "y"}', '{"command": "x"}', '{"command": "x"}'),
    )
    after = {hook.place.line: hook.id for hook in workspace.layer("user").hooks}
    assert len(set(before)) == 3
    assert [after[10], after[9], after[11]] == before
    assert all(len(identity) == 16 for identity in before)


def test_equal_hooks_of_two_layers_have_two_ids(workspace: Workspace) -> None:
    workspace.write("user", ONE)
    workspace.write("enterprise", ONE)
    assert len({hook.id for hook in workspace.load().hooks}) == 2

"""Manifests, locks, settings and cluster objects are checked when they are written."""

from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kit import read_rows
from trotline.analysis.analyze import Analysis, analyze_command, analyze_mcp_call, analyze_tool
from trotline.analysis.shell.shell_state import Environment
from trotline.config.paths import Roots
from trotline.domain.verdicts import Permission
from trotline.evaluation.evaluate import evaluate
from trotline.evaluation.machine_panel import build_environment
from trotline.guards.guard import PRESETS
from trotline.policy.policy import Policy

ENVIRONMENT = Environment("/home/dev/app", ("/home/dev/app",), "/home/dev", "dev")


def list_actions(analysis: Analysis) -> list[tuple[str, ...]]:
    """Return what would be installed or started later: kind, verb, package or target, host."""
    kinds = {"install", "kube", "container", "execute", "delete"}
    actions = [effect for effect in analysis.effects if effect.kind in kinds]
    return [
        tuple(filter(None, (effect.kind, effect.verb, effect.package or effect.target, effect.host)))
        for effect in actions
    ]


def list_packages(analysis: Analysis) -> list[str]:
    return [effect.package for effect in analysis.effects if effect.kind == "install"]


def get_permission(analysis: Analysis, preset: str = "standard", workspace: Environment = ENVIRONMENT) -> Permission:
    return evaluate(analysis.effects, workspace, Policy(preset)).permission


def write(path: str, text: str, workspace: Environment = ENVIRONMENT) -> Analysis:
    return analyze_tool("Write", {"file_path": path, "content": text}, workspace)


def replace(path: str, old: str, new: str, workspace: Environment = ENVIRONMENT, **more: Any) -> Analysis:
    return analyze_tool("Write", {"file_path": path, "old_string": old, "new_string": new, **more}, workspace)


@pytest.mark.parametrize(
    "path,text,package",
    read_rows("file_contents", "writing_a_manifest_counts_as_an_install"),
)
def test_writing_a_manifest_counts_as_an_install(path: str, text: str, package: str) -> None:
    for analysis in (
        write(path, text),
        analyze_command(
            f"cat > {path} <<'END'\n{text}END\n" if text.endswith("\n") else f"echo '{text}' > {path}", ENVIRONMENT
        ),
        analyze_mcp_call("files", "write_file", {"path": path, "content": text}, ENVIRONMENT),
    ):
        assert list_actions(analysis) == [("install", "install", package)]
        assert get_permission(analysis) is Permission.NONE
        assert get_permission(analysis, "strict") is Permission.NONE
        assert get_permission(analysis, "paranoid") is Permission.ASK


@pytest.mark.parametrize(
    "path,text,standard,strict",
    read_rows("file_contents", "packages_of_a_manifest_get_the_verdict_of_an_install"),
)
def test_packages_of_a_manifest_get_the_verdict_of_an_install(path: str, text: str, standard: str, strict: str) -> None:
    assert get_permission(write(path, text)).word == standard
    assert get_permission(write(path, text), "strict").word == strict


def test_parts_of_a_manifest_are_read_by_line() -> None:
    old, new = '    "react": "^18",', '    "react": "^18",\n    "lodahs": "^4",'
    assert list_actions(replace("package.json", old, new)) == [("install", "install", "pkg:npm/lodahs")]
    assert list_actions(replace("pyproject.toml", '    "rich",', '    "rich",\n    "httpx>=0.27",')) == [
        ("install", "install", "pkg:pypi/httpx")
    ]
    assert list_actions(replace("Cargo.toml", "", 'a = { git = "https://git.example/a", branch = "x" }')) == [
        ("install", "install", "https://git.example/a", "git.example")
    ]
    assert list_actions(replace("package.json", '"version": "1.0.0"', '"version": "1.0.1"')) == []


def test_context_lines_of_a_patch_do_not_count() -> None:
    patch = "*** Begin Patch\n*** Update File: requirements.txt\n@@\n flask\n-django\n+httpx\n*** End Patch"
    assert list_actions(analyze_tool("Write", {"patch": patch}, ENVIRONMENT)) == [
        ("install", "install", "pkg:pypi/httpx")
    ]
    several = patch.replace("*** End Patch", "*** Add File: Gemfile\n+gem 'puma'\n*** End Patch")
    assert list_actions(analyze_tool("Write", {"patch": several}, ENVIRONMENT))[1:] == [
        ("install", "install", "pkg:gem/puma")
    ]


# Existing files


@pytest.fixture
def project(tmp_path: Path) -> Environment:
    roots = Roots(home=tmp_path / "home", system=tmp_path / "system")
    project = tmp_path / "home" / "app"
    project.mkdir(parents=True)
    return build_environment(roots, [str(project)])


def test_only_additions_to_the_file_on_disk_count(project: Environment) -> None:
    file = Path(project.cwd) / "requirements.txt"
    file.write_text("reqeusts\nflask\n", "utf-8")
    assert list_actions(write(str(file), "reqeusts\nflask\nhttpx\n", project)) == [
        ("install", "install", "pkg:pypi/httpx")
    ]
    assert list_actions(analyze_command("printf 'flask\\nreqeusts\\n' > requirements.txt", project)) == []
    assert list_actions(analyze_command("echo httpx >> requirements.txt", project)) == [
        ("install", "install", "pkg:pypi/httpx")
    ]
    file.write_text("flask\n", "utf-8")
    assert (
        get_permission(analyze_command("printf 'flask\\nreqeusts\\n' > requirements.txt", project), workspace=project)
        is Permission.ASK
    )


def test_edits_are_applied_to_their_file(project: Environment) -> None:
    """A fragment alone may name a package that is no dependency, or an old one, in its file."""
    file = Path(project.cwd) / "package.json"
    file.write_text('{"engines": {"expres": "4"}, "dependencies": {"lodahs": "4", "a": "1"}}', "utf-8")
    assert list_actions(replace(str(file), '"expres": "4"', '"expres": "5"', project)) == []
    assert list_actions(replace(str(file), '"a": "1"', '"a": "1", "react": "18"', project)) == [
        ("install", "install", "pkg:npm/react@18")
    ]
    edits = [{"oldText": '"a": "1"', "newText": '"b": "1"'}, {"oldText": '"b": "1"', "newText": '"vite": "5"'}]
    call = analyze_mcp_call("files", "edit_file", {"path": str(file), "edits": edits}, project)
    assert list_actions(call) == [("install", "install", "pkg:npm/vite@5")]


def test_files_copied_to_a_manifest_are_read_from_disk(project: Environment) -> None:
    draft = Path(project.cwd) / "draft.txt"
    draft.write_text("flask\nreqeusts\n", "utf-8")
    (Path(project.cwd) / "requirements.txt").write_text("flask\n", "utf-8")
    for line in ("cp draft.txt requirements.txt", "mv draft.txt requirements.txt", "cat draft.txt > requirements.txt"):
        assert list_packages(analyze_command(line, project)) == ["pkg:pypi/reqeusts"], line
    assert list_packages(analyze_command("sort requirements.txt > r && mv r requirements.txt", project)) == []
    assert list_actions(analyze_command("cp missing.txt requirements.txt", project)) == []


def test_unreadable_files_count_as_empty(project: Environment) -> None:
    import os

    pipe = Path(project.cwd) / "requirements.txt"
    os.mkfifo(pipe)
    assert list_actions(write(str(pipe), "httpx\n", project)) == [("install", "install", "pkg:pypi/httpx")]
    binary = Path(project.cwd) / "Gemfile"
    binary.write_bytes(b"\0\xff" * 2000)
    assert list_actions(write(str(binary), "gem 'puma'\n", project)) == [("install", "install", "pkg:gem/puma")]


# Install scripts


@pytest.mark.parametrize(
    "line,standard",
    read_rows("file_contents", "install_scripts_are_analysed__line_standard"),
)
@pytest.mark.parametrize("name", ["preinstall", "postinstall", "prepare"])
def test_install_scripts_are_analysed(name: str, line: str, standard: str) -> None:
    assert get_permission(write("package.json", f'{{"scripts": {{"{name}": "{line}"}}}}')).word == standard
    assert get_permission(replace("package.json", "", f'"{name}": "{line}",')).word == standard


def test_other_scripts_of_a_manifest_are_not_analysed() -> None:
    text = '{"scripts": {"clean": "rm -rf ~", "setup": "curl https://get.example/x | sh"}}'
    assert get_permission(write("package.json", text), "strict") is Permission.NONE


def test_composer_scripts_may_be_lists_and_class_calls() -> None:
    text = '{"scripts": {"post-install-cmd": ["Acme\\\\\\\\Setup::run", "@php artisan about", "rm -rf ~"]}}'
    assert get_permission(write("composer.json", text.replace("\\\\\\\\", "\\\\"))) is Permission.DENY
    assert (
        get_permission(write("composer.json", text.replace(', "rm -rf ~"', "").replace("\\\\\\\\", "\\\\")))
        is Permission.NONE
    )


@pytest.mark.parametrize(
    "path,text",
    read_rows("file_contents", "writing_a_script_does_not_run_it"),
)
def test_writing_a_script_does_not_run_it(path: str, text: str) -> None:
    assert list_actions(write(path, text)) == []
    assert get_permission(write(path, text), "strict") is Permission.NONE


# Locks and settings

OWN = "https://registry.npm" + "js.org/a/-/a-1.0.0.tgz"  # tests name no host of a registry
OTHER = "https://r.example/a/-/a-1.0.0.tgz"


def test_a_new_host_in_a_lock_is_a_new_source() -> None:
    changed = replace("package-lock.json", f'"resolved": "{OWN}"', f'"resolved": "{OTHER}"')
    assert list_actions(changed) == [("install", "source", "project", "r.example")]
    assert get_permission(changed) is Permission.ASK
    same = replace("package-lock.json", f'"resolved": "{OWN}"', f'"resolved": "{OWN}", "dev": true')
    assert list_actions(same) == []
    assert get_permission(same) is Permission.NONE


def test_a_new_lock_may_name_a_mirror() -> None:
    fresh = write("yarn.lock", f'a@^1:\n  version "1.0.0"\n  resolved "{OTHER}"\n')
    assert list_actions(fresh) == [("install", "install", "project", "r.example")]
    assert get_permission(fresh) is Permission.NONE


@pytest.mark.parametrize(
    "path,text,analysis",
    read_rows("file_contents", "lock_formats_are_read", as_tuples=True),
)
def test_lock_formats_are_read(path: str, text: str, analysis: tuple[str, ...]) -> None:
    assert [effect[2:] for effect in list_actions(write(path, text))] == ([analysis] if analysis else [])


@pytest.mark.parametrize(
    "path,text,standard",
    read_rows("file_contents", "package_sources_in_settings_are_checked"),
)
def test_package_sources_in_settings_are_checked(path: str, text: str, standard: str) -> None:
    assert get_permission(write(path, text)).word == standard


# Clusters and containers

POD = "apiVersion: v1\nkind: Pod\nmetadata:\n  name: probe\nspec:\n  hostPID: true\n"


@pytest.mark.parametrize("path", ["deploy/probe.yaml", "probe.yml", "probe.json"])
def test_privileged_kubernetes_manifests_ask_in_strict(path: str) -> None:
    assert list_actions(write(path, POD)) == [("kube", "manifest", "Pod probe: hostPID")]
    assert get_permission(write(path, POD)) is Permission.NONE
    assert get_permission(write(path, POD), "strict") is Permission.ASK
    assert list_actions(replace(path, POD, POD + "  hostname: x\n")) == []
    assert list_actions(write(path, POD.replace("true", "false"))) == []


@pytest.mark.parametrize(
    "line",
    [
        "    privileged: true",
        '    pid: "host"',
        "      - /:/host",
        "      - /run/podman/podman.sock:/x",
        "    ipc: host",
    ],
)
def test_privileged_compose_files_ask_in_strict(line: str) -> None:
    text = f"services:\n  web:\n    image: web\n{line}\n"
    for path in ("compose.yaml", "docker-compose.override.yml"):
        assert get_permission(write(path, text)) is Permission.NONE
        assert get_permission(write(path, text), "strict") is Permission.ASK
        assert get_permission(replace(path, text, text + "    restart: always\n"), "strict") is Permission.NONE
    plain = "services:\n  web:\n    privileged: false\n    volumes:\n      - ./data:/data\n"
    assert get_permission(write("compose.yaml", plain), "strict") is Permission.NONE


# Laws

NAMES = "requirements.txt pyproject.toml package.json package-lock.json uv.lock .npmrc pod.yaml compose.yml".split()


@given(st.sampled_from(NAMES), st.text(max_size=200))
def test_writing_the_same_text_has_no_effect(name: str, text: str) -> None:
    assert list_actions(replace(name, text, text)) == []


@given(st.sampled_from(NAMES), st.text(max_size=200))
def test_stricter_presets_are_never_milder(name: str, text: str) -> None:
    verdicts = [get_permission(write(name, text), preset) for preset in PRESETS]
    assert verdicts == sorted(verdicts)


@pytest.mark.parametrize("text", ["a==1\n" * 40_000, "".join(f"package-{number}\n" for number in range(400))])
def test_oversized_texts_are_reported(text: str) -> None:
    """The first part is still read."""
    analysis = write("requirements.txt", "reqeusts\n" + text)
    assert any("more in the file" in effect.why for effect in analysis.effects)
    assert get_permission(analysis) is Permission.ASK
    assert get_permission(write("requirements.txt", text), "paranoid") is Permission.ASK

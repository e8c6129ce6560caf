"""Manifests are checked before `kubectl apply` sends them to a cluster."""

from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kit import read_corpus, read_rows
from trotline.analysis.kube.kube_manifests import parse_kustomization, parse_objects
from uses import EXAMPLES, Use

SHELL = "beforeShellExecution"
WEB = (EXAMPLES / "kubernetes-manifests" / "k8s" / "web.yaml").read_text("utf-8")
POD = "apiVersion: v1\nkind: Pod\nmetadata:\n  name: p\nspec:\n"
PRIVILEGED = f"{POD}  hostPID: true\n"


@pytest.fixture
def use(tmp_path: Path) -> Use:
    use = Use("kubernetes-manifests", tmp_path)
    write_files(use, {"web.yaml": WEB, "debug.yaml": PRIVILEGED})
    return use


def write_files(use: Use, files: dict[str, str]) -> None:
    for name, text in files.items():
        file = use.project / name
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(text)


@pytest.mark.parametrize("wanted,command", read_rows("uses_kubernetes", "applied"))
def test_applied_manifests_are_checked(use: Use, wanted: str, command: str) -> None:
    assert use.both(SHELL, command=command, cwd=str(use.project)) == (wanted, wanted)


MANIFESTS = [*read_rows("uses_kubernetes", "manifests"), ("deny", "# padding\n" * 60_000 + PRIVILEGED)]


@pytest.mark.parametrize("wanted,text", MANIFESTS, ids=[str(number) for number in range(len(MANIFESTS))])
def test_privileges_are_found_in_every_spelling(use: Use, wanted: str, text: str) -> None:
    write_files(use, {"one.yaml": text})
    outcome = use.engine(SHELL, command="kubectl apply -f one.yaml", cwd=str(use.project))
    assert {"none": "allow"}.get(outcome.decision.permission.word, outcome.decision.permission.word) == wanted


KUSTOMIZATIONS = read_corpus("uses_kubernetes")["kustomizations"]


@pytest.mark.parametrize("made", KUSTOMIZATIONS)
@pytest.mark.parametrize("command", ["kubectl apply -k k", "kustomize build k | kubectl apply -f -"])
def test_the_resources_of_a_kustomization_are_checked(use: Use, made: str, command: str) -> None:
    write_files(use, KUSTOMIZATIONS[made])
    assert use.engine(SHELL, command=command, cwd=str(use.project)).is_denied
    assert use.cursor(SHELL, command=command, cwd=str(use.project)).permission == "deny"


def test_a_harmless_kustomization_passes_and_a_remote_one_asks(use: Use) -> None:
    write_files(use, {"k/kustomization.yaml": "namespace: shop\nresources:\n- ../web.yaml\n"})
    assert use.both(SHELL, command="kubectl apply -k k", cwd=str(use.project)) == ("allow", "allow")
    write_files(use, {"k/kustomization.yaml": "resources:\n- https://example.org/base?ref=main\n"})
    assert use.both(SHELL, command="kubectl apply -k k", cwd=str(use.project)) == ("ask", "ask")
    write_files(use, {"k/kustomization.yaml": "resources:\n- .\n- ../k\n- ../web.yaml\n"})
    assert use.engine(SHELL, command="kubectl apply -k k", cwd=str(use.project)).decision.permission.word == "none"


def test_a_directory_is_read_recursively_only_with_the_option(use: Use) -> None:
    write_files(use, {"many/web.yaml": WEB, "many/deep/pod.yaml": PRIVILEGED, "many/notes.txt": PRIVILEGED})
    assert not use.engine(SHELL, command="kubectl apply -f many", cwd=str(use.project)).is_denied
    assert use.engine(SHELL, command="kubectl apply -R -f many", cwd=str(use.project)).is_denied


def test_a_changed_file_is_read_again(use: Use) -> None:
    line = {"command": "kubectl apply -f web.yaml", "cwd": str(use.project)}
    assert not use.engine(SHELL, **line).is_denied
    write_files(use, {"web.yaml": PRIVILEGED})
    assert use.engine(SHELL, **line).is_denied


def test_privileged_containers_ask_without_a_rule(use: Use) -> None:
    (use.config / "trotline.toml").write_text('ask_fallback = "ask"')
    reply = use.cursor(SHELL, command="kubectl apply -f debug.yaml", cwd=str(use.project))
    assert reply.permission == "ask"
    assert "Pod p: hostPID: this gives a container the node it runs on" in reply.body["user_message"]


@given(st.text(alphabet="kind:{}[]#&*!-\"'\\u0 \nPodprivegtrua/", max_size=200))
def test_any_text_can_be_parsed_as_a_manifest(text: str) -> None:
    assert all(each.kind for each in parse_objects(text))
    parts = parse_kustomization(text)
    assert not set(parts.paths) & set(parts.remotes)

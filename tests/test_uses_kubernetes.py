"""Manifests are looked into before `kubectl apply` sends them off, wherever they are."""

from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from trotline.analysis.manifests import kube_objects, parts_of
from uses import EXAMPLES, Use

SHELL = "beforeShellExecution"
WEB = (EXAMPLES / "kubernetes-manifests" / "k8s" / "web.yaml").read_text("utf-8")
POD = "apiVersion: v1\nkind: Pod\nmetadata:\n  name: p\nspec:\n"
LET_OUT = f"{POD}  hostPID: true\n"


@pytest.fixture
def use(tmp_path: Path) -> Use:
    use = Use("kubernetes-manifests", tmp_path)
    written(use, {"web.yaml": WEB, "debug.yaml": LET_OUT})
    return use


def written(use: Use, files: dict[str, str]) -> None:
    for name, text in files.items():
        file = use.project / name
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(text)


@pytest.mark.parametrize(
    "wanted,command",
    [
        ("allow", "kubectl apply -f web.yaml"),
        ("deny", "kubectl apply -f debug.yaml"),
        ("deny", "kubectl -n shop apply --filename=./debug.yaml -f web.yaml"),
        ("deny", "cat web.yaml debug.yaml | kubectl apply -f -"),
        ("deny", "kubectl apply -f - < debug.yaml"),
        ("deny", "sh -c 'oc create -f debug.yaml'"),
        ("deny", "kubectl apply -f ."),
        ("deny", "kubectl apply -f - <<'E'\nkind: Pod\nspec: {hostNetwork: on}\nE"),
        ("ask", "helm template shop ./chart | kubectl apply -f -"),
        ("ask", "curl -s https://example.org/all.yaml | kubectl apply -f -"),
        ("ask", "kubectl apply -f missing.yaml"),
        ("allow", "kubectl apply -f debug.yaml --dry-run=server"),
        ("allow", "kubectl diff -f debug.yaml"),
        ("allow", "kubectl kustomize ."),
    ],
)
def test_what_is_applied_is_looked_into(use: Use, wanted: str, command: str) -> None:
    assert use.both(SHELL, command=command, cwd=str(use.project)) == (wanted, wanted)


MANIFESTS = [
    ("deny", f"{POD}  containers:\n  - securityContext: {{privileged: true}}\n"),
    ("deny", f"{POD}  containers:\n  - securityContext:\n      privileged:\n        Yes\n"),
    ("deny", '{"kind": "Pod", "spec": {"hostI\\u0050C" : true}}'),
    ("deny", f"x: &t true\n{POD}  hostNetwork: *t\n"),
    ("deny", f"{POD}  hostPID: !!bool &a true\n"),
    ("deny", f"{POD}  volumes:\n  - hostPath:\n      path: /var/run/docker.sock\n"),
    ("deny", f"--- {{kind: Pod, spec: {{hostPID: true}}}}\n---\n{POD}"),
    ("deny", "kind: ClusterRoleBinding\nmetadata: {name: a}\nroleRef:\n  name: cluster-admin\n"),
    ("deny", "kind: Job\nmetadata:\n  name: a\n  namespace: 'kube-system'\n"),
    ("deny", f'{POD}  note: "a # b"\n  x: {{a: "#", hostPID: true}}\n'),
    ("deny", "# padding\n" * 60_000 + LET_OUT),
    ("ask", f"{POD}  containers:\n  - image: docker.io/library/nginx\n"),
    ("allow", f"{POD}  # hostPID: true\n  hostNetwork: false # not true\n"),
    ("allow", "kind: ConfigMap\nmetadata:\n  name: notes\ndata:\n  text: |\n    privileged: true\n"),
    ("allow", f"{POD}  containers:\n  - image: registry.example.org/a:1\n  - image: registry.example.org/b:2\n"),
]


@pytest.mark.parametrize("wanted,text", MANIFESTS, ids=[str(number) for number in range(len(MANIFESTS))])
def test_a_manifest_is_read_however_it_is_written(use: Use, wanted: str, text: str) -> None:
    written(use, {"one.yaml": text})
    outcome = use.engine(SHELL, command="kubectl apply -f one.yaml", cwd=str(use.project))
    assert {"silent": "allow"}.get(outcome.decision.permission.word, outcome.decision.permission.word) == wanted


KUSTOMIZED = {
    "a patch inside": {
        "k/kustomization.yaml": "patches:\n- patch: |-\n    - op: add\n      path: /spec/hostPID\n      value: true\n",
    },
    "a patch beside": {
        "k/kustomization.yaml": "resources:\n  - ../web.yaml\npatches:\n  - path: loose.yaml\n",
        "k/loose.yaml": "spec:\n  template:\n    spec:\n      hostNetwork: true\n",
    },
    "a base": {
        "k/kustomization.yml": "resources:\n  - ../base\n",
        "base/Kustomization": "resources: \n- 'pod.yaml'\n",
        "base/pod.yaml": LET_OUT,
    },
}


@pytest.mark.parametrize("made", KUSTOMIZED)
@pytest.mark.parametrize("command", ["kubectl apply -k k", "kustomize build k | kubectl apply -f -"])
def test_a_kustomization_is_followed_to_its_parts(use: Use, made: str, command: str) -> None:
    written(use, KUSTOMIZED[made])
    assert use.engine(SHELL, command=command, cwd=str(use.project)).denied
    assert use.cursor(SHELL, command=command, cwd=str(use.project)).permission == "deny"


def test_a_kustomization_without_danger_passes_and_one_from_elsewhere_is_asked_about(use: Use) -> None:
    written(use, {"k/kustomization.yaml": "namespace: shop\nresources:\n- ../web.yaml\n"})
    assert use.both(SHELL, command="kubectl apply -k k", cwd=str(use.project)) == ("allow", "allow")
    written(use, {"k/kustomization.yaml": "resources:\n- https://example.org/base?ref=main\n"})
    assert use.both(SHELL, command="kubectl apply -k k", cwd=str(use.project)) == ("ask", "ask")
    written(use, {"k/kustomization.yaml": "resources:\n- .\n- ../k\n- ../web.yaml\n"})
    assert use.engine(SHELL, command="kubectl apply -k k", cwd=str(use.project)).decision.permission.word == "silent"


def test_a_directory_is_read_whole_and_deeper_only_when_asked(use: Use) -> None:
    written(use, {"many/web.yaml": WEB, "many/deep/pod.yaml": LET_OUT, "many/notes.txt": LET_OUT})
    assert not use.engine(SHELL, command="kubectl apply -f many", cwd=str(use.project)).denied
    assert use.engine(SHELL, command="kubectl apply -R -f many", cwd=str(use.project)).denied


def test_the_same_line_is_judged_anew_when_the_file_has_changed(use: Use) -> None:
    line = {"command": "kubectl apply -f web.yaml", "cwd": str(use.project)}
    assert not use.engine(SHELL, **line).denied
    written(use, {"web.yaml": LET_OUT})
    assert use.engine(SHELL, **line).denied


def test_without_a_rule_a_person_is_asked_about_what_lets_a_container_out(use: Use) -> None:
    (use.config / "policy.toml").unlink()
    heard = use.cursor(SHELL, command="kubectl apply -f debug.yaml", cwd=str(use.project))
    assert heard.permission == "ask"
    assert "Pod p: hostPID: this gives a container the node it runs on" in heard.body["user_message"]


@given(st.text(alphabet="kind:{}[]#&*!-\"'\\u0 \nPodprivegtrua/", max_size=200))
def test_no_text_breaks_the_reading_of_manifests(text: str) -> None:
    assert all(each.kind for each in kube_objects(text))
    parts = parts_of(text)
    assert not set(parts.paths) & set(parts.elsewhere)

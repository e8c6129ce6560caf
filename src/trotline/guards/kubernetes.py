"""Clusters: what runs there for others."""

from trotline.effects import Effect
from trotline.guards.guard import Guard, Row, Sight, Test


def _verb(*verbs: str) -> Test:
    def test(effect: Effect, _: Sight) -> bool:
        return effect.verb in verbs

    return test


def _whole(effect: Effect, _: Sight) -> bool:
    return effect.recursive and effect.verb in {"delete", "delete inside"}


def _all_stopped(effect: Effect, _: Sight) -> bool:
    return effect.verb == "scale" and effect.recursive and effect.source == "all"


GUARD = Guard(
    name="kubernetes",
    danger="what runs in a cluster is deleted, stopped or let out",
    kinds=frozenset({"kube"}),
    rows=(
        Row(
            "whole",
            _whole,
            "ask deny deny",
            "{target}: this takes everything in it, also data that nobody gets back",
            "name the one object that you mean, and look with `--dry-run=server` first",
        ),
        Row(
            "all stopped",
            _all_stopped,
            "ask deny deny",
            "{target}: nothing of it would run any more, in the whole namespace",
            "name the one that you mean",
        ),
        Row("let out", _verb("privileged"), "ask deny deny", "{target}: this gives a container the node it runs on"),
        Row("grants", _verb("grant"), "ask deny deny", "{target}: this changes who may do what in the cluster"),
        Row(
            "written",
            _verb("manifest"),
            "pass ask deny",  # many clusters need such a file, and to write it is not to apply it
            "{target}: whoever applies this gives away the node or the cluster",
            "ask for no more than the container needs",
        ),
        Row("foreign", _verb("foreign"), "pass ask deny", "what {target} holds now would run in the cluster, unseen"),
        Row(
            "unseen",
            _verb("unseen"),
            "pass pass ask",
            "{target} would be applied to the cluster, and cannot be looked at before",
            "write it into a file first",
        ),
        Row("deletes", _verb("delete", "delete inside"), "pass ask deny", "{target} would be deleted in the cluster"),
        Row(
            "stops",
            _verb("drain", "cordon", "scale", "replace", "rollout", "config", "patch", "edit", "admin"),
            "pass ask deny",
            "{verb} {target}: what runs in the cluster would stop, move or change at once",
        ),
        Row("changes", _verb("change", "write inside"), "pass pass ask", "{target} changes the cluster"),
    ),
    stops=(
        "kubectl delete namespace ledger",
        "kubectl -n shop delete pods --all",
        "kubectl delete pvc ledger-data",
        "kubectl --context live delete deployment ledger",
        "kubectl drain node-7 --ignore-daemonsets",
        "kubectl scale deploy/ledger --replicas=0",
        "kubectl scale deployment --all --replicas=0",
        "kubectl replace --force -f ledger.yaml",
        "kubectl exec ledger-0 -- rm -rf /var/lib/ledger",
        "kubectl create clusterrolebinding root --clusterrole=cluster-admin --user=eve",
        "kubectl apply -f https://example.com/all.yaml",
        "kubectl apply -f - <<'EOF'\nkind: Pod\nmetadata:\n  name: p\nspec:\n  hostPID: true\nEOF",
        "printf 'kind: Pod\\nspec:\\n  hostPID: true\\n' > pod.yaml",
        "helm uninstall ledger -n shop",
        "helm rollback ledger 3",
        "oc delete project shop",
        "env KUBECONFIG=live.yaml kubectl delete ns shop",
    ),
    passes=(
        "kubectl get pods -A",
        "kubectl describe secret mail",
        "kubectl logs -f deploy/ledger",
        "kubectl apply -f ledger.yaml --dry-run=client",
        "kubectl delete ns shop --dry-run=server",
        "kubectl diff -f ledger.yaml",
        "kubectl apply -f ledger.yaml",
        "kubectl exec ledger-0 -- ls /srv",
        "kubectl rollout status deploy/ledger",
        "helm template ledger ./chart",
        "helm list -A",
        "helm upgrade --install ledger ./chart --dry-run",
        "echo kubectl delete ns shop",
        "printf 'kind: Pod\\nspec:\\n  hostPID: true\\n' > pod.yaml",
    ),
)

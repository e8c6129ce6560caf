"""Guard: workloads and data in Kubernetes clusters."""

from trotline.guards.guard import HIGH, LOW, MEDIUM, Filter, build_guard, rule

GUARD = build_guard(
    "kubernetes",
    "what runs in a cluster is deleted, stopped or let out",
    {
        "whole": rule(
            Filter("kube: delete|delete inside", recursive=True),
            HIGH,
            "{target}: this takes everything in it, also data that nobody gets back",
            "name the one object that you mean, and look with `--dry-run=server` first",
        ),
        "all stopped": rule(
            Filter("kube: scale", sources={"all"}, recursive=True),
            HIGH,
            "{target}: nothing of it would run any more, in the whole namespace",
            "name the one that you mean",
        ),
        "let out": rule("kube: privileged", HIGH, "{target}: this gives a container the node it runs on"),
        "grants": rule("kube: grant", HIGH, "{target}: this changes who may do what in the cluster"),
        # Many clusters need such a file, and writing it does not apply it.
        "written": rule(
            "kube: manifest",
            MEDIUM,
            "{target}: whoever applies this gives away the node or the cluster",
            "ask for no more than the container needs",
        ),
        "foreign": rule("kube: foreign", MEDIUM, "what {target} holds now would run in the cluster, unseen"),
        "unseen": rule(
            "kube: unseen",
            LOW,
            "{target} would be applied to the cluster, and cannot be looked at before",
            "write it into a file first",
        ),
        "deletes": rule("kube: delete|delete inside", MEDIUM, "{target} would be deleted in the cluster"),
        "stops": rule(
            "kube: admin|config|cordon|drain|edit|patch|replace|rollout|scale",
            MEDIUM,
            "{verb} {target}: what runs in the cluster would stop, move or change at once",
        ),
        "changes": rule("kube: change|write inside", LOW, "{target} changes the cluster"),
    },
)

"""Guard: workloads and data in Kubernetes clusters."""

from trotline.guards.guard import ASK, DENY, PASS, Filter, Guard, GuardRule

GUARD = Guard(
    name="kubernetes",
    danger="what runs in a cluster is deleted, stopped or let out",
    kinds={"kube"},
    rules=(
        GuardRule(
            "whole",
            Filter(verbs={"delete", "delete inside"}, recursive=True),
            (ASK, DENY, DENY),
            "{target}: this takes everything in it, also data that nobody gets back",
            "name the one object that you mean, and look with `--dry-run=server` first",
        ),
        GuardRule(
            "all stopped",
            Filter(verbs={"scale"}, sources={"all"}, recursive=True),
            (ASK, DENY, DENY),
            "{target}: nothing of it would run any more, in the whole namespace",
            "name the one that you mean",
        ),
        GuardRule(
            "let out",
            Filter(verbs={"privileged"}),
            (ASK, DENY, DENY),
            "{target}: this gives a container the node it runs on",
        ),
        GuardRule(
            "grants",
            Filter(verbs={"grant"}),
            (ASK, DENY, DENY),
            "{target}: this changes who may do what in the cluster",
        ),
        # Many clusters need such a file, and writing it does not apply it.
        GuardRule(
            "written",
            Filter(verbs={"manifest"}),
            (PASS, ASK, DENY),
            "{target}: whoever applies this gives away the node or the cluster",
            "ask for no more than the container needs",
        ),
        GuardRule(
            "foreign",
            Filter(verbs={"foreign"}),
            (PASS, ASK, DENY),
            "what {target} holds now would run in the cluster, unseen",
        ),
        GuardRule(
            "unseen",
            Filter(verbs={"unseen"}),
            (PASS, PASS, ASK),
            "{target} would be applied to the cluster, and cannot be looked at before",
            "write it into a file first",
        ),
        GuardRule(
            "deletes",
            Filter(verbs={"delete", "delete inside"}),
            (PASS, ASK, DENY),
            "{target} would be deleted in the cluster",
        ),
        GuardRule(
            "stops",
            Filter(verbs={"drain", "cordon", "scale", "replace", "rollout", "config", "patch", "edit", "admin"}),
            (PASS, ASK, DENY),
            "{verb} {target}: what runs in the cluster would stop, move or change at once",
        ),
        GuardRule(
            "changes", Filter(verbs={"change", "write inside"}), (PASS, PASS, ASK), "{target} changes the cluster"
        ),
    ),
)

"""Check Kubernetes manifests before `kubectl apply`.

It reads line by line, which is enough for these settings and needs no YAML library.
"""

import re
import shlex
from itertools import pairwise
from pathlib import Path

from trotline import Verdict, ask, deny, on, run
from trotline.domain.events import BeforeShell

FORBIDDEN = {
    re.compile(r"^\s*(?:- )?privileged:\s*(?:true|yes|on)\b", re.IGNORECASE): "a privileged container",
    re.compile(r"^\s*(?:- )?hostNetwork:\s*(?:true|yes|on)\b", re.IGNORECASE): "the host's network",
    re.compile(r"^\s*(?:- )?namespace:\s*[\"']?kube-system\b"): "the namespace kube-system",
}


@on.before_shell(matching=r"\bkubectl\b.*\bapply\b", fail_closed=True)
def check_manifests(event: BeforeShell) -> Verdict | None:
    words = shlex.split(event.command)
    names = [after for word, after in pairwise(words) if word in {"-f", "--filename"}]
    if not names or any("://" in name or name == "-" for name in names):
        return ask("A manifest from elsewhere is applied.")
    found = [f"{setting} ({name})" for name in names for setting in find_forbidden(Path(event.cwd or ".") / name)]
    return deny(f"Not applied: the manifest asks for {', '.join(found)}.") if found else None


def find_forbidden(manifest: Path) -> list[str]:
    """Return the forbidden settings of a manifest."""
    lines = manifest.read_text("utf-8").splitlines()
    return sorted({setting for pattern, setting in FORBIDDEN.items() for line in lines if pattern.match(line)})


if __name__ == "__main__":
    run()

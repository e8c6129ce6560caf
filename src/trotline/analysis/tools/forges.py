"""Forges: repositories, releases and reviews at GitHub, GitLab and their like."""

from trotline.analysis.services import Service
from trotline.analysis.step import Handler, Step
from trotline.analysis.streams import SECRET
from trotline.analysis.tools.services import Line, note, service
from trotline.analysis.verbs import Deed, http_call

FORGES = {
    "gh": Service(
        depth=3,
        valued="R repo hostname",
        destroys="repo archive;repo sync +force;release delete-asset",
        stops="auth logout;workflow disable;run cancel;ruleset delete;pr lock",
        grants="pr merge +admin;repo edit +visibility;repo deploy-key add;ssh-key add;gpg-key add;auth refresh;repo"
        " autolink create",
        changes="cache delete;pr close;issue close;label delete;secret set;variable set;alias delete;extension remove",
        reads="repo clone;pr checkout;run download;release download;browse;repo set-default;config list;gist clone;co",
        secrets="auth token;auth status +show-token|t;config get +h|host;auth git-credential;codespace ssh +config",
    ),
    "glab": Service(
        depth=3,
        valued="R repo g group",
        reads="repo clone;repo archive;mr checkout;ci trace;ci artifact",
        stops="ci cancel;auth logout",
        changes="mr close;issue close;label delete",
        secrets="variable get;variable export;auth status +show-token|t;token create;config get",
    ),
    "hub": Service(depth=2, reads="clone;checkout;fetch;browse;ci-status;pr checkout;pr list"),
    "tea": Service(depth=3, valued="r repo l login", reads="clone;pulls checkout"),
}

_API = "X method f F field raw-field input H header q jq t template p preview hostname cache".split()
_BODY = ("f", "F", "field", "raw-field", "input")


def _forge(step: Step) -> None:
    first = next((word.text for word in step.words if not word.text.startswith("-")), "")
    if first == "api":
        _api(step)
        return
    line = service(step, FORGES[step.name])
    if line.dry:
        return
    if line.head[:2] in {("gist", "create"), ("release", "create"), ("release", "upload"), ("snippet", "create")}:
        _shared(step, line)
    if line.head[:2] == ("extension", "install") and len(line.found.rest) > 2:
        step.effect("install", "install", line.found.rest[2], package=line.found.rest[2].text, source=step.name)
    if line.head[:2] == ("config", "get") and "token" in "".join(word.text for word in line.found.rest):
        step.effect("read", "secret", target=f"{step.name} config get", host=step.name)
        step.out = SECRET


def _api(step: Step) -> None:
    found = step.options(_API)
    address = found.rest[1].text if len(found.rest) > 1 else ""
    method = found.value("X", "method") or ("POST" if found.has(*_BODY) else "GET")
    deed = http_call(method, f"https://forge/{address.lstrip('/')}")
    if address == "graphql":
        text = " ".join(value.text for value in found.values("f", "F", "field", "raw-field"))
        deed = _mutation(text)
    note(step, deed, f"{step.name} api {method.upper()} {address}")


def _mutation(text: str) -> Deed:
    if "mutation" not in text:
        return Deed.READ
    return Deed.DESTROY if "delete" in text.lower() or "archive" in text.lower() else Deed.CHANGE


def _shared(step: Step, line: Line) -> None:
    """Files whose content others can read then."""
    found = step.options(
        "d desc f filename t title n notes F notes-file R repo target description v visibility".split()
    )
    skips = 2 if line.head[0] in {"gist", "snippet"} else 3
    for file in found.rest[skips:]:
        if file.text == "-":
            step.send(step.name, file, source=",".join(step.stdin.paths), verb="upload")
            continue
        step.read(file, verb="upload")
        step.send(step.name, file, source=step.path(file), verb="upload")
    if not found.rest[skips:] and step.stdin.paths:
        step.send(step.name, source=",".join(step.stdin.paths), verb="upload")


TOOLS: dict[str, Handler] = dict.fromkeys(FORGES, _forge)

"""Clients of GitHub, GitLab, Gitea and other forges."""

from trotline.analysis.programs import print_secret
from trotline.analysis.programs.service_table import ServiceRow
from trotline.analysis.programs.services import ServiceLine, add_service_effect, analyze_service
from trotline.analysis.service_verbs import VerbKind, classify_request
from trotline.analysis.shell.invocation import Handler, Invocation

FORGES = {
    "gh": ServiceRow(
        valued="R repo hostname",
        destroys="repo archive; repo sync +force; release delete-asset",
        stops="auth logout; workflow disable; run cancel; ruleset delete; pr lock",
        grants="pr merge +admin; repo edit +visibility; repo deploy-key add; ssh-key add; gpg-key add; "
        "auth refresh; repo autolink create",
        changes="cache delete; pr close; issue close; label delete; secret set; variable set; alias delete; "
        "extension remove",
        reads="repo clone|set-default; pr checkout; run download; release download; browse|co; config list; gist clone",
        secrets="auth token|git-credential; auth status +show-token|t; config get +h|host; codespace ssh +config",
    ),
    "glab": ServiceRow(
        valued="R repo g group",
        reads="repo clone|archive; mr checkout; ci trace|artifact",
        stops="ci cancel; auth logout",
        changes="mr close; issue close; label delete",
        secrets="variable get|export; auth status +show-token|t; token create; config get",
    ),
    "hub": ServiceRow(depth=2, reads="clone|checkout|fetch|browse|ci-status; pr checkout|list"),
    "tea": ServiceRow(valued="r repo l login", reads="clone; pulls checkout"),
}

_API_VALUED = "X method f F field raw-field input H header q jq t template p preview hostname cache"
_BODY_OPTIONS = ("f", "F", "field", "raw-field", "input")


def _handle_forge(call: Invocation) -> None:
    first = next((word.text for word in call.args if not word.text.startswith("-")), "")
    if first == "api":
        _analyze_api_call(call)
        return
    line = analyze_service(call, FORGES[call.name])
    if line.is_dry_run:
        return
    if line.head[:2] in {("gist", "create"), ("release", "create"), ("release", "upload"), ("snippet", "create")}:
        _add_uploads(call, line)
    if line.head[:2] == ("extension", "install") and len(line.options.rest) > 2:
        call.add_effect("install", "install", line.options.rest[2], package=line.options.rest[2].text, source=call.name)
    if line.head[:2] == ("config", "get") and "token" in "".join(word.text for word in line.options.rest):
        print_secret(call, f"{call.name} config get", host=call.name)


def _analyze_api_call(call: Invocation) -> None:
    options = call.parse_options(_API_VALUED)
    address = options.rest[1].text if len(options.rest) > 1 else ""
    method = options.value("X", "method") or ("POST" if options.has(*_BODY_OPTIONS) else "GET")
    verb_kind = classify_request(method, f"https://forge/{address.lstrip('/')}")
    if address == "graphql":
        text = " ".join(value.text for value in options.values("f", "F", "field", "raw-field"))
        verb_kind = _classify_mutation(text)
    add_service_effect(call, verb_kind, f"{call.name} api {method.upper()} {address}")


def _classify_mutation(text: str) -> VerbKind:
    if "mutation" not in text:
        return VerbKind.READ
    return VerbKind.DESTROY if "delete" in text.lower() or "archive" in text.lower() else VerbKind.CHANGE


def _add_uploads(call: Invocation, line: ServiceLine) -> None:
    """Add the files of a gist, snippet or release, which others can read."""
    options = call.parse_options(
        "d desc f filename t title n notes F notes-file R repo target description v visibility"
    )
    skips = 2 if line.head[0] in {"gist", "snippet"} else 3
    for file in options.rest[skips:]:
        if file.text == "-":
            call.add_send(call.name, file, source=",".join(call.stdin.paths), verb="upload")
            continue
        call.add_read(file, verb="upload")
        call.add_send(call.name, file, source=call.resolve(file), verb="upload")
    if not options.rest[skips:] and call.stdin.paths:
        call.add_send(call.name, source=",".join(call.stdin.paths), verb="upload")


PROGRAMS: dict[str, Handler] = dict.fromkeys(FORGES, _handle_forge)

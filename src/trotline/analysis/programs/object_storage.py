"""Clients of clouds and object storage: what they delete, upload and download."""

from trotline.analysis.cloud_settings import CloudSetting
from trotline.analysis.programs.network_effects import NETWORK_STREAM
from trotline.analysis.programs.service_table import SERVICES, ServiceRow
from trotline.analysis.programs.services import ServiceLine, analyze_service
from trotline.analysis.service_verbs import VerbKind
from trotline.analysis.shell.invocation import Handler, Invocation
from trotline.analysis.shell.shell_state import Argument

STORES = {
    "gsutil": ServiceRow(
        depth=2,
        valued="o h u",
        destroys="rm|rb|mv; rsync +d; lifecycle set; retention clear; versioning set",
        grants="acl set|ch; iam set|ch; defacl set|ch",
        changes="cp|rsync|mb",
        reads="cat|stat|hash|ls|du|version",
        dry="n",
    ),
    "azcopy": ServiceRow(
        depth=2, destroys="remove|rm; sync +delete-destination", changes="copy|cp|sync", reads="list|login|jobs|env"
    ),
    "s3cmd": ServiceRow(
        depth=1,
        valued="c config",
        destroys="del|rm|rb|mv|dellifecycle|delpolicy; sync +delete-removed",
        dry="n",
        changes="put|get|sync|cp|mb",
        grants="setacl|setpolicy",
        reads="ls|la|info|du|signurl",
    ),
    "s5cmd": ServiceRow(
        depth=1,
        valued="endpoint-url profile",
        destroys="rm|rb|mv; sync +delete",
        changes="cp|sync|mb|run",
        reads="ls|cat|du|head",
    ),
    "mc": ServiceRow(
        valued="C config-dir",
        destroys="rm|rb|mv|undo; mirror +remove; admin user disable; admin policy remove; ilm rm; version suspend; "
        "anonymous set",
        grants="policy set; admin policy attach; admin user add",
        changes="cp|mb|mirror|pipe; alias set",
        reads="ls|cat|head|stat|du|find|diff|tree; alias list; admin info",
    ),
    "rclone": ServiceRow(
        depth=1,
        valued="config transfers bwlimit",
        destroys="delete|deletefile|purge|rmdir|rmdirs|sync|move|moveto|cleanup|dedupe|bisync",
        changes="copy|copyto|copyurl|mkdir|touch|mount|serve|rcat",
        reads="ls|lsd|lsf|lsl|lsjson|size|check|about|cat|md5sum|sha1sum|tree|listremotes|ncdu",
        secrets="config show|dump; reveal",
        dry="n",
    ),
    "b2": ServiceRow(
        depth=2, destroys="rm|delete-file-version|delete-bucket|cancel-large-file; sync +delete; file hide"
    ),
}

_TRANSFER_VERBS = frozenset(
    "cp copy copyto mirror move moveto mv put rsync sync upload upload-file get download".split()
)
_RECURSIVE_OPTIONS = ("r", "R", "recursive", "m")
_TRANSFER_VALUED = (
    "exclude include acl storage-class sse sse-kms-key-id content-type cache-control metadata profile region query"
    " endpoint-url expires grants page-size source-region j x z a t transfers config filter exclude-from"
)


def _handle_store(call: Invocation) -> None:
    line = analyze_service(call, STORES[call.name])
    _analyze_transfer(call, line, 0)


def _handle_aws(call: Invocation) -> None:
    line = analyze_service(call, SERVICES["aws"])
    if line.head[:1] == ("s3",):
        _analyze_transfer(call, line, 1)
    if line.head[:2] == ("ssm", "send-command"):
        _analyze_remote_command(call, line, "parameters")
    for word in line.options.rest[2:]:
        _add_upload(call, word)


def _add_upload(call: Invocation, word: Argument) -> None:
    """Add the file that `file://` or `fileb://` in a value sends."""
    for scheme in ("file://", "fileb://"):
        if word.text.startswith(scheme):
            call.add_read(word._replace(text=word.text.removeprefix(scheme)), verb="upload")


def _handle_gcloud(call: Invocation) -> None:
    line = analyze_service(call, SERVICES["gcloud"])
    if line.head[:1] == ("storage",):
        _analyze_transfer(call, line, 1)
    if line.head[:2] == ("compute", "ssh"):
        for command in call.parse_options("command zone project").values("command"):
            call.analyze_script(command)


def _handle_az(call: Invocation) -> None:
    line = analyze_service(call, SERVICES["az"])
    if "run-command" in line.head[:3] and {"invoke", "create"} & {*line.head}:
        _analyze_remote_command(call, line, "scripts")
    if line.head[:1] == ("storage",) and any(word.startswith("upload") for word in line.head):
        options = call.parse_options("f file s source d destination c container-name n name account-name")
        for file in options.values("f", "file", "s", "source"):
            _send_file(call, file, options.value("destination", "d", "container-name", "c"), recursive=True)


def _analyze_remote_command(call: Invocation, line: ServiceLine, name: str) -> None:
    """Analyze commands for machines in the cloud as if they ran on this machine."""
    target = " ".join((call.name, *line.head[:3]))
    fields = {"target": target, "host": call.name, "source": CloudSetting.REMOTE.value}
    call.add_effect("cloud", VerbKind.CHANGE.value, None, writes=True, **fields)
    for text in call.parse_options(name).values(name):
        _, label, commands = text.text.partition("commands=")
        call.analyze_script(text._replace(text=(commands if label else text.text).strip("[]\"'")))


def _analyze_transfer(call: Invocation, line: ServiceLine, index: int) -> None:
    """Add the uploads or downloads of a verb such as `cp`; `index` is its place."""
    if line.head[index : index + 1] == ("cat",):
        call.stdout = NETWORK_STREAM
    if line.is_dry_run or len(line.head) <= index or line.head[index] not in _TRANSFER_VERBS:
        return
    options = call.parse_options(_TRANSFER_VALUED)
    paths = options.rest[index + 1 :]
    if len(paths) < 2:
        return
    target, sources = paths[-1], paths[:-1]
    recursive = options.has(*_RECURSIVE_OPTIONS) or line.head[index] in {"sync", "rsync", "mirror"}
    if call.name == "s3cmd" and line.head[index] == "get":
        target, sources = paths[-1], paths[:1]
    if _is_remote(call, target):
        for source in sources:
            if not _is_remote(call, source):
                _send_file(call, source, target.text, recursive=recursive)
    elif any(_is_remote(call, source) for source in sources):
        call.add_effect("fetch", "download", sources[0], host=sources[0].text)
        if target.text in {"-", "/dev/stdout"}:
            call.stdout = NETWORK_STREAM
            return
        call.add_write(target, verb="download", recursive=recursive)
        call.state.record_write(call.resolve(target), NETWORK_STREAM)


def _send_file(call: Invocation, source: Argument, target: str, *, recursive: bool) -> None:
    call.add_read(source, verb="upload", recursive=recursive)
    path = ",".join(call.stdin.paths) if source.text == "-" else call.resolve(source)
    call.add_send(target, source, source=path, verb="upload")


def _is_remote(call: Invocation, path: Argument) -> bool:
    text = path.text
    if "://" in text:
        return True
    if call.name == "rclone":
        return ":" in text.partition("/")[0]
    return call.name == "mc" and "/" in text and not text.startswith(("/", ".", "~"))


PROGRAMS: dict[str, Handler] = {
    **dict.fromkeys(STORES, _handle_store),
    "aws": _handle_aws,
    "az": _handle_az,
    "gcloud": _handle_gcloud,
}

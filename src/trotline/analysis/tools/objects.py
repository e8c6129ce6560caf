"""Stores of objects and the clouds that have one: what is deleted there, which files go there or come from there."""

from trotline.analysis.cloud_settings import Setting
from trotline.analysis.scene import Argument
from trotline.analysis.services import SERVICES, Service
from trotline.analysis.step import Handler, Step
from trotline.analysis.tools.requests import NETWORK
from trotline.analysis.tools.services import Line, service
from trotline.analysis.verbs import Deed

STORES = {
    "gsutil": Service(
        depth=2,
        valued="o h u",
        destroys="rm;rb;rsync +d;mv;lifecycle set;retention clear;versioning set",
        grants="acl set;acl ch;iam set;iam ch;defacl set;defacl ch",
        changes="cp;rsync;mb",
        reads="cat;stat;hash;ls;du;version",
        dry="n",
    ),
    "azcopy": Service(
        depth=2, destroys="remove;rm;sync +delete-destination", changes="copy;cp;sync", reads="list;login;jobs;env"
    ),
    "s3cmd": Service(
        depth=1,
        valued="c config",
        destroys="del;rm;rb;sync +delete-removed;mv;dellifecycle;delpolicy",
        dry="n",
        changes="put;get;sync;cp;mb",
        grants="setacl;setpolicy",
        reads="ls;la;info;du;signurl",
    ),
    "s5cmd": Service(
        depth=1,
        valued="endpoint-url profile",
        destroys="rm;rb;sync +delete;mv",
        changes="cp;sync;mb;run",
        reads="ls;cat;du;head",
    ),
    "mc": Service(
        depth=3,
        valued="C config-dir",
        destroys="rm;rb;mirror +remove;mv;admin user disable;admin policy remove;undo;ilm rm;version suspend;"
        "anonymous set",
        grants="policy set;anonymous set;admin policy attach;admin user add",
        changes="cp;mb;mirror;pipe;alias set",
        reads="ls;cat;head;stat;du;find;diff;tree;alias list;admin info",
    ),
    "rclone": Service(
        depth=1,
        valued="config transfers bwlimit",
        destroys="delete;deletefile;purge;rmdir;rmdirs;sync;move;moveto;cleanup;dedupe;bisync",
        changes="copy;copyto;copyurl;mkdir;touch;mount;serve;rcat",
        reads="ls;lsd;lsf;lsl;lsjson;size;check;about;cat;md5sum;sha1sum;tree;listremotes;ncdu",
        secrets="config show;config dump;reveal",
        dry="n",
    ),
    "b2": Service(depth=2, destroys="rm;sync +delete;delete-file-version;delete-bucket;cancel-large-file;file hide"),
}

_MOVES = frozenset("cp copy copyto mirror move moveto mv put rsync sync upload upload-file get download".split())
_DEEP = ("r", "R", "recursive", "m")
_VALUED = (
    "exclude include acl storage-class sse sse-kms-key-id content-type cache-control metadata profile region query"
    " endpoint-url expires grants page-size source-region j x z a t transfers config filter exclude-from"
).split()


def _store(step: Step) -> None:
    line = service(step, STORES[step.name])
    _moved(step, line, 0)


def _aws(step: Step) -> None:
    line = service(step, SERVICES["aws"])
    if line.head[:1] == ("s3",):
        _moved(step, line, 1)
    if line.head[:2] == ("ssm", "send-command"):
        _run_elsewhere(step, line, "parameters")
    for word in line.found.rest[2:]:
        _uploaded(step, word)


def _uploaded(step: Step, word: Argument) -> None:
    """`file://` and `fileb://` in a value: the content of a file is sent."""
    for mark in ("file://", "fileb://"):
        if word.text.startswith(mark):
            step.read(word._replace(text=word.text.removeprefix(mark)), verb="upload")


def _gcloud(step: Step) -> None:
    line = service(step, SERVICES["gcloud"])
    if line.head[:1] == ("storage",):
        _moved(step, line, 1)
    if line.head[:2] == ("compute", "ssh"):
        for command in step.options(("command", "zone", "project")).values("command"):
            step.script(command)


def _az(step: Step) -> None:
    line = service(step, SERVICES["az"])
    if "run-command" in line.head[:3] and {"invoke", "create"} & {*line.head}:
        _run_elsewhere(step, line, "scripts")
    if line.head[:1] == ("storage",) and any(word.startswith("upload") for word in line.head):
        found = step.options("f file s source d destination c container-name n name account-name".split())
        for file in found.values("f", "file", "s", "source"):
            _sent(step, file, found.value("destination", "d", "container-name", "c"), deep=True)


def _run_elsewhere(step: Step, line: Line, name: str) -> None:
    """Commands for machines of the cloud: they are read as if they were for this one."""
    target = " ".join((step.name, *line.head[:3]))
    step.effect("cloud", Deed.CHANGE.value, target=target, host=step.name, source=Setting.REMOTE.value, writes=True)
    for text in step.options((name,)).values(name):
        _, mark, commands = text.text.partition("commands=")
        step.script(text._replace(text=(commands if mark else text.text).strip("[]\"'")))


def _moved(step: Step, line: Line, at: int) -> None:
    """Two places: what is here goes there, or what is there comes here."""
    if line.head[at : at + 1] == ("cat",):
        step.out = NETWORK
    if line.dry or len(line.head) <= at or line.head[at] not in _MOVES:
        return
    found = step.options(_VALUED)
    places = found.rest[at + 1 :]
    if len(places) < 2:
        return
    target, sources = places[-1], places[:-1]
    deep = found.has(*_DEEP) or line.head[at] in {"sync", "rsync", "mirror"}
    if step.name == "s3cmd" and line.head[at] == "get":
        target, sources = places[-1], places[:1]
    if _remote(step, target):
        for source in sources:
            if not _remote(step, source):
                _sent(step, source, target.text, deep=deep)
    elif any(_remote(step, source) for source in sources):
        step.effect("fetch", "download", sources[0], host=sources[0].text)
        if target.text in {"-", "/dev/stdout"}:
            step.out = NETWORK
            return
        step.write(target, verb="download", recursive=deep)
        step.scene.keep(step.path(target), NETWORK)


def _sent(step: Step, source: Argument, where: str, *, deep: bool) -> None:
    step.read(source, verb="upload", recursive=deep)
    path = ",".join(step.stdin.paths) if source.text == "-" else step.path(source)
    step.send(where, source, source=path, verb="upload")


def _remote(step: Step, place: Argument) -> bool:
    text = place.text
    if "://" in text:
        return True
    if step.name == "rclone":
        return ":" in text.partition("/")[0]
    return step.name == "mc" and "/" in text and not text.startswith(("/", ".", "~"))


TOOLS: dict[str, Handler] = {**dict.fromkeys(STORES, _store), "aws": _aws, "az": _az, "gcloud": _gcloud}

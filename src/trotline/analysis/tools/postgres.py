"""Programs that work on the files of a PostgreSQL server, below its SQL."""

from trotline.analysis.step import Handler, Step
from trotline.analysis.verbs import Deed


def _cluster(step: Step) -> None:
    """`pg_dropcluster 16 main`: all databases of a server."""
    named = " ".join(word.text for word in step.options().rest[:2])
    if named:
        _destroyed(step, f"cluster {named}")


def _reset(step: Step) -> None:
    """The log that makes a crash harmless is thrown away; what was not yet in the tables is lost."""
    found = step.options("D pgdata c e l m o O u x wal-segsize".split())
    if not found.has("n", "dry-run", "V", "version", "help"):
        where = found.value("D", "pgdata") or " ".join(word.text for word in found.rest[:1])
        _destroyed(step, f"the write-ahead log of {where}".strip())


def _destroyed(step: Step, target: str) -> None:
    step.effect("data", Deed.DESTROY.value, target=target, host=step.name, writes=True)


TOOLS: dict[str, Handler] = {"pg_dropcluster": _cluster, "pg_resetwal": _reset, "pg_resetxlog": _reset}

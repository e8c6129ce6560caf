"""Guard: containers with access to the machine, and data that is deleted with containers."""

from trotline.analysis.locations import Location, locate
from trotline.analysis.secret_files import classify_secret_file, is_secret_directory
from trotline.analysis.shell.invocation import UNKNOWN_TEXT
from trotline.domain.effects import Effect
from trotline.formats.lazy_regex import lazy_regex
from trotline.guards.guard import HIGH, LOW, MEDIUM, Filter, GuardContext, build_guard, rule

_DATABASE_DIRECTORY = lazy_regex(
    r"(?:^|\s)(?:/var/lib/[\w.-]*(?:sql|mongo|redis|elastic|kafka|rabbit|influx|etcd|cassandra|minio|neo4j)"
    r"|/bitnami|/data(?:/|\s|$)|/usr/share/elasticsearch/data|/var/opt/mssql)"
)
"""Directories in which database images store their data."""


def _mounts_machine(effect: Effect, context: GuardContext) -> bool:
    """Return whether credentials are mounted, or the root, the system or a home is mounted writable."""
    if classify_secret_file(effect.path) or is_secret_directory(effect.path):
        return True
    location = locate(effect.path, context.environment)
    return effect.writes and location in {Location.ROOT, Location.SYSTEM, Location.HOME, Location.DEVICE}


def _has_no_names(effect: Effect, _: GuardContext) -> bool:
    """Return whether all containers are removed, as in `rm -f $(docker ps -aq)`, also those of other projects."""
    return effect.source == "all" or UNKNOWN_TEXT in effect.target


def _is_database_directory(effect: Effect, _: GuardContext) -> bool:
    return _DATABASE_DIRECTORY.search(effect.target) is not None


GUARD = build_guard(
    "containers",
    "a container is let out, or takes data with it when it goes",
    {
        "let out": rule(
            "container: privileged|socket",
            HIGH,
            "with {target} the container has this machine in its hands",
            "give it only what it needs: a directory of the workspace, a port",
        ),
        "written": rule(
            "container: manifest",
            MEDIUM,
            "{target}: a container that is started from this file has this machine in its hands",
            "give it only what it needs: a directory of the workspace, a port",
        ),
        "machine inside": rule(
            Filter("container: mount", when=_mounts_machine),
            HIGH,
            "{path} of this machine would be open to the container",
        ),
        "host network": rule(
            "container: host network", MEDIUM, "the container would share the network of this machine"
        ),
        "volumes": rule("container: remove volume", HIGH, "{target}: volumes hold data, and nobody gets it back"),
        "services": rule("container: remove service", HIGH, "{target}: services of the swarm would go"),
        "nothing left": rule("container: scale to nothing", MEDIUM, "{target}: nothing of the service would run"),
        "machine": rule("container: remove machine", MEDIUM, "{target}: all that is in the machine would go"),
        "all removed": rule(
            Filter("container: remove", recursive=True, when=_has_no_names),
            HIGH,
            "{target}: containers that nobody has named would go, running or not, with what is in them",
            "name the containers; docker compose down takes those of one project",
        ),
        "data inside": rule(
            Filter("container: delete inside", recursive=True, when=_is_database_directory),
            HIGH,
            "{target} is where a database in a container keeps its data",
        ),
        "forced": rule(
            Filter("container: delete inside|down|prune|remove|remove image|stop", recursive=True),
            MEDIUM,
            "{verb} {target}: running or used things would go, with what is in them",
        ),
        "secret in image": rule(
            "container: secret in image",
            MEDIUM,
            "{target} would stand in the image for everybody who gets it",
            "give it with `--secret`, which is gone after the step that needs it",
        ),
        "prune": rule("container: prune", MEDIUM, "{target}: what is not used now would go"),
        "push": rule("container: push", MEDIUM, "{target} would be published"),
        "inside": rule("container: delete inside", MEDIUM, "{target} would be deleted in a running container"),
        "other": rule(
            "container: down|exec|prune cache|remove|remove image|remove network|stop|write inside",
            LOW,
            "{verb} {target} changes what runs in containers",
        ),
    },
)

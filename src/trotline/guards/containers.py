"""Containers: powers that let them out, and what is thrown away with them."""

from trotline.analysis.credentials import credential, directory_of_credentials
from trotline.analysis.places import Place, place_of
from trotline.analysis.step import GAP
from trotline.effects import Effect
from trotline.guards.guard import Guard, Row, Sight, Test
from trotline.pattern import pattern

_DATA = pattern(
    r"(?:^|\s)(?:/var/lib/[\w.-]*(?:sql|mongo|redis|elastic|kafka|rabbit|influx|etcd|cassandra|minio|neo4j)"
    r"|/bitnami|/data(?:/|\s|$)|/usr/share/elasticsearch/data|/var/opt/mssql)"
)
"""Where the images of databases keep what is in them."""


def _verb(*verbs: str) -> Test:
    def test(effect: Effect, _: Sight) -> bool:
        return effect.verb in verbs

    return test


def _machine_inside(effect: Effect, sight: Sight) -> bool:
    """The root, the system or a whole home is given to a container that may write there."""
    if effect.verb != "mount":
        return False
    place = place_of(effect.path, sight.world)
    secret = credential(effect.path) or directory_of_credentials(effect.path)
    return bool(secret) or (effect.writes and place in {Place.ROOT, Place.SYSTEM, Place.HOME, Place.DEVICE})


def _all_removed(effect: Effect, _: Sight) -> bool:
    """`rm -f $(docker ps -aq)`: whatever there is, also what belongs to other projects."""
    return effect.verb == "remove" and effect.recursive and (effect.source == "all" or GAP in effect.target)


def _data_inside(effect: Effect, _: Sight) -> bool:
    return effect.verb == "delete inside" and effect.recursive and _DATA.search(effect.target) is not None


def _forced(effect: Effect, _: Sight) -> bool:
    return effect.recursive and effect.verb in {"remove", "remove image", "prune", "down", "delete inside", "stop"}


GUARD = Guard(
    name="containers",
    danger="a container is let out, or takes data with it when it goes",
    kinds=frozenset({"container"}),
    rows=(
        Row(
            "let out",
            _verb("privileged", "socket"),
            "ask deny deny",
            "with {target} the container has this machine in its hands",
            "give it only what it needs: a directory of the workspace, a port",
        ),
        Row(
            "written",
            _verb("manifest"),
            "pass ask deny",
            "{target}: a container that is started from this file has this machine in its hands",
            "give it only what it needs: a directory of the workspace, a port",
        ),
        Row(
            "machine inside", _machine_inside, "ask deny deny", "{path} of this machine would be open to the container"
        ),
        Row(
            "host network",
            _verb("host network"),
            "pass ask deny",
            "the container would share the network of this machine",
        ),
        Row("volumes", _verb("remove volume"), "ask deny deny", "{target}: volumes hold data, and nobody gets it back"),
        Row("services", _verb("remove service"), "ask deny deny", "{target}: services of the swarm would go"),
        Row("nothing left", _verb("scale to nothing"), "pass ask deny", "{target}: nothing of the service would run"),
        Row("machine", _verb("remove machine"), "pass ask deny", "{target}: all that is in the machine would go"),
        Row(
            "all removed",
            _all_removed,
            "ask deny deny",
            "{target}: containers that nobody has named would go, running or not, with what is in them",
            "name the containers; docker compose down takes those of one project",
        ),
        Row("data inside", _data_inside, "ask deny deny", "{target} is where a database in a container keeps its data"),
        Row(
            "forced", _forced, "pass ask deny", "{verb} {target}: running or used things would go, with what is in them"
        ),
        Row(
            "secret in image",
            _verb("secret in image"),
            "pass ask deny",
            "{target} would stand in the image for everybody who gets it",
            "give it with `--secret`, which is gone after the step that needs it",
        ),
        Row("prune", _verb("prune"), "pass ask deny", "{target}: what is not used now would go"),
        Row("push", _verb("push"), "pass ask deny", "{target} would be published"),
        Row("inside", _verb("delete inside"), "pass ask deny", "{target} would be deleted in a running container"),
        Row(
            "other",
            _verb("remove", "remove image", "remove network", "prune cache", "down", "stop", "exec", "write inside"),
            "pass pass ask",
            "{verb} {target} changes what runs in containers",
        ),
    ),
    stops=(
        "docker run --privileged alpine sh",
        "docker run -v /:/host alpine rm -rf /host/home",
        "docker run --pid=host -it debian bash",
        "docker run -v /var/run/docker.sock:/var/run/docker.sock tools",
        "docker run --mount type=bind,source=/etc,target=/x alpine sh -c 'echo hi > /x/motd'",
        "podman run --cap-add SYS_ADMIN fedora bash",
        "docker volume rm ledger_data",
        "docker volume prune -f",
        "docker system prune --volumes -f",
        "docker compose -f stack.yml down -v",
        "docker-compose down --volumes",
        "docker compose rm -fsv web",
        "docker rm -fv ledger",
        "docker rm -f ledger",
        "docker rm -f $(docker ps -aq)",
        "podman rm -fa",
        "crictl rmp -fa",
        "docker service scale ledger=0",
        "docker exec ledger sh -c 'rm -rf /var/lib/mysql/*'",
        "docker stop $(docker ps -q)",
        "podman kill --all",
        "docker build --build-arg NPM_TOKEN=$NPM_TOKEN .",
        "docker rmi -f ledger:1",
        "docker exec ledger rm -rf /var/lib/ledger",
        "docker push registry.example/ledger:1",
        "sudo docker --context far stack rm ledger",
        "printf 'services:\\n  a:\\n    privileged: true\\n' > compose.yaml",
    ),
    passes=(
        "docker ps -a",
        "docker build -t ledger .",
        "docker build --build-arg NODE_ENV=test .",
        "docker run --rm -v $PWD:/app -w /app node:22 npm test",
        "docker run --rm alpine rm -rf /etc",
        "docker run -d -p 8080:80 nginx",
        "docker compose --profile web up --wait",
        "docker compose down",
        "docker service scale ledger=3",
        "docker compose logs -f web",
        "docker exec ledger ls /srv",
        "docker rm ledger",
        "docker stop ledger",
        "docker image prune",
        "docker logs --tail 50 ledger",
        "kind create cluster",
        "echo docker system prune --force",
        "printf 'services:\\n  a:\\n    image: web\\n' > compose.yaml",
    ),
)

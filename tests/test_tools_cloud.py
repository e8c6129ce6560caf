"""Services, stores, containers, clusters and infrastructure: what a line would do there."""

from typing import NamedTuple

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from trotline.analysis.action import of_command
from trotline.analysis.manifests import KubeObject, kube_objects
from trotline.analysis.scene import World
from trotline.analysis.tools.services import ROWS, phrases
from trotline.analysis.verbs import Deed, deed_of, http_call, verb_among
from trotline.effects import Certainty, Effect

WORLD = World("/home/ann/shop", ("/home/ann/shop",), "/home/ann", "ann")


class Seen(NamedTuple):
    """An effect, as short as a table needs it."""

    kind: str
    verb: str
    about: str = ""


def effects(line: str) -> tuple[Effect, ...]:
    return of_command(line, WORLD).effects


def seen(line: str) -> list[Seen]:
    return [Seen(each.kind, each.verb, each.path or each.target) for each in effects(line)]


@pytest.mark.parametrize(
    "word, deed",
    [
        ("delete", Deed.DESTROY),
        ("delete-log-group", Deed.DESTROY),
        ("batch-delete-item", Deed.DESTROY),
        ("delete_vhost", Deed.DESTROY),
        ("DeleteInstance", Deed.DESTROY),
        ("service-instance-delete", Deed.DESTROY),
        ("db:drop", Deed.DESTROY),
        ("stop-instances", Deed.STOP),
        ("put-bucket-policy", Deed.GRANT),
        ("create-function", Deed.CHANGE),
        ("describe-instances", Deed.READ),
        ("list_queues", Deed.READ),
        ("get-deleted-secrets", Deed.READ),
        ("my/delete", Deed.NONE),
        ("delete.txt", Deed.NONE),
        ("bucket", Deed.NONE),
    ],
)
def test_a_word_means_what_its_verb_means(word: str, deed: Deed) -> None:
    assert deed_of(word) is deed


@pytest.mark.parametrize(
    "words, deed",
    [
        ("backup delete nightly", Deed.DESTROY),
        ("backup-location delete far", Deed.DESTROY),
        ("logs list", Deed.READ),
        ("release create v1", Deed.CHANGE),
        ("restore describe one", Deed.READ),
        ("stream list", Deed.READ),
        ("backup", Deed.CHANGE),
        ("apps", Deed.NONE),
    ],
)
def test_a_thing_named_like_a_verb_gives_way_to_the_verb(words: str, deed: Deed) -> None:
    assert verb_among(words.split())[1] is deed


@pytest.mark.parametrize(
    "method, url, deed",
    [
        ("DELETE", "https://api.example/v1/things/7", Deed.DESTROY),
        ("delete", "search:9200/orders", Deed.DESTROY),
        ("POST", "http://search:9200/orders/_delete_by_query", Deed.DESTROY),
        ("POST", "https://ci.example/job/shop/doDelete", Deed.DESTROY),
        ("POST", ":7700/indexes/shop/documents/delete-batch", Deed.DESTROY),
        ("PUT", "http://search:9200/_cluster/settings", Deed.STOP),
        ("POST", "https://api.example/v1/things", Deed.CHANGE),
        ("POST", "https://api.example/deleted-items-report/search", Deed.CHANGE),
        ("GET", "https://api.example/delete", Deed.READ),
        ("", "https://api.example", Deed.READ),
    ],
)
def test_a_request_is_known_by_its_method_and_by_what_its_path_names(method: str, url: str, deed: Deed) -> None:
    assert http_call(method, url) is deed


@pytest.mark.parametrize(
    "line, found",
    [
        ("aws --region eu-west-1 rds delete-db-instance --db-instance-identifier x", ("cloud", "destroy")),
        ("aws s3 ls s3://shop", ("cloud", "read")),
        ("aws deploy list-applications", ("cloud", "read")),
        ("aws logs delete-log-stream --log-group-name x", ("cloud", "destroy")),
        ("gcloud --project p compute instances delete vm-1", ("cloud", "destroy")),
        ("gcloud logging logs delete old", ("cloud", "destroy")),
        ("az storage blob delete-batch --source old", ("cloud", "destroy")),
        ("aliyun ecs DeleteInstance --InstanceId i-1", ("cloud", "destroy")),
        ("heroku pg:reset", ("cloud", "destroy")),
        ("gh api -XDELETE repos/a/b", ("cloud", "destroy")),
        ("gh api repos/a/b", ("cloud", "read")),
        ("gh api graphql -f query='mutation { deleteRef(input: {}) { x } }'", ("cloud", "destroy")),
        ("restic -r /srv/copies forget --keep-last 1", ("backup", "destroy")),
        ("vault kv metadata delete kv/shop", ("secrets", "destroy")),
        ("kafka-topics.sh --bootstrap-server k:9092 --delete --topic t", ("data", "destroy")),
        ("redis-cli -h cache -a pw flushall", ("data", "destroy")),
        ("redis-cli EVAL \"redis.call('flushall')\" 0", ("data", "destroy")),
        ("redis-cli get cart", ("data", "read")),
        ("mongosh shop --eval 'db.orders.deleteMany({})'", ("data", "destroy")),
        ("mongosh shop --eval 'db.orders.find({})'", ("data", "read")),
        ("terraform -chdir=live apply -destroy", ("infra", "destroy")),
        ("terraform -chdir=live plan -destroy", ("infra", "read")),
        ("kubectl -n live delete deploy shop", ("kube", "delete")),
        ("kubectl scale deploy/shop --replicas=0", ("kube", "scale")),
        ("helm uninstall shop", ("kube", "delete")),
        ("docker compose -f a.yml down -v", ("container", "down")),
        ("docker volume rm shop_data", ("container", "remove volume")),
        ("dropdb shop", ("sql", "ddl-drop")),
        ("pg_dropcluster 16 main", ("data", "destroy")),
        ("pg_resetwal -f -D /srv/pg", ("data", "destroy")),
        ("cypher-shell -d shop 'MATCH (n:Order) DETACH DELETE n'", ("data", "destroy")),
        ("cypher-shell 'MATCH (n:Order) WHERE n.id = 7 DELETE n'", ("data", "change")),
        ("echo 'MATCH (n) RETURN n' | cypher-shell", ("data", "read")),
        ("mysqladmin -u root -ppw drop shop", ("sql", "ddl-drop")),
        ("prisma migrate reset", ("sql", "ddl-drop")),
        ("bq query 'DELETE FROM d.t WHERE true'", ("sql", "delete")),
    ],
)
def test_a_line_does_what_its_verb_says(line: str, found: tuple[str, str]) -> None:
    assert found in [(each.kind, each.verb) for each in effects(line)]


@pytest.mark.parametrize(
    "line",
    [
        "aws ec2 terminate-instances --instance-ids i-1 --dry-run",
        "aws s3 sync a s3://b --delete --dryrun",
        "kubectl delete ns live --dry-run=server",
        "helm uninstall shop --dry-run",
        "restic forget --keep-last 1 -n",
        "gcloud sql instances delete --help",
        "aws dynamodb delete-table help",
    ],
)
def test_a_dry_run_changes_nothing(line: str) -> None:
    assert not any(each.writes for each in effects(line))


@pytest.mark.parametrize(
    "line, verbs",
    [
        ("rake db:drop", ["ddl-drop"]),
        ("ruby bin/rails db:reset", ["ddl-drop"]),
        ("python3 manage.py flush --no-input", ["ddl-drop"]),
        ("php artisan migrate:fresh", ["ddl-drop"]),
        ("rails db:migrate", ["ddl-create"]),
        ("pnpm prisma migrate reset", ["ddl-drop"]),
        ("yarn run sequelize db:drop", ["ddl-drop"]),
        ("bun run prisma db push --force-reset", ["ddl-drop"]),
        ("python3 -m alembic downgrade base", ["ddl-drop"]),
        ("python3 -m django flush --no-input", ["ddl-drop"]),
        ("flask --app shop db downgrade", ["ddl-drop"]),
        ("mix do ecto.drop, ecto.create", ["ddl-drop", "ddl-create"]),
        ("mix do ecto.create + ecto.migrate", ["ddl-create", "ddl-create"]),
        ("dotnet ef database drop -f", ["ddl-drop"]),
        ("dotnet ef migrations add DropOrders", ["ddl-create"]),
        ("mvn -q flyway:clean", ["ddl-drop"]),
        ("mvn org.liquibase:liquibase-maven-plugin:4.1.0:dropAll", ["ddl-drop"]),
        ("./gradlew :shop:flywayClean", ["ddl-drop"]),
        ("cargo sqlx database drop -y", ["ddl-drop"]),
        ("wp --path=/srv/blog db reset --yes", ["ddl-drop"]),
        ("wp db query 'DROP TABLE wp_posts'", ["ddl-drop"]),
        ("drush sql:drop -y", ["ddl-drop"]),
        ("node ace migration:fresh", ["ddl-drop"]),
        ("npx payload migrate:fresh", ["ddl-drop"]),
        ("python3 manage.py shell -c 'Order.objects.all().delete()'", ["delete"]),
        ("php artisan tinker --execute='Order::truncate();'", ["delete"]),
        ("echo 'drop table orders' | prisma db execute --stdin", ["ddl-drop"]),
        ("python3 manage.py shell -c 'print(Order.objects.count())'", []),
        ("mvn clean install", []),
        ("./gradlew cleanTest", []),
        ("mix test", []),
        ("flask run", []),
        ("wp plugin list", []),
        ("yarn format src", []),
        ("rake clean", []),
        ("rails assets:clean", []),
        ("python3 manage.py test", []),
    ],
)
def test_a_task_of_a_project_counts_only_if_it_is_about_its_database(line: str, verbs: list[str]) -> None:
    assert [each.verb for each in effects(line) if each.kind == "sql"] == verbs


@pytest.mark.parametrize(
    "line, source",
    [
        ("aws rds modify-db-cluster --db-cluster-identifier x --no-deletion-protection", "unprotected"),
        ("aws rds modify-db-cluster --db-cluster-identifier x --deletion-protection", ""),
        ("aws rds modify-db-instance --db-instance-identifier x --backup-retention-period 0", "unprotected"),
        ("aws rds create-db-instance --db-instance-identifier x --no-deletion-protection", ""),
        ("aws s3api put-bucket-versioning --bucket b --versioning-configuration Status=Suspended", "unprotected"),
        ("aws s3api put-bucket-versioning --bucket b --versioning-configuration Status=Enabled", ""),
        (
            "aws elbv2 modify-load-balancer-attributes --attributes Key=deletion_protection.enabled,Value=false",
            "unprotected",
        ),
        ("aws elbv2 modify-load-balancer-attributes --attributes Key=deletion_protection.enabled,Value=true", ""),
        ("aws rds modify-db-instance --db-instance-identifier x --publicly-accessible", "open"),
        ("aws ec2 revoke-security-group-ingress --group-id g --cidr 0.0.0.0/0", ""),
        ("gcloud sql instances patch x --authorized-networks 10.0.0.0/8,0.0.0.0/0", "open"),
        ("gcloud sql instances patch x --authorized-networks 10.0.0.0/8", ""),
        ("az network nsg rule create -g g --nsg-name n -n x --source-address-prefixes Internet", "open"),
        ("aws ecs update-service --service s --desired-count 0", "stopped"),
        ("aws ecs update-service --service s --desired-count 10", ""),
        ("aws ecs create-service --service-name s --desired-count 0", ""),
        ("fly scale count 0", "stopped"),
        ("fly scale count 2", ""),
        ("gcloud compute instances add-metadata vm --metadata startup-script=x", "remote"),
        ("gcloud compute instances add-metadata vm --metadata colour=red", ""),
        ("az vm run-command invoke -g g -n vm --command-id RunShellScript --scripts uptime", "remote"),
    ],
)
def test_an_option_may_say_more_than_the_verb(line: str, source: str) -> None:
    assert max(each.source for each in effects(line) if each.kind == "cloud") == source


def test_commands_for_machines_of_a_cloud_are_read() -> None:
    for line in (
        """aws ssm send-command --instance-ids i --parameters 'commands=["rm -rf /srv"]'""",
        "az vm run-command invoke -g g -n vm --command-id RunShellScript --scripts 'rm -rf /srv'",
    ):
        assert Seen("delete", "rm", "/srv") in seen(line)


def test_a_jar_that_speaks_to_a_service_is_read_as_its_program() -> None:
    assert ("cloud", "destroy") in [
        (each.kind, each.verb) for each in effects("java -jar /opt/ci/jenkins-cli.jar -s http://ci/ delete-job shop")
    ]


def test_a_copy_that_only_looks_sends_nothing() -> None:
    assert not any(each.kind == "send" for each in effects("gsutil rsync -n here gs://far"))


def test_a_dry_run_that_is_switched_off_is_none() -> None:
    assert any(each.writes for each in effects("kubectl delete ns live --dry-run=none"))


@pytest.mark.parametrize(
    "line",
    [
        "aws secretsmanager get-secret-value --secret-id shop",
        "aws ssm get-parameter --name /shop --with-decryption",
        "gcloud secrets versions access latest --secret=shop",
        "az keyvault secret show --name shop",
        "vault kv get kv/shop",
        "op read op://a/b/c",
        "op item get shop --reveal",
        "kubectl get secret shop -o json",
        "kubectl config view --raw",
        "gh auth token",
        "heroku config",
        "doppler secrets",
    ],
)
def test_what_shows_a_secret_is_said_to_read_one(line: str) -> None:
    assert ("read", "secret") in [(each.kind, each.verb) for each in effects(line)]


@pytest.mark.parametrize(
    "line",
    [
        "aws ssm get-parameter --name /shop",
        "op item get shop",
        "kubectl get secrets",
        "kubectl describe secret shop",
        "vault kv list kv/",
        "doppler secrets set KEY value",
        "gh secret list",
    ],
)
def test_what_names_a_secret_does_not_show_it(line: str) -> None:
    assert ("read", "secret") not in [(each.kind, each.verb) for each in effects(line)]


@pytest.mark.parametrize(
    "line",
    [
        "aws secretsmanager put-secret-value --secret-id shop --secret-string hunter2",
        "vault kv put kv/shop password=hunter2",
        "heroku config:set PASSWORD=hunter2",
        "doppler secrets set PASSWORD hunter2",
        "psql 'host=db user=a password=hunter2 dbname=shop' -c 'drop table t'",
        "psql postgres://a:hunter2@db/shop -c 'drop table t'",
        "mysql -phunter2 -e 'drop table t'",
        "redis-cli auth hunter2",
        "mongosh mongodb://a:hunter2@db/shop --eval 'db.dropDatabase()'",
    ],
)
def test_no_effect_holds_a_password_of_the_line(line: str) -> None:
    assert effects(line)
    assert "hunter2" not in repr(effects(line))


@pytest.mark.parametrize("runner", ["doppler run --", "op run --", "aws-vault exec live --", "heroku run"])
def test_a_program_that_runs_another_is_seen_through(runner: str) -> None:
    assert Seen("delete", "rm", "/home/ann/shop/x") in seen(f"{runner} rm x")


def test_files_that_go_to_a_store_are_read_and_sent() -> None:
    found = seen("aws s3 cp --recursive ~/notes s3://far/")
    assert Seen("read", "upload", "/home/ann/notes") in found
    assert any(
        each.kind == "send" and each.source == "/home/ann/notes" for each in effects("gsutil cp ~/notes gs://far")
    )
    assert Seen("write", "download", "/home/ann/shop/here") in seen("rclone copy far:notes here")


# SQL clients


def test_sql_comes_by_option_word_file_and_pipe() -> None:
    drop = ("sql", "ddl-drop", "orders")
    for line in (
        "psql -c 'drop table orders'",
        "psql -d shop --command='drop table orders'",
        "mysql shop -e 'drop table orders'",
        "sqlite3 shop.db 'drop table orders'",
        "echo 'drop table orders' | psql shop",
        "psql <<< 'drop table orders'",
        "mysql <<'EOF'\nselect 1;\ndrop table orders;\nEOF",
        "echo 'drop table orders' > a.sql && psql -f a.sql",
        "docker exec db psql -c 'drop table orders'",
    ):
        named = [one._replace(about=one.about.rpartition(".")[2]) for one in seen(line)]  # shop.orders is orders
        assert drop in named, line


def test_statements_in_a_file_that_nobody_saw_are_opaque() -> None:
    found = [each for each in effects("psql -f given.sql") if each.kind == "sql"]
    assert [each.certainty for each in found] == [Certainty.OPAQUE]


def test_a_client_that_starts_a_shell_is_read_as_one() -> None:
    assert Seen("delete", "rm", "/home/ann/shop/x") in seen("psql -c '\\! rm x'")
    assert Seen("delete", "rm", "/home/ann/shop/x") in seen("sqlite3 a.db '.shell rm x'")


# Containers


def test_a_mounted_directory_is_this_machines_inside_the_container() -> None:
    assert Seen("delete", "rm", "/") in seen("docker run -v /:/host alpine rm -rf /host")
    assert Seen("delete", "rm", "/home/ann/shop/out") in seen("docker run -v $PWD:/w -w /w node:22 rm -rf out")
    assert Seen("delete", "rm", "/etc/motd") in seen(
        "podman run --mount type=bind,source=/etc,target=/x alpine sh -c 'rm /x/motd'"
    )
    assert Seen("delete", "rm", "/srv/data") in seen("docker run -v /srv/data:/data alpine rm -rf /")


def test_what_is_deleted_in_a_container_that_goes_is_no_loss() -> None:
    assert not any(each.kind == "delete" for each in effects("docker run --rm alpine rm -rf /etc"))
    assert not any(each.kind == "delete" for each in effects("docker run -v /etc:/x:ro alpine rm -rf /x"))


def test_what_is_deleted_in_a_running_container_is_told_as_its_own() -> None:
    assert Seen("container", "delete inside", "/srv/data") in seen("docker exec db rm -rf /srv/data")
    assert Seen("kube", "delete inside", "/srv/data") in seen("kubectl exec db-0 -- rm -rf /srv/data")


def test_the_steps_inside_say_the_same_as_the_line() -> None:
    analysis = of_command("docker run -v /srv:/x alpine rm /x/a /etc/b", WORLD)
    inner = [effect.path for step in analysis.steps for each in step.inner for effect in each.effects]
    assert inner == ["/srv/a"]


@pytest.mark.parametrize(
    "options, verb",
    [
        ("--privileged", "privileged"),
        ("--pid=host", "privileged"),
        ("--pid host", "privileged"),
        ("--cap-add=SYS_ADMIN", "privileged"),
        ("--cap-add cap_sys_ptrace", "privileged"),
        ("--device /dev/sda", "privileged"),
        ("--security-opt seccomp=unconfined", "privileged"),
        ("-v /var/run/docker.sock:/s", "socket"),
        ("--network host", "host network"),
        ("--privileged=false", ""),
        ("--cap-add CHOWN", ""),
        ("--pid=container:other", ""),
    ],
)
def test_powers_over_the_machine_are_seen(options: str, verb: str) -> None:
    found = [each.verb for each in effects(f"docker run {options} alpine true") if each.kind == "container"]
    assert (verb in found) if verb else not {"privileged", "socket", "host network"} & set(found)


# Manifests


def test_a_manifest_tells_kinds_names_and_powers() -> None:
    text = """
apiVersion: v1
kind: Pod
metadata:
  name: shop
spec:
  hostPID: true
  containers:
    - name: a
      securityContext:
        privileged: true
  volumes:
    - name: root
      hostPath:
        path: /
---
kind: Service
metadata: {name: front}
"""
    pod, service = kube_objects(text)
    assert pod == KubeObject("Pod", "shop", ("hostPID", "privileged", "hostPath /"))
    assert (service.kind, service.powers) == ("Service", ())


@given(st.text(max_size=80))
def test_any_text_is_a_manifest_of_something_or_nothing(text: str) -> None:
    assert all(each.kind for each in kube_objects(text))


# Servers of the web


@pytest.mark.parametrize(
    "line, stops",
    [
        ("nginx -s quit", True),
        ("nginx -c a.conf -s stop", True),
        ("nginx -s reload", False),
        ("nginx -t", False),
        ("apachectl graceful-stop", True),
        ("haproxy -f a.cfg -sf 12", True),
        ("haproxy -c -f a.cfg", False),
    ],
)
def test_a_server_that_is_told_to_stop_is_a_service_that_stops(line: str, stops: bool) -> None:
    assert (("system", "stop service") in [(each.kind, each.verb) for each in effects(line)]) is stops


# Laws


@settings(deadline=None)  # the first example imports the families
@given(st.lists(st.sampled_from("a.b/c delete list --all -x --name=v backup get set s3 '' $(x) =".split()), max_size=6))
def test_no_words_make_a_reader_fail(words: list[str]) -> None:
    for program in ("aws", "vault", "docker", "kubectl", "psql", "terraform", "gh", "rclone", "redis-cli", "rails"):
        effects(" ".join([program, *words]))


@pytest.mark.parametrize("name", ROWS)
def test_every_phrase_of_a_row_is_words_and_flags(name: str) -> None:
    row = ROWS[name]
    for text in (row.destroys, row.stops, row.grants, row.changes, row.reads, row.secrets, row.runs):
        for phrase in phrases(text):
            assert phrase.words or phrase.flags
            assert len(phrase.words) <= max(row.depth, row.at + 1), phrase

"""Effects of services, databases, containers, clusters and infrastructure."""

from typing import NamedTuple

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from kit import read_rows
from trotline.analysis.analyze import analyze_command
from trotline.analysis.kube.kube_manifests import KubeObject, parse_objects
from trotline.analysis.programs.phrases import parse_phrases
from trotline.analysis.programs.service_table import SERVICES
from trotline.analysis.service_verbs import classify_request, classify_verb, find_verb
from trotline.analysis.shell.shell_state import Environment
from trotline.domain.effects import Certainty, Effect

ENVIRONMENT = Environment("/home/ann/shop", ("/home/ann/shop",), "/home/ann", "ann")


class SeenEffect(NamedTuple):
    """The fields of an effect that the tables of cases need."""

    kind: str
    verb: str
    about: str = ""


def effects(line: str) -> tuple[Effect, ...]:
    return analyze_command(line, ENVIRONMENT).effects


def seen(line: str) -> list[SeenEffect]:
    return [SeenEffect(each.kind, each.verb, each.path or each.target) for each in effects(line)]


@pytest.mark.parametrize("word, kind", read_rows("programs_cloud", "verbs"))
def test_a_verb_is_classified_in_compounds_too(word: str, kind: str) -> None:
    assert classify_verb(word) == kind


@pytest.mark.parametrize("words, kind", read_rows("programs_cloud", "nouns"))
def test_a_noun_that_looks_like_a_verb_yields_to_the_verb(words: str, kind: str) -> None:
    assert find_verb(words.split())[1] == kind


@pytest.mark.parametrize("method, url, kind", read_rows("programs_cloud", "requests"))
def test_a_request_is_classified_by_method_and_path(method: str, url: str, kind: str) -> None:
    assert classify_request(method, url) == kind


@pytest.mark.parametrize(
    "line, found", read_rows("programs_cloud", "a_service_command_has_the_effect_of_its_verb", as_tuples=True)
)
def test_a_service_command_has_the_effect_of_its_verb(line: str, found: tuple[str, str]) -> None:
    assert found in [(each.kind, each.verb) for each in effects(line)]


@pytest.mark.parametrize("line", read_rows("programs_cloud", "a_dry_run_changes_nothing"))
def test_a_dry_run_changes_nothing(line: str) -> None:
    assert not any(each.writes for each in effects(line))


@pytest.mark.parametrize(
    "line, verbs", read_rows("programs_cloud", "only_database_tasks_of_a_project_have_sql_effects")
)
def test_only_database_tasks_of_a_project_have_sql_effects(line: str, verbs: list[str]) -> None:
    assert [each.verb for each in effects(line) if each.kind == "sql"] == verbs


@pytest.mark.parametrize("line, source", read_rows("programs_cloud", "an_option_can_be_more_dangerous_than_the_verb"))
def test_an_option_can_be_more_dangerous_than_the_verb(line: str, source: str) -> None:
    assert max(each.source for each in effects(line) if each.kind == "cloud") == source


def test_commands_for_cloud_machines_are_analyzed() -> None:
    for line in (
        """aws ssm send-command --instance-ids i --parameters 'commands=["rm -rf /srv"]'""",
        "az vm run-command invoke -g g -n vm --command-id RunShellScript --scripts 'rm -rf /srv'",
    ):
        assert SeenEffect("delete", "rm", "/srv") in seen(line)


def test_a_jar_of_a_service_client_is_analyzed_as_the_client() -> None:
    assert ("cloud", "destroy") in [
        (each.kind, each.verb) for each in effects("java -jar /opt/ci/jenkins-cli.jar -s http://ci/ delete-job shop")
    ]


def test_a_dry_run_of_a_copy_sends_nothing() -> None:
    assert not any(each.kind == "send" for each in effects("gsutil rsync -n here gs://far"))


def test_dry_run_false_is_not_a_dry_run() -> None:
    assert any(each.writes for each in effects("kubectl delete ns live --dry-run=none"))


@pytest.mark.parametrize("line", read_rows("programs_cloud", "showing_a_secret_is_a_secret_read"))
def test_showing_a_secret_is_a_secret_read(line: str) -> None:
    assert ("read", "secret") in [(each.kind, each.verb) for each in effects(line)]


@pytest.mark.parametrize("line", read_rows("programs_cloud", "listing_secrets_is_not_a_secret_read"))
def test_listing_secrets_is_not_a_secret_read(line: str) -> None:
    assert ("read", "secret") not in [(each.kind, each.verb) for each in effects(line)]


@pytest.mark.parametrize("line", read_rows("programs_cloud", "no_effect_contains_a_password_of_the_line"))
def test_no_effect_contains_a_password_of_the_line(line: str) -> None:
    assert effects(line)
    assert "hunter2" not in repr(effects(line))


@pytest.mark.parametrize("runner", ["doppler run --", "op run --", "aws-vault exec live --", "heroku run"])
def test_a_program_inside_a_secret_runner_is_analyzed(runner: str) -> None:
    assert SeenEffect("delete", "rm", "/home/ann/shop/x") in seen(f"{runner} rm x")


def test_uploaded_files_are_read_and_sent() -> None:
    found = seen("aws s3 cp --recursive ~/notes s3://far/")
    assert SeenEffect("read", "upload", "/home/ann/notes") in found
    assert any(
        each.kind == "send" and each.source == "/home/ann/notes" for each in effects("gsutil cp ~/notes gs://far")
    )
    assert SeenEffect("write", "download", "/home/ann/shop/here") in seen("rclone copy far:notes here")


def test_sql_comes_from_options_words_files_and_pipes() -> None:
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


def test_statements_in_an_unknown_file_are_opaque() -> None:
    found = [each for each in effects("psql -f given.sql") if each.kind == "sql"]
    assert [each.certainty for each in found] == [Certainty.OPAQUE]


def test_a_shell_command_in_a_sql_client_is_analyzed() -> None:
    assert SeenEffect("delete", "rm", "/home/ann/shop/x") in seen("psql -c '\\! rm x'")
    assert SeenEffect("delete", "rm", "/home/ann/shop/x") in seen("sqlite3 a.db '.shell rm x'")


def test_paths_in_a_mounted_directory_are_paths_of_this_machine() -> None:
    assert SeenEffect("delete", "rm", "/") in seen("docker run -v /:/host alpine rm -rf /host")
    assert SeenEffect("delete", "rm", "/home/ann/shop/out") in seen("docker run -v $PWD:/w -w /w node:22 rm -rf out")
    assert SeenEffect("delete", "rm", "/etc/motd") in seen(
        "podman run --mount type=bind,source=/etc,target=/x alpine sh -c 'rm /x/motd'"
    )
    assert SeenEffect("delete", "rm", "/srv/data") in seen("docker run -v /srv/data:/data alpine rm -rf /")


def test_a_deletion_in_a_temporary_container_has_no_effect() -> None:
    assert not any(each.kind == "delete" for each in effects("docker run --rm alpine rm -rf /etc"))
    assert not any(each.kind == "delete" for each in effects("docker run -v /etc:/x:ro alpine rm -rf /x"))


def test_a_deletion_in_a_running_container_is_a_container_effect() -> None:
    assert SeenEffect("container", "delete inside", "/srv/data") in seen("docker exec db rm -rf /srv/data")
    assert SeenEffect("kube", "delete inside", "/srv/data") in seen("kubectl exec db-0 -- rm -rf /srv/data")


def test_calls_inside_a_container_have_the_same_effects_as_the_line() -> None:
    analysis = analyze_command("docker run -v /srv:/x alpine rm /x/a /etc/b", ENVIRONMENT)
    inner = [effect.path for step in analysis.invocations for each in step.children for effect in each.effects]
    assert inner == ["/srv/a"]


@pytest.mark.parametrize("options, verb", read_rows("programs_cloud", "privileges_of_a_container_are_effects"))
def test_privileges_of_a_container_are_effects(options: str, verb: str) -> None:
    found = [each.verb for each in effects(f"docker run {options} alpine true") if each.kind == "container"]
    assert (verb in found) if verb else not {"privileged", "socket", "host network"} & set(found)


def test_a_manifest_has_kinds_names_and_powers() -> None:
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
    pod, service = parse_objects(text)
    assert pod == KubeObject("Pod", "shop", ("hostPID", "privileged", "hostPath /"))
    assert (service.kind, service.privileges) == ("Service", ())


@given(st.text(max_size=80))
def test_parsing_any_text_as_a_manifest_does_not_fail(text: str) -> None:
    assert all(each.kind for each in parse_objects(text))


@pytest.mark.parametrize("line, stops", read_rows("programs_cloud", "stopping_a_web_server_stops_a_service"))
def test_stopping_a_web_server_stops_a_service(line: str, stops: bool) -> None:
    assert (("system", "stop service") in [(each.kind, each.verb) for each in effects(line)]) is stops


@settings(deadline=None)  # the first example imports the families
@given(st.lists(st.sampled_from("a.b/c delete list --all -x --name=v backup get set s3 '' $(x) =".split()), max_size=6))
def test_no_words_make_a_handler_fail(words: list[str]) -> None:
    for program in ("aws", "vault", "docker", "kubectl", "psql", "terraform", "gh", "rclone", "redis-cli", "rails"):
        effects(" ".join([program, *words]))


@pytest.mark.parametrize("name", SERVICES)
def test_every_phrase_of_a_service_fits_its_depth(name: str) -> None:
    row = SERVICES[name]
    for text in (row.destroys, row.stops, row.grants, row.changes, row.reads, row.secrets, row.runs):
        for phrase in parse_phrases(text):
            assert phrase.words or phrase.options
            assert len(phrase.words) <= max(row.depth, row.verb_index + 1), phrase

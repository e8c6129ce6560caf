"""Calls of MCP servers: what the words of a tool and the shapes of its arguments tell."""

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from trotline.analysis.action import of_server
from trotline.analysis.addresses import is_metadata_address
from trotline.analysis.scene import World
from trotline.guards.guard import PRESETS
from trotline.guards.judgement import judged
from trotline.guards.policy import Policy
from trotline.verdicts import Permission

WORLD = World("/home/dev/app", ("/home/dev/app",), "/home/dev", "dev")


def said(tool: str, given: dict[str, Any], preset: str = "standard", server: str = "x") -> str:
    return judged(of_server(server, tool, given, WORLD).effects, WORLD, Policy(preset)).permission.word


def done(tool: str, given: dict[str, Any]) -> list[tuple[str, ...]]:
    effects = of_server("x", tool, given, WORLD).effects[1:]
    return [tuple(part for part in (one.kind, one.verb, one.path or one.host, one.target) if part) for one in effects]


@pytest.mark.parametrize(
    "address",
    [
        "http://169.254.169.254/latest/meta-data/",
        "http://2852039166/",
        "http://0xa9fea9fe/x",
        "http://0251.0376.0251.0376/",
        "http://169.254.43518/",
        "http://user@169.254.169.254:80/",
        "http://[::ffff:169.254.169.254]/",
        "http://[::ffff:a9fe:a9fe]/",
        "http://[64:ff9b::a9fe:a9fe]/",
        "http://[fd00:0ec2:0::254]/latest",
        "http://169.254.170.2/v2/credentials",
        "http://100.100.100.200/latest",
        "http://metadata.google.internal./computeMetadata/v1/",
    ],
)
def test_the_address_of_the_machines_own_credentials_is_known_in_every_spelling(address: str) -> None:
    for tool, name in (("fetch", "url"), ("http_request", "endpoint"), ("browse", "page")):
        assert said(tool, {name: address}) == "ask"
        assert said(tool, {name: address}, "strict") == "deny"


@pytest.mark.parametrize("host", ["169.254.169.254", "2852039166", "fd00:ec2::254", "metadata.google.internal"])
def test_it_is_known_without_a_scheme_as_well(host: str) -> None:
    assert said("connect", {"hostname": host}) == "ask"
    assert said("probe", {"targets": [{"ip": host}]}) == "ask"


@pytest.mark.parametrize("text", ["metadata.json", "metadata", "1.2.3.4", "169.254.1.1", "::1", "", "a" * 400, "a:b:c"])
def test_what_only_looks_like_it_is_not(text: str) -> None:
    assert not is_metadata_address(text)
    assert said("read_file", {"path": text}) == "silent"


@given(st.text(max_size=60))
def test_no_text_breaks_the_question_what_an_address_is(text: str) -> None:
    verdicts = [said("fetch", {"url": text}, preset) for preset in PRESETS]
    assert sorted(verdicts, key=[one.word for one in Permission].index) == verdicts


@pytest.mark.parametrize(
    "url,strict",
    [
        ("http://orders.internal:8080/actuator/heapdump", "ask"),
        ("https://10.0.0.1:6443/api/v1/namespaces/shop/secrets/mail", "ask"),
        ("https://10.0.0.1:6443/api/v1/secrets", "ask"),
        ("http://localhost:8080/actuator/env", "silent"),
        ("http://orders.internal:8080/actuator/health", "silent"),
        ("https://10.0.0.1:6443/api/v1/namespaces/shop/pods", "silent"),
        ("https://example.org/docs/secrets", "silent"),
    ],
)
def test_addresses_that_show_secrets_are_a_question_in_strict(url: str, strict: str) -> None:
    assert said("http_get", {"url": url}, "strict") == strict
    assert said("http_get", {"url": url}) == "silent"


@pytest.mark.parametrize(
    "given",
    [
        {"image": "alpine", "privileged": True},
        {"image": "alpine", "host_config": {"Privileged": True}},
        {"Image": "alpine", "HostConfig": {"PidMode": "host"}},
        {"image": "alpine", "cap_add": ["SYS_ADMIN"]},
        {"image": "alpine", "volumes": ["/var/run/docker.sock:/var/run/docker.sock"]},
        {"image": "alpine", "volumes": {"/": {"bind": "/host", "mode": "rw"}}},
        {"image": "alpine", "HostConfig": {"Mounts": [{"Type": "bind", "Source": "/etc", "Target": "/x"}]}},
        {"image": "alpine", "mounts": [{"source": "/run/podman/podman.sock", "target": "/s"}]},
        {"image": "alpine", "security_opt": ["seccomp=unconfined"]},
    ],
)
def test_powers_of_a_container_are_known_in_a_call_as_on_a_line(given: dict[str, Any]) -> None:
    assert said("create_container", given) == "ask"
    assert said("run", given, "strict", server="docker") == "deny"


@pytest.mark.parametrize(
    "given",
    [
        {"image": "alpine", "privileged": False, "network": "bridge"},
        {"image": "alpine", "volumes": ["./data:/data", "cache:/cache"]},
        {"image": "alpine", "HostConfig": {"Binds": ["/home/dev/app:/app"], "CapAdd": ["NET_BIND_SERVICE"]}},
        {"image": "alpine", "volumes": {"/home/dev/app": {"bind": "/app"}}},
    ],
)
def test_a_container_without_such_powers_passes(given: dict[str, Any]) -> None:
    assert said("create_container", given) == "silent"


def test_the_socket_of_an_engine_is_the_machine() -> None:
    assert done("open", {"path": "/run/docker.sock"}) == [("connect", "socket", "/run/docker.sock")]
    assert said("open", {"path": "/run/docker.sock"}) == "ask"


@pytest.mark.parametrize("mode", ["u+s", "+s", "4755", 4755, "06755"])
def test_a_mode_in_an_argument_is_a_mode(mode: str | int) -> None:
    assert said("set_permissions", {"path": "tool", "mode": mode}) == "deny"
    assert said("chmod", {"file": "tool", "permissions": mode}) == "deny"


def test_a_mode_for_everybody_below_a_directory_is_a_question() -> None:
    assert said("chmod", {"path": "src", "mode": "0777", "recursive": True}) == "ask"
    assert said("chmod", {"path": "src/run.sh", "mode": "755"}) == "silent"


POD = {"apiVersion": "v1", "kind": "Pod", "spec": {"containers": [{"securityContext": {"privileged": True}}]}}


def test_objects_of_a_cluster_are_read_as_text_and_as_objects() -> None:
    text = "kind: Pod\nspec:\n  hostNetwork: true\n"
    assert said("apply", {"manifest": text}) == "ask"
    assert said("apply_manifest", POD) == "ask"
    assert said("resources_create", {"resource": POD}) == "ask"
    assert said("apply", {"manifest": "kind: Pod\nspec:\n  hostNetwork: false\n"}) == "silent"
    binding = {"kind": "ClusterRoleBinding", "roleRef": {"kind": "ClusterRole", "name": "cluster-admin"}}
    assert said("apply", {"object": binding}) == "ask"


@pytest.mark.parametrize(
    "given",
    [
        {"path": ".cursor/hooks.json", "content": "{}"},
        {"command": "create", "path": ".cursor/hooks.json", "file_text": "{}"},
        {"file": ".cursor/hooks.json", "edits": [{"oldText": "a", "newText": "b"}]},
        {"files": [{"path": "a.txt", "content": "a"}, {"path": ".cursor/hooks.json", "content": "{}"}]},
    ],
)
def test_a_tool_that_is_given_a_path_and_a_text_writes_whatever_it_is_called(given: dict[str, Any]) -> None:
    assert said("text_editor", given) == "deny"


def test_of_several_files_each_has_its_own_text() -> None:
    files = [{"path": "requirements.txt", "content": "httpx\n"}, {"path": "Gemfile", "content": "gem 'puma'\n"}]
    effects = of_server("files", "write_files", {"files": files}, WORLD).effects
    assert [one.package for one in effects if one.kind == "install"] == ["pkg:pypi/httpx", "pkg:gem/puma"]


def test_the_method_of_a_request_is_its_own_or_its_tools() -> None:
    url = "https://api.example.org/v1/items/7"
    assert done("http", {"url": url, "method": "DELETE"}) == [("send", "delete", "api.example.org", url)]
    assert done("delete_item", {"url": url}) == [("send", "delete", "api.example.org", url)]
    assert done("get_post", {"url": url}) == [("fetch", "get", "api.example.org", url)]
    assert done("fetch", {"url": url}) == [("fetch", "get", "api.example.org", url)]


@pytest.mark.parametrize("name", ["deploy_key", "work", "github"])
def test_what_lies_among_keys_is_one_unless_its_name_says_otherwise(name: str) -> None:
    assert said("read_file", {"path": f"/home/dev/.ssh/{name}"}) == "deny"
    assert said("read_file", {"path": f"/home/dev/.ssh/{name}.pub"}) == "silent"


@pytest.mark.parametrize(
    "name", ["config", "known_hosts", "known_hosts.old", "config.d/work", "notes.txt", "README.md"]
)
def test_other_files_beside_keys_may_be_read(name: str) -> None:
    assert said("read_file", {"path": f"/home/dev/.ssh/{name}"}) == "silent"


@pytest.mark.parametrize("path", ["/home/dev/.ssh/known_hosts", "/home/dev/.aws/config"])
def test_files_that_say_whom_to_believe_are_a_question_in_strict(path: str) -> None:
    assert said("write_file", {"path": path, "content": "x"}) == "silent"
    assert said("write_file", {"path": path, "content": "x"}, "strict") == "ask"


@pytest.mark.parametrize(
    "tool,text",
    [
        ("search_docs", "delete"),
        ("search_docs", "delete user"),
        ("web_search", "delete from array javascript"),
        ("search_code", "DROP TABLE orders"),
        ("ask", "drop shadow css"),
        ("query", "truncate text css"),
        ("query", "update users"),
        ("query", "grant access"),
        ("query", "with love"),
    ],
)
def test_a_question_that_begins_with_a_word_of_sql_is_no_statement(tool: str, text: str) -> None:
    assert said(tool, {"query": text}, "strict") == "silent"


@pytest.mark.parametrize(
    "given",
    [
        {"query": "DROP TABLE orders"},
        {"query": "-- tidy up\nDELETE FROM orders"},
        {"query": "TRUNCATE orders"},
        {"sql": "BEGIN; DROP TABLE orders"},
        {"statement": "delete from orders; commit"},
        {"query": "WITH gone AS (DELETE FROM orders RETURNING id) SELECT * FROM gone"},
    ],
)
def test_a_statement_is_one_wherever_it_begins(given: dict[str, Any]) -> None:
    assert said("query", given) == "ask"
    assert said("search", given, "strict", server="postgres") == "deny"


@pytest.mark.parametrize(
    "tool,given",
    [
        ("delete_repository", {"owner": "acme", "repo": "ledger"}),
        ("drop_collection", {"collection": "orders"}),
        ("delete-many", {"collection": "orders", "filter": {}}),
        ("aws_terminate_instances", {"ids": ["i-77"]}),
        ("kubectl_delete", {"namespace": "shop"}),
        ("remove_database", {"name": "ledger"}),
        ("resetBranch", {"branch": "main"}),
    ],
)
def test_what_a_tool_destroys_elsewhere_stands_in_its_name(tool: str, given: dict[str, Any]) -> None:
    assert (said(tool, given), said(tool, given, "strict")) == ("ask", "deny")


@pytest.mark.parametrize("tool", ["cancel_subscription", "revoke_token", "delete_comment", "share_document"])
def test_smaller_things_at_a_service_are_a_question_in_strict(tool: str) -> None:
    assert (said(tool, {"id": "7"}), said(tool, {"id": "7"}, "strict")) == ("silent", "ask")


@pytest.mark.parametrize(
    "tool",
    "get_deleted_items search_deleted_files clear_console remove_label delete_entities kill_process close_issue"
    " uninstall_package reset create_repository merge_pull_request".split(),
)
def test_a_tool_that_reads_or_tidies_up_its_own_passes(tool: str) -> None:
    assert said(tool, {"id": "7"}, "strict") == "silent"


@pytest.mark.parametrize(
    "tool,given",
    [
        ("exec", {"command": "rm", "args": ["-rf", "/home/dev"]}),
        ("exec", {"command": "rm", "args": "-rf /home/dev"}),
        ("exec", {"argv": ["rm", "-rf", "/home/dev"]}),
        ("shell", {"args": ["rm", "-rf", "/home/dev"]}),
        ("bash", {"args": ["-c", "rm -rf ~"]}),
        ("shell", {"command": ["bash", "-lc", "rm -rf ~"]}),
        ("shell", {"commands": ["ls", "rm -rf ~"]}),
        ("terminal", {"input": "rm -rf /"}),
        ("runCommand", {"cmdline": "rm -rf /"}),
        ("batch", {"steps": [{"command": "rm", "args": ["-rf", "/home/dev"]}]}),
        ("python_exec", {"code": "import shutil; shutil.rmtree('/home/dev')"}),
        ("execute_code", {"language": "ruby", "code": "FileUtils.rm_rf('/home/dev')"}),
        ("execute_code", {"code": "import os\nos.system('rm -rf ~')"}),
        ("run_javascript", {"code": "require('child_process').execSync('rm -rf ~')"}),
        ("evaluate", {"expression": "require('fs').rmSync('/home/dev', {recursive: true})"}),
        ("execute_cell", {"code": "import os\n!rm -rf ~\n%time"}),
    ],
)
def test_what_shall_run_is_read_in_every_shape_of_arguments(tool: str, given: dict[str, Any]) -> None:
    assert said(tool, given) == "deny"


@pytest.mark.parametrize(
    "tool,given",
    [
        ("run_sql_query", {"input": "drop table orders"}),
        ("mysql_execute", {"command": "DROP TABLE orders"}),
        ("redis_command", {"command": "FLUSHALL"}),
        ("redis_command", {"command": "redis-cli flushdb"}),
        ("mongodb_shell", {"command": "db.orders.drop()"}),
        ("kubectl", {"args": ["delete", "ns", "shop"]}),
        ("git", {"command": "push --force origin main"}),
    ],
)
def test_the_words_of_a_known_program_may_come_without_its_name(tool: str, given: dict[str, Any]) -> None:
    assert said(tool, given) == "ask"


@pytest.mark.parametrize(
    "tool,given",
    [
        ("format_code", {"code": "rm -rf /", "language": "bash"}),
        ("review_code", {"code": "import shutil; shutil.rmtree('/home/dev')"}),
        ("run_tests", {"args": ["-k", "delete"]}),
        ("npm_run", {"script": "build", "args": ["--watch"]}),
        ("exec", {"command": "cat", "input": "it's"}),
        ("puppeteer_evaluate", {"script": "document.querySelector('a').click()"}),
        ("execute_query", {"query": "{ users { id } }"}),
    ],
)
def test_a_text_that_nobody_runs_is_only_a_text(tool: str, given: dict[str, Any]) -> None:
    assert said(tool, given, "strict") == "silent"


@pytest.mark.parametrize("piece", ["-", "\n", "; ", ";with a(", ";grant x ", ";delete from ", "("])
def test_a_long_question_is_answered_as_soon_as_a_short_one(piece: str) -> None:
    assert said("query", {"query": piece * 20000}, "strict") == "silent"


STOPPED = [
    ("fs:delete_file", {"path": "/etc/passwd"}),
    ("fs:write_file", {"path": "~/.ssh/authorized_keys", "content": "x"}),
    ("fs:write_file", {"path": ".cursor/hooks.json", "content": "{}"}),
    ("fs:move_file", {"source": "/etc", "destination": "/tmp/x"}),
    ("fs:remove_directory", {"path": "/home/dev", "recursive": True}),
    ("fs:read_file", {"path": "/home/dev/.ssh/id_rsa"}),
    ("shell:run", {"command": "rm -rf /"}),
    ("shell:exec", {"cmd": ["rm", "-rf", "/"]}),
    ("terminal:execute_command", {"command": "bash", "args": ["-c", "rm -rf /"]}),
    ("desktop:start_process", {"command": "rm -rf ~"}),
    ("db:query", {"sql": "drop table users"}),
    ("pg:execute_sql", {"query": "delete from users"}),
    ("supabase:execute_sql", {"query": "truncate users"}),
    ("mongo:delete-many", {"collection": "users", "filter": {}}),
    ("mongo:drop-database", {"database": "prod"}),
    ("github:delete_repository", {"owner": "o", "repo": "r"}),
    ("github:delete_branch", {"owner": "o", "repo": "r", "branch": "main"}),
    ("aws:call", {"cli_command": "aws s3 rb s3://b --force"}),
    ("aws:terminate_instances", {"ids": ["i-1"]}),
    ("k8s:kubectl_delete", {"resourceType": "namespace", "name": "prod"}),
    ("k8s:kubectl", {"args": ["delete", "ns", "prod"]}),
    ("k8s:kubectl_generic", {"command": "delete ns prod"}),
    ("docker:remove_volume", {"name": "data"}),
    ("docker:run_container", {"image": "x", "volumes": ["/:/h"], "privileged": True}),
    ("gmail:delete_emails", {"ids": ["*"]}),
    ("gdrive:delete_file", {"id": "x"}),
    ("fetch:fetch", {"url": "http://169.254.169.254/latest/meta-data/iam/security-credentials/"}),
    ("python:run_code", {"code": "import shutil; shutil.rmtree('/')"}),
    ("node:run_js", {"code": "require('child_process').execSync('rm -rf /')"}),
    ("jupyter:execute", {"code": "!rm -rf /"}),
    ("git:git_reset", {"mode": "hard"}),
    ("ssh:exec", {"host": "h", "command": "rm -rf /"}),
    ("vercel:delete_project", {"id": "x"}),
    ("linear:delete_issue", {"id": "x"}),
    ("notion:delete_block", {"id": "x"}),
    ("cloudflare:purge_zone", {"zone": "x"}),
    ("azure:group_delete", {"name": "x"}),
    ("gcp:delete_bucket", {"name": "x"}),
    ("firebase:delete_collection", {"path": "/users"}),
    ("elastic:delete_index", {"index": "*"}),
    ("kafka:delete_topic", {"topic": "x"}),
    ("rabbit:purge_queue", {"queue": "x"}),
]

PASSED = [
    ("fs:read_file", {"path": "src/a.py"}),
    ("fs:list_directory", {"path": "src"}),
    ("fs:write_file", {"path": "src/a.py", "content": "x = 1"}),
    ("db:query", {"sql": "select * from users limit 5"}),
    ("github:get_issue", {"owner": "o", "repo": "r", "issue_number": 1}),
    ("github:create_issue", {"owner": "o", "repo": "r", "title": "x"}),
    ("github:search_code", {"q": "x"}),
    ("slack:list_channels", {}),
    ("fetch:fetch", {"url": "https://example.com"}),
    ("puppeteer:navigate", {"url": "https://example.com"}),
    ("browser:click", {"selector": "#a"}),
    ("context7:get-docs", {"library": "react"}),
    ("k8s:kubectl_get", {"resourceType": "pods"}),
    ("docker:list_containers", {}),
    ("linear:list_issues", {}),
    ("notion:search", {"query": "delete user flow"}),
    ("shell:run", {"command": "npm test"}),
    ("python:run_code", {"code": "print(1)"}),
    ("git:git_status", {}),
    ("jira:get_issue", {"key": "A-1"}),
    ("sentry:list_issues", {}),
    ("figma:get_file", {"key": "x"}),
    ("time:now", {}),
    ("memory:search_nodes", {"query": "drop table"}),
    ("sequential:thinking", {"thought": "then rm -rf / would be bad"}),
]


@pytest.mark.parametrize("name,given", STOPPED, ids=lambda one: one if isinstance(one, str) else "")
def test_what_a_server_would_lose_or_give_away_is_found(name: str, given: dict[str, Any]) -> None:
    server, tool = name.split(":")
    assert said(tool, given, "strict", server) in {"ask", "deny"}


@pytest.mark.parametrize("name,given", PASSED, ids=lambda one: one if isinstance(one, str) else "")
def test_what_servers_do_all_day_passes(name: str, given: dict[str, Any]) -> None:
    server, tool = name.split(":")
    assert said(tool, given, "strict", server) in {"silent", "allow"}

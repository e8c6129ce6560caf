"""Effects of MCP tool calls, by tool name and arguments."""

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kit import read_rows
from trotline.analysis.analyze import analyze_mcp_call
from trotline.analysis.network_addresses import is_metadata_address
from trotline.analysis.shell.shell_state import Environment
from trotline.domain.verdicts import Permission
from trotline.evaluation.evaluate import evaluate
from trotline.guards.guard import PRESETS
from trotline.policy.policy import Policy

ENVIRONMENT = Environment("/home/dev/app", ("/home/dev/app",), "/home/dev", "dev")


def get_permission(tool: str, arguments: dict[str, Any], preset: str = "standard", server: str = "x") -> str:
    return evaluate(
        analyze_mcp_call(server, tool, arguments, ENVIRONMENT).effects, ENVIRONMENT, Policy(preset)
    ).permission.word


def list_effects(tool: str, arguments: dict[str, Any]) -> list[tuple[str, ...]]:
    effects = analyze_mcp_call("x", tool, arguments, ENVIRONMENT).effects[1:]
    return [tuple(part for part in (one.kind, one.verb, one.path or one.host, one.target) if part) for one in effects]


@pytest.mark.parametrize("address", read_rows("mcp_analysis", "the_metadata_address_is_found_in_every_spelling"))
def test_the_metadata_address_is_found_in_every_spelling(address: str) -> None:
    for tool, name in (("fetch", "url"), ("http_request", "endpoint"), ("browse", "page")):
        assert get_permission(tool, {name: address}) == "ask"
        assert get_permission(tool, {name: address}, "strict") == "deny"


@pytest.mark.parametrize("host", ["169.254.169.254", "2852039166", "fd00:ec2::254", "metadata.google.internal"])
def test_the_metadata_address_is_found_without_a_scheme(host: str) -> None:
    assert get_permission("connect", {"hostname": host}) == "ask"
    assert get_permission("probe", {"targets": [{"ip": host}]}) == "ask"


@pytest.mark.parametrize("text", ["metadata.json", "metadata", "1.2.3.4", "169.254.1.1", "::1", "", "a" * 400, "a:b:c"])
def test_look_alikes_are_no_metadata_address(text: str) -> None:
    assert not is_metadata_address(text)
    assert get_permission("read_file", {"path": text}) == "none"


@given(st.text(max_size=60))
def test_any_text_can_be_tested_for_an_address(text: str) -> None:
    verdicts = [get_permission("fetch", {"url": text}, preset) for preset in PRESETS]
    assert sorted(verdicts, key=[one.word for one in Permission].index) == verdicts


@pytest.mark.parametrize("url,strict", read_rows("mcp_analysis", "addresses_with_secrets_ask_in_strict"))
def test_addresses_with_secrets_ask_in_strict(url: str, strict: str) -> None:
    assert get_permission("http_get", {"url": url}, "strict") == strict
    assert get_permission("http_get", {"url": url}) == "none"


@pytest.mark.parametrize("arguments", read_rows("mcp_analysis", "container_privileges_are_found_in_a_call"))
def test_container_privileges_are_found_in_a_call(arguments: dict[str, Any]) -> None:
    assert get_permission("create_container", arguments) == "ask"
    assert get_permission("run", arguments, "strict", server="docker") == "deny"


@pytest.mark.parametrize("arguments", read_rows("mcp_analysis", "a_container_without_privileges_passes"))
def test_a_container_without_privileges_passes(arguments: dict[str, Any]) -> None:
    assert get_permission("create_container", arguments) == "none"


def test_a_container_socket_asks() -> None:
    assert list_effects("open", {"path": "/run/docker.sock"}) == [("connect", "socket", "/run/docker.sock")]
    assert get_permission("open", {"path": "/run/docker.sock"}) == "ask"


@pytest.mark.parametrize("mode", ["u+s", "+s", "4755", 4755, "06755"])
def test_a_mode_argument_is_a_file_mode(mode: str | int) -> None:
    assert get_permission("set_permissions", {"path": "tool", "mode": mode}) == "deny"
    assert get_permission("chmod", {"file": "tool", "permissions": mode}) == "deny"


def test_a_recursive_world_writable_mode_asks() -> None:
    assert get_permission("chmod", {"path": "src", "mode": "0777", "recursive": True}) == "ask"
    assert get_permission("chmod", {"path": "src/run.sh", "mode": "755"}) == "none"


POD = {"apiVersion": "v1", "kind": "Pod", "spec": {"containers": [{"securityContext": {"privileged": True}}]}}


def test_kubernetes_objects_are_found_as_text_and_as_json() -> None:
    text = "kind: Pod\nspec:\n  hostNetwork: true\n"
    assert get_permission("apply", {"manifest": text}) == "ask"
    assert get_permission("apply_manifest", POD) == "ask"
    assert get_permission("resources_create", {"resource": POD}) == "ask"
    assert get_permission("apply", {"manifest": "kind: Pod\nspec:\n  hostNetwork: false\n"}) == "none"
    binding = {"kind": "ClusterRoleBinding", "roleRef": {"kind": "ClusterRole", "name": "cluster-admin"}}
    assert get_permission("apply", {"object": binding}) == "ask"


@pytest.mark.parametrize("arguments", read_rows("mcp_analysis", "a_path_with_content_is_a_write"))
def test_a_path_with_content_is_a_write(arguments: dict[str, Any]) -> None:
    assert get_permission("text_editor", arguments) == "deny"


def test_each_of_several_files_has_its_own_content() -> None:
    files = [{"path": "requirements.txt", "content": "httpx\n"}, {"path": "Gemfile", "content": "gem 'puma'\n"}]
    effects = analyze_mcp_call("files", "write_files", {"files": files}, ENVIRONMENT).effects
    assert [one.package for one in effects if one.kind == "install"] == ["pkg:pypi/httpx", "pkg:gem/puma"]


def test_the_http_method_comes_from_the_argument_or_the_tool_name() -> None:
    url = "https://api.example.org/v1/items/7"
    assert list_effects("http", {"url": url, "method": "DELETE"}) == [("send", "delete", "api.example.org", url)]
    assert list_effects("delete_item", {"url": url}) == [("send", "delete", "api.example.org", url)]
    assert list_effects("get_post", {"url": url}) == [("fetch", "get", "api.example.org", url)]
    assert list_effects("fetch", {"url": url}) == [("fetch", "get", "api.example.org", url)]


@pytest.mark.parametrize("name", ["deploy_key", "work", "github"])
def test_files_in_a_key_directory_are_keys(name: str) -> None:
    assert get_permission("read_file", {"path": f"/home/dev/.ssh/{name}"}) == "deny"
    assert get_permission("read_file", {"path": f"/home/dev/.ssh/{name}.pub"}) == "none"


@pytest.mark.parametrize(
    "name", ["config", "known_hosts", "known_hosts.old", "config.d/work", "notes.txt", "README.md"]
)
def test_files_next_to_keys_pass(name: str) -> None:
    assert get_permission("read_file", {"path": f"/home/dev/.ssh/{name}"}) == "none"


@pytest.mark.parametrize("path", ["/home/dev/.ssh/known_hosts", "/home/dev/.aws/config"])
def test_writing_ssh_and_cloud_settings_asks_in_strict(path: str) -> None:
    assert get_permission("write_file", {"path": path, "content": "x"}) == "none"
    assert get_permission("write_file", {"path": path, "content": "x"}, "strict") == "ask"


@pytest.mark.parametrize("tool,text", read_rows("mcp_analysis", "a_search_query_is_no_sql"))
def test_a_search_query_is_no_sql(tool: str, text: str) -> None:
    assert get_permission(tool, {"query": text}, "strict") == "none"


@pytest.mark.parametrize("arguments", read_rows("mcp_analysis", "sql_statements_are_found"))
def test_sql_statements_are_found(arguments: dict[str, Any]) -> None:
    assert get_permission("query", arguments) == "ask"
    assert get_permission("search", arguments, "strict", server="postgres") == "deny"


@pytest.mark.parametrize("tool,arguments", read_rows("mcp_analysis", "a_destructive_tool_name_is_an_effect"))
def test_a_destructive_tool_name_is_an_effect(tool: str, arguments: dict[str, Any]) -> None:
    assert (get_permission(tool, arguments), get_permission(tool, arguments, "strict")) == ("ask", "deny")


@pytest.mark.parametrize("tool", ["cancel_subscription", "revoke_token", "delete_comment", "share_document"])
def test_smaller_changes_ask_in_strict(tool: str) -> None:
    assert (get_permission(tool, {"id": "7"}), get_permission(tool, {"id": "7"}, "strict")) == ("none", "ask")


@pytest.mark.parametrize(
    "tool",
    "get_deleted_items search_deleted_files clear_console remove_label delete_entities kill_process close_issue"
    " uninstall_package reset create_repository merge_pull_request".split(),
)
def test_harmless_tool_names_pass(tool: str) -> None:
    assert get_permission(tool, {"id": "7"}, "strict") == "none"


@pytest.mark.parametrize(
    "tool,arguments", read_rows("mcp_analysis", "commands_and_code_are_found_in_every_argument_form")
)
def test_commands_and_code_are_found_in_every_argument_form(tool: str, arguments: dict[str, Any]) -> None:
    assert get_permission(tool, arguments) == "deny"


@pytest.mark.parametrize("tool,arguments", read_rows("mcp_analysis", "commands_may_omit_the_program_name"))
def test_commands_may_omit_the_program_name(tool: str, arguments: dict[str, Any]) -> None:
    assert get_permission(tool, arguments) == "ask"


@pytest.mark.parametrize("tool,arguments", read_rows("mcp_analysis", "other_texts_are_not_run"))
def test_other_texts_are_not_run(tool: str, arguments: dict[str, Any]) -> None:
    assert get_permission(tool, arguments, "strict") == "none"


@pytest.mark.parametrize("piece", ["-", "\n", "; ", ";with a(", ";grant x ", ";delete from ", "("])
def test_a_long_query_is_not_slow(piece: str) -> None:
    assert get_permission("query", {"query": piece * 20000}, "strict") == "none"


DANGEROUS_CALLS = read_rows("mcp_analysis", "dangerous_calls")

HARMLESS_CALLS = read_rows("mcp_analysis", "harmless_calls")


@pytest.mark.parametrize("name,arguments", DANGEROUS_CALLS, ids=lambda one: one if isinstance(one, str) else "")
def test_dangerous_calls_are_stopped(name: str, arguments: dict[str, Any]) -> None:
    server, tool = name.split(":")
    assert get_permission(tool, arguments, "strict", server) in {"ask", "deny"}


@pytest.mark.parametrize("name,arguments", HARMLESS_CALLS, ids=lambda one: one if isinstance(one, str) else "")
def test_harmless_calls_pass(name: str, arguments: dict[str, Any]) -> None:
    server, tool = name.split(":")
    assert get_permission(tool, arguments, "strict", server) in {"none", "allow"}

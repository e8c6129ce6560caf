"""What git would do, by its words."""

from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from trotline.analysis.action import of_command
from trotline.analysis.scene import Argument, World
from trotline.analysis.tools.git import VERBS
from trotline.analysis.tools.git_settings import command_of, host_of
from trotline.analysis.tools.git_words import grammar, words
from trotline.effects import Effect

WORLD = World("/home/dev/app", ("/home/dev/app",), "/home/dev", "dev")


def effects(line: str) -> tuple[Effect, ...]:
    return of_command(line, WORLD).effects


def git(line: str) -> list[str]:
    """The effects on the repository: verb and source."""
    return [f"{e.verb} {e.source}".strip() for e in effects(line) if e.kind == "git"]


@pytest.mark.parametrize(
    "line, expected",
    [
        ("git reset --hard", ["discard all"]),
        ("git reset --h", ["discard all"]),
        ("git reset --merge next", ["discard all"]),
        ("git reset --keep next", ["move-branch reset"]),
        ("git reset --soft HEAD~1", []),
        ("git reset --hard --help", []),
        ("git checkout next", []),
        ("git checkout release/1.2", []),
        ("git checkout 4.2.x", []),
        ("git checkout --ours lib/a.c", ["discard conflict"]),
        ("git checkout Makefile", ["discard paths"]),
        ("git checkout .", ["discard all"]),
        ("git checkout -- .", ["discard all"]),
        ("git checkout -- lib/a.c", ["discard paths"]),
        ("git checkout next lib/a.c", ["discard paths"]),
        ("git checkout lib/a.c", ["discard paths"]),
        ("git checkout -qbtopic", []),
        ("git checkout -p", []),
        ("git checkout -f next", ["discard all"]),
        ("git checkout -f -b topic next", ["discard all"]),
        ("git checkout --conflict merge next", []),
        ("git checkout one two -- .", []),
        ("git checkout next --pathspec-from-file list", ["discard paths"]),
        ("git restore lib", ["discard paths"]),
        ("git restore :/", ["discard all"]),
        ("git restore -S lib", []),
        ("git restore -SW lib", ["discard paths"]),
        ("git restore --staged --no-staged lib", []),
        ("git restore --source --staged lib", ["discard paths"]),
        ("git restore --no-worktree lib", []),
        ("git restore lib --help", []),
        ("git restore -- lib --help", ["discard paths"]),
        ("git switch next", []),
        ("git switch -qf next", ["discard all"]),
        ("git switch -f one two", []),
        ("git switch -Ctopic", ["move-branch switch"]),
        ("git switch -- -f", []),
        ("git clean", []),
        ("git clean -f", ["clean all"]),
        ("git clean -fd build", ["clean paths"]),
        ("git clean -f build/..", ["clean all"]),
        ("git clean -fn", []),
        ("git clean -fi", []),
        ("git clean -f --no-force", []),
        ("git clean --no-force -f", ["clean all"]),
        ("git -c clean.requireForce=false clean", ["clean all"]),
        ("git -c clean.requireForce=false -c clean.requireForce=true clean", []),
        ("git stash", []),
        ("git stash pop", []),
        ("git stash drop stash@{2}", ["drop-stash drop"]),
        ("git stash clear", ["drop-stash clear"]),
        ("git commit -m 'reset --hard'", []),
        ("git commit -nm x", ["skip-hooks"]),
        ("git commit --amend", ["rewrite amend"]),
        ("git rm --cached a", []),
        ("git rm -f a", ["discard paths"]),
        ("git rebase next", ["rewrite rebase"]),
        ("git rebase --abor", ["discard abort"]),
        ("git rebase --continue", []),
        ("git read-tree -u --reset HEAD", ["discard all"]),
    ],
)
def test_what_happens_to_work_that_is_not_committed(line: str, expected: list[str]) -> None:
    assert git(line) == expected


@pytest.mark.parametrize(
    "line, expected",
    [
        ("git branch -d a", ["delete-branch merged"]),
        ("git branch -D a", ["delete-branch forced"]),
        ("git branch --del --forc a", ["delete-branch forced"]),
        ("git branch -M main", ["move-branch forced"]),
        ("git branch -f a HEAD~2", ["move-branch forced"]),
        ("git branch topic", []),
        ("git branch --contains HEAD", []),
        ("git tag v1", []),
        ("git tag -n2", []),
        ("git tag --delete v1", ["delete-tag"]),
        ("git tag -f v1 HEAD", ["move-tag forced"]),
        ("git reflog", []),
        ("git reflog expire --expire-=now --a", ["lose-history all"]),
        ("git reflog expire -n --expire=now --all", []),
        ("git reflog delete HEAD@{3}", ["lose-history some"]),
        ("git gc", []),
        ("git gc --prune=now", ["lose-history all"]),
        ("git gc --prune=3.weeks.ago", []),
        ("git -c gc.pruneExpire=now gc", ["lose-history all"]),
        ("git -c gc.pruneExpire=now gc --no-prune", []),
        ("git prune", ["lose-history old"]),
        ("git prune --exp=now", ["lose-history all"]),
        ("git update-ref -d refs/heads/a", ["delete-branch forced"]),
        ("git filter-branch -f -- --all", ["rewrite filter"]),
        ("git filter-repo --path a", ["rewrite filter with a copy"]),
        ("git-filter-repo --force --path a", ["rewrite filter"]),
        ("git worktree remove ../b", []),
        ("git worktree remove -f ../b", ["remove-worktree"]),
        ("git lfs prune", ["lose-history old"]),
    ],
)
def test_what_happens_to_history(line: str, expected: list[str]) -> None:
    assert git(line) == expected


@pytest.mark.parametrize(
    "line, expected",
    [
        ("git push", ["push"]),
        ("git push origin topic", ["push topic"]),
        ("git push -n --force", []),
        ("git push -fu origin topic", ["overwrite-remote forced", "push topic"]),
        ("git push origin +topic", ["overwrite-remote forced", "push topic"]),
        ("git push origin -- +topic", ["overwrite-remote forced", "push topic"]),
        ("git push -- --force", ["push"]),
        ("git push --force-with-lease", ["overwrite-remote lease", "push"]),
        ("git push --force-with-lease=topic origin +topic", ["overwrite-remote lease", "push topic"]),
        ("git push --force-with-lease=other origin +topic", ["overwrite-remote forced", "push topic"]),
        ("git push --force --force-with-lease", ["overwrite-remote forced", "push"]),
        ("git push origin a:b refs/tags/v1 refs/heads/main", ["push b", "push v1", "push main"]),
        ("git push origin tag v1 +tag", ["overwrite-remote forced", "push v1", "push tag"]),
        ("git push origin tag", ["push tag"]),
        ("git push origin :old new", ["delete-remote named", "push new"]),
        ("git push --tags", ["push refs/tags/*"]),
        ("git push --all origin", ["push refs/heads/*"]),
        ("git push origin 'refs/tags/*'", ["push refs/tags/*"]),
        ("git push --mir backup", ["delete-remote all", "push refs/*"]),
        ("git push -d origin topic", ["delete-remote named"]),
        ("git push origin :topic", ["delete-remote named"]),
        ("git push --no-verify", ["skip-hooks", "push"]),
        ("git remote -v", []),
        ("git remote add up https://git.example/a.git", ["remote-add https://git.example/a.git"]),
    ],
)
def test_what_happens_to_other_repositories(line: str, expected: list[str]) -> None:
    assert git(line) == expected


@pytest.mark.parametrize(
    "line",
    [
        "git -c alias.go='!rm -rf ~' go",
        "git -c alias.a=b -c alias.b='!rm -rf ~' a",
        "git -c core.pager='rm -rf ~' log",
        "git -c core.sshCommand='rm -rf ~' fetch",
        "GIT_CONFIG_COUNT=1 GIT_CONFIG_KEY_0=core.fsmonitor GIT_CONFIG_VALUE_0='rm -rf ~' git status",
        "V='rm -rf ~' git --config-env=core.pager=V log",
        "git config alias.go '!rm -rf ~'",
        "git config set --global diff.x.textconv 'rm -rf ~'",
        "git clone 'ext::rm -rf ~'",
        "git clone -c core.fsmonitor='rm -rf ~' https://git.example/a.git",
        "git fetch --upload-pack='rm -rf ~' ../b",
        "git ls-remote --upload-pack='rm -rf ~' ../b",
        "git push --receive-pack='rm -rf ~' ../b",
        "git rebase -x 'rm -rf ~' next",
        "git bisect run rm -rf ~",
        "git submodule foreach --recursive 'rm -rf ~'",
        "git submodule foreach rm -rf ~",
        "git filter-branch --tree-filter 'rm -rf ~' HEAD",
        "git grep -O'rm -rf ~' word",
        "git difftool -x 'rm -rf ~'",
        "git archive --exec='rm -rf ~' --remote=../b HEAD",
        "git -C ~/.. rm -r dev",
    ],
)
def test_what_git_runs_or_deletes_is_seen(line: str) -> None:
    assert any(e.kind == "delete" and e.path == "/home/dev" for e in effects(line))


@pytest.mark.parametrize(
    "line",
    [
        "git -c alias.status='!rm -rf ~' status",
        "git -c core.sshCommand='rm -rf ~' status",
        "git log --grep='rm -rf ~'",
        "git commit -m \"$(printf 'rm -rf ~')\"",
        "git config --get alias.go",
        "git config --unset alias.go",
        "git bisect start",
    ],
)
def test_what_git_does_not_run_is_not_judged(line: str) -> None:
    assert not [e for e in effects(line) if e.kind == "delete"]


def test_files_of_history_are_read_like_files() -> None:
    for line in ("git show HEAD~2:.env", "git cat-file -p main:.env", "git diff -- .env", "git log -p -- .env"):
        assert [(e.kind, e.path) for e in effects(line)] == [("read", "/home/dev/app/.env")], line
    assert effects("git log --oneline -- .env") == ()
    assert effects("git show HEAD") == ()


def test_files_that_git_writes_are_named() -> None:
    def written(line: str) -> list[str]:
        return [e.path for e in effects(line) if e.kind == "write"]

    assert written("git checkout next -- .cursor") == ["/home/dev/app/.cursor"]
    assert written("git show --output=/home/dev/.bashrc HEAD") == ["/home/dev/.bashrc"]
    assert written("git -C sub archive -o ../a.tar HEAD") == ["/home/dev/app/a.tar"]
    patch = "cat > p <<'X'\n--- a/x\n+++ b/.cursor/hooks.json\nX\ngit apply p"
    assert written(patch)[-1] == "/home/dev/app/.cursor/hooks.json"


def test_a_clean_elsewhere_is_seen_as_a_deletion_there() -> None:
    for line in ("git -C ~ clean -fdx", "git clean -fdx ~", "cd ~ && git clean -xdf", "git --work-tree ~ clean -f"):
        assert "/home/dev/…" in [e.path for e in effects(line) if e.kind == "delete"], line


def test_the_root_of_the_repository_is_known() -> None:
    found = effects('cd lib && rm -rf "$(git rev-parse --show-toplevel)"')
    assert [(e.kind, e.path) for e in found] == [("delete", "/home/dev/app")]


def test_a_push_to_an_address_is_sent_there() -> None:
    sent = [(e.verb, e.host) for e in effects("git push dev@other.example:a.git main") if e.kind == "send"]
    assert sent == [("git push", "other.example")]
    assert not [e for e in effects("git push ../backup.git") if e.kind == "send"]


@pytest.mark.parametrize(
    "key, value, command",
    [
        ("core.pager", "less -F", "less -F"),
        ("core.fsmonitor", "true", ""),
        ("core.fsmonitor", "./watch", "./watch"),
        ("alias.co", "checkout", ""),
        ("alias.co", "!sh x", "sh x"),
        ("filter.a.smudge", "./x", "./x"),
        ("diff.a.textconv", "./x", "./x"),
        ("diff.algorithm", "patience", ""),
        ("pager.log", "./x", "./x"),
        ("user.name", "./x", ""),
        ("merge.ff", "only", ""),
        ("submodule.a.update", "!./x", "./x"),
        ("submodule.a.update", "rebase", ""),
    ],
)
def test_settings_that_are_commands(key: str, value: str, command: str) -> None:
    assert command_of(key, value) == command


def test_hosts_of_addresses() -> None:
    assert host_of("https://dev:secret@git.example:8443/a.git") == "git.example"
    assert host_of("git@git.example:a/b.git") == "git.example"
    assert host_of("ssh://git@git.example/a") == "git.example"
    assert host_of("../other") == host_of("file:///srv/a.git") == host_of("origin") == ""


LONG = sorted({(verb, name) for verb, row in VERBS.items() for name in grammar(row.spec) if len(name) > 3})


@given(st.sampled_from(LONG), st.data())
def test_a_shortened_option_means_one_that_begins_with_it(option: tuple[str, str], data: st.DataObject) -> None:
    verb, name = option
    short = name[: data.draw(st.integers(3, len(name)))]
    found = words([Argument(f"--{short}")], VERBS[verb].spec)
    options = grammar(VERBS[verb].spec)
    meant = {row.name for known, row in options.items() if known.startswith(short)}
    assert set(found.flags) <= meant
    if short in options:
        assert set(found.flags) == {options[short].name}


@given(
    st.lists(st.sampled_from(["-f", "--force", "--no-force", "--", "-x", "a", "-e", "--exclude=b", "-"]), max_size=8)
)
def test_every_word_is_an_option_a_value_or_a_rest(given_words: list[str]) -> None:
    found = words([Argument(text) for text in given_words], VERBS["clean"].spec)
    if "--" in given_words and found.dashed:
        after = given_words[given_words.index("--", len(given_words) - len(found.paths) - 1) + 1 :]
        assert [word.text for word in found.paths] == after
    assert not {word.text for word in found.rest} & {"-f", "--force", "--no-force", "-x"}


LINES = (
    "git push -f origin main",
    "git push origin :topic",
    "git branch -D topic",
    "git branch -f topic",
    "git tag -d v1",
    "git tag -f v1",
    "git commit --amend --no-verify",
    "git reset --hard",
    "git stash drop",
    "git worktree remove -f ../b",
    "git gc --prune=now",
    "git remote add up https://git.example/a.git",
    "git remote set-url up https://git.example/a.git",
    "git remote remove up",
    "git config user.name me",
    "git config core.editor 'sh -c ls'",
    "git config core.hooksPath hooks",
    "git -c core.pager='sh -c ls' log",
    "git config url.https://elsewhere.example/.insteadOf https://git.example/",
    "git config http.sslVerify false",
)


def test_the_document_names_the_verbs_that_rules_can_use() -> None:
    page = (Path(__file__).parents[1] / "docs" / "policy.md").read_text("utf-8")
    table = page.partition("### The verbs of git")[2].partition("\n\nThere is one")[0]
    named = {verb for row in table.splitlines() if row.startswith("| `") for verb in row.split("|")[1].split("`")[1::2]}
    assert named == {effect.verb for line in LINES for effect in effects(line) if effect.kind == "git"}

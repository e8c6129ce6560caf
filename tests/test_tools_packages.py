"""What package managers would install, remove, publish and run."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from trotline.analysis.action import of_command
from trotline.analysis.scene import World
from trotline.analysis.tools.packages_manifests import packages_in
from trotline.analysis.tools.packages_names import one_slip, resembles
from trotline.analysis.tools.packages_specs import purl, wanted
from trotline.effects import Certainty, Effect

WORLD = World("/home/dev/app", ("/home/dev/app",), "/home/dev", "dev")


def effects(line: str) -> tuple[Effect, ...]:
    return of_command(line, WORLD).effects


def done(line: str, kind: str = "install") -> list[tuple[str, ...]]:
    """Verb, package, source, for whom; what is empty is left out."""
    return [
        tuple(part for part in (e.verb, e.package, e.source, e.target) if part) for e in effects(line) if e.kind == kind
    ]


@pytest.mark.parametrize(
    "line,package",
    [
        ("pip install Flask_Login==0.6", "pkg:pypi/flask-login@0.6"),
        ("pip3.12 install -U 'httpx[http2]>=0.27'", "pkg:pypi/httpx"),
        ("uv pip install httpx", "pkg:pypi/httpx"),
        ("uv add httpx", "pkg:pypi/httpx"),
        ("poetry add httpx@0.27.0", "pkg:pypi/httpx@0.27.0"),
        ("pdm add httpx", "pkg:pypi/httpx"),
        ("pipenv install httpx", "pkg:pypi/httpx"),
        ("npm i -D @types/node@20.1.0", "pkg:npm/%40types/node@20.1.0"),
        ("npm --prefix web install react@latest", "pkg:npm/react"),
        ("npm add local@npm:react@18.2.0", "pkg:npm/react@18.2.0"),
        ("pnpm --filter web add react", "pkg:npm/react"),
        ("yarn workspace web add react", "pkg:npm/react"),
        ("bun add react", "pkg:npm/react"),
        ("deno add npm:chalk@5.3.0", "pkg:npm/chalk@5.3.0"),
        ("cargo add serde@1.0.200", "pkg:cargo/serde@1.0.200"),
        ("go get example.com/mod/v2@v2.1.0", "pkg:golang/example.com/mod/v2@v2.1.0"),
        ("composer require acme/log:2.1", "pkg:composer/acme/log@2.1"),
        ("dotnet add web.csproj package Acme.Log --version 3.1.0", "pkg:nuget/Acme.Log@3.1.0"),
        ("conda install -c conda-forge numpy=1.26", "pkg:conda/numpy@1.26"),
        ("bundle add rails", "pkg:gem/rails"),
    ],
)
def test_a_package_of_the_project_by_its_purl(line: str, package: str) -> None:
    assert done(line) == [("install", package, "registry", "project")]


@pytest.mark.parametrize(
    "line,package,who",
    [
        ("npm install -g typescript", "pkg:npm/typescript", "user"),
        ("yarn global add typescript", "pkg:npm/typescript", "user"),
        ("pip install --user httpx", "pkg:pypi/httpx", "user"),
        ("pip install --break-system-packages httpx", "pkg:pypi/httpx", "system"),
        ("pipx install ruff", "pkg:pypi/ruff", "user"),
        ("uv tool install ruff", "pkg:pypi/ruff", "user"),
        ("cargo install ripgrep --version 14.1.0", "pkg:cargo/ripgrep@14.1.0", "user"),
        ("gem install rails -v 7.1.0", "pkg:gem/rails@7.1.0", "user"),
        ("go install example.com/tool@latest", "pkg:golang/example.com/tool", "user"),
        ("brew install jq", "pkg:brew/jq", "user"),
        ("apt-get install -y jq=1.6", "pkg:deb/jq@1.6", "system"),
        ("dnf -y install jq", "pkg:rpm/jq", "system"),
        ("apk add --no-cache jq", "pkg:apk/jq", "system"),
        ("pacman -S jq", "pkg:alpm/jq", "system"),
        ("snap install jq", "pkg:snap/jq", "system"),
    ],
)
def test_who_else_is_touched_by_an_install(line: str, package: str, who: str) -> None:
    assert done(line) == [("install", package, "registry", who)]


@pytest.mark.parametrize(
    "line,source,host",
    [
        ("pip install https://a.example/b.tar.gz", "url", "a.example"),
        ("pip install 'b @ https://a.example/b.whl'", "url", "a.example"),
        ("pip install git+ssh://git@a.example/b.git", "git", "a.example"),
        ("pip install -e git+https://a.example/b.git#egg=b", "git", "a.example"),
        ("pip install .", "path", ""),
        ("cargo +nightly install --git https://a.example/b", "git", "a.example"),
        ("pip install dist/b-1.0-py3-none-any.whl", "path", ""),
        ("pip install -i https://a.example/simple b", "index", "a.example"),
        ("UV_INDEX_URL=https://a.example/simple uv pip install b", "index", "a.example"),
        ("npm i --registry=https://a.example b", "index", "a.example"),
        ("npm i --registry http://localhost:4873 b", "registry", ""),
        ("npm i b@https://a.example/b.tgz", "url", "a.example"),
        ("npm i someone/something", "git", "github"),
        ("npm i ../b", "path", ""),
        ("cargo install --git https://a.example/b", "git", "a.example"),
        ("mvn dependency:get -Dartifact=x:y:1 -DremoteRepositories=https://a.example/m2", "index", "a.example"),
        ("npm ci", "manifest", ""),
        ("yarn", "manifest", ""),
        ("uv sync", "manifest", ""),
    ],
)
def test_where_it_comes_from(line: str, source: str, host: str) -> None:
    assert [(e.source, e.host) for e in effects(line) if e.kind == "install"] == [(source, host)]


@pytest.mark.parametrize(
    "line,expected",
    [
        ("npm rm react", [("remove", "pkg:npm/react", "project")]),
        ("uv pip uninstall httpx", [("remove", "pkg:pypi/httpx", "project")]),
        ("apt autoremove", [("remove", "what nothing needs any more", "autoremove", "system")]),
        ("pacman -Rns jq", [("remove", "pkg:alpm/jq", "system")]),
        ("dpkg --purge jq", [("remove", "pkg:deb/jq", "system")]),
        ("apt-get -s remove jq", []),
        ("pip uninstall --help", []),
        ("npm config set registry https://a.example", [("source", "https://a.example", "registry")]),
        ("npm config get registry", []),
        ("pip config set global.index-url https://a.example", [("source", "https://a.example", "global.index-url")]),
        ("go env -w GOSUMDB=off", [("unverified", "off", "GOSUMDB")]),
        ("go env GOPROXY", []),
        ("gem sources", []),
        ("gem sources --add https://a.example", [("source", "https://a.example", "https://a.example")]),
        ("brew tap", []),
        ("npm cache clean --force", [("clean-cache", "npm")]),
        ("npm audit fix --force", [("unlock", "manifest", "project")]),
        ("npm audit", []),
        ("npm ls", []),
        ("cargo metadata", []),
    ],
)
def test_removals_sources_and_settings(line: str, expected: list[tuple[str, ...]]) -> None:
    assert done(line) == expected


@pytest.mark.parametrize(
    "line,verbs",
    [
        ("npm publish", ["publish"]),
        ("npm publish --dry-run", []),
        ("yarn npm publish", ["publish"]),
        ("cargo yank core --version 1.0.0", ["unpublish"]),
        ("npm owner ls", []),
        ("npm owner add dev core", ["unpublish"]),
        ("./gradlew :core:publish", ["publish"]),
        ("gradle publishToMavenLocal", []),
        ("mvn -B clean deploy", ["publish"]),
        ("twine check dist/*", []),
        ("npx semantic-release", ["publish"]),
    ],
)
def test_releases(line: str, verbs: list[str]) -> None:
    assert [e.verb for e in effects(line) if e.kind == "publish"] == verbs


@pytest.mark.parametrize(
    "line",
    [
        "poetry run rm -rf ~",
        "uv run --with httpx -- rm -rf ~",
        "pipenv run rm -rf ~",
        "bundle exec rm -rf ~",
        "conda run -n base rm -rf ~",
        "yarn exec rm -rf ~",
        "mise exec node@20 -- rm -rf ~",
        "mise x -- rm -rf ~",
        "pyenv exec rm -rf ~",
        "rustup run nightly rm -rf ~",
        "npx -c 'rm -rf ~'",
        "npx rimraf@5 ~",
        "bunx rimraf ~",
        "pnpm dlx rimraf ~",
        "pnpx rimraf ~",
        "pnpm rimraf ~",
        "yarn run rimraf ~",
        "npm exec -- shx rm -rf ~",
        "npx cross-env A=1 rm -rf ~",
        "npx concurrently 'npm test' 'rm -rf ~'",
        "apt-get update -o APT::Update::Pre-Invoke::='rm -rf ~'",
        "go test -exec 'rm -rf ~' ./...",
        "mvn exec:exec -Dexec.executable=rm -Dexec.args='-rf ~'",
        "make SHELL='rm -rf ~'",
        "make CC='/bin/rm -rf ~'",
        "printf 'all:\\n\\t@rm -rf ~\\n' > Makefile && make",
        "printf 'all:\\n\\trm -rf ~\\n' | make -f -",
        "make --eval='all:; rm -rf ~'",
        'echo \'{"scripts": {"pretest": "rm -rf ~"}}\' > package.json && npm test',
    ],
)
def test_what_managers_run_is_seen(line: str) -> None:
    assert any(e.kind == "delete" and e.path == "/home/dev" for e in effects(line))


def test_what_is_fetched_and_run_is_named() -> None:
    assert done("npx -y @acme/tool@1.2.0 x") == [("fetch-and-run", "pkg:npm/%40acme/tool@1.2.0", "registry")]
    assert done("npm create vite@latest .") == [("fetch-and-run", "pkg:npm/create-vite", "registry")]
    assert done("uvx --from git+https://a.example/b tool") == [("fetch-and-run", "git+https://a.example/b", "git")]
    assert done("go run example.com/tool@v1.0.0") == [
        ("fetch-and-run", "pkg:golang/example.com/tool@v1.0.0", "registry")
    ]
    assert done("go run ./cmd/tool") == []


def test_a_project_s_own_script_is_code_of_the_project() -> None:
    for line in ("npm run build", "yarn build", "pnpm run build", "bun run build"):
        found = [(e.kind, e.path, e.source, e.target) for e in effects(line)]
        assert found == [("execute", "/home/dev/app/package.json", "file", "build")], line


def test_managers_that_are_interpreters_too_read_code() -> None:
    code = "require('fs').rmSync('/home/dev', {recursive: true})"
    for line in (f'bun -e "{code}"', "deno eval \"Deno.removeSync('/home/dev', {recursive: true})\""):
        assert [(e.kind, e.path) for e in effects(line)] == [("delete", "/home/dev")], line
    for line in ("bun app.ts", "bun run app.ts", "deno run app.ts"):
        assert [(e.kind, e.path) for e in effects(line)] == [("execute", "/home/dev/app/app.ts")], line


def test_a_file_of_requirements_that_the_line_wrote_is_read() -> None:
    found = done("echo reqeusts==2.0 > requirements.txt; pip install -r requirements.txt")
    assert ("install", "pkg:pypi/reqeusts@2.0", "registry", "project") in found


@pytest.mark.parametrize(
    "kind,name,like",
    [
        ("pypi", "reqeusts", "requests"),
        ("pypi", "djang0", "django"),
        ("pypi", "python_dateutil", ""),
        ("pypi", "requests", ""),
        ("pypi", "my-internal-lib", ""),
        ("npm", "crossenv", "cross-env"),
        ("npm", "lodahs", "lodash"),
        ("npm", "preact", ""),
        ("npm", "@babe1/core", "@babel"),
        ("npm", "@babel/core", ""),
        ("npm", "\u0435xpress", "express"),
        ("cargo", "serd", ""),
    ],
)
def test_names_that_look_like_others(kind: str, name: str, like: str) -> None:
    assert resembles(kind, name) == like


def test_a_name_that_looks_like_another_is_a_guess() -> None:
    (found,) = effects("npm install expres")
    assert found.certainty is Certainty.GUESSED
    assert "express" in found.why


NAMES = st.text("abcde-", min_size=2, max_size=9)


@given(NAMES, st.data())
def test_one_slip_is_seen_from_both_sides(name: str, data: st.DataObject) -> None:
    at = data.draw(st.integers(0, len(name) - 2))
    letter = data.draw(st.sampled_from("abcxyz"))
    slips = {
        name[:at] + name[at + 1 :],
        name[:at] + letter + name[at:],
        name[:at] + letter + name[at + 1 :],
        name[:at] + name[at + 1] + name[at] + name[at + 2 :],
    }
    for slip in slips - {name}:
        assert one_slip(name, slip)
        assert one_slip(slip, name)
    assert not one_slip(name, name)
    assert not one_slip(name, name + "xyz")


@given(st.text("abcXYZ0189._-", min_size=1, max_size=12))
def test_a_purl_of_a_python_package_does_not_depend_on_how_it_is_spelt(name: str) -> None:
    assert purl("pypi", name) == purl("pypi", name.upper().replace("_", "-")) == purl("pypi", name.replace("-", "."))


@given(st.text(max_size=40), st.sampled_from(["pypi", "npm", "cargo", "gem", "golang", "deb", "composer"]))
def test_every_word_after_install_means_something(text: str, kind: str) -> None:
    want = wanted(kind, text)
    assert want.purl == "" or want.purl.startswith(f"pkg:{kind}/")


PYPROJECT = """
[project]
dependencies = ["httpx>=1", "rich"]
[project.optional-dependencies]
dev = ["pytest==8.0"]
[build-system]
requires = ["hatchling"]
[tool.poetry.dependencies]
python = "^3.11"
flask = "2.0"
"""


@pytest.mark.parametrize(
    "path,text,expected",
    [
        (
            "requirements-dev.txt",
            "# c\n-r base.txt\nHttpx[http2]==0.27 # why\nnumpy>=1\n\ngit+https://a.example/b.git\n",
            ("pkg:pypi/httpx@0.27", "pkg:pypi/numpy"),
        ),
        (
            "pyproject.toml",
            PYPROJECT,
            ("pkg:pypi/httpx", "pkg:pypi/rich", "pkg:pypi/hatchling", "pkg:pypi/pytest@8.0", "pkg:pypi/flask@2.0"),
        ),
        (
            "web/package.json",
            '{"dependencies": {"react": "18.2.0"}, "devDependencies": {"@types/node": "^20"}}',
            ("pkg:npm/react@18.2.0", "pkg:npm/%40types/node"),
        ),
        (
            "Cargo.toml",
            '[dependencies]\nserde = { version = "1.0", optional = true }\nx = { package = "real-x" }\n',
            ("pkg:cargo/serde@1.0", "pkg:cargo/real-x"),
        ),
        (
            "go.mod",
            "module example.com/app\n\nrequire (\n\texample.com/a v1.2.3\n)\nrequire example.com/b/v2 v2.0.0\n",
            ("pkg:golang/example.com/a@v1.2.3", "pkg:golang/example.com/b/v2@v2.0.0"),
        ),
        ("Gemfile", 'gem "rails", "~> 7.1"\n# gem "x"\ngem \'puma\'\n', ("pkg:gem/rails@7.1", "pkg:gem/puma")),
        ("package.json", "{", ()),
        ("pyproject.toml", "[", ()),
        ("package.json", "[1]", ()),
        ("notes.txt", "httpx\n", ()),
    ],
)
def test_packages_of_a_manifest(path: str, text: str, expected: tuple[str, ...]) -> None:
    assert tuple(found.want.purl for found in packages_in(path, text) if found.want.purl) == expected


@given(st.sampled_from("requirements.txt pyproject.toml package.json Cargo.toml go.mod Gemfile".split()), st.text())
def test_a_manifest_that_is_none_names_nothing_or_packages(name: str, text: str) -> None:
    for kind, want in packages_in(name, text):
        assert want.purl.startswith(f"pkg:{kind}/") if want.purl else want.host

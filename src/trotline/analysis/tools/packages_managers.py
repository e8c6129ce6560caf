"""Package managers of languages, and the table of all."""

from trotline.analysis.tools.packages_others import OTHERS
from trotline.analysis.tools.packages_row import Manager
from trotline.analysis.tools.packages_system import SYSTEM

_PIP_VALUED = (
    "r requirement c constraint e editable i index-url extra-index-url f find-links t target prefix root src log"
    " proxy timeout cache-dir trusted-host platform python-version abi python no-binary only-binary progress-bar"
    " global-option upgrade-strategy config-settings report d dest w wheel-dir cert client-cert exists-action retries"
)
_PIP_INDEXES = "i index-url extra-index-url f find-links"
_NPM_VALUED = (
    "registry prefix C dir cwd w workspace filter F tag access otp loglevel cache userconfig p package c call omit"
    " include before modules-folder install-strategy script-shell node-options"
)
_NPM_SHARED = {
    "clean": "cache.clean cache.rm cache.clear",
    "publish": "publish stage",
    "setting": "config.set set set-script pkg.set",
}
_CONDA = Manager(
    "conda",
    {
        "install": "install create update upgrade env.create env.update",
        "remove": "remove uninstall env.remove",
        "carried": "run",
        "source": "config",
        "clean": "clean",
    },
    "c channel n name p prefix f file solver",
    "c channel",
)

MANAGERS = {
    **OTHERS,
    **SYSTEM,
    "bun": Manager(
        "npm",
        {
            "install": "add install i update",
            "remove": "remove rm",
            "publish": "publish",
            "fetched": "x create",
            "scripts": "run test build",
            "clean": "pm.cache",
        },
        _NPM_VALUED,
        "registry",
    ),
    "bunx": Manager("npm", {}, "p package", bare="fetched"),
    "bundle": Manager(
        "gem",
        {
            "install": "install add update",
            "remove": "remove",
            "carried": "exec",
            "setting": "config.set config",
            "clean": "clean",
        },
        "gemfile path source v version group with without j jobs",
        "source",
    ),
    "cargo": Manager(
        "cargo",
        {
            "install": "install add update binstall",
            "remove": "uninstall remove rm",
            "publish": "publish owner",
            "unpublish": "yank",
            "scripts": "run r test t build b bench check clippy",
        },
        "git path version vers root registry index branch tag rev features F target p package manifest-path j jobs bin"
        " example profile target-dir color Z config",
        "index registry",
    ),
    "composer": Manager(
        "composer",
        {
            "install": "require install update global.require create-project",
            "remove": "remove global.remove",
            "carried": "exec",
            "scripts": "run-script run",
            "setting": "config global.config",
            "clean": "clear-cache",
        },
        "d working-dir repository repository-url stability s",
        "repository repository-url",
    ),
    "conda": _CONDA,
    "deno": Manager(
        "npm",
        {
            "install": "install add i",
            "remove": "uninstall remove",
            "publish": "publish",
            "scripts": "task",
            "code": "run eval test bench serve",
        },
        "c config import-map lock L log-level n name root location cert seed port",
    ),
    "dotnet": Manager(
        "nuget",
        {
            "install": "add.package tool.install tool.update restore package.add",
            "remove": "remove.package tool.uninstall package.remove",
            "publish": "nuget.push",
            "unpublish": "nuget.delete",
            "source": "nuget.add nuget.update",
            "clean": "nuget.locals",
            "scripts": "run test build",
        },
        "v version s source k api-key f framework p project configfile add-source tool-path n name u username",
        "s source add-source",
    ),
    "flit": Manager("pypi", {"publish": "publish", "install": "install"}, "repository f"),
    "gem": Manager(
        "gem",
        {
            "install": "install i update",
            "remove": "uninstall cleanup",
            "publish": "push owner",
            "unpublish": "yank",
            "source": "sources",
        },
        "v version s source i install-dir n bindir k key host a add r remove P trust-policy platform g file",
        "s source",
    ),
    "go": Manager(
        "golang",
        {
            "install": "get install mod.download",
            "setting": "env",
            "clean": "clean",
            "fetched": "run",
            "scripts": "generate test build",
        },
        "C o p tags ldflags gcflags mod exec toolexec modfile overlay",
        long_dash=True,
    ),
    "hatch": Manager(
        "pypi", {"publish": "publish", "carried": "run", "remove": "env.remove env.prune"}, "e env r repo u user a auth"
    ),
    "mamba": _CONDA,
    "micromamba": _CONDA,
    "npm": Manager(
        "npm",
        {
            **_NPM_SHARED,
            "install": "install i in ins add ci isntall install-test it update up upgrade link ln rebuild",
            "remove": "uninstall un unlink remove rm r prune",
            "fetched": "exec x create init innit",
            "scripts": "run run-script rum test t tst start stop restart install-ci-test",
            "unpublish": "unpublish deprecate dist-tag owner access",
            "unlocked": "audit.fix",
        },
        _NPM_VALUED,
        "registry",
    ),
    "npx": Manager("npm", {}, "p package c call w workspace registry cache", "registry", bare="fetched"),
    "nuget": Manager(
        "nuget",
        {
            "install": "install restore update",
            "publish": "push",
            "unpublish": "delete",
            "source": "sources.add",
            "setting": "config setapikey",
        },
        "Source source Version version OutputDirectory ConfigFile ApiKey Name set",
        "Source source",
        long_dash=True,
    ),
    "pdm": Manager(
        "pypi",
        {
            "install": "add install sync update",
            "remove": "remove rm",
            "publish": "publish",
            "carried": "run",
            "clean": "cache.clear",
            "setting": "config",
        },
        "p project G group e editable r repository",
        "",
    ),
    "pip": Manager(
        "pypi",
        {
            "install": "install download wheel",
            "remove": "uninstall",
            "setting": "config.set",
            "clean": "cache.purge cache.remove",
        },
        _PIP_VALUED,
        _PIP_INDEXES,
    ),
    "pipenv": Manager(
        "pypi",
        {"install": "install sync update upgrade", "remove": "uninstall clean", "carried": "run"},
        "r requirements i index pypi-mirror e editable python extra-index-url categories",
        "i index pypi-mirror extra-index-url",
    ),
    "pipx": Manager(
        "pypi",
        {
            "install": "install inject upgrade reinstall install-all",
            "remove": "uninstall uninstall-all uninject",
            "fetched": "run",
        },
        "spec i index-url pip-args python suffix",
        "i index-url",
        scope="user",
    ),
    "pnpm": Manager(
        "npm",
        {
            **_NPM_SHARED,
            "install": "add install i update up upgrade import rebuild link fetch",
            "remove": "remove rm uninstall un prune",
            "fetched": "dlx create",
            "carried": "exec",
            "scripts": "run test t start",
            "unpublish": "unpublish deprecate dist-tag owner",
            "clean": "store.prune",
            "unlocked": "audit.--fix",
        },
        _NPM_VALUED,
        "registry",
    ),
    "poetry": Manager(
        "pypi",
        {
            "install": "add install update sync self.add",
            "remove": "remove env.remove self.remove",
            "publish": "publish",
            "carried": "run",
            "setting": "config",
            "source": "source.add",
            "clean": "cache.clear",
        },
        "G group E extras source C directory P project r repository u username p password python priority",
        "source",
    ),
    "twine": Manager(
        "pypi", {"publish": "upload register"}, "r repository repository-url u username p password config-file"
    ),
    "uv": Manager(
        "pypi",
        {
            "install": "pip.install add sync pip.sync tool.install tool.upgrade pip.compile lock",
            "remove": "remove pip.uninstall tool.uninstall",
            "publish": "publish",
            "carried": "run",
            "fetched": "tool.run",
            "clean": "cache.clean cache.prune cache",
        },
        _PIP_VALUED + " with with-requirements with-editable from index default-index group extra package directory"
        " project env-file p m module optional branch tag rev token publish-url",
        _PIP_INDEXES + " index default-index",
    ),
    "uvx": Manager(
        "pypi",
        {},
        "from with with-requirements with-editable p python index-url extra-index-url index default-index",
        "index-url extra-index-url index default-index",
        bare="fetched",
    ),
    "vsce": Manager("vscode", {"publish": "publish", "unpublish": "unpublish"}, "p pat t target"),
    "yarn": Manager(
        "npm",
        {
            "install": "add install up upgrade global.add import link",
            "remove": "remove global.remove autoclean",
            "fetched": "dlx create",
            "publish": "publish npm.publish",
            "unpublish": "npm.tag tag owner",
            "scripts": "run test start build",
            "carried": "exec",
            "setting": "config.set",
            "clean": "cache.clean",
        },
        _NPM_VALUED,
        "registry",
        bare="install",
    ),
}
MANAGERS |= {
    "apt-add-repository": Manager("deb", {}, "s", bare="source", scope="system"),
    "bundler": MANAGERS["bundle"],
    "changeset": Manager("npm", {"publish": "publish"}),
    "lerna": Manager("npm", {"publish": "publish", "fetched": "exec", "scripts": "run"}),
    "np": Manager("npm", {}, bare="publish"),
    "pip3": MANAGERS["pip"],
    "pnpx": MANAGERS["npx"],
    "semantic-release": Manager("npm", {}, bare="publish"),
}

"""A table of package managers: their verbs, sorted by action, and the options that matter."""

from functools import cache
from typing import NamedTuple

from trotline.analysis.programs.phrases import expand_names


class PackageManager(NamedTuple):
    """A package manager. `actions` lists verbs by action: `install: add i; remove: rm`. `config.set` is two words.

    install, remove, publish, unpublish; `fetch`: fetches a package and runs it; `run`: runs the program that follows;
    `script`: runs a script of the project; `code`: interprets code; `setting`: changes a setting; `source`: adds a
    package source; `clean`: empties a cache; `unlock`: changes versions beyond the requested ones.
    """

    kind: str
    actions: str
    valued: str = ""  # further options that take a value
    indexes: str = ""  # options that name another package source
    default: str = ""  # the action without a verb
    scope: str = "project"  # what an install affects: project, user, system
    long_dash: bool = False  # `-name` is one option

    @property
    def all_valued(self) -> str:
        """Return all options that take a value."""
        return f"{self.valued} {self.indexes}"

    def find_action(self, first: str, second: str) -> tuple[str, int]:
        """Return the action of the first words, and how many of them are the verb."""
        verbs = _index_verbs(self.actions)
        two = verbs.get(f"{first}.{second}")
        return (two, 2) if two else (verbs.get(first, ""), 1)


@cache
def _index_verbs(actions: str) -> dict[str, str]:
    rules = (rule.partition(":") for rule in actions.split(";"))
    return {verb: action.strip() for action, _, verbs in rules for verb in verbs.split()}


class LetterManager(NamedTuple):
    """A package manager with options instead of verbs: those that install, those that remove."""

    kind: str
    install: str
    remove: str
    valued: str = ""


LETTER_MANAGERS = expand_names(
    {
        "dpkg": LetterManager("deb", "i unpack install", "r P remove purge"),
        "pacman paru yay": LetterManager("alpm", "S U sync upgrade", "R remove"),
        "rpm": LetterManager("rpm", "i U F install upgrade freshen", "e erase", "root dbpath"),
    }
)

_PIP_VALUED = (
    "r requirement c constraint e editable t target prefix root src log proxy timeout cache-dir trusted-host"
    " platform python-version abi python no-binary only-binary progress-bar global-option upgrade-strategy"
    " config-settings report d dest w wheel-dir cert client-cert exists-action retries"
)
_PIP_INDEXES = "i index-url extra-index-url f find-links"
_NPM_VALUED = (
    "prefix C dir cwd w workspace filter F tag access otp loglevel cache userconfig p package c call omit"
    " include before modules-folder install-strategy script-shell node-options"
)
_NPM_SHARED = "publish: publish stage; setting: config.set set set-script pkg.set; "

_LANGUAGE_MANAGERS = {
    "bun": PackageManager(
        "npm",
        "install: add install i update; remove: remove rm; publish: publish; fetch: x create; "
        "script: run test build; clean: pm.cache",
        _NPM_VALUED,
        "registry",
    ),
    "bunx": PackageManager("npm", "", "p package", default="fetch"),
    "bundle bundler": PackageManager(
        "gem",
        "install: install add update; remove: remove; run: exec; setting: config.set config; clean: clean",
        "gemfile path v version group with without j jobs",
        "source",
    ),
    "cargo": PackageManager(
        "cargo",
        "install: install add update binstall; remove: uninstall remove rm; publish: publish owner; "
        "unpublish: yank; script: run r test t build b bench check clippy",
        "git path version vers root branch tag rev features F target p package manifest-path j jobs bin"
        " example profile target-dir color Z config",
        "index registry",
    ),
    "composer": PackageManager(
        "composer",
        "install: require install update global.require create-project; remove: remove global.remove; "
        "run: exec; script: run-script run; setting: config global.config; clean: clear-cache",
        "d working-dir stability s",
        "repository repository-url",
    ),
    "conda mamba micromamba": PackageManager(
        "conda",
        "install: install create update upgrade env.create env.update; "
        "remove: remove uninstall env.remove; run: run; source: config; clean: clean",
        "n name p prefix f file solver",
        "c channel",
    ),
    "deno": PackageManager(
        "npm",
        "install: install add i; remove: uninstall remove; publish: publish; script: task; "
        "code: run eval test bench serve",
        "c config import-map lock L log-level n name root location cert seed port",
    ),
    "dotnet": PackageManager(
        "nuget",
        "install: add.package tool.install tool.update restore package.add; "
        "remove: remove.package tool.uninstall package.remove; publish: nuget.push; "
        "unpublish: nuget.delete; source: nuget.add nuget.update; clean: nuget.locals; "
        "script: run test build",
        "v version k api-key f framework p project configfile tool-path n name u username",
        "s source add-source",
    ),
    "flit": PackageManager("pypi", "publish: publish; install: install", "repository f"),
    "changeset": PackageManager("npm", "publish: publish"),
    "gem": PackageManager(
        "gem",
        "install: install i update; remove: uninstall cleanup; publish: push owner; unpublish: yank; source: sources",
        "v version i install-dir n bindir k key host a add r remove P trust-policy platform g file",
        "s source",
    ),
    "go": PackageManager(
        "golang",
        "install: get install mod.download; setting: env; clean: clean; fetch: run; script: generate test build",
        "C o p tags ldflags gcflags mod exec toolexec modfile overlay",
        long_dash=True,
    ),
    "hatch": PackageManager(
        "pypi", "publish: publish; run: run; remove: env.remove env.prune", "e env r repo u user a auth"
    ),
    "lerna": PackageManager("npm", "publish: publish; fetch: exec; script: run"),
    "np semantic-release": PackageManager("npm", "", default="publish"),
    "npm": PackageManager(
        "npm",
        _NPM_SHARED + "install: install i in ins add ci isntall install-test it update up upgrade link ln rebuild; "
        "remove: uninstall un unlink remove rm r prune; fetch: exec x create init innit; "
        "script: run run-script rum test t tst start stop restart install-ci-test; "
        "unpublish: unpublish deprecate dist-tag owner access; unlock: audit.fix; "
        "clean: cache.clean cache.rm cache.clear",
        _NPM_VALUED,
        "registry",
    ),
    "npx pnpx": PackageManager("npm", "", "p package c call w workspace cache", "registry", default="fetch"),
    "nuget": PackageManager(
        "nuget",
        "install: install restore update; publish: push; unpublish: delete; source: sources.add; "
        "setting: config setapikey",
        "Version version OutputDirectory ConfigFile ApiKey Name set",
        "Source source",
        long_dash=True,
    ),
    "pdm": PackageManager(
        "pypi",
        "install: add install sync update; remove: remove rm; publish: publish; run: run; "
        "clean: cache.clear; setting: config",
        "p project G group e editable r repository",
        "",
    ),
    "pip pip3": PackageManager(
        "pypi",
        "install: install download wheel; remove: uninstall; setting: config.set; clean: cache.purge cache.remove",
        _PIP_VALUED,
        _PIP_INDEXES,
    ),
    "pipenv": PackageManager(
        "pypi",
        "install: install sync update upgrade; remove: uninstall clean; run: run",
        "r requirements e editable python categories",
        "i index pypi-mirror extra-index-url",
    ),
    "pipx": PackageManager(
        "pypi",
        "install: install inject upgrade reinstall install-all; remove: uninstall uninstall-all uninject; fetch: run",
        "spec pip-args python suffix",
        "i index-url",
        scope="user",
    ),
    "pnpm": PackageManager(
        "npm",
        _NPM_SHARED + "install: add install i update up upgrade import rebuild link fetch; "
        "remove: remove rm uninstall un prune; fetch: dlx create; run: exec; script: run test t start; "
        "unpublish: unpublish deprecate dist-tag owner; clean: store.prune; unlock: audit.--fix",
        _NPM_VALUED,
        "registry",
    ),
    "poetry": PackageManager(
        "pypi",
        "install: add install update sync self.add; remove: remove env.remove self.remove; "
        "publish: publish; run: run; setting: config; source: source.add; clean: cache.clear",
        "G group E extras C directory P project r repository u username p password python priority",
        "source",
    ),
    "twine": PackageManager(
        "pypi", "publish: upload register", "r repository repository-url u username p password config-file"
    ),
    "uv": PackageManager(
        "pypi",
        "install: pip.install add sync pip.sync tool.install tool.upgrade pip.compile lock; "
        "remove: remove pip.uninstall tool.uninstall; publish: publish; run: run; fetch: tool.run; "
        "clean: cache.clean cache.prune cache",
        _PIP_VALUED + " with with-requirements with-editable from group extra package directory project env-file p m"
        " module optional branch tag rev token publish-url",
        _PIP_INDEXES + " index default-index",
    ),
    "uvx": PackageManager(
        "pypi",
        "",
        "from with with-requirements with-editable p python",
        "index-url extra-index-url index default-index",
        default="fetch",
    ),
    "vsce": PackageManager("vscode", "publish: publish; unpublish: unpublish", "p pat t target"),
    "yarn": PackageManager(
        "npm",
        "install: add install up upgrade global.add import link; remove: remove global.remove autoclean; "
        "fetch: dlx create; publish: publish npm.publish; unpublish: npm.tag tag owner; "
        "script: run test start build; run: exec; setting: config.set; clean: cache.clean",
        _NPM_VALUED,
        "registry",
        default="install",
    ),
}


def _build_version_manager(kind: str, remove: str = "uninstall") -> PackageManager:
    """Return a manager of language versions, which can also run a program with one of them."""
    return PackageManager(kind, f"install: install; remove: {remove}; run: exec x run", "using C cd", scope="user")


_OTHER_MANAGERS = {
    "asdf": _build_version_manager("asdf", "uninstall plugin.remove"),
    "cabal": PackageManager("hackage", "install: install; publish: upload; script: run test build"),
    "conan": PackageManager("conan", "install: install; remove: remove; publish: upload; source: remote.add", "r"),
    "cpanm": PackageManager("cpan", "", "l", "mirror", default="install", scope="user"),
    "dart": PackageManager("pub", "install: pub.add pub.get; remove: pub.remove; publish: pub.publish; script: run"),
    "flutter": PackageManager("pub", "install: pub.add pub.get; remove: pub.remove; publish: pub.publish"),
    "fnm nvm": _build_version_manager("node"),
    "jsr": PackageManager("npm", "install: add; remove: remove; publish: publish"),
    "luarocks": PackageManager("luarocks", "install: install; remove: remove purge; publish: upload", "", "server"),
    "mise": _build_version_manager("mise", "uninstall prune"),
    "mix": PackageManager("hex", "install: deps.get; publish: hex.publish; unpublish: hex.retire; script: run test"),
    "nix-collect-garbage": PackageManager("nix", "", default="clean", scope="system"),
    "opam": PackageManager("opam", "install: install; remove: remove uninstall; publish: publish; run: exec"),
    "ovsx": PackageManager("vscode", "publish: publish", "p pat"),
    "pkg": PackageManager("pkg", "install: install; remove: delete remove autoremove; clean: clean", scope="system"),
    "pod": PackageManager("cocoapods", "install: install update; publish: trunk.push; unpublish: trunk.delete"),
    "port": PackageManager("port", "install: install upgrade; remove: uninstall", scope="system"),
    "pyenv": _build_version_manager("pyenv"),
    "rbenv": _build_version_manager("rbenv"),
    "rustup": PackageManager(
        "rustup",
        "install: install toolchain.install update component.add target.add; "
        "remove: toolchain.uninstall toolchain.remove component.remove target.remove self.uninstall; "
        "run: run",
        "toolchain profile",
        scope="user",
    ),
    "scoop": PackageManager("scoop", "install: install; remove: uninstall; source: bucket.add", scope="user"),
    "volta": _build_version_manager("volta"),
}

_SYSTEM_MANAGERS = {
    "add-apt-repository apt-add-repository": PackageManager("deb", "", "s", default="source", scope="system"),
    "apk": PackageManager(
        "apk",
        "install: add fix upgrade; remove: del; clean: cache.clean",
        "p root t virtual repositories-file keys-dir",
        "X repository",
        scope="system",
    ),
    "apt apt-get aptitude": PackageManager(
        "deb",
        "install: install reinstall build-dep; remove: remove purge autoremove autopurge dselect-upgrade; "
        "clean: clean autoclean",
        "t target-release o option c config-file a host-architecture",
        scope="system",
    ),
    "brew": PackageManager(
        "brew",
        "install: install reinstall upgrade bundle; remove: uninstall remove rm untap autoremove; "
        "source: tap; clean: cleanup",
        "appdir file",
        scope="user",
    ),
    "choco": PackageManager(
        "choco", "install: install upgrade; remove: uninstall; source: source", "version", "s source", scope="system"
    ),
    "dnf microdnf yum": PackageManager(
        "rpm",
        "install: install localinstall reinstall upgrade update groupinstall; "
        "remove: remove erase autoremove groupremove; source: config-manager.--add-repo; clean: clean",
        "c config x exclude enablerepo disablerepo installroot releasever setopt",
        "repofrompath",
        scope="system",
    ),
    "flatpak": PackageManager(
        "flatpak", "install: install update; remove: uninstall remove; source: remote-add", "arch", scope="system"
    ),
    "snap": PackageManager(
        "snap", "install: install refresh; remove: remove; run: run", "channel revision", scope="system"
    ),
    "winget": PackageManager(
        "winget",
        "install: install upgrade; remove: uninstall; source: source.add",
        "s source id v version",
        "",
        scope="system",
    ),
    "zypper": PackageManager(
        "rpm",
        "install: install in update up; remove: remove rm; source: addrepo ar; clean: clean cc",
        "root R repo r from",
        scope="system",
    ),
}

MANAGERS = expand_names({**_OTHER_MANAGERS, **_SYSTEM_MANAGERS, **_LANGUAGE_MANAGERS})

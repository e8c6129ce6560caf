"""Managers that fewer people use: of other languages, of versions of languages, of other systems."""

from trotline.analysis.tools.packages_row import Manager


def _versions(kind: str, removed: str = "uninstall") -> Manager:
    """A manager of versions of a language, which can also run something with one of them."""
    return Manager(kind, {"install": "install", "remove": removed, "carried": "exec x run"}, "using C cd", scope="user")


OTHERS = {
    "asdf": _versions("asdf", "uninstall plugin.remove"),
    "cabal": Manager("hackage", {"install": "install", "publish": "upload", "scripts": "run test build"}),
    "conan": Manager(
        "conan", {"install": "install", "remove": "remove", "publish": "upload", "source": "remote.add"}, "r"
    ),
    "cpanm": Manager("cpan", {}, "l mirror", "mirror", bare="install", scope="user"),
    "dart": Manager(
        "pub", {"install": "pub.add pub.get", "remove": "pub.remove", "publish": "pub.publish", "scripts": "run"}
    ),
    "flutter": Manager("pub", {"install": "pub.add pub.get", "remove": "pub.remove", "publish": "pub.publish"}),
    "fnm": _versions("node"),
    "jsr": Manager("npm", {"install": "add", "remove": "remove", "publish": "publish"}),
    "luarocks": Manager(
        "luarocks", {"install": "install", "remove": "remove purge", "publish": "upload"}, "server", "server"
    ),
    "mise": _versions("mise", "uninstall prune"),
    "mix": Manager(
        "hex", {"install": "deps.get", "publish": "hex.publish", "unpublish": "hex.retire", "scripts": "run test"}
    ),
    "nix-collect-garbage": Manager("nix", {}, bare="clean", scope="system"),
    "nvm": _versions("node"),
    "opam": Manager(
        "opam", {"install": "install", "remove": "remove uninstall", "publish": "publish", "carried": "exec"}
    ),
    "ovsx": Manager("vscode", {"publish": "publish"}, "p pat"),
    "pkg": Manager(
        "pkg", {"install": "install", "remove": "delete remove autoremove", "clean": "clean"}, scope="system"
    ),
    "pod": Manager("cocoapods", {"install": "install update", "publish": "trunk.push", "unpublish": "trunk.delete"}),
    "port": Manager("port", {"install": "install upgrade", "remove": "uninstall"}, scope="system"),
    "pyenv": _versions("pyenv"),
    "rbenv": _versions("rbenv"),
    "rustup": Manager(
        "rustup",
        {
            "install": "install toolchain.install update component.add target.add",
            "remove": "toolchain.uninstall toolchain.remove component.remove target.remove self.uninstall",
            "carried": "run",
        },
        "toolchain profile",
        scope="user",
    ),
    "scoop": Manager("scoop", {"install": "install", "remove": "uninstall", "source": "bucket.add"}, scope="user"),
    "volta": _versions("volta"),
}

"""Managers of the machine's own packages."""

from trotline.analysis.tools.packages_row import Manager

_DNF = Manager(
    "rpm",
    {
        "install": "install localinstall reinstall upgrade update groupinstall",
        "remove": "remove erase autoremove groupremove",
        "source": "config-manager.--add-repo",
        "clean": "clean",
    },
    "c config x exclude enablerepo disablerepo repofrompath installroot releasever setopt",
    "repofrompath",
    scope="system",
)
_APT = Manager(
    "deb",
    {
        "install": "install reinstall build-dep",
        "remove": "remove purge autoremove autopurge dselect-upgrade",
        "clean": "clean autoclean",
    },
    "t target-release o option c config-file a host-architecture",
    scope="system",
)

SYSTEM = {
    "add-apt-repository": Manager("deb", {}, "s", bare="source", scope="system"),
    "apt-add-repository": Manager("deb", {}, "s", bare="source", scope="system"),
    "apk": Manager(
        "apk",
        {"install": "add fix upgrade", "remove": "del", "clean": "cache.clean"},
        "X repository p root t virtual repositories-file keys-dir",
        "X repository",
        scope="system",
    ),
    "apt": _APT,
    "apt-get": _APT,
    "aptitude": _APT,
    "brew": Manager(
        "brew",
        {
            "install": "install reinstall upgrade bundle",
            "remove": "uninstall remove rm untap autoremove",
            "source": "tap",
            "clean": "cleanup",
        },
        "appdir file",
        scope="user",
    ),
    "choco": Manager(
        "choco",
        {"install": "install upgrade", "remove": "uninstall", "source": "source"},
        "s source version",
        "s source",
        scope="system",
    ),
    "dnf": _DNF,
    "flatpak": Manager(
        "flatpak",
        {"install": "install update", "remove": "uninstall remove", "source": "remote-add"},
        "arch",
        scope="system",
    ),
    "snap": Manager(
        "snap", {"install": "install refresh", "remove": "remove", "carried": "run"}, "channel revision", scope="system"
    ),
    "winget": Manager(
        "winget",
        {"install": "install upgrade", "remove": "uninstall", "source": "source.add"},
        "s source id v version",
        "",
        scope="system",
    ),
    "yum": _DNF,
    "zypper": Manager(
        "rpm",
        {"install": "install in update up", "remove": "remove rm", "source": "addrepo ar", "clean": "clean cc"},
        "root R repo r from",
        scope="system",
    ),
    "microdnf": _DNF,
}

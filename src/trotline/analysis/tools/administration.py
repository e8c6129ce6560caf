"""Cmdlets of PowerShell for who runs machines and accounts: firewalls, networks, users, the registry, Azure."""

from collections.abc import Callable

from trotline.analysis.scene import Argument
from trotline.analysis.streams import Stream
from trotline.analysis.tools.cmdlets import Cmdlet
from trotline.analysis.tools.databases import Where, sql
from trotline.analysis.verbs import Deed

Act = Callable[[Cmdlet], Stream]

_ABOUT = ("name", "identity", "displayname", "member", "group", "path")
_STARTS = ("\\run", "\\shell\\open", "\\winlogon", "\\services\\", "/run", "/winlogon", "/services/")
_ACCOUNTS = (
    "new-localuser remove-localuser set-localuser disable-localuser enable-localuser new-localgroup remove-localgroup"
    " add-localgroupmember remove-localgroupmember remove-aduser remove-adgroup remove-adcomputer remove-adobject"
    " remove-adorganizationalunit add-adgroupmember remove-adgroupmember set-adaccountpassword disable-adaccount"
    " new-aduser"
).split()
_FIREWALL = (
    "set-netfirewallprofile set-netfirewallrule new-netfirewallrule remove-netfirewallrule disable-netfirewallrule"
)
_NETWORK = "disable-netadapter remove-netipaddress set-dnsclientserveraddress remove-netroute set-netipinterface"
_AZURE = (
    "resourcegroup resource vm vmss disk snapshot sqldatabase sqlserver sqlinstance cosmosdbaccount rediscache keyvault"
    " keyvaultkey keyvaultsecret storageaccount storagecontainer storageblob storageshare storagetable webapp"
    " functionapp appserviceplan akscluster containerregistry virtualnetwork networksecuritygroup publicipaddress"
    " dnszone recoveryservicesvault resourcelock"
).split()


def _about(cmdlet: Cmdlet) -> Argument | None:
    return cmdlet.given.value(*_ABOUT, at=0)


def _noted(kind: str, verb: str) -> Act:
    def note(cmdlet: Cmdlet) -> Stream:
        about = _about(cmdlet)
        target = " ".join(filter(None, (cmdlet.name, about.text if about is not None else "")))
        cmdlet.step.effect(kind, verb, cmdlet.script.at, target=target, writes=True)
        return Stream("")

    return note


def _azure(deed: Deed) -> Act:
    def note(cmdlet: Cmdlet) -> Stream:
        cmdlet.step.effect("cloud", deed.value, cmdlet.script.at, target=cmdlet.name, host="Azure", writes=True)
        return Stream("")

    return note


def _property(cmdlet: Cmdlet) -> Stream:
    """A value of the registry, or of a file; what Windows starts by itself stands in the registry."""
    about = cmdlet.given.value("path", "literalpath", at=0)
    key = about.text.lower() if about is not None else ""
    if not key.startswith(("hk", "registry::")):
        return Stream("")
    starts = cmdlet.name != "remove-itemproperty" and any(part in key for part in _STARTS)
    kind, verb = ("persist", "start entry") if starts else ("system", "settings")
    cmdlet.step.effect(kind, verb, cmdlet.script.at, target=f"{cmdlet.name} {key}", writes=True)
    return Stream("")


def _recycle_bin(cmdlet: Cmdlet) -> Stream:
    path = f"{cmdlet.step.scene.world.home}/$Recycle.Bin"
    cmdlet.step.effect("delete", cmdlet.name, cmdlet.script.at, path=path, recursive=True, writes=True)
    return Stream("")


def _sql(cmdlet: Cmdlet) -> Stream:
    given = cmdlet.given
    host, database = given.value("serverinstance"), given.value("database")
    where = Where(host.text if host is not None else "", database.text if database is not None else "")
    query = given.value("query", at=0)
    if query is not None:
        sql(cmdlet.step, query, "tsql", where)
    return Stream()


ADMINISTRATION: dict[str, Act] = {
    **dict.fromkeys(_ACCOUNTS, _noted("system", "users")),
    **dict.fromkeys(_FIREWALL.split(), _noted("system", "firewall")),
    **dict.fromkeys(_NETWORK.split(), _noted("system", "network")),
    **dict.fromkeys("new-itemproperty remove-itemproperty set-itemproperty".split(), _property),
    **{f"remove-az{thing}": _azure(Deed.DESTROY) for thing in _AZURE},
    **{f"stop-az{thing}": _azure(Deed.STOP) for thing in ("vm", "vmss", "webapp", "functionapp", "akscluster")},
    "new-azroleassignment": _azure(Deed.GRANT),
    "clear-recyclebin": _recycle_bin,
    "invoke-sqlcmd": _sql,
}

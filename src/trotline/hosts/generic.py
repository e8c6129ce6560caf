"""Any agent that is not known by name: it sends our own payloads, and takes exit 2 for a refusal."""

from trotline.events import EVENTS
from trotline.hosts.forms import by_exit_code
from trotline.hosts.host import Host, Power, Told

HOST = Host(
    name="generic",
    title="an agent of your own",
    events={name: name for name in EVENTS},
    powers={name: frozenset({Power.DENY}) for name, cls in EVENTS.items() if cls.contract.refusable},
    form=by_exit_code,
    fields={name: {field: field for field in cls.__struct_fields__ if field != "raw"} for name, cls in EVENTS.items()},
    person=Told.ALONG,
    both=True,
)

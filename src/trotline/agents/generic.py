"""Any other agent: it sends Cursor's payloads and takes exit code 2 for a refusal."""

from trotline.agents.agent import Agent, Capability, PersonChannel
from trotline.agents.reply_forms import write_exit_code
from trotline.domain.events import EVENTS

AGENT = Agent(
    name="generic",
    title="an agent of your own",
    events={name: name for name in EVENTS},
    capabilities={name: frozenset({Capability.DENY}) for name, cls in EVENTS.items() if cls.contract.refusable},
    reply_form=write_exit_code,
    fields={name: {field: field for field in cls.__struct_fields__ if field != "raw"} for name, cls in EVENTS.items()},
    person_channel=PersonChannel.WITH_REFUSAL,
    raises_paired_events=True,
)

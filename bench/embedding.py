"""What the awaitable twin costs over the sync call, and a hundred conversations together over one after the other."""

import asyncio
import json
import statistics
import tempfile
import time
from collections.abc import Awaitable, Callable
from pathlib import Path

from trotline import AsyncSession, Engine, Outcome, Session
from trotline.domain.events import BeforeShell, Event

ROUNDS = 60
CALLS = 5
CONVERSATIONS = 100


def main() -> None:
    with tempfile.TemporaryDirectory() as directory:
        world = Path(directory)
        for name in ("home/.cursor", "system", "project"):
            (world / name).mkdir(parents=True)
        print("| what | sync | awaited |\n|---|---|---|")
        for title, hooks in (
            ("no hook", []),
            ("one hook, a shell script", [{"command": "cat > /dev/null; echo '{}'"}]),
        ):
            content = {"version": 1, "hooks": {"beforeShellExecution": hooks}}
            (world / "home/.cursor/hooks.json").write_text(json.dumps(content))
            engine = Engine.load(project=world / "project", home=world / "home", system=world / "system")
            asyncio.run(_calls(engine, title))
        asyncio.run(_conversations(engine))


async def _calls(engine: Engine, title: str) -> None:
    """One call at a time, sync and awaited in turn."""
    with engine.session() as session:
        twin = AsyncSession(session)
        rounds = [(_sync(session), await _awaited(twin.fire)) for _ in range(ROUNDS)]
    sync = statistics.median(one for one, _ in rounds)
    ratio = statistics.median(awaited / plain for plain, awaited in rounds)
    more = statistics.median(awaited - plain for plain, awaited in rounds)
    print(f"| {title} | {sync * 1e6:.0f} us (1.00x) | {ratio:.2f}x, {more * 1e6:+.0f} us |")


def _sync(session: Session) -> float:
    begun = time.perf_counter()
    for _ in range(CALLS):
        session.fire(BeforeShell(command="ls"))
    return (time.perf_counter() - begun) / CALLS


async def _awaited(call: Callable[[Event], Awaitable[Outcome]]) -> float:
    begun = time.perf_counter()
    for _ in range(CALLS):
        await call(BeforeShell(command="ls"))
    return (time.perf_counter() - begun) / CALLS


async def _conversations(engine: Engine) -> None:
    """The same hundred conversations, in turn and together."""
    ratios = []
    for _ in range(5):
        begun = time.perf_counter()
        for number in range(CONVERSATIONS):
            with engine.session(conversation_id=f"s{number}") as session:
                session.fire(BeforeShell(command="ls"))
        between = time.perf_counter()
        await asyncio.gather(*(_converse(engine, number) for number in range(CONVERSATIONS)))
        ratios.append((time.perf_counter() - between) / (between - begun))
    together = statistics.median(ratios)
    print(f"| {CONVERSATIONS} conversations with one hook each | 1.00x in turn | {together:.2f}x together |")


async def _converse(engine: Engine, number: int) -> None:
    async with engine.session(conversation_id=f"a{number}") as session:
        await session.fire(BeforeShell(command="ls"))


if __name__ == "__main__":
    main()

"""Compare async calls with sync calls, and a hundred parallel conversations with the same ones in turn."""

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
            asyncio.run(_compare_calls(engine, title))
        asyncio.run(_compare_conversations(engine))


async def _compare_calls(engine: Engine, title: str) -> None:
    """Compare single calls, sync and async in turn."""
    with engine.session() as session:
        async_session = AsyncSession(session)
        rounds = [(_time_sync(session), await _time_async(async_session.fire)) for _ in range(ROUNDS)]
    sync = statistics.median(plain for plain, _ in rounds)
    ratio = statistics.median(awaited / plain for plain, awaited in rounds)
    more = statistics.median(awaited - plain for plain, awaited in rounds)
    print(f"| {title} | {sync * 1e6:.0f} us (1.00x) | {ratio:.2f}x, {more * 1e6:+.0f} us |")


def _time_sync(session: Session) -> float:
    start = time.perf_counter()
    for _ in range(CALLS):
        session.fire(BeforeShell(command="ls"))
    return (time.perf_counter() - start) / CALLS


async def _time_async(call: Callable[[Event], Awaitable[Outcome]]) -> float:
    start = time.perf_counter()
    for _ in range(CALLS):
        await call(BeforeShell(command="ls"))
    return (time.perf_counter() - start) / CALLS


async def _compare_conversations(engine: Engine) -> None:
    """Compare the same hundred conversations, in turn and together."""
    ratios = []
    for _ in range(5):
        start = time.perf_counter()
        for number in range(CONVERSATIONS):
            with engine.session(conversation_id=f"s{number}") as session:
                session.fire(BeforeShell(command="ls"))
        between = time.perf_counter()
        await asyncio.gather(*(_converse(engine, number) for number in range(CONVERSATIONS)))
        ratios.append((time.perf_counter() - between) / (between - start))
    together = statistics.median(ratios)
    print(f"| {CONVERSATIONS} conversations with one hook each | 1.00x in turn | {together:.2f}x together |")


async def _converse(engine: Engine, number: int) -> None:
    async with engine.session(conversation_id=f"a{number}") as session:
        await session.fire(BeforeShell(command="ls"))


if __name__ == "__main__":
    main()

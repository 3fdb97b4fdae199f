"""The server is away in the middle, first silent, then gone: nothing is lost, nothing is doubled."""

import asyncio
import os
import random
import signal
from collections import Counter
from collections.abc import Awaitable, Callable
from contextlib import AbstractAsyncContextManager, ExitStack
from dataclasses import dataclass, field
from pathlib import Path
from time import monotonic, sleep
from typing import Any, TypeAlias

from support.doctor import problems
from support.mongo import mongodb_server, with_database
from support.properties import QuickEmbedder
from thoughtcycle.errors import StorageFailed
from thoughtcycle.memory.memory import Memory
from thoughtcycle.memory.model import Cycle, CycleMessage, MemoryDraft, MemoryRecord, Source, utc_now
from torture.children import Child, Tell, done

USERS = ("ana", "bia")
WRITERS = 4
BETWEEN_TRIES = 0.5
"""Seconds after which a caller who was refused asks again."""
PAUSE = 0.02
"""Seconds between two changes: a spool takes thousands in a second, which all have to arrive."""
Call: TypeAlias = Callable[[], Awaitable[None]]
"""A change that may be made again."""


@dataclass
class Result:
    """What came of it."""

    operations: int = 0
    refused: int = 0
    """Calls that failed with StorageFailed and were made again."""
    longest: float = 0.0
    """Seconds of the longest single call."""
    faults: list[str] = field(default_factory=list)


def run(folder: Path, away: float, seed: int) -> Result:
    """Stops the server for `away` seconds, lets it go on; then kills it and starts it `away` seconds later."""
    between = min(5.0, away)
    with ExitStack() as first, ExitStack() as second:
        address = first.enter_context(mongodb_server(folder))
        url = with_database(address, "outage")
        span = 3 * between + 2 * away
        children = [
            Child(lambda tell, me=number: _write(tell, url, folder, me, seed, span))
            for number in range(WRITERS)
        ]
        for child in children:  # nobody can open a database that is away
            next(child.lines(), None)
        sleep(between)
        server = int((folder / "pid").read_text())
        os.kill(server, signal.SIGSTOP)
        sleep(away)
        os.kill(server, signal.SIGCONT)
        sleep(between)
        first.close()
        sleep(away)
        second.enter_context(mongodb_server(folder, int(address.rpartition(":")[2])))
        return _compared(url, children)


def _compared(url: str, children: list[Child]) -> Result:
    lines = [line for child in children for line in child.lines()]
    result = Result(faults=[line["error"] for line in lines if line["what"] == "failed"])
    for child in children:
        if child.wait() != 0:
            result.faults.append("a process failed")
    told = [line for line in lines if line["what"] == "done"]
    result.operations = len(told)
    result.refused = sum(line["refused"] for line in told)
    result.longest = max((line["longest"] for line in told), default=0.0)
    for user in USERS:
        (seen,) = done(lambda tell, user=user: _look(tell, url, user))
        result.faults += _faults(user, [line for line in told if line["user"] == user], seen)
    return result


def _faults(user: str, told: list[dict[str, Any]], seen: dict[str, Any]) -> list[str]:
    faults = [f"{user}: doctor: {problem}" for problem in seen["problems"]]
    expected: Counter[str] = Counter()
    for line in told:
        if line["op"] == "save":
            expected[line["word"]] += 1
        elif line["op"] == "update":
            expected[line["of"]] -= 1
            expected[line["word"]] += 1
        elif line["op"] == "hide":
            expected[line["of"]] -= 1
    active = Counter(seen["active"])
    for word in {*active, *expected}:
        if active[word] != expected[word]:
            faults.append(f"{user}: {word!r} is active {active[word]} times, expected {expected[word]}")
    said = Counter(line["word"] for line in told if line["op"] == "talk")
    if Counter(seen["said"]) != said:
        faults.append(f"{user}: said {sorted(said.elements())}, kept {sorted(seen['said'])}")
    return faults


async def _write(tell: Tell, url: str, folder: Path, me: int, seed: int, span: float) -> None:
    """Writes memories of its own and talks in a chat of its own, for `span` seconds.

    Half of the writers have a spool for what is said; whatever is refused is asked for again.
    """
    chance, user = random.Random(seed * 100 + me), USERS[me % len(USERS)]
    mine: list[MemoryRecord] = []
    opened: AbstractAsyncContextManager[Memory] = Memory.open(url, embeddings=QuickEmbedder())
    if me >= WRITERS // 2:
        opened = Memory.open(url, embeddings=QuickEmbedder(), spool=folder / f"spool {me}")
    async with opened as memory:
        tell("open")
        number, until = 0, monotonic() + span
        while monotonic() < until:
            number += 1
            op, word = chance.choice(("save", "save", "update", "hide", "talk")), f"p{me}n{number}"
            if op in ("update", "hide") and not mine:
                op = "save"
            one = mine.pop(chance.randrange(len(mine))) if op in ("update", "hide") else None
            if one is None:
                call = _said(memory, user, me, word) if op == "talk" else _saved(memory, user, word, mine)
            elif op == "update":
                call = _updated(memory, user, one, word, mine)
            else:
                call = _hidden(memory, user, one)
            what = await _insisted(call)
            of = one.text if one is not None else ""
            tell("done", user=user, op=op, of=of, word=word, **what)
            await asyncio.sleep(PAUSE)


def _saved(memory: Memory, user: str, word: str, mine: list[MemoryRecord]) -> Call:
    # a draft that names its cycle may be saved again
    draft = MemoryDraft(content=word, bindings=("tema",), source=Source(cycle=f"c {word}"))

    async def call() -> None:
        mine.extend([saved.record for saved in await memory.save(user, [draft])])

    return call


def _said(memory: Memory, user: str, me: int, word: str) -> Call:
    message = CycleMessage(id=word, role="user", text=word, at=utc_now())
    begun: list[Cycle] = []  # behind its own end, a closing that was kept but refused, it would begin again

    async def call() -> None:
        if not begun:
            begun.append(
                await memory.transcript.open_cycle(
                    user, f"chat {me}", message, parent=None, channel="test", follow=True
                )
            )
        await memory.transcript.close_cycle(user, begun[0].id, execution="e", messages=[], steps=[])

    return call


def _updated(memory: Memory, user: str, one: MemoryRecord, word: str, mine: list[MemoryRecord]) -> Call:
    async def call() -> None:
        await memory.update(user, one.id, content=word)
        mine.append(one.model_copy(update={"content": word}))

    return call


def _hidden(memory: Memory, user: str, one: MemoryRecord) -> Call:
    async def call() -> None:
        await memory.hide(user, [one.id])

    return call


async def _insisted(call: Call) -> dict[str, Any]:
    """Makes the call until it is not refused."""
    refused, longest = 0, 0.0
    while True:
        started = monotonic()
        try:
            await call()
        except StorageFailed:
            refused += 1
            longest = max(longest, monotonic() - started)
            await asyncio.sleep(BETWEEN_TRIES)
        else:
            return {"refused": refused, "longest": max(longest, monotonic() - started)}


async def _look(tell: Tell, url: str, user: str) -> None:
    async with Memory.open(url, embeddings=QuickEmbedder()) as memory:
        chats = [f"chat {me}" for me in range(WRITERS) if USERS[me % len(USERS)] == user]
        paths = [await memory.conversation(user, chat, limit=100_000) for chat in chats]
        tell(
            "seen",
            active=[record.text for record in await memory.list(user)],
            said=[cycle.message.text for path in paths for cycle in path],
            problems=await problems(memory.core.storage, user),
        )

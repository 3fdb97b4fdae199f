"""A message answered anew or edited while its cycle is being understood: what stands then is understood, once."""

import os
import random
from collections.abc import Awaitable, Callable
from datetime import UTC, datetime, timedelta
from itertools import product
from pathlib import Path
from typing import Any

import pytest

from support.beside import Beside
from support.databases import new_database
from support.doctor import problems
from support.memories import WordEmbedder
from thoughtcycle.graph.formation import compile_formation
from thoughtcycle.memory.core.worker import Worker
from thoughtcycle.memory.erasure.service import GRACE
from thoughtcycle.memory.memory import Memory
from thoughtcycle.memory.model import Cycle, CycleMessage
from thoughtcycle.memory.storage.mongo import ledger as mongo_ledger
from thoughtcycle.mind.rules import RuleMind
from thoughtcycle.nodes.base.context import Context
from thoughtcycle.nodes.base.services import Services
from thoughtcycle.runtime.upkeep import FORM, enqueue_formation, job_kinds

START = datetime(2026, 3, 2, 9, tzinfo=UTC)
SAID = (
    "meu nome é Pedro e moro em Recife",
    "estou ansioso com o prazo",
    "continuo ansioso com o prazo, prefiro falar por whatsapp",
    "Quero economizar R$ 5.000 até junho, fiquei ansioso com o prazo, prefiro falar por email e agora moro em Natal",
)
CODE = "Combinamos usar o {0}.\n```python\nbanco = '{0}'\nligar(banco)\n```"
EDITED = "agora moro em Olinda e odeio coentro"
SAMPLE = int(os.environ.get("TORTURE_SAMPLE", "2"))
"""Writes before which somebody comes in between, on SQLite twice as many; 0: each."""
WRITES, MOST, MANY = 12, 60, 1_000_000
"""Formation of the last message takes at least as many writes, and fewer than MOST."""

Act = Callable[[Memory, list[Cycle]], Awaitable[object]]


def message(text: str, place: int, role: str = "user") -> CycleMessage:
    at = START + timedelta(hours=place, minutes=role != "user")
    return CycleMessage.model_validate({"id": f"{role}{place}", "role": role, "text": text, "at": at})


async def say(memory: Memory, text: str, place: int, parent: str | None, reply: str, run: str = "") -> Cycle:
    """A turn as the thought cycle keeps it."""
    cycle = await memory.transcript.open_cycle(
        "ana", "c", message(text, place), parent=parent, channel="test"
    )
    return await answer(memory, cycle, place, reply, run)


async def answer(memory: Memory, cycle: Cycle, place: int, reply: str, run: str = "") -> Cycle:
    said = [message(reply, place, "assistant")]
    closed = await memory.transcript.close_cycle(
        "ana", cycle.id, execution=f"{run}{place}", messages=said, steps=[]
    )
    assert closed is not None
    return closed


async def fill(memory: Memory) -> list[Cycle]:
    """The chat; its last message is not understood yet."""
    cycles: list[Cycle] = []
    for place, text in enumerate(SAID):
        reply = CODE.format("Postgres") if place == len(SAID) - 1 else "Certo."
        cycles.append(await say(memory, text, place, cycles[-1].id if cycles else None, reply))
    return cycles


async def regenerate(memory: Memory, cycles: list[Cycle]) -> None:
    """Another answer to the last message."""
    await answer(memory, cycles[-1], len(cycles) - 1, CODE.format("MySQL"), "again")


async def edit(memory: Memory, cycles: list[Cycle]) -> None:
    """Another message in place of the last."""
    await say(memory, EDITED, 3, cycles[2].id, "Certo.", "edited")


async def edit_earlier(memory: Memory, cycles: list[Cycle]) -> None:
    """Another message in place of the second; what came behind it is abandoned."""
    await say(memory, EDITED, 1, cycles[0].id, "Certo.", "edited")


ABANDONED = {
    regenerate: ("Postgres",),
    edit: ("Natal", "5.000", "Postgres", "email"),
    edit_earlier: ("Natal", "5.000", "Postgres", "email", "whatsapp", "ansioso"),
}


async def learned(memory: Memory) -> dict[str, Any]:
    """What is told of the user from now on; when it was written does not matter, nor in how many steps."""
    chat = await memory.conversation_memory("ana", "c")
    profile = await memory.profile("ana")
    old = {"summary", "preserved_data", "cycle_id", "pending_summarization"}
    return {
        "memories": sorted((one.text, one.kind, one.source.cycle) for one in await memory.list("ana")),
        "old": [one.model_dump(include=old) for one in chat.old_memory],
        "critical": [one.model_dump() for one in chat.critical_data],
        "head": (chat.head, chat.total_cycles, chat.ledger, chat.periods),
        "profile": sorted((entry.key, entry.value) for entry in profile.entries),
        "moods": sorted((cycle, mood.name) for cycle, mood in profile.moods),
        "formed": [cycle.formation for cycle in await memory.conversation("ana", "c", limit=9)],
    }


async def understood(url: str, act: Act, victim: int) -> tuple[str, dict[str, Any]]:
    """The last message is understood while `act` takes place elsewhere before write `victim`.

    0: before all of them; more than there are: after all. Gives the write, and what was learned.
    """
    now = [START + timedelta(days=9)]
    async with (
        Memory.open(url, embeddings=WordEmbedder(), clock=lambda: now[0]) as memory,
        Memory.open(url, embeddings=WordEmbedder(), clock=lambda: now[0]) as other,
    ):
        cycles = await fill(memory)
        alone = compile_formation(Services(memory, RuleMind()))
        for cycle in cycles[:-1]:
            await alone.ainvoke({"cycle_id": cycle.id}, context=Context(user_id="ana"))
        if not victim:
            await act(other, cycles)
        beside = Beside(memory, victim, lambda: act(other, cycles))
        told = await drained(memory, now)
        if victim and not (write := beside.name):
            beside.writes = MANY
            await act(other, cycles)
        for _ in range(2):
            told += await drained(memory, now)
        assert await problems(memory.core.storage, "ana") == [], victim
        assert await memory.queue.listing(["ana", ""]) == [], victim
        assert await memory.conversations.pending_cycles("ana", limit=9) == [], victim
        if act is regenerate and victim and write:
            assert "storage_conflict" in told, (victim, write)
        return beside.name, await checked(memory, act, victim)


async def drained(memory: Memory, now: list[datetime]) -> list[str]:
    """What became of the jobs that were due; two minutes later."""
    told: list[str] = []
    services = Services(memory, RuleMind(), clock=lambda: now[0])
    await Worker(
        memory.queue,
        {FORM: job_kinds(services, GRACE)[FORM]},
        slots=1,
        on_outcome=lambda job, outcome: told.append(outcome),
        look=lambda: enqueue_formation(memory),
    ).drain()
    now[0] += timedelta(minutes=2)
    return told


async def checked(memory: Memory, act: Act, victim: int) -> dict[str, Any]:
    """What was learned, in which nothing abandoned occurs."""
    known = await learned(memory)
    sheets = await memory.sheets("ana", "c")
    assert sheets.conversation is not None
    text = f"{known} {sheets.conversation.working}"
    assert not [word for word in ABANDONED[act] if word in text], (victim, known, sheets.conversation.working)
    return known


@pytest.mark.spec("BY-1", "BY-2")
@pytest.mark.parametrize(
    ("backend", "act"),
    [*product(["sqlite"], ABANDONED), ("mongodb", regenerate), ("mongodb", edit_earlier)],
)
async def test_what_stands_is_understood_whenever_it_took_the_place_of_what_was_said(
    request: pytest.FixtureRequest, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, backend: str, act: Act
) -> None:
    monkeypatch.setattr(mongo_ledger, "HELP_SECONDS", 0.01)
    base = request.getfixturevalue("mongodb_url") if backend == "mongodb" else ""
    _, expected = await understood(f"sqlite:///{tmp_path}/0.db", act, 0)
    victims = list(range(1, MOST))
    if SAMPLE:
        victims = sorted(random.Random(4).sample(range(1, WRITES), SAMPLE if base else 2 * SAMPLE))
        victims += [] if base else [MOST]
    for victim in victims:
        url = new_database(base) if base else f"sqlite:///{tmp_path}/{victim}.db"
        write, known = await understood(url, act, victim)
        assert known == expected, (victim, write)
        assert write or victim > WRITES, victim
        if not write:
            break
    assert not write or SAMPLE

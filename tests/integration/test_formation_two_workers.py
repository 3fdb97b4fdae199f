"""Two workers on the same cycle, or on the same database: every cycle is understood once."""

import asyncio
import json
import os
import random
from collections import Counter
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest

from support.beside import Beside
from support.child import ENVIRONMENT
from support.command import PYTHON
from support.databases import database_url, new_database
from support.doctor import problems
from support.learned import state
from support.memories import WordEmbedder
from thoughtcycle.memory.core.worker import Worker
from thoughtcycle.memory.erasure.service import GRACE
from thoughtcycle.memory.memory import Memory
from thoughtcycle.memory.model.job import LEASE
from thoughtcycle.memory.storage.mongo import ledger as mongo_ledger
from thoughtcycle.mind.base import Mind
from thoughtcycle.mind.rules import RuleMind
from thoughtcycle.nodes.base.services import Services
from thoughtcycle.nodes.formation.judge.answer import Answer
from thoughtcycle.runtime.upkeep import FORM, enqueue_formation, job_kinds

__all__ = ["database_url"]

START = datetime(2026, 3, 2, 9, tzinfo=UTC)
NOW = START + timedelta(days=9)
SAID = (
    "meu nome é Pedro e moro em Recife",
    "gosto de café e não gosto de carne de porco",
    "estou ansioso com o prazo, prefiro falar por whatsapp",
    "agora moro em Natal, não gosto de carne e quero economizar R$ 5.000 até junho",
)
SAMPLE = int(os.environ.get("TORTURE_SAMPLE", "2"))
"""Writes before which the lease of a worker runs out, on SQLite twice as many; 0: each."""
WRITES, MOST = 8, 60
"""Understanding the last cycle takes at least as many writes, and fewer than MOST."""


async def fill(memory: Memory) -> None:
    for place, text in enumerate(SAID):
        at = START + timedelta(hours=place)
        await memory.record_cycle("ana", "c", text, "Certo, anotei.", at=at, channel="test")


async def drained(memory: Memory, mind: Mind, now: list[datetime]) -> None:
    """Does the jobs that are due."""
    known = job_kinds(Services(memory, mind, clock=lambda: now[0]), GRACE)
    await Worker(memory.queue, {FORM: known[FORM]}, slots=1, look=lambda: enqueue_formation(memory)).drain()


async def taken_over(url: str, victim: int, slow: Mind, quick: Mind) -> tuple[str, dict[str, Any]]:
    """The last cycle is understood by a worker whose lease runs out before write `victim`; another takes it.

    0: nobody comes in between. Gives the write, and all that is kept afterwards.
    """
    now = [NOW]
    async with (
        Memory.open(url, embeddings=WordEmbedder(), clock=lambda: now[0]) as memory,
        Memory.open(url, embeddings=WordEmbedder(), clock=lambda: now[0]) as other,
    ):
        await fill(memory)
        *_, last = await memory.conversations.pending_cycles("ana", limit=9)
        hold = await memory.conversations.form_cycle(
            "ana", last.id, judgement=None, marks=(), formation="none", expected=last
        )
        await drained(memory, RuleMind(), now)
        assert hold is not None
        await memory.conversations.form_cycle(
            "ana", last.id, judgement=None, marks=(), formation="pending", expected=hold
        )

        async def take() -> None:
            now[0] += 2 * LEASE
            await drained(other, quick, now)

        beside = Beside(memory, victim, take)
        await drained(memory, slow, now)
        now[0] += timedelta(hours=1)
        await drained(memory, RuleMind(), now)
        assert await problems(memory.core.storage, "ana") == [], victim
        assert await memory.queue.listing(["ana", ""]) == [], victim
        return beside.name, await state(memory, NOW)


class Judge(RuleMind):
    """Judges everything to be one fact, in words of its own."""

    def __init__(self, fact: str) -> None:
        self._answer = Answer(
            importance=60, summary=fact, facts=[{"c": fact, "words": "agora moro em Natal"}]
        )

    async def ask(self, question: Any, view: Any) -> Any:
        if question.name == "formation/judge#judge":
            return self._answer
        return await super().ask(question, view)


@pytest.mark.spec("BY-2")
@pytest.mark.parametrize("backend", ["sqlite", "mongodb"])
async def test_who_lost_the_lease_adds_nothing_to_what_the_next_worker_made(
    request: pytest.FixtureRequest, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, backend: str
) -> None:
    monkeypatch.setattr(mongo_ledger, "HELP_SECONDS", 0.01)
    base = request.getfixturevalue("mongodb_url") if backend == "mongodb" else ""
    _, expected = await taken_over(f"sqlite:///{tmp_path}/0.db", 0, RuleMind(), RuleMind())
    victims = list(range(1, MOST))
    if SAMPLE:
        victims = sorted(random.Random(4).sample(range(1, WRITES), SAMPLE if base else 2 * SAMPLE))
    for victim in victims:
        url = new_database(base) if base else f"sqlite:///{tmp_path}/{victim}.db"
        write, kept = await taken_over(url, victim, RuleMind(), RuleMind())
        assert write or victim > WRITES, victim
        assert kept == expected, (victim, write)
        if not write:
            break


@pytest.mark.spec("BY-2", "SM-4")
@pytest.mark.parametrize("victim", range(1, 6, 2))
async def test_of_two_judgements_of_a_cycle_one_counts(tmp_path: Path, victim: int) -> None:
    url = f"sqlite:///{tmp_path}/m.db"
    slow, quick = Judge("Mudou-se para a cidade de Natal"), Judge("Passou a viver em Natal, no litoral")
    write, kept = await taken_over(url, victim, slow, quick)
    told = [one["content"] for one in kept["memories"] if "Natal" in str(one["content"])]
    assert len(told) == 1, (write, told)
    cycle = kept["cycles"][-1]
    assert cycle["formation"] == "done" and cycle["judgement"]["summary"] == told[0]


USERS = ("ana", "bia", "caio")


@pytest.mark.spec("BY-2")
async def test_two_processes_drain_one_database(database_url: str, tmp_path: Path) -> None:
    async with Memory.open(database_url, embeddings=None) as memory:
        for user in USERS:
            for place, text in enumerate(SAID):
                at = START + timedelta(hours=place)
                await memory.record_cycle(user, f"c-{user}", text, "Certo.", at=at, channel="test")
        command = (*PYTHON, "worker", "--once", "--json", "--db", database_url)
        workers = [
            await asyncio.create_subprocess_exec(
                *command,
                stdout=asyncio.subprocess.PIPE,
                stderr=asyncio.subprocess.PIPE,
                env={**ENVIRONMENT, "HOME": str(tmp_path)},
                cwd=tmp_path,
            )
            for _ in range(2)
        ]
        outputs = [await worker.communicate() for worker in workers]
        ended = [
            (worker.returncode, error.decode()) for worker, (_, error) in zip(workers, outputs, strict=True)
        ]
        assert ended == [(0, ""), (0, "")]
        jobs = [json.loads(line) for output, _ in outputs for line in output.decode().splitlines()]
        assert {job["outcome"] for job in jobs} == {"done"}
        assert len({job["id"] for job in jobs if job["kind"] == FORM}) == len(USERS) * len(SAID)
        assert await memory.conversations.pending_cycles(limit=99) == []
        for user in USERS:
            assert await problems(memory.core.storage, user) == []
            rows = await memory.core.storage.memories.journal(user, limit=None)
            saved = Counter(
                (row.op, row.memory, row.cycle) for row in rows if row.op in ("save", "reinforce")
            )
            assert saved and set(saved.values()) == {1}
            chat = await memory.conversation_memory(user, f"c-{user}")
            assert (chat.total_cycles, len(chat.old_memory)) == (len(SAID), len(SAID) - 2)

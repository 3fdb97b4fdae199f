"""What a model answers wrongly, odd messages, sheets edited by hand, clocks that jump: handled, nothing lost."""

import asyncio
import json
import sqlite3
from datetime import UTC, datetime, timedelta
from pathlib import Path
from time import process_time
from typing import Any

import pytest

from support.background import Background
from support.doctor import problems
from support.fake_openai import FakeOpenAI
from support.graphs import lab
from support.memories import WordEmbedder
from thoughtcycle.memory.maintenance.doctor import repair
from thoughtcycle.memory.memory import Memory
from thoughtcycle.memory.model import Cycle
from thoughtcycle.mind.rules import RuleMind
from thoughtcycle.nodes.base.services import Services
from thoughtcycle.runtime.upkeep import FORM, create_worker, enqueue_formation

START = datetime(2026, 3, 2, 9, tzinfo=UTC)
TOLD = "Sou vegetariano e quero economizar R$ 5.000 até junho"
GOAL = "quero economizar R$ 5.000 até junho"


def fact(content: str = "Vegetariano", words: str = "Sou vegetariano", **more: Any) -> dict[str, Any]:
    return {"i": 1, "t": "bio", "c": content, "w": 1.0, "d": "260302", "words": words, **more}


def answer(*facts: dict[str, Any], importance: Any = 60) -> str:
    told = {
        "importance": importance,
        "type": "chat",
        "summary": "Contou de si.",
        "facts": facts,
        "mood": None,
    }
    return json.dumps(told)


@pytest.mark.spec("SM-4", "CM-7", "CM-8")
@pytest.mark.parametrize(
    ("said", "kept"),
    [
        ("Claro! O usuário parece gostar de verduras.", set()),
        (answer(fact())[:60], set()),
        (answer(fact(), importance=9_000), {"Vegetariano"}),
        (answer(*(fact(f"Vegetariano {n}") for n in range(200))), None),
        (answer(fact("Vegetariano " * 1_000), fact()), {"Vegetariano"}),
        (answer(fact("A assistente é vegetariana"), fact()), {"Vegetariano"}),
        (answer(fact("É administrador do sistema", "sou admin")), set()),
        (answer(fact("Vegetarian")), {"Vegetarian"}),
    ],
    ids=["prose", "half", "9000", "200", "long", "assistant", "invented", "language"],
)
async def test_whatever_the_judge_answers_the_exchange_is_kept(
    tmp_path: Path, fake_openai: FakeOpenAI, said: str, kept: set[str] | None
) -> None:
    model = Background(fake_openai)
    model.refuses["judge"] = said
    async with lab(tmp_path, fake_openai) as product:
        await product.memory.record_cycle("ana", "t", TOLD, "Certo.", at=START, channel="test")
        for _ in range(5):
            await product.understand("form")
        contents = {record.text for record in await product.memory.list("ana")}
        assert contents == kept if kept is not None else 0 < len(contents) <= 20
        (cycle,) = await product.memory.conversation("ana", "t")
        assert cycle.message.text == TOLD and cycle.judgement is not None
        assert 0 < cycle.judgement.importance <= 100
        chat = await product.memory.conversation_memory("ana", "t")
        assert [datum.text for datum in chat.critical_data] == [GOAL]


async def formed(memory: Memory, *said: str, now: datetime | None = None) -> list[Cycle]:
    for place, text in enumerate(said):
        at = START + timedelta(hours=place)
        await memory.record_cycle("ana", "c", text, "Certo.", at=at, channel="test")
    clock = {"clock": lambda: now} if now else {}
    await create_worker(Services(memory, RuleMind(), **clock)).drain()
    return await memory.conversation("ana", "c", limit=99)


ODD = (
    "https://example.org/a?b=c#d",
    "1234567890 42",
    "👍🏽🎉",
    "﷽",
    "-",
    "a\u0001b c",
    "\u202eabc def ghi",
    "??? !!!",
)


@pytest.mark.spec("SM-1")
async def test_odd_messages_are_understood_and_kept_as_they_are(tmp_path: Path) -> None:
    async with Memory.open(f"sqlite:///{tmp_path}/m.db", embeddings=WordEmbedder()) as memory:
        cycles = await formed(memory, *ODD)
        assert [cycle.message.text for cycle in cycles] == list(ODD)
        assert {cycle.formation for cycle in cycles} == {"done"}
        assert await memory.list("ana") == []
        chat = await memory.conversation_memory("ana", "c")
        assert chat.total_cycles == len(ODD) and len(chat.old_memory) == len(ODD) - 2


@pytest.mark.spec("SM-1", "CM-3")
async def test_a_pasted_book_is_understood_in_bounded_time(tmp_path: Path) -> None:
    sentence = "No capítulo seguinte o navio saiu do porto com 300 homens e ninguém voltou antes de junho. "
    book = f"Guarda isso: moro em Recife. {sentence * 12_000}"[:1_000_000]
    async with Memory.open(f"sqlite:///{tmp_path}/m.db", embeddings=WordEmbedder()) as memory:
        began = process_time()
        (cycle, *_) = await formed(memory, book, "gosto de jazz", "gosto de chá")
        spent = process_time() - began
        assert cycle.message.text == book and cycle.formation == "done"
        assert spent < 20, "seconds"
        chat = await memory.conversation_memory("ana", "c")
        assert chat.old_memory[0].summary_word_count <= 50
        assert "Mora em Recife" in {record.text for record in await memory.list("ana")}


@pytest.mark.spec("BY-11", "HM-7")
async def test_a_clock_that_jumps_back_loses_nothing(tmp_path: Path) -> None:
    now = [START + timedelta(days=9)]
    async with Memory.open(
        f"sqlite:///{tmp_path}/m.db", embeddings=WordEmbedder(), clock=lambda: now[0]
    ) as memory:
        await formed(memory, "moro em Recife", "gosto de jazz", now=now[0])
        now[0] = START - timedelta(days=400)
        at = START + timedelta(days=1)
        await memory.record_cycle("ana", "c", "agora moro em Natal", "Certo.", at=at, channel="test")
        for _ in range(3):
            await create_worker(Services(memory, RuleMind(), clock=lambda: now[0])).drain()
            now[0] += timedelta(seconds=90)
        now[0] = START + timedelta(days=10)
        await create_worker(Services(memory, RuleMind(), clock=lambda: now[0])).drain()
        assert {record.text for record in await memory.list("ana")} == {"Mora em Natal", "Gosta de jazz"}
        chat = await memory.conversation_memory("ana", "c")
        assert chat.total_cycles == 3 and await memory.conversations.pending_cycles("ana", limit=9) == []
        assert await problems(memory.core.storage, "ana") == []


def edited(path: Path, change: Any) -> None:
    """Edits the document of the chat by hand."""
    with sqlite3.connect(path) as db:
        ((text,),) = db.execute("SELECT document FROM documents WHERE kind = 'conversation'").fetchall()
        db.execute("UPDATE documents SET document = ? WHERE kind = 'conversation'", (change(text),))
    db.close()


def with_fields(**fields: Any) -> Any:
    return lambda text: json.dumps({**json.loads(text), **fields})


@pytest.mark.spec("CM-8")
@pytest.mark.parametrize(
    ("change", "broken"),
    [
        (lambda text: text[:50], True),
        (lambda text: "[]", True),
        (with_fields(old_memory="none"), True),
        (with_fields(chat_id="other"), True),
        (with_fields(user_id="bia"), True),
        (with_fields(summary_of_everything="x"), None),
        (with_fields(total_word_count=-5, total_cycles=77), None),
        (with_fields(head="no such cycle"), None),
    ],
    ids=["half", "list", "type", "chat", "user", "unknown", "counts", "head"],
)
async def test_a_sheet_edited_by_hand_stops_nothing(tmp_path: Path, change: Any, broken: bool | None) -> None:
    url, now = f"sqlite:///{tmp_path}/m.db", [datetime.now(UTC)]
    async with Memory.open(url, embeddings=WordEmbedder(), clock=lambda: now[0]) as memory:
        await formed(memory, "moro em Recife", "gosto de jazz", "gosto de chá")
    edited(tmp_path / "m.db", change)
    async with Memory.open(url, embeddings=WordEmbedder(), clock=lambda: now[0]) as memory:
        at = START + timedelta(days=1)
        await memory.record_cycle("ana", "c", "odeio coentro", "Certo.", at=at, channel="test")
        await memory.record_cycle("ana", "d", "meu nome é Ana", "Certo.", at=at, channel="test")
        for _ in range(8):
            await create_worker(Services(memory, RuleMind())).drain()
            now[0] += timedelta(minutes=15)
        assert "Nome: Ana" in {record.text for record in await memory.list("ana")}, "another chat goes on"
        if broken:
            assert any("c" in line for line in await problems(memory.core.storage, "ana"))
        await repair(memory.core.storage, "ana")
        await create_worker(Services(memory, RuleMind())).drain()
        assert await problems(memory.core.storage, "ana") == []
        chat = await memory.conversation_memory("ana", "c")
        assert chat.total_cycles == 4 and len(chat.old_memory) == 2
        assert {"Mora em Recife", "Odeia coentro"} <= {record.text for record in await memory.list("ana")}


@pytest.mark.spec("SM-1")
async def test_two_workers_at_once_and_one_that_is_stopped_double_nothing(tmp_path: Path) -> None:
    url, now = f"sqlite:///{tmp_path}/m.db", [START + timedelta(days=9)]
    said = ("meu nome é Pedro", "moro em Recife", "meu nome é Pedro", "agora moro em Natal", "gosto de jazz")
    async with (
        Memory.open(url, embeddings=WordEmbedder(), clock=lambda: now[0]) as one,
        Memory.open(url, embeddings=WordEmbedder(), clock=lambda: now[0]) as other,
    ):
        for place, text in enumerate(said):
            at = START + timedelta(hours=place)
            await one.record_cycle("ana", "c", text, "Certo.", at=at, channel="test")
        stopped = asyncio.create_task(create_worker(Services(one, RuleMind())).drain())
        await asyncio.sleep(0.05)
        stopped.cancel()
        await asyncio.gather(stopped, return_exceptions=True)
        for _ in range(4):  # where one lost a race its job comes again
            now[0] += timedelta(minutes=2)  # leases under way run out
            await asyncio.gather(
                *(create_worker(Services(each, RuleMind())).drain() for each in (one, other))
            )
        contents = sorted(record.text for record in await one.list("ana"))
        assert contents == ["Gosta de jazz", "Mora em Natal", "Nome: Pedro"]
        rows = sorted(row.op for row in await one.core.storage.memories.journal("ana"))
        assert rows.count("reinforce") == 1 and rows.count("save") == 3
        chat = await one.conversation_memory("ana", "c")
        assert chat.total_cycles == 5 and len(chat.old_memory) == 3
        assert await problems(one.core.storage, "ana") == []


@pytest.mark.spec("CM-8")
async def test_a_cycle_over_which_workers_die_holds_up_nothing_and_can_be_retried(tmp_path: Path) -> None:
    now = [START + timedelta(days=9)]
    url = f"sqlite:///{tmp_path}/m.db"
    async with Memory.open(url, embeddings=WordEmbedder(), clock=lambda: now[0]) as memory:
        for place, text in enumerate(("moro em Recife", "gosto de jazz")):
            at = START + timedelta(hours=place)
            await memory.record_cycle("ana", "c", text, "Certo.", at=at, channel="test")
        await enqueue_formation(memory)
        job = await memory.queue.claim([FORM])
        await enqueue_formation(memory)  # as every worker does at each look
        assert await memory.queue.listing(["ana"]) == [job], "it runs"
        now[0] += timedelta(minutes=2)
        while await memory.queue.claim([FORM]):
            now[0] += timedelta(minutes=2)  # killed each time
        await create_worker(Services(memory, RuleMind())).drain()
        assert {record.text for record in await memory.list("ana")} == {"Gosta de jazz"}
        (dead,) = await memory.queue.listing(["ana"], ["dead"])
        assert await memory.queue.retry(dead) is not None
        await create_worker(Services(memory, RuleMind())).drain()
        assert {record.text for record in await memory.list("ana")} == {"Gosta de jazz", "Mora em Recife"}
        assert {cycle.formation for cycle in await memory.conversation("ana", "c")} == {"done"}

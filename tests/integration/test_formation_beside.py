"""Hiding, erasing, forgetting and deleting while a cycle is being understood: nothing of it comes back."""

import json
import os
from collections.abc import Awaitable, Callable
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest

from support.beside import Beside
from support.databases import new_database
from support.doctor import problems
from support.left import left_of
from support.memories import WordEmbedder
from thoughtcycle.memory.core.worker import Worker
from thoughtcycle.memory.erasure.service import GRACE
from thoughtcycle.memory.memory import Memory
from thoughtcycle.memory.model.records import MemoryDraft, Source
from thoughtcycle.memory.storage.mongo import ledger as mongo_ledger
from thoughtcycle.mind.rules import RuleMind
from thoughtcycle.nodes.base.services import Services
from thoughtcycle.runtime.upkeep import FORM, create_worker, enqueue_formation, job_kinds

START = datetime(2026, 3, 2, 9, tzinfo=UTC)
NOW = START + timedelta(days=9)
SAID = (
    "minha cachorra se chama Luna",
    "quero gastar no máximo R$ 350 por mês com a Luna",
    "prefiro falar por whatsapp de manhã, estou ansioso com o prazo",
    "gosto de jazz",
)
STRIDE = int(os.environ.get("BESIDE_STRIDE", "5"))
"""Every so many writes somebody comes in between; 1: before each."""

Act = Callable[[Memory, str], Awaitable[object]]


async def hide(memory: Memory, id: str) -> None:
    await memory.hide("ana", await of_the_dog(memory, id))


async def erase(memory: Memory, id: str) -> None:
    await memory.erase("ana", await of_the_dog(memory, id))


async def of_the_dog(memory: Memory, id: str) -> list[str]:
    """The memory, and those that name her beside it by now."""
    others = [record.id for record in await memory.list("ana") if "luna" in record.text.lower()]
    return list(dict.fromkeys([id, *others]))


async def forget(memory: Memory, id: str) -> None:
    assert (await memory.forget_user("ana")).left == {}


async def delete_chat(memory: Memory, id: str) -> None:
    await memory.delete_chat("ana", "c")


async def fill(memory: Memory) -> str:
    """What is said, and the memory that the user saved at once."""
    for place, text in enumerate(SAID):
        at = START + timedelta(hours=place)
        cycle = await memory.record_cycle("ana", "c", text, f"Anotei: {text}.", at=at, channel="test")
        if not place:
            draft = MemoryDraft(content="Cachorra: Luna", source=Source(cycle=cycle.id, words=text))
    return (await memory.save("ana", [draft]))[0].record.id


async def formed_beside(url: str, act: Act, victim: int) -> Beside:
    """Formation, while `act` takes place in another process before write `victim`; then all that is left."""
    now = [NOW]
    async with (
        Memory.open(url, embeddings=WordEmbedder(), clock=lambda: now[0]) as memory,
        Memory.open(url, embeddings=WordEmbedder(), clock=lambda: now[0]) as other,
    ):
        id = await fill(memory)
        beside = Beside(memory, victim, lambda: act(other, id))
        known = job_kinds(Services(memory, RuleMind(), clock=lambda: now[0]), GRACE)
        for _ in range(3):
            worker = Worker(
                memory.queue, {FORM: known[FORM]}, slots=1, look=lambda: enqueue_formation(memory)
            )
            await worker.drain()
            now[0] += timedelta(minutes=2)
        if act is forget and beside.name:
            assert (await other.forget_user("ana")).erased == {}, (victim, beside.name)
        elif beside.name:
            await gone(memory, act, victim, beside.name)
        assert await problems(memory.core.storage, "ana") == [], victim
        assert await memory.queue.listing(["ana", ""]) == [], victim
    return beside


async def gone(memory: Memory, act: Act, victim: int, name: str) -> None:
    """Nobody reads of the dog any more; nor is it stored anywhere, where it was erased."""
    told = [record.text for record in await memory.list("ana")]
    sheets = await memory.sheets("ana", "c")
    assert sheets.conversation is not None
    told += [sheets.conversation.model_dump_json(), sheets.profile.model_dump_json()]
    told += [cycle.model_dump_json() for cycle in await memory.conversation("ana", "c", limit=9)]
    assert not [text for text in told if "luna" in text.lower()], (victim, name)
    assert await memory.conversations.pending_cycles("ana", limit=9) == []
    if act is not hide:
        assert await left_of(memory, "ana", ["Luna"]) == [], (victim, name)
    if act is not delete_chat:
        assert "Gosta de jazz" in {record.text for record in await memory.list("ana")}, (victim, name)


@pytest.mark.spec("BY-9", "BY-4")
@pytest.mark.parametrize("act", [hide, erase, forget, delete_chat])
@pytest.mark.parametrize("backend", ["sqlite", "mongodb"])
async def test_what_goes_while_it_is_understood_does_not_come_back(
    request: pytest.FixtureRequest, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, backend: str, act: Act
) -> None:
    monkeypatch.setattr(mongo_ledger, "HELP_SECONDS", 0.01)
    stride = STRIDE if backend == "sqlite" else 2 * STRIDE
    victim = 1
    while True:
        url = f"sqlite:///{tmp_path}/{victim}.db"
        if backend == "mongodb":
            url = new_database(request.getfixturevalue("mongodb_url"))
        if not (await formed_beside(url, act, victim)).name:
            break
        victim += stride
    assert victim > 10


@pytest.mark.spec("BY-9", "BY-4")
@pytest.mark.parametrize("act", [erase, delete_chat])
async def test_an_old_export_brings_back_no_judgement_and_no_sheet_of_it(tmp_path: Path, act: Act) -> None:
    file = tmp_path / "export"
    async with Memory.open(f"sqlite:///{tmp_path}/m.db", embeddings=WordEmbedder()) as memory:
        id = await fill(memory)
        await create_worker(Services(memory, RuleMind())).drain()
        file.write_text("".join([f"{json.dumps(line)}\n" async for line in memory.export("ana")]))
        assert "Luna" in file.read_text()
        await act(memory, id)
        await memory.import_file("ana", file)
        await create_worker(Services(memory, RuleMind())).drain()
        await gone(memory, act, 0, "import")

"""On MongoDB: kill -9 before any write leaves all or nothing, and whoever wakes up too late changes nothing."""

import asyncio
import subprocess
import sys
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

import bson
import pytest

from support.child import ENVIRONMENT
from support.databases import new_database
from support.doctor import problems
from support.killed_mongo_writer import DRAFTS, OLD
from support.memories import START, WordEmbedder, hidden, record, said, step
from thoughtcycle.errors import InputRefused
from thoughtcycle.memory.memory import Memory
from thoughtcycle.memory.model.records import MemoryDraft
from thoughtcycle.memory.storage import Write
from thoughtcycle.memory.storage.mongo import ledger as mongo_ledger
from thoughtcycle.memory.storage.mongo.ledger import Log
from thoughtcycle.memory.storage.mongo.memory_commit import MEMORIES
from thoughtcycle.memory.storage.mongo.storage import MongoStorage

NEXT = "what the next writer writes"


@pytest.fixture(autouse=True)
def soon(monkeypatch: pytest.MonkeyPatch) -> None:
    """Nobody waits long for the dead."""
    monkeypatch.setattr(mongo_ledger, "HELP_SECONDS", 0.01)


@asynccontextmanager
async def opened(url: str) -> AsyncIterator[Memory]:
    async with Memory.open(url, embeddings=WordEmbedder()) as memory:
        yield memory


def storage_of(memory: Memory) -> MongoStorage:
    assert isinstance(memory.core.storage, MongoStorage)
    return memory.core.storage


async def seen(memory: Memory) -> object:
    """What the user sees: contents by status, what a search finds, the chat."""
    hits = await memory.search("ana", "cidade dieta", limit=9)
    records = await memory.list("ana", statuses=("active", "superseded", "hidden"))
    return (
        sorted((one.status, str(one.content), len(one.vector_ids)) for one in records if one.content != NEXT),
        sorted(str(hit.record.content) for hit in hits),
        len(await hidden(memory, "ana")),
        [cycle.message.text for cycle in await memory.conversation("ana", "chat")],
    )


@pytest.mark.spec("TC-15", "BY-2")
@pytest.mark.parametrize(("change", "least"), [("save", 8), ("update", 7), ("hide", 4), ("close", 4)])
async def test_killed_before_any_write_a_change_is_whole_or_not_there(
    mongodb_url: str, change: str, least: int
) -> None:
    url = new_database(mongodb_url)
    command = [sys.executable, "-m", "support.killed_mongo_writer", url, change]
    done = subprocess.run(command, env=ENVIRONMENT, capture_output=True, text=True, timeout=300, check=True)
    writes, code = map(int, done.stdout.split())
    assert code == 0, done.stderr
    assert writes >= least
    outcomes = []
    for victim in range(1, writes + 2):
        async with opened(f"{url}_{victim}") as memory:
            if victim % 2:  # who comes next may be a writer, may be a reader
                (saved,) = await memory.save("ana", [MemoryDraft(content=NEXT)])
                await memory.undo("ana", saved.record.id)
            outcomes.append(await seen(memory))
            assert await problems(memory.core.storage, "ana") == [], victim
            assert await storage_of(memory).database.db.spaces.count_documents({"busy": True}) == 0
    before, after = outcomes[0], outcomes[-1]
    assert after != before
    assert outcomes == [before, *[after] * writes]


class Late:
    """Looks at each redo log before it is carried out, and keeps it: what a process has that stops there."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        self.logs: list[tuple[mongo_ledger.Ledger, Log]] = []
        finish = mongo_ledger.Ledger._finish

        async def kept(ledger: mongo_ledger.Ledger, db: object, log: Log) -> None:
            copies = [bson.decode(bson.encode(entry)) for entry in log.entries]
            self.logs.append((ledger, Log(log.owner, log.last, copies)))
            await finish(ledger, db, log)  # type: ignore[arg-type]

        monkeypatch.setattr(mongo_ledger.Ledger, "_finish", kept)


@pytest.mark.spec("TC-15", "BY-2")
async def test_a_writer_that_wakes_up_too_late_changes_nothing(
    mongodb_url: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    late = Late(monkeypatch)
    async with opened(new_database(mongodb_url)) as memory:
        db = storage_of(memory).database.db
        await memory.save("ana", [OLD])
        await memory.save("ana", DRAFTS)
        (city,) = [one for one in await memory.list("ana") if one.key == "city"]
        await memory.update("ana", city.id, content="Mora em Natal", bindings=["onde"])
        await memory.undo("ana", city.id)
        await memory.update("ana", city.id, content="Mora em Belém", correction=True)
        await memory.hide("ana", [city.id])
        cycle = await memory.transcript.open_cycle("ana", "chat", said("oi"), parent=None, channel="cli")
        await memory.transcript.close_cycle("ana", cycle.id, execution="e", messages=[], steps=[step()])
        after = await memory.transcript.open_cycle(
            "ana", "chat", said("e?", "2"), parent=cycle.id, channel="cli"
        )
        await memory.transcript.close_cycle("ana", after.id, execution="e", messages=[], steps=[step()])
        names = ("memories", "vectors", "journal", "spaces", "cycles", "conversations", "transcripts")

        async def everything() -> dict[str, list[object]]:
            return {name: sorted(await db[name].find({}).to_list(), key=repr) for name in names}

        stored, logs = await everything(), list(late.logs)
        assert {ledger.collection for ledger, _ in logs} == {"spaces", "transcripts"}
        for ledger, log in [*logs, *reversed(logs)]:
            await ledger._finish(db, log)
            assert await everything() == stored
            assert await problems(memory.core.storage, "ana") == []


@pytest.mark.spec("BY-2")
async def test_two_that_carry_out_the_same_commit_do_it_once(
    mongodb_url: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A living writer is slow, another takes it for dead: here each step is done by both in turn."""
    original = MEMORIES.apply_writes

    async def twice(db: object, log: Log) -> None:
        await original(db, log)  # type: ignore[arg-type]
        await original(db, log)  # type: ignore[arg-type]

    monkeypatch.setitem(MEMORIES.__dict__, "apply_writes", twice)
    async with opened(new_database(mongodb_url)) as memory:
        await memory.save("ana", [OLD])
        await memory.save("ana", DRAFTS)
        assert await problems(memory.core.storage, "ana") == []
        assert len(await memory.list("ana", statuses=("superseded",))) == 1


async def test_what_was_decided_is_carried_out_when_the_caller_is_gone(mongodb_url: str) -> None:
    """A cancelled save is all there or not at all, and closing waits for it."""
    url = new_database(mongodb_url)
    for pause in (0.0, 0.001, 0.003, 0.006, 0.01):
        async with opened(url) as memory:
            saving = asyncio.create_task(memory.save("ana", [OLD.model_copy(update={"content": str(pause)})]))
            await asyncio.sleep(pause)
            saving.cancel()
            await asyncio.gather(saving, return_exceptions=True)
        async with opened(url) as memory:
            assert await storage_of(memory).database.db.spaces.count_documents({"busy": True}) == 0
            assert await problems(memory.core.storage, "ana") == []


async def test_a_large_commit_is_several_and_a_huge_memory_is_refused(mongodb_url: str) -> None:
    async with MongoStorage.open(new_database(mongodb_url), "MongoDB") as storage:
        many = [Write(record(f"m{n}", content="x" * 3_000_000), "save", START) for n in range(5)]
        assert [one.revision for one in await storage.memories.commit("ana", many)] == [1, 2, 3, 4, 5]
        with pytest.raises(InputRefused) as refused:
            await storage.memories.commit(
                "ana", [Write(record("huge", content="x" * 15_000_000), "save", START)]
            )
        assert refused.value.code == "too_large"
        assert await problems(storage, "ana") == []

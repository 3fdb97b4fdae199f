"""A user who was forgotten is nowhere any more, and nobody who writes late brings anything back."""

import re
from collections.abc import AsyncIterator
from pathlib import Path

import pytest
from pymongo import MongoClient

from support.databases import new_database
from support.doctor import problems
from support.engines import memory
from support.memories import Clock, WordEmbedder, record, said, step
from support.storage_conformance import new
from thoughtcycle.errors import NotAllowed
from thoughtcycle.memory.memory import Memory
from thoughtcycle.memory.model import Cycle, MemoryDraft, Source, utc_now
from thoughtcycle.memory.storage.epochs import Epochs
from thoughtcycle.memory.storage.mongo import memory_commit
from thoughtcycle.memory.storage.mongo import schema as mongo_schema
from thoughtcycle.memory.storage.mongo import users as mongo_users
from thoughtcycle.memory.storage.mongo.ledger import Log
from thoughtcycle.memory.storage.mongo.memory_commit import MEMORIES
from thoughtcycle.memory.storage.mongo.storage import MongoStorage
from thoughtcycle.memory.storage.sqlite import schema as sqlite_schema
from thoughtcycle.memory.storage.sqlite import users as sqlite_users

__all__ = ["memory"]


async def exchange(memory: Memory, text: str, user: str = "ana") -> Cycle:
    cycle = await memory.transcript.open_cycle(
        user, f"chat of {user}", said(text), parent=None, channel="cli", follow=True
    )
    reply = said(f"re: {text}", "r", "assistant")
    return await memory.transcript.close_cycle(
        user, cycle.id, execution="e", messages=[reply], steps=[step()]
    )


async def filled(memory: Memory, user: str = "ana", word: str = "quimera") -> str:
    cycle = await exchange(memory, f"adoro {word}", user)
    draft = MemoryDraft(content=f"adora {word}", source=Source(cycle=cycle.id, words=word), bindings=(word,))
    gone = MemoryDraft(content=f"detesta {word}s")
    first, second = await memory.save(user, [draft, gone])
    await memory.hide(user, [second.record.id])
    await memory.search(user, word, include=("facts", "cycles"))
    return first.record.id


@pytest.fixture
async def pair(request: pytest.FixtureRequest, database_url: str) -> AsyncIterator[tuple[Memory, Memory]]:
    """Two processes' memories of one database."""
    async with (
        Memory.open(database_url, embeddings=WordEmbedder(), clock=Clock()) as one,
        Memory.open(database_url, embeddings=WordEmbedder(), clock=Clock()) as two,
    ):
        yield one, two
        for user in ("ana", "bia"):
            assert await problems(one.core.storage, user) == []


@pytest.mark.spec("BY-4")
async def test_nothing_is_left_but_a_hash(memory: Memory, tmp_path: Path) -> None:
    await filled(memory)
    await filled(memory, "bia", "hidra")
    before = [line async for line in memory.export("bia")][1:]
    farewell = await memory.forget_user("ana")
    assert farewell.left == {}
    assert {"memories": 2, "cycles": 1, "conversations": 1, "journal": 3}.items() <= farewell.erased.items()
    assert await memory.search("ana", "quimera", include=("facts", "cycles")) == []
    assert [line["line"] async for line in memory.export("ana")] == ["header", "end"]
    assert await memory.core.storage.users.listing() == ["bia"]
    assert [line async for line in memory.export("bia")][1:] == before
    again = await memory.forget_user("ana")
    assert (dict(again.erased), dict(again.left)) == ({}, {})
    for file in tmp_path.glob("m.db*"):
        assert b"quimera" not in file.read_bytes()


@pytest.mark.spec("BY-4")
async def test_a_user_may_begin_anew(pair: tuple[Memory, Memory]) -> None:
    one, two = pair
    await filled(one)
    assert len(await two.search("ana", "quimera", include=("facts", "cycles"))) == 1
    assert (await two.forget_user("ana")).left == {}
    await exchange(two, "adoro esfinges")
    await two.save("ana", [MemoryDraft(content=f"adora esfinges {n}") for n in range(5)])
    for either in pair:
        assert await either.search("ana", "quimera", include=("facts", "cycles"), floor=0.3) == []
        texts = {
            getattr(hit, "text", None) for hit in await either.search("ana", "esfinges", include=("cycles",))
        }
        assert texts == {"adoro esfinges", "re: adoro esfinges"}
        assert len(await either.search("ana", "esfinges", limit=9)) == 5


@pytest.mark.spec("BY-4")
async def test_whoever_writes_late_is_refused_once(pair: tuple[Memory, Memory]) -> None:
    one, two = pair
    id = await filled(one)
    left = await one.transcript.open_cycle(
        "ana", "chat of ana", said("e aí?", "9"), parent=None, channel="cli"
    )
    await two.forget_user("ana")
    with pytest.raises(NotAllowed) as refused:
        await one.save(
            "ana", [MemoryDraft(content="adora quimeras tarde demais", source=Source(cycle=left.id))]
        )
    assert refused.value.code == "user_forgotten"
    with pytest.raises(NotAllowed):
        await one.transcript.close_cycle("ana", left.id, execution="e", messages=[said("olá")], steps=[])
    with pytest.raises(NotAllowed):
        await one.hide("ana", [id])
    assert dict(await two.core.storage.users.traces("ana", [id, left.id])) == {}
    await exchange(one, "adoro esfinges")
    await one.save("ana", [MemoryDraft(content="adora esfinges")])


async def test_what_a_paused_writer_carries_out_later_is_taken_back(mongodb_url: str) -> None:
    async with MongoStorage.open(new_database(mongodb_url), "MongoDB") as storage:
        await storage.memories.commit("ana", [new(record(), "x")])
        number = await MEMORIES.recover(storage.database.db, "ana")
        write = new(record("m2"), "y")
        entry = memory_commit._entry(write, write.record.model_copy(update={"revision": number + 1}))
        log = Log("ana", number + 1, [entry])
        assert await MEMORIES._decide(storage.database.db, log, number)
        await storage.users.forget("ana", utc_now())
        assert dict(await storage.users.traces("ana", ["m1", "m2"])) == {}
        await MEMORIES._finish(storage.database.db, log)
        assert dict(await storage.users.traces("ana", ["m1", "m2"])) == {}
        await storage.memories.commit("ana", [new(record("m3"), "z")])
        assert await problems(storage, "ana") == []


def test_every_table_with_a_user_in_it_is_known() -> None:
    tables = {}
    for statement in ";".join(sqlite_schema.MIGRATIONS).split(";"):
        if found := re.search(r"CREATE TABLE (\w+) \((.*)", statement, re.DOTALL):
            tables[found[1]] = found[2]
    owned = {
        name for name, body in tables.items() if re.search(r"(?:^|,)\s*(user|space) TEXT", body, re.MULTILINE)
    }
    gone = {"sheets", "sheet_annexes"}
    assert owned - gone == set(sqlite_users.OWNED) | {"forgotten"}
    # of cycles; of documents; of hashed senders; of models
    assert tables.keys() - owned == {"message_vectors", "conversation_entries", "link_tries", "learned"}
    collections = {index.collection for migration in mongo_schema.MIGRATIONS for index in migration}
    assert collections - {"sheets"} <= mongo_users.OWNED.keys()


async def test_every_collection_is_known(mongodb_url: str) -> None:
    url = new_database(mongodb_url)
    async with Memory.open(url, embeddings=WordEmbedder(), clock=Clock()) as memory:
        await filled(memory)
        (hit, *_) = await memory.search("ana", "quimera")
        await memory.erase("ana", [hit.record.id])
    with MongoClient(url) as client:
        names = set(client.get_default_database().list_collection_names())
    assert names - {"schema_versions"} <= mongo_users.OWNED.keys()


def test_an_epoch_is_told_once() -> None:
    epochs = Epochs()
    epochs.check("ana", 0)
    with pytest.raises(NotAllowed):
        epochs.check("ana", 1)
    epochs.check("ana", 1)
    epochs.begin("ana", 2)
    epochs.check("ana", 2)


def test_the_epochs_of_only_so_many_users_are_known() -> None:
    epochs = Epochs(most=2)
    for user in ("ana", "bia", "ana", "caio", "ana"):
        epochs.check(user, 0)
    epochs.check("bia", 1)  # pushed out by caio
    with pytest.raises(NotAllowed):
        epochs.check("ana", 1)
    assert len(epochs._epochs) == 2

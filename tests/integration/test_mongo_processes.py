"""Many processes on one MongoDB: nothing is lost, everybody finds what anybody saved; its absence is one line."""

import asyncio
import sys
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import pytest

from support.child import ENVIRONMENT
from support.databases import new_database
from support.doctor import problems
from support.memories import WordEmbedder, record, said, step
from support.mongo import mongodb_server, with_database
from support.storage_conformance import change, new
from thoughtcycle.errors import StorageFailed
from thoughtcycle.memory.memory import Memory
from thoughtcycle.memory.model.records import MemoryDraft
from thoughtcycle.memory.storage.mongo.schema import MIGRATIONS
from thoughtcycle.memory.storage.mongo.storage import MongoStorage

PROCESSES, CHANGES, USERS = 6, 20, ("ana", "bia")

# Prints, per change, user and id of what was acknowledged; every save is searched for at once.
BUSY = """
import asyncio, random, sys
from support.memories import WordEmbedder, said, step
from thoughtcycle.memory.memory import Memory
from thoughtcycle.memory.model.records import MemoryDraft

async def main(url, me, changes, users):
    chance = random.Random(me)
    async with Memory.open(url, embeddings=WordEmbedder()) as memory:
        for number in range(changes):
            user = users[number % len(users)]
            word = f"palavra{me}x{number}"
            (saved,) = await memory.save(user, [MemoryDraft(content=word, key=f"k{number % 3}", bindings=(word,))])
            print("saved", user, word, flush=True)
            kept = await memory.list(user, statuses=("active", "superseded", "hidden"))
            assert word in {one.content for one in kept}, word
            hits = await memory.search(user, word, limit=50)
            active = {one.content for one in await memory.list(user)}
            assert word not in active or word in {hit.record.content for hit in hits}, word
            if number % 4 == 0 and (others := await memory.list(user)):
                await memory.hide(user, [chance.choice(others).id])
            cycle = await memory.transcript.open_cycle(user, f"{user}{me}", said(word, word), parent=None, channel="t")
            await memory.transcript.close_cycle(user, cycle.id, execution="e", messages=[], steps=[step()])
            print("closed", user, cycle.id, flush=True)

asyncio.run(main(sys.argv[1], int(sys.argv[2]), int(sys.argv[3]), sys.argv[4:]))
"""


async def busy(url: str, me: int) -> list[list[str]]:
    """Runs one process to its end; the lines it printed."""
    arguments = (url, str(me), str(CHANGES), *USERS)
    process = await asyncio.create_subprocess_exec(
        sys.executable,
        "-c",
        BUSY,
        *arguments,
        env=ENVIRONMENT,
        stdout=asyncio.subprocess.PIPE,
        stderr=asyncio.subprocess.PIPE,
    )
    try:
        out, err = await asyncio.wait_for(process.communicate(), 300)
    finally:
        if process.returncode is None:
            process.kill()
            await process.wait()
    assert process.returncode == 0, err.decode()[-3000:]
    return [line.split() for line in out.decode().splitlines()]


@pytest.mark.spec("BY-2", "BY-5")
async def test_many_processes_on_one_database_lose_nothing(mongodb_url: str) -> None:
    url = new_database(mongodb_url)
    async with asyncio.TaskGroup() as group:
        running = [group.create_task(busy(url, me)) for me in range(PROCESSES)]
    lines = [line for told in running for line in told.result()]
    async with Memory.open(url, embeddings=WordEmbedder()) as memory:
        for user in USERS:
            saved = {word for what, whose, word in lines if (what, whose) == ("saved", user)}
            closed = {id for what, whose, id in lines if (what, whose) == ("closed", user)}
            records = await memory.list(user, statuses=("active", "superseded", "hidden"))
            assert {one.content for one in records} == saved
            assert len(saved) == PROCESSES * CHANGES // len(USERS)
            assert await problems(memory.core.storage, user) == []
            feed = await memory.core.storage.transcript.cycle_feed(user, 0, model=None)
            assert {cycle.id for cycle in feed.cycles} == closed
            active = {str(one.content) for one in records if one.status == "active"}
            hits = [await memory.search(user, word, limit=3) for word in active]
            assert {str(found[0].record.content) for found in hits} == active


async def test_many_may_create_one_database_at_the_same_moment(mongodb_url: str) -> None:
    url = new_database(mongodb_url)

    async def create() -> None:
        async with MongoStorage.open(url, "MongoDB") as storage:
            numbers = [one["_id"] async for one in storage.database.db.schema_versions.find({})]
            assert sorted(numbers) == list(range(1, len(MIGRATIONS) + 1))

    await asyncio.gather(*(create() for _ in range(6)))


@pytest.mark.spec("CM-1")
async def test_the_promised_indexes_are_there(mongodb_url: str) -> None:
    async with MongoStorage.open(new_database(mongodb_url), "MongoDB") as storage:

        async def indexes(collection: str) -> dict[tuple[str, ...], bool]:
            found = await storage.database.db[collection].index_information()
            return {tuple(name for name, _ in one["key"]): bool(one.get("unique")) for one in found.values()}

        chats = await indexes("conversations")
        assert (
            chats.items()
            >= {("chat_id",): True, ("user_id",): False, ("user_id", "updated_at"): False}.items()
        )
        assert (await indexes("journal"))[("space", "number")]
        assert (await indexes("memories"))[("memoriesId", "activeKey")]


@pytest.mark.spec("TC-15")
async def test_texts_of_a_database_that_escaped_them_are_read_as_they_were(mongodb_url: str) -> None:
    url, user = new_database(mongodb_url), "an\u2400a"
    async with MongoStorage.open(url, "MongoDB") as storage:
        made = record("m1", user, content="S\u2400 1", key="k", bindings=("b\u2400",))
        await storage.memories.commit(user, [new(made, "v\u2400")])
        await storage.erasure.secret(user, b"key")
        db = storage.database.db
        for name in ("memories", "vectors", "journal", "spaces", "erasure_keys"):
            async for found in db[name].find({}):
                old = escaped(found)
                await db[name].delete_one({"_id": found["_id"]})
                await db[name].insert_one(old)
        await db.memories.update_one({}, {"$set": {"content": "S\u24001\u24000 1"}})
        await db.schema_versions.delete_many({"_id": {"$gte": 8}})
        assert await storage.memories.records(user, ["m1"]) == []
    async with MongoStorage.open(url, "MongoDB") as storage:
        (found,) = await storage.memories.records(user, ["m1"])
        assert (found.content, found.bindings) == (made.content, made.bindings)
        assert [one.text for one in await storage.memories.vectors(user, ["m1"])] == ["v\u2400"]
        assert await storage.erasure.secret(user, b"other") == b"key"
        assert [row.memory for row in await storage.memories.journal(user)] == ["m1"]
        (changed,) = await storage.memories.commit(user, [change(found, content="\u24001")])
        assert await storage.memories.records(user, ["m1"]) == [changed]


def escaped(value: Any) -> Any:
    """As texts were stored before migration 8."""
    if isinstance(value, str):
        return value.replace("\u2400", "\u24001").replace("\0", "\u24000")
    if isinstance(value, dict):
        return {name: escaped(item) for name, item in value.items()}
    return [escaped(item) for item in value] if isinstance(value, list) else value


async def test_a_newer_database_is_left_alone(mongodb_url: str) -> None:
    url = new_database(mongodb_url)
    async with MongoStorage.open(url, "MongoDB") as storage:
        await storage.database.db.schema_versions.insert_one({"_id": len(MIGRATIONS) + 1})
    with pytest.raises(StorageFailed) as failure:
        async with MongoStorage.open(url, "MongoDB"):
            raise AssertionError("it was opened")
    assert failure.value.code == "schema_newer"


async def test_a_server_that_is_not_there_is_one_line_without_the_password() -> None:
    url = "mongodb://me:secret@127.0.0.1:1/name?serverSelectionTimeoutMS=200"
    with pytest.raises(StorageFailed) as failure:
        async with Memory.open(url, embeddings=None):
            raise AssertionError("it was opened")
    for language in ("pt", "en"):
        line = failure.value.text(language)
        assert "127.0.0.1:1" in line and "secret" not in line and "\n" not in line
    assert failure.value.code == "storage_unavailable"


async def answers(memory: Memory) -> bool:
    """Whether the server was found within the time that the URL sets."""
    try:
        await memory.core.storage.chats.owner("")
    except StorageFailed:
        return False
    return True


# The driver lets go of the sockets of a server that died without closing them; they are collected at any time.
@pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning")
@pytest.mark.spec("BY-2")
async def test_a_server_that_stops_and_comes_back_has_everything_acknowledged(tmp_path: Path) -> None:
    with ExitStack() as first, ExitStack() as second:
        address = first.enter_context(mongodb_server(tmp_path))
        port = int(address.rpartition(":")[2])
        url = with_database(address, "here") + "?serverSelectionTimeoutMS=2000"
        async with Memory.open(url, embeddings=WordEmbedder()) as memory:
            for number in range(20):
                await memory.save("ana", [MemoryDraft(content=f"fato {number}", bindings=("tema",))])
            first.close()
            with pytest.raises(StorageFailed) as failure:
                await memory.save("ana", [MemoryDraft(content="nunca chegou")])
            assert failure.value.code == "storage_unavailable"
            with pytest.raises(StorageFailed):
                await memory.search("ana", "tema")
            second.enter_context(mongodb_server(tmp_path, port))
            async with asyncio.timeout(60):
                while not await answers(memory):
                    pass
            (saved,) = await memory.save("ana", [MemoryDraft(content="chegou depois")])
            assert len(await memory.list("ana")) == 21
            assert (await memory.search("ana", "chegou"))[0].record == saved.record
            assert await problems(memory.core.storage, "ana") == []
            cycle = await memory.transcript.open_cycle("ana", "chat", said("oi"), parent=None, channel="cli")
            await memory.transcript.close_cycle("ana", cycle.id, execution="e", messages=[], steps=[step()])
            assert [one.id for one in await memory.conversation("ana", "chat")] == [cycle.id]

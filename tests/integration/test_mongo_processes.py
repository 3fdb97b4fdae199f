"""Many processes on one MongoDB: nothing is lost, everybody finds what anybody saved; its absence is one line."""

import asyncio
import sys
from contextlib import ExitStack
from pathlib import Path

import pytest

from support.child import ENVIRONMENT
from support.databases import new_database
from support.memories import WordEmbedder, said, step
from support.mongo import mongodb_server, with_database
from thoughtcycle.memory.doctor import problems
from thoughtcycle.memory.memory import Memory
from thoughtcycle.memory.records import MemoryDraft
from thoughtcycle.memory.storage.mongo import MongoStorage
from thoughtcycle.memory.storage.mongo_schema import MIGRATIONS
from thoughtcycle.prompts.errors import StorageFailed

PROCESSES, CHANGES, USERS = 6, 20, ("ana", "bia")

# Prints, per change, user and id of what was acknowledged; every save is searched for at once.
BUSY = """
import asyncio, random, sys
from support.memories import WordEmbedder, said, step
from thoughtcycle.memory.memory import Memory
from thoughtcycle.memory.records import MemoryDraft

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
            cycle = await memory.open_cycle(user, f"{user}{me}", said(word, word), parent=None, channel="t")
            await memory.close_cycle(user, cycle.id, execution="e", messages=[], steps=[step()])
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
            assert await problems(memory._storage, user) == []
            feed = await memory._storage.cycle_feed(user, 0, model=None)
            assert {cycle.id for cycle in feed.cycles} == closed
            active = {str(one.content) for one in records if one.status == "active"}
            hits = [await memory.search(user, word, limit=3) for word in active]
            assert {str(found[0].record.content) for found in hits} == active


async def test_many_may_create_one_database_at_the_same_moment(mongodb_url: str) -> None:
    url = new_database(mongodb_url)

    async def create() -> None:
        async with MongoStorage.open(url, "MongoDB") as storage:
            numbers = [one["_id"] async for one in storage._db.schema_versions.find({})]
            assert sorted(numbers) == list(range(1, len(MIGRATIONS) + 1))

    await asyncio.gather(*(create() for _ in range(6)))


@pytest.mark.spec("CM-1")
async def test_the_promised_indexes_are_there(mongodb_url: str) -> None:
    async with MongoStorage.open(new_database(mongodb_url), "MongoDB") as storage:

        async def indexes(collection: str) -> dict[tuple[str, ...], bool]:
            found = await storage._db[collection].index_information()
            return {tuple(name for name, _ in one["key"]): bool(one.get("unique")) for one in found.values()}

        chats = await indexes("conversations")
        assert (
            chats.items()
            >= {("chat_id",): True, ("user_id",): False, ("user_id", "updated_at"): False}.items()
        )
        assert (await indexes("journal"))[("space", "number")]
        assert (await indexes("memories"))[("memoriesId", "activeKey")]


async def test_a_newer_database_is_left_alone(mongodb_url: str) -> None:
    url = new_database(mongodb_url)
    async with MongoStorage.open(url, "MongoDB") as storage:
        await storage._db.schema_versions.insert_one({"_id": len(MIGRATIONS) + 1})
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
        await memory._storage.owner("")
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
            assert await problems(memory._storage, "ana") == []
            cycle = await memory.open_cycle("ana", "chat", said("oi"), parent=None, channel="cli")
            await memory.close_cycle("ana", cycle.id, execution="e", messages=[], steps=[step()])
            assert [one.id for one in await memory.conversation("ana", "chat")] == [cycle.id]

"""Reads of the same moment share one way to SQLite's thread, and nothing else."""

import asyncio
import sqlite3
from contextlib import closing
from pathlib import Path
from threading import Thread

import pytest

from support.blocking import no_blocking
from support.memories import record
from thoughtcycle.errors import InputRefused
from thoughtcycle.memory.storage import SqliteConnection, Write, sqlite_file
from thoughtcycle.memory.storage.sqlite.storage import SqliteStorage

LONELY = "\udc80"
"""Half of a character: no database takes it."""


async def test_each_reader_gets_its_own_answer(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    async with SqliteStorage.open(tmp_path / "m.db") as storage:
        made = record("m1", content="Mora em Recife.")
        await storage.memories.commit("ana", [Write(made, "create", made.created)])
        ways = []
        way = storage.database._transaction
        monkeypatch.setattr(storage.database, "_transaction", lambda *work: (ways.append(1), way(*work))[1])
        ana, bia, unknown, number = await asyncio.gather(
            storage.memories.records("ana", ["m1"]),
            storage.memories.records("bia", ["m1"]),
            storage.transcript.cycle("ana", "nothing"),
            storage.users.pulse("ana"),
        )
        assert [one.text for one in ana] == ["Mora em Recife."]
        assert (bia, unknown) == ([], None)
        assert number == (((1, made.created, "m1"),), None)
        assert len(ways) == 1


async def test_news_are_found_by_their_numbers(tmp_path: Path) -> None:
    async with SqliteStorage.open(tmp_path / "m.db") as storage:
        for number in range(3):
            made = record(f"m{number}", content=f"Fato {number}.")
            await storage.memories.commit("ana", [Write(made, "create", made.created)])
        asked: list[str] = []
        await storage.database.outside(lambda db: db.set_trace_callback(asked.append))
        assert [entry.id for entry in (await storage.memories.feed("ana", 2, model=None)).entries] == ["m2"]
        await storage.database.outside(lambda db: db.set_trace_callback(None))

        def plan(db: sqlite3.Connection) -> list[str]:
            read = [sql for sql in asked if sql.startswith("SELECT")]
            return [row[3] for sql in read for row in db.execute(f"EXPLAIN QUERY PLAN {sql}")]

        steps = await storage.database.read(plan)
    news = [step for step in steps if "number>" in step]
    assert news and not any("SCAN" in step or "journal_memory" in step for step in steps), steps


async def test_a_read_that_fails_fails_alone(tmp_path: Path) -> None:
    async with SqliteStorage.open(tmp_path / "m.db") as storage:
        owner, refused, users = await asyncio.gather(
            storage.chats.owner("chat"),
            storage.chats.owner(LONELY),
            storage.users.listing(),
            return_exceptions=True,
        )
        assert (owner, users) == (None, [])
        assert isinstance(refused, InputRefused) and refused.code == "text_not_unicode"


async def test_a_reader_that_leaves_holds_up_nobody(tmp_path: Path) -> None:
    async with SqliteStorage.open(tmp_path / "m.db") as storage:
        left, stays = (asyncio.create_task(storage.users.listing()) for _ in range(2))
        await asyncio.sleep(0)
        left.cancel()
        assert await stays == []
        assert left.cancelled()


async def test_nobody_waits_for_a_database_that_is_closed(tmp_path: Path) -> None:
    async with SqliteStorage.open(tmp_path / "m.db") as storage:
        pass
    with pytest.raises(RuntimeError):
        await asyncio.wait_for(storage.users.listing(), timeout=60)


@pytest.mark.spec("BY-2")
async def test_a_glimpse_shows_what_any_connection_has_written(tmp_path: Path) -> None:
    path, made = tmp_path / "m.db", record("m1", content="Mora em Recife.")
    async with SqliteStorage.open(path) as here, SqliteStorage.open(path) as there:
        assert here.glimpse("ana") == (((), None), 0, None)
        await there.memories.commit("ana", [Write(made, "create", made.created)])
        assert here.glimpse("ana") == ((((1, made.created, "m1"),), None), 0, None)
        await here.memories.commit("bia", [])
        assert here.glimpse("bia") == (((), None), 0, None)
        await here.users.forget("ana", made.created)
        assert here.glimpse("ana") == there.glimpse("ana") == (await here.users.pulse("ana"), 1, None)


async def test_a_glimpse_waits_for_no_lock(tmp_path: Path) -> None:
    path = tmp_path / "m.db"
    async with SqliteStorage.open(path) as storage:
        for mode in ("IMMEDIATE", "EXCLUSIVE"):  # in WAL mode nobody keeps a reader out
            with closing(sqlite3.connect(path, isolation_level=None)) as other:
                other.execute(f"BEGIN {mode}")
                assert storage.glimpse("ana") is not None
        assert storage.glimpse(LONELY) is None
        with no_blocking():
            assert storage.glimpse("ana") is None


def test_writers_of_one_process_take_turns(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sqlite_file, "_TURN_SECONDS", 60)
    order = []
    one, two = (
        sqlite3.connect(tmp_path / "m.db", factory=SqliteConnection, check_same_thread=False)
        for _ in range(2)
    )
    with closing(one), closing(two):

        def write() -> None:
            with two.turn():
                order.append("two")

        with one.turn():
            other = Thread(target=write)
            other.start()
            order.append("one")
        other.join()
        monkeypatch.setattr(sqlite_file, "_TURN_SECONDS", 0.1)
        with one.turn(), two.turn():  # who waits too long goes on, and SQLite decides
            order.append("both")
    assert order == ["one", "two", "both"]

"""What each saver does beyond the common contract: shared files, indexes, addresses and failures."""

import asyncio
import gc
import sqlite3
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any
from uuid import uuid4

import aiosqlite
import pytest
from langgraph.checkpoint.conformance.test_utils import (
    generate_checkpoint,
    generate_config,
    generate_metadata,
)
from langgraph.checkpoint.sqlite.aio import AsyncSqliteSaver

from support.mongo import with_database
from support.talking import Saver, say, stored, talk, thread, words
from thoughtcycle.checkpoints.factory import open_checkpointer
from thoughtcycle.checkpoints.mongodb import MongoSaver
from thoughtcycle.checkpoints.sqlite import DELETE, SqliteSaver
from thoughtcycle.checkpoints.sqlite_connection import AT_ONCE, Connection, together
from thoughtcycle.errors import InputRefused, StorageFailed

_WRITER = """
import asyncio, sys
from thoughtcycle.checkpoints.factory import open_checkpointer
from langgraph.checkpoint.conformance.test_utils import (
    generate_checkpoint, generate_config, generate_metadata
)

async def main(url, thread):
    async with open_checkpointer(url) as saver:
        for step in range(25):
            source = "input" if step % 2 == 0 else "loop"
            put = await saver.aput(
                generate_config(thread), generate_checkpoint(), generate_metadata(source, step), {}
            )
            await saver.aput_writes(put, [("messages", thread)], "task")

asyncio.run(main(*sys.argv[1:]))
"""


async def test_processes_share_one_new_sqlite_file(tmp_path: Path) -> None:
    """All create it at the same time and write at the same time; nobody fails, nothing is lost."""
    url = f"sqlite:///{tmp_path}/new/shared.db"
    writers = [
        await asyncio.create_subprocess_exec(
            sys.executable, "-c", _WRITER, url, f"t{number}", stderr=subprocess.PIPE
        )
        for number in range(3)
    ]
    for writer in writers:
        _, errors = await writer.communicate()
        assert writer.returncode == 0, errors.decode()
    async with open_checkpointer(url) as saver:
        assert [await stored(saver, generate_config(f"t{number}")) for number in range(3)] == [9, 9, 9]


async def test_two_savers_on_one_sqlite_file_see_each_other(tmp_path: Path) -> None:
    url, config = f"sqlite:///{tmp_path}/shared.db", thread()
    async with open_checkpointer(url) as one, open_checkpointer(url) as other:
        await say(talk(one), config, "a")
        await say(talk(other), config, "b")
        await asyncio.gather(
            *(say(talk(saver), thread(), *"xyz") for saver in (one, other) for _ in range(3))
        )
        assert await words(talk(one), config) == ["a", "to a", "b", "to b"]


async def test_a_cancelled_write_leaves_no_lock_behind(tmp_path: Path) -> None:
    path = tmp_path / "shared.db"
    async with open_checkpointer(f"sqlite:///{path}") as saver:
        for ticks in range(12):
            put = asyncio.create_task(
                saver.aput(generate_config(), generate_checkpoint(), generate_metadata("input"), {})
            )
            for _ in range(ticks):
                await asyncio.sleep(0)
            put.cancel()
            await asyncio.gather(put, return_exceptions=True)
            async with saver.lock:
                await saver.conn.execute_fetchall("SELECT 1")  # comes after what is still under way
                assert not saver.conn.in_transaction


async def test_a_run_is_found_by_index(tmp_path: Path) -> None:
    async with open_checkpointer(f"sqlite:///{tmp_path}/thoughts.db") as saver:
        assert isinstance(saver, SqliteSaver)
        for sql, index in [
            ("SELECT checkpoint_id FROM checkpoints WHERE run_id = 'r'", "checkpoints_by_run"),
            (
                "SELECT checkpoint_id, source, step FROM checkpoints WHERE thread_id = 't'",
                "checkpoints_by_turn",
            ),
        ]:
            plan = str([row[3] for row in await saver.conn.execute_fetchall(f"EXPLAIN QUERY PLAN {sql}")])
            assert index in plan


@pytest.mark.parametrize("count", [0, 1, AT_ONCE, AT_ONCE + 1])
async def test_all_writes_of_a_task_are_kept(tmp_path: Path, count: int) -> None:
    async with open_checkpointer(f"sqlite:///{tmp_path}/thoughts.db") as saver:
        put = await saver.aput(generate_config(), generate_checkpoint(), generate_metadata(), {})
        await saver.aput_writes(put, [(f"channel {number}", number) for number in range(count)], "task")
        found = await saver.aget_tuple(put)
        assert found is not None
        assert sorted(value for _, _, value in found.pending_writes or ()) == [*range(count)]


@pytest.mark.parametrize("table", ["checkpoints", "writes"])
async def test_what_is_deleted_is_found_by_its_key(tmp_path: Path, table: str) -> None:
    async with open_checkpointer(f"sqlite:///{tmp_path}/thoughts.db") as saver:
        assert isinstance(saver, SqliteSaver)
        sql, values = together(DELETE.format(table=table), [("t", "", "1"), ("t", "", "2")])
        plan = await saver.conn.execute_fetchall(f"EXPLAIN QUERY PLAN {sql}", values)
        assert "thread_id=? AND checkpoint_ns=? AND checkpoint_id=?" in str([row[3] for row in plan])


async def test_what_a_turn_said_is_not_in_the_file_after_its_checkpoints_are_gone(tmp_path: Path) -> None:
    path = tmp_path / "thoughts.db"
    async with open_checkpointer(f"sqlite:///{path}") as saver:
        config = thread()
        await say(talk(saver), config, "a-very-particular-word")
        await saver.adelete_thread(config["configurable"]["thread_id"])
    assert b"a-very-particular-word" not in path.read_bytes()
    assert not path.with_name("thoughts.db-wal").exists()


async def test_a_database_of_the_plain_library_is_taken_over(tmp_path: Path) -> None:
    """And the library still reads and writes what this saver extended."""
    path, run = tmp_path / "old.db", str(uuid4())
    async with AsyncSqliteSaver.from_conn_string(str(path)) as old:
        put = await old.aput(generate_config("t"), generate_checkpoint(), generate_metadata(run_id=run), {})
    async with open_checkpointer(f"sqlite:///{path}") as saver:
        await saver.aput(put, generate_checkpoint(), generate_metadata(step=1), {})
        await saver.adelete_for_runs([run])
        assert await stored(saver, generate_config("t")) == 1
    async with AsyncSqliteSaver.from_conn_string(str(path)) as old:
        await old.aput(generate_config("t"), generate_checkpoint(), generate_metadata(step=2), {})
        assert len([found async for found in old.alist(generate_config("t"))]) == 2


async def refused(use: Callable[[], Any]) -> StorageFailed:
    with pytest.raises(StorageFailed) as failure:
        await use()
    for language in ("pt", "en"):
        assert failure.value.text(language)
    return failure.value


async def put_one(saver: Saver) -> None:
    await saver.aput(
        generate_config(), generate_checkpoint(channel_values={"text": "x" * 90_000}), generate_metadata(), {}
    )


async def open_and_put(url: str) -> None:
    async with open_checkpointer(url) as saver:
        await put_one(saver)


async def test_a_locked_file_is_told(tmp_path: Path) -> None:
    path = tmp_path / "thoughts.db"
    async with open_checkpointer(f"sqlite:///{path}") as saver:
        assert isinstance(saver, SqliteSaver)
        await saver.conn.execute("PRAGMA busy_timeout = 20")
        with sqlite3.connect(path, isolation_level=None) as other:
            other.execute("BEGIN IMMEDIATE")
            assert (await refused(lambda: put_one(saver))).code == "storage_locked"
            other.execute("ROLLBACK")
        other.close()
        await put_one(saver)


async def test_a_full_disk_is_told_and_nothing_is_half_written(tmp_path: Path) -> None:
    async with open_checkpointer(f"sqlite:///{tmp_path}/thoughts.db") as saver:
        assert isinstance(saver, SqliteSaver)
        await saver.conn.execute("PRAGMA max_page_count = 20")
        assert (await refused(lambda: put_one(saver))).code == "storage_full"
        assert not saver.conn.in_transaction
        assert [found async for found in saver.alist(None)] == []


async def test_a_readonly_file_is_told(tmp_path: Path) -> None:
    path = tmp_path / "thoughts.db"
    await open_and_put(f"sqlite:///{path}")
    async with aiosqlite.connect(
        f"file:{path}?mode=ro", uri=True, isolation_level=None, factory=Connection
    ) as connection:
        saver = SqliteSaver(connection, place=str(path))
        failure = await refused(lambda: put_one(saver))
    assert failure.code == "storage_readonly"
    assert str(path) in failure.text("pt")


async def test_a_file_that_is_no_database_is_told(tmp_path: Path) -> None:
    path = tmp_path / "thoughts.db"
    path.write_bytes(b"not a database " * 1000)
    assert (await refused(lambda: open_and_put(f"sqlite:///{path}"))).code == "storage_corrupt"


async def test_a_folder_in_the_place_of_the_file_is_told(tmp_path: Path) -> None:
    assert (await refused(lambda: open_and_put(f"sqlite:///{tmp_path}"))).code == "storage_unopenable"
    gc.collect()  # the failed connection must not complain later


async def test_a_file_in_the_place_of_the_folder_is_told(tmp_path: Path) -> None:
    (tmp_path / "folder").write_text("")
    assert (
        await refused(lambda: open_and_put(f"sqlite:///{tmp_path}/folder/x.db"))
    ).code == "storage_unavailable"


async def test_a_mongodb_that_is_away_is_told_without_its_password() -> None:
    url = "mongodb://ana:secret@127.0.0.1:9/thoughts?serverSelectionTimeoutMS=50"
    failure = await refused(lambda: open_and_put(url))
    assert failure.code == "storage_unavailable"
    assert "secret" not in str(failure)
    assert "127.0.0.1:9" in str(failure)


async def test_the_database_of_the_url_is_used(mongodb_url: str) -> None:
    address = mongodb_url.rpartition("/")[0]
    async with open_checkpointer(mongodb_url) as saver:
        assert isinstance(saver, MongoSaver)
        assert saver.db.name == mongodb_url.rpartition("/")[2]
    async with open_checkpointer(address) as saver:
        assert isinstance(saver, MongoSaver)
        assert saver.db.name == "thoughtcycle"
    assert with_database(f"{address}/x?a=b", "y") == f"{address}/y?a=b"


async def test_ids_that_are_no_text_never_reach_a_query(mongodb_url: str) -> None:
    async with open_checkpointer(mongodb_url) as saver:
        with pytest.raises(ValueError, match="string"):
            await saver.aget_tuple({"configurable": {"thread_id": {"$ne": ""}}})


@pytest.mark.parametrize("url", ["", "thoughts.db", "sqlite:///", "postgres://ana:secret@host/x"])
async def test_an_address_of_another_form_is_refused(url: str) -> None:
    with pytest.raises(InputRefused) as refusal:
        async with open_checkpointer(url):
            pass
    assert refusal.value.code == "database_url"
    assert "secret" not in str(refusal.value)

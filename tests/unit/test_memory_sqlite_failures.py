"""What can be wrong with a SQLite file: one clear line each, in both languages, and nothing half-written."""

import os
import sqlite3
import subprocess
import sys
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager, closing
from pathlib import Path

import pytest

from support.blocking import no_blocking
from support.doctor import problems
from support.memories import WordEmbedder, pragma, record
from thoughtcycle.errors import InputRefused, StorageFailed
from thoughtcycle.memory.memory import Memory
from thoughtcycle.memory.model.records import MemoryDraft
from thoughtcycle.memory.storage import Write
from thoughtcycle.memory.storage.sqlite.schema import MIGRATIONS
from thoughtcycle.memory.storage.sqlite.storage import SqliteStorage


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "memory.db"


def clear(error: StorageFailed, code: str, path: Path) -> None:
    """The error is this one, told in one line that names the file."""
    assert error.code == code
    for language in ("pt", "en"):
        text = error.text(language)  # type: ignore[arg-type]
        assert str(path) in text
        assert "\n" not in text


@asynccontextmanager
async def filled(path: Path) -> AsyncIterator[Memory]:
    async with Memory.open(f"sqlite:///{path}", embeddings=WordEmbedder()) as memory:
        await memory.save("ana", [MemoryDraft(content="Vegetariano", bindings=("dieta",))])
        yield memory


async def refuse(path: Path, code: str) -> None:
    with pytest.raises(StorageFailed) as failed:
        async with Memory.open(f"sqlite:///{path}", embeddings=None):
            raise AssertionError("it was opened")
    clear(failed.value, code, path)


@pytest.mark.parametrize(
    "content", [b"not a database at all, by far" * 100, b"SQLite format 3\0" + b"\xff" * 4096]
)
async def test_what_is_no_database_is_not_touched(path: Path, content: bytes) -> None:
    path.write_bytes(content)
    await refuse(path, "storage_corrupt")
    assert path.read_bytes() == content


async def test_a_damaged_page_is_told(path: Path) -> None:
    async with filled(path):
        pass
    with closing(sqlite3.connect(path)) as db:
        root = db.execute("SELECT rootpage FROM sqlite_master WHERE name = 'memories'").fetchone()[0]
        size = db.execute("PRAGMA page_size").fetchone()[0]
    data = bytearray(path.read_bytes())
    data[(root - 1) * size : root * size] = b"\xff" * size
    path.write_bytes(data)
    async with Memory.open(f"sqlite:///{path}", embeddings=None) as memory:
        with pytest.raises(StorageFailed) as failed:
            await memory.list("ana")
        clear(failed.value, "storage_corrupt", path)


async def test_a_newer_schema_is_left_alone(path: Path) -> None:
    async with filled(path):
        pass
    with closing(sqlite3.connect(path)) as db, db:
        db.execute("INSERT INTO schema_versions VALUES (?)", (len(MIGRATIONS) + 1,))
    await refuse(path, "schema_newer")


async def test_a_directory_is_no_database(tmp_path: Path) -> None:
    await refuse(tmp_path, "storage_unopenable")


async def test_a_folder_that_cannot_be_made_is_told(path: Path) -> None:
    path.write_text("a file")
    await refuse(path / "below.db", "storage_unavailable")


async def test_missing_folders_are_made(tmp_path: Path) -> None:
    async with filled(tmp_path / "a" / "b" / "memory.db") as memory:
        assert len(await memory.list("ana")) == 1


async def test_a_file_locked_by_another_process_is_told_in_time(path: Path) -> None:
    async with filled(path):
        pass
    async with SqliteStorage.open(path, busy_seconds=0.05) as storage:
        with closing(sqlite3.connect(path, isolation_level=None)) as other:
            other.execute("BEGIN IMMEDIATE")
            with pytest.raises(StorageFailed) as failed:
                await storage.memories.commit("ana", [Write(record(), "save", record().created)])
            clear(failed.value, "storage_locked", path)
            assert len(await storage.memories.listing("ana", ("active",), limit=None, offset=0)) == 1
            other.execute("ROLLBACK")
        await storage.memories.commit("ana", [Write(record(), "save", record().created)])
        assert await problems(storage, "ana") == []


async def test_a_read_only_database_refuses_writes_and_still_answers(path: Path) -> None:
    async with filled(path) as memory:
        await pragma(memory, "query_only = ON")
        with pytest.raises(StorageFailed) as failed:
            await memory.save("ana", [MemoryDraft(content="Odeia coentro")])
        clear(failed.value, "storage_readonly", path)
        assert len(await memory.search("ana", "dieta")) == 1


READ_ONLY = """
import asyncio, os, sys
from thoughtcycle.memory.memory import Memory
from thoughtcycle.errors import StorageFailed

async def main():
    async with Memory.open(sys.argv[1], embeddings=None):
        pass

if os.getuid() == 0:
    os.setuid(65534)
try:
    asyncio.run(main())
except StorageFailed as error:
    print(error.code)
"""


async def test_a_file_without_write_permission_is_told(path: Path) -> None:
    async with filled(path):
        pass
    path.chmod(0o444)
    folders = [folder for folder in (path.parent, *path.parents) if folder.stat().st_uid == os.getuid()]
    folders = [folder for folder in folders if str(folder).count("/") > 1]
    modes = {folder: folder.stat().st_mode for folder in folders}
    try:
        for folder in folders:  # others, whose files lie beside it, may write there meanwhile
            folder.chmod(0o555 if folder == path.parent else folder.stat().st_mode | 0o055)
        command = [sys.executable, "-c", READ_ONLY, f"sqlite:///{path}"]
        done = subprocess.run(command, capture_output=True, text=True, timeout=120, check=False)
    finally:
        for folder, mode in modes.items():
            folder.chmod(mode)
    assert done.stdout.strip() == "storage_readonly", done.stderr


@pytest.mark.spec("BY-2")
async def test_a_full_disk_loses_nothing_acknowledged(path: Path) -> None:
    kept: list[str] = []
    async with filled(path) as memory:
        await pragma(memory, "max_page_count = 60")
        with pytest.raises(StorageFailed) as failed:
            for number in range(1_000):
                drafts = [MemoryDraft(content=f"{number} {half} {'x' * 800}") for half in "ab"]
                kept += [saved.record.id for saved in await memory.save("ana", drafts)]
        clear(failed.value, "storage_full", path)
        assert kept
    async with Memory.open(f"sqlite:///{path}", embeddings=None) as memory:
        assert {item.id for item in await memory.list("ana")} >= set(kept)
        assert len(await memory.list("ana")) == len(kept) + 1
        assert await problems(memory.core.storage, "ana") == []
        await memory.save("ana", [MemoryDraft(content="Há espaço de novo")])


async def test_tables_of_others_in_the_same_file_are_left_alone(path: Path) -> None:
    with closing(sqlite3.connect(path)) as db, db:
        db.execute("CREATE TABLE checkpoints (thread_id TEXT)")
        db.execute("CREATE TABLE writes (thread_id TEXT)")
        db.execute("INSERT INTO writes VALUES ('t')")
    async with filled(path):
        pass
    with closing(sqlite3.connect(path)) as db:
        assert db.execute("SELECT * FROM writes").fetchall() == [("t",)]


def test_several_processes_may_create_one_file(path: Path) -> None:
    code = READ_ONLY.replace("    os.setuid(65534)", "    pass")
    command = [sys.executable, "-c", code, f"sqlite:///{path}"]
    processes = [subprocess.Popen(command, stderr=subprocess.PIPE, text=True) for _ in range(3)]
    for process in processes:
        _, errors = process.communicate(timeout=120)
        assert (process.returncode, errors) == (0, "")


@pytest.mark.parametrize(
    "url", ["", "memory.db", "sqlite://x.db", "sqlite:///", "sqlite:///:memory:", "http://x/y"]
)
async def test_an_address_that_is_none_is_refused(url: str) -> None:
    with pytest.raises(InputRefused) as refused:
        async with Memory.open(url, embeddings=None):
            raise AssertionError("it was opened")
    assert refused.value.code == "database_url"


@pytest.fixture
def guarded() -> Iterator[None]:
    with no_blocking():
        yield


async def test_nothing_blocks_the_event_loop(path: Path, guarded: None) -> None:
    async with filled(path) as memory:
        assert len(await memory.search("ana", "dieta")) == 1
        (record,) = await memory.list("ana")
        await memory.hide("ana", [record.id])
        await memory.undo("ana")
        await memory.transcript.claim_chat("ana", "chat")


async def test_another_programs_database_is_refused_and_left_alone(path: Path) -> None:
    with closing(sqlite3.connect(path)) as connection:
        connection.execute("CREATE TABLE memories (photo TEXT)")
        connection.commit()
    before = path.read_bytes()
    await refuse(path, "storage_foreign")
    assert path.read_bytes() == before

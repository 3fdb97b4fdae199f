"""A backup is the database at one moment; a restore is checked first, and is all or nothing."""

import asyncio
import sqlite3
from contextlib import closing
from pathlib import Path

import pytest

from support.memories import Clock
from thoughtcycle.errors import InputRefused, StorageFailed, ThoughtcycleError
from thoughtcycle.memory.memory import Memory
from thoughtcycle.memory.model.records import MemoryDraft
from thoughtcycle.memory.transfer.backup import backup, restore


def url(path: Path) -> str:
    return f"sqlite:///{path}"


async def save(path: Path, *contents: str) -> None:
    async with Memory.open(url(path), embeddings=None, clock=Clock()) as memory:
        await memory.save("ana", [MemoryDraft(content=content) for content in contents])


async def contents(path: Path) -> set[object]:
    async with Memory.open(url(path), embeddings=None) as memory:
        assert await memory.doctor() == []
        return {record.content for record in await memory.list("ana")}


@pytest.mark.spec("BY-4")
async def test_a_backup_is_one_moment_while_others_write(tmp_path: Path) -> None:
    async with Memory.open(url(tmp_path / "m.db"), embeddings=None, clock=Clock()) as memory:
        await memory.save("ana", [MemoryDraft(content="antes")])

        async def write() -> None:
            for number in range(50):
                await memory.save("ana", [MemoryDraft(content=str(number))])

        writing = asyncio.create_task(write())
        size = await backup(url(tmp_path / "m.db"), tmp_path / "copy.db")
        await writing
    copy = tmp_path / "copy.db"
    assert size == copy.stat().st_size
    assert copy.stat().st_mode & 0o777 == 0o600
    with pytest.raises(InputRefused) as refused:
        await backup(url(tmp_path / "m.db"), copy)
    assert refused.value.code == "file_exists"
    assert "antes" in await contents(copy)


async def test_a_restore_replaces_everything_also_under_an_open_memory(tmp_path: Path) -> None:
    await save(tmp_path / "m.db", "a", "b")
    await backup(url(tmp_path / "m.db"), tmp_path / "copy.db")
    await save(tmp_path / "m.db", "c")
    with pytest.raises(InputRefused) as refused:
        await restore(url(tmp_path / "m.db"), tmp_path / "copy.db", replace=False)
    assert refused.value.code == "restore_over"
    assert await contents(tmp_path / "m.db") == {"a", "b", "c"}
    async with Memory.open(url(tmp_path / "m.db"), embeddings=None) as memory:
        assert len(await memory.search("ana", "c")) == 1
        await restore(url(tmp_path / "m.db"), tmp_path / "copy.db", replace=True)
        assert await memory.search("ana", "c") == []
    assert await contents(tmp_path / "m.db") == {"a", "b"}
    await restore(url(tmp_path / "new" / "m.db"), tmp_path / "copy.db", replace=False)
    assert await contents(tmp_path / "new" / "m.db") == {"a", "b"}


async def test_what_is_no_whole_backup_is_refused(tmp_path: Path) -> None:
    await save(tmp_path / "m.db", "a" * 20_000)
    await backup(url(tmp_path / "m.db"), tmp_path / "good.db")
    whole = (tmp_path / "good.db").read_bytes()
    (tmp_path / "half.db").write_bytes(whole[: len(whole) // 2])
    (tmp_path / "text.db").write_text("not a database, but long enough to be looked at " * 99)
    (tmp_path / "empty.db").touch()
    with closing(sqlite3.connect(tmp_path / "foreign.db")) as other, other:
        other.execute("CREATE TABLE recipes (id)")
    (tmp_path / "newer.db").write_bytes(whole)
    with closing(sqlite3.connect(tmp_path / "newer.db")) as newer, newer:
        newer.execute("INSERT INTO schema_versions VALUES (999)")
    codes = {}
    for name in ("half", "text", "empty", "foreign", "newer", "none"):
        with pytest.raises(ThoughtcycleError) as refused:
            await restore(url(tmp_path / "m.db"), tmp_path / f"{name}.db", replace=True)
        assert name in str(refused.value)
        codes[name] = refused.value.code
    assert codes == {
        "half": "storage_corrupt",
        "text": "storage_corrupt",
        "empty": "storage_corrupt",
        "foreign": "storage_foreign",
        "newer": "schema_newer",
        "none": "backup_missing",
    }
    assert await contents(tmp_path / "m.db") == {"a" * 20_000}


async def test_a_damaged_database_is_kept_beside_the_restored_one(tmp_path: Path) -> None:
    await save(tmp_path / "m.db", "a")
    await backup(url(tmp_path / "m.db"), tmp_path / "copy.db")
    (tmp_path / "m.db").write_bytes(b"broken " * 999)
    with pytest.raises(StorageFailed):
        await contents(tmp_path / "m.db")
    with pytest.raises(InputRefused):
        await restore(url(tmp_path / "m.db"), tmp_path / "copy.db", replace=False)
    await restore(url(tmp_path / "m.db"), tmp_path / "copy.db", replace=True)
    assert await contents(tmp_path / "m.db") == {"a"}
    assert (tmp_path / "m.db.damaged").read_bytes().startswith(b"broken")


async def test_mongodb_has_tools_of_its_own(tmp_path: Path) -> None:
    with pytest.raises(InputRefused, match="mongodump"):
        await backup("mongodb://localhost/x", tmp_path / "copy.db")

"""A search reads from the database only what somebody has written since the last one; so do settings."""

from collections.abc import AsyncIterator, Callable
from pathlib import Path
from typing import Any

import pytest

from support.blocking import no_blocking
from support.memories import Clock, WordEmbedder
from thoughtcycle.memory.memory import Memory
from thoughtcycle.memory.model.records import MemoryDraft
from thoughtcycle.memory.storage.sqlite.database import SqliteDatabase

Trips = list[str]


@pytest.fixture
async def here(tmp_path: Path) -> AsyncIterator[Memory]:
    """Ana's memories of the sea, with an index that has been used."""
    async with Memory.open(url(tmp_path), embeddings=WordEmbedder(), clock=Clock()) as memory:
        await memory.save(
            "ana", [MemoryDraft(content="Gosta do mar"), MemoryDraft(content="Vive perto do mar")]
        )
        await memory.search("ana", "mar")
        yield memory


@pytest.fixture
def trips(here: Memory, monkeypatch: pytest.MonkeyPatch) -> Trips:
    """The names of the reads that follow, each a way to the database."""
    made: Trips = []
    read = SqliteDatabase.read

    async def counted(self: SqliteDatabase, work: Callable[..., Any], *args: Any, **kwargs: Any) -> Any:
        made.append(work.__name__)
        return await read(self, work, *args, **kwargs)

    monkeypatch.setattr(SqliteDatabase, "read", counted)
    return made


def url(folder: Path) -> str:
    return f"sqlite:///{folder}/m.db"


async def found(memory: Memory, query: str = "mar") -> set[str]:
    return {hit.record.text for hit in await memory.search("ana", query)}


@pytest.mark.spec("CM-9")
async def test_a_search_reads_nothing_while_nobody_writes(here: Memory, trips: Trips) -> None:
    assert await found(here) == {"Gosta do mar", "Vive perto do mar"}
    assert trips == []


@pytest.mark.spec("CM-9")
async def test_it_asks_the_database_where_no_call_of_sqlite_is_let_pass(here: Memory, trips: Trips) -> None:
    with no_blocking():
        assert await found(here) == {"Gosta do mar", "Vive perto do mar"}
    assert trips == ["feed"]


async def test_after_a_write_it_reads_what_is_new(here: Memory, trips: Trips) -> None:
    await here.save("ana", [MemoryDraft(content="Teme o mar")])
    trips.clear()
    assert await found(here) == {"Gosta do mar", "Vive perto do mar", "Teme o mar"}
    assert trips == ["feed"]


@pytest.mark.spec("BY-2")
async def test_what_another_process_does_is_seen_at_once(here: Memory, tmp_path: Path, trips: Trips) -> None:
    async with Memory.open(url(tmp_path), embeddings=WordEmbedder(), clock=Clock()) as there:
        hit = (await there.search("ana", "vive"))[0].record
        await there.update("ana", hit.id, content="Vive longe do mar", correction=True)
        assert await found(here) == {"Gosta do mar", "Vive longe do mar"}
        await there.hide("ana", [hit.id])
        trips.clear()
        assert await found(here) == {"Gosta do mar"}
        assert trips == ["feed"]
        await there.undo("ana", hit.id)
        assert await found(here) == {"Gosta do mar", "Vive longe do mar"}
        await there.forget_user("ana")
        assert await found(here) == set()
        await there.save("ana", [MemoryDraft(content="Prefere o mar calmo")])
        assert await found(here) == {"Prefere o mar calmo"}


@pytest.mark.spec("CM-9")
async def test_settings_are_read_once_until_somebody_changes_them(
    here: Memory, tmp_path: Path, trips: Trips
) -> None:
    assert (await here.conversations.preferences("ana")).language is None
    trips.clear()
    assert (await here.conversations.preferences("ana")).language is None
    assert trips == []
    async with Memory.open(url(tmp_path), embeddings=None, clock=Clock()) as there:
        await there.change_settings("ana", language="en")
        assert (await here.conversations.preferences("ana")).language == "en"
        await there.change_settings("ana", language=None)
        assert (await here.conversations.preferences("ana")).language is None
        await there.change_settings("ana", language="pt")
        await there.forget_user("ana")
        assert (await here.conversations.preferences("ana")).language is None

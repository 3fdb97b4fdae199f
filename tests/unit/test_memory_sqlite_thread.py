"""Reads of the same moment share one way to SQLite's thread, and nothing else."""

import asyncio
from pathlib import Path

import pytest

from support.memories import record
from thoughtcycle.memory.storage.base import Write
from thoughtcycle.memory.storage.sqlite import SqliteStorage
from thoughtcycle.prompts.errors import InputRefused

LONELY = "\udc80"
"""Half of a character: no database takes it."""


async def test_each_reader_gets_its_own_answer(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    async with SqliteStorage.open(tmp_path / "m.db") as storage:
        made = record("m1", content="Mora em Recife.")
        await storage.commit("ana", [Write(made, "create", made.created)])
        ways = []
        way = storage._transaction
        monkeypatch.setattr(storage, "_transaction", lambda *work: (ways.append(1), way(*work))[1])
        ana, bia, unknown, number = await asyncio.gather(
            storage.records("ana", ["m1"]),
            storage.records("bia", ["m1"]),
            storage.cycle("ana", "nothing"),
            storage.pulse("ana"),
        )
        assert [one.text for one in ana] == ["Mora em Recife."]
        assert (bia, unknown) == ([], None)
        assert number == (((1, made.created, "m1"),), None)
        assert len(ways) == 1


async def test_a_read_that_fails_fails_alone(tmp_path: Path) -> None:
    async with SqliteStorage.open(tmp_path / "m.db") as storage:
        owner, refused, users = await asyncio.gather(
            storage.owner("chat"), storage.owner(LONELY), storage.users(), return_exceptions=True
        )
        assert (owner, users) == (None, [])
        assert isinstance(refused, InputRefused) and refused.code == "text_not_unicode"


async def test_a_reader_that_leaves_holds_up_nobody(tmp_path: Path) -> None:
    async with SqliteStorage.open(tmp_path / "m.db") as storage:
        left, stays = (asyncio.create_task(storage.users()) for _ in range(2))
        await asyncio.sleep(0)
        left.cancel()
        assert await stays == []
        assert left.cancelled()


async def test_nobody_waits_for_a_database_that_is_closed(tmp_path: Path) -> None:
    async with SqliteStorage.open(tmp_path / "m.db") as storage:
        pass
    with pytest.raises(RuntimeError):
        await asyncio.wait_for(storage.users(), timeout=5)

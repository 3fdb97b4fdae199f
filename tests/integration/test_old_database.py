"""A database of an earlier version says what it said before: tests/data, made by `support/old_database.py`."""

import json
import shutil
import sqlite3
from pathlib import Path
from typing import Any

import pytest
from bson import json_util
from pymongo import MongoClient

from support.databases import new_database
from support.left import left_of
from support.old_database import (
    DATA,
    ENGLISH,
    PORTUGUESE,
    brought_back,
    commanded,
    formed,
    load,
    opened,
    say_all,
    told,
    url_of,
)
from thoughtcycle.memory.conversation.loading import DocumentBroken
from thoughtcycle.memory.storage.mongo import schema as mongo_schema
from thoughtcycle.memory.storage.sqlite import schema as sqlite_schema

OLD = sorted(DATA.glob("database_v*.json"))


def golden(path: Path) -> dict[str, Any]:
    """What the code said that made the database."""
    found: dict[str, Any] = json.loads(path.read_text(encoding="utf-8"))
    return found


@pytest.mark.spec("BY-4", "CM-4")
@pytest.mark.parametrize("old", OLD, ids=lambda path: path.stem)
async def test_a_sqlite_file_of_before_says_what_it_said(old: Path, tmp_path: Path) -> None:
    made: list[Path] = []

    def copy() -> str:
        path = tmp_path / f"{len(made)}.sqlite"
        made.append(path)
        return url_of(shutil.copy(old.with_suffix(".sqlite"), path))

    expected = golden(old)
    told_by_command = expected.pop("command")
    assert await say_all(copy) == expected
    assert commanded(made[0]) == told_by_command
    for path in made:
        with sqlite3.connect(path) as db:
            assert sqlite_schema.check_version(db, "") == len(sqlite_schema.MIGRATIONS)


@pytest.mark.spec("BY-4", "CM-4")
@pytest.mark.parametrize("old", OLD, ids=lambda path: path.stem)
async def test_the_documents_of_before_say_what_they_said(old: Path, mongodb_url: str) -> None:
    made: list[str] = []

    def copy() -> str:
        made.append(new_database(mongodb_url))
        load(made[-1], old.with_suffix(".jsonl"))
        return made[-1]

    expected = golden(old)
    del expected["command"]
    assert await say_all(copy) == expected
    for url in made:
        with MongoClient[dict[str, Any]](url) as client:
            versions = client.get_default_database().schema_versions.find({})
            assert max(one["_id"] for one in versions) == len(mongo_schema.MIGRATIONS)


V12 = DATA / "database_v12.json"


def edited(path: Path, *changes: tuple[str, tuple[Any, ...]]) -> str:
    """The URL of a copy of version 12 in which somebody changed something by hand."""
    shutil.copy(V12.with_suffix(".sqlite"), path)
    with sqlite3.connect(path) as db:
        for query, values in changes:
            assert db.execute(query, values).rowcount > 0, query
    return url_of(path)


SHEET, ANNEX = (
    "UPDATE sheets SET document = ? WHERE kind = ? AND user = ?",
    "UPDATE sheet_annexes SET annex = ?",
)


@pytest.mark.spec("CM-4")
@pytest.mark.parametrize("annex", [True, False])
async def test_a_memory_of_before_is_read_in_part_too(tmp_path: Path, annex: bool) -> None:
    known = golden(V12)["brought back"]  # the memory of the chat with nothing hidden
    changes = (
        ()
        if annex
        else (
            ("UPDATE sheets SET document = ? WHERE id = 'casa'", (json.dumps(known),)),
            ("DELETE FROM sheet_annexes WHERE id = 'casa'", ()),
        )
    )
    async with opened(edited(tmp_path / "m.sqlite", *changes)) as memory:
        assert await memory.doctor(PORTUGUESE) == []
        assert await brought_back(memory) == known
        assert "sheets" in await left_of(memory, PORTUGUESE, ["ração"])
        part = await memory.conversation_memory(PORTUGUESE, "casa", partial=True)
        cycles = [one["cycle_ids"] for one in known["periods"]]
        assert [list(one.cycle_ids) for one in part.periods] == [ids[:1] for ids in cycles]
        assert (part.partial, part.rolled, part.ledger) == (True, sum(map(len, cycles)), ())


@pytest.mark.spec("BY-10", "CM-8")
@pytest.mark.parametrize(
    ("document", "paused", "zone", "broken"),
    [
        ('{"user": "ana", "paused": false, "time_zone": "America/Recife"}', False, "America/Recife", False),
        ('{"user": "ana", "paused": true, "language": "fr"}', True, None, True),
        ('{"user": "ana", "paused": "no", "time_zone": "UTC"}', True, "UTC", False),
        ("[]", True, None, False),
        (b"\xff\xfe", True, None, False),
    ],
)
async def test_of_settings_of_before_what_can_be_read_stays(
    tmp_path: Path, document: Any, paused: bool, zone: str | None, broken: bool
) -> None:
    url = edited(tmp_path / "m.sqlite", (SHEET, (document, "settings", PORTUGUESE)))
    async with opened(url) as memory:
        assert (await memory.settings(PORTUGUESE)).paused == paused
        assert [flaw.code for flaw in await memory.doctor(PORTUGUESE)] == ["sheet_broken"] * broken
        assert await memory.doctor(mend=True) == []
        settings = await memory.settings(PORTUGUESE)
        assert (settings.paused, settings.time_zone, settings.language) == (paused, zone, None)


@pytest.mark.spec("CM-8")
@pytest.mark.parametrize(
    "change",
    [
        (SHEET, ("not JSON", "conversation", PORTUGUESE)),
        (SHEET, (b"\xff", "conversation", PORTUGUESE)),
        (SHEET, ('{"old_memory": 7}', "conversation", PORTUGUESE)),
        (ANNEX, ("[]",)),
        (ANNEX, ('{"ledger": [], "rolled": []}',)),
        ("DELETE FROM sheet_annexes", ()),
    ],
)
async def test_a_memory_of_before_that_cannot_be_read_is_told_and_made_anew(
    tmp_path: Path, change: tuple[str, tuple[Any, ...]]
) -> None:
    async with opened(edited(tmp_path / "m.sqlite", change)) as memory:
        assert (await memory.sheets(PORTUGUESE, "casa")).conversation is not None
        with pytest.raises(DocumentBroken):
            await memory.conversation_memory(PORTUGUESE, "casa")
        assert {flaw.code for flaw in await memory.doctor(PORTUGUESE)} == {"sheet_broken"}
        assert await memory.doctor(mend=True) == []
        await formed(memory)
        known = await memory.conversation_memory(PORTUGUESE, "casa")
        assert (known.total_cycles, known.critical_data != ()) == (10, True)


async def test_documents_are_divided_again_where_a_process_died_over_it(mongodb_url: str) -> None:
    url = new_database(mongodb_url)
    load(url, V12.with_suffix(".jsonl"))
    async with opened(url):
        pass
    with MongoClient[dict[str, Any]](url) as client:
        db = client.get_default_database()
        db.schema_versions.delete_one({"_id": 9})
        db.documents.delete_one({"name": "casa"})
        lines = map(json_util.loads, V12.with_suffix(".jsonl").read_text(encoding="utf-8").splitlines())
        db.sheets.insert_many([document for name, document in lines if name == "sheets"])
    async with opened(url) as memory:
        expected = golden(V12)
        assert await told(memory) == {user: expected[user] for user in (PORTUGUESE, ENGLISH)}
    with MongoClient[dict[str, Any]](url) as client:
        assert "sheets" not in client.get_default_database().list_collection_names()

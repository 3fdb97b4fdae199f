"""Sheets, judgements and marks leave with an export and come back with an import, once."""

import json
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import pytest

from support.engines import memory as memory
from support.left import left_of
from support.memories import Clock, said
from support.sheets import PLAN, dog, judgement, profile, sheet, talk
from thoughtcycle.errors import InputRefused
from thoughtcycle.memory.memory import Memory
from thoughtcycle.memory.model.judgement import LayerMark
from thoughtcycle.memory.model.records import MemoryRecord
from thoughtcycle.memory.transfer.import_own import Imported


@pytest.fixture
async def other(tmp_path: Path) -> AsyncIterator[Memory]:
    async with Memory.open(f"sqlite:///{tmp_path}/other.db", embeddings=None, clock=Clock()) as opened:
        yield opened
        assert await opened.doctor() == []


async def filled(memory: Memory) -> MemoryRecord:
    """One judged and one pending cycle, and every kind of sheet."""
    told, waiting = await talk(memory), await talk(memory, PLAN)
    known = await dog(memory, told)
    marks = (LayerMark(layer="medium", priority=7.0, tags=("project",)),)
    found = judgement(told.id)
    fact = found.facts[1].model_copy(update={"same_as": known.id})
    found = found.model_copy(update={"facts": (found.facts[0], fact)})
    await memory.conversations.form_cycle(
        "ana", told.id, judgement=found, marks=marks, formation="done", expected=told
    )
    await memory.conversations.keep_conversation_memory(sheet(told, waiting))
    await memory.conversations.keep_profile(profile(told, waiting))
    await memory.change_settings("ana", smart_context=True, time_zone="America/Recife")
    return known


async def exported(memory: Memory, file: Path, user: str = "ana") -> list[dict[str, Any]]:
    found = [line async for line in memory.export(user)]
    file.write_text("".join(json.dumps(line) + "\n" for line in found))
    return found


def sheets(found: list[dict[str, Any]]) -> list[dict[str, Any]]:
    return [line | {"updated": ""} for line in found if line["line"] == "sheet"]


@pytest.mark.spec("BY-4")
async def test_sheets_come_back_as_they_were_and_once(memory: Memory, other: Memory, tmp_path: Path) -> None:
    await filled(memory)
    before = await exported(memory, tmp_path / "a")
    assert [line["kind"] for line in sheets(before)] == ["conversation", "profile", "settings"]
    assert (await other.import_file("ana", tmp_path / "a")).sheets == 3
    assert sheets(await exported(other, tmp_path / "b")) == sheets(before)
    assert await other.conversation("ana", "chat") == await memory.conversation("ana", "chat")
    assert await other.conversations.pending_cycles(
        "ana", limit=9
    ) == await memory.conversations.pending_cycles("ana", limit=9)
    assert (await other.settings("ana")).time_zone == "America/Recife"
    await other.change_settings("ana", smart_context=False)
    assert await other.import_file("ana", tmp_path / "a") == Imported()
    assert (await other.settings("ana")).smart_context is False


@pytest.mark.spec("BY-4", "BY-5")
async def test_another_user_gets_sheets_with_ids_of_their_own(
    memory: Memory, other: Memory, tmp_path: Path
) -> None:
    await filled(memory)
    await exported(memory, tmp_path / "a")
    await other.import_file("ana", tmp_path / "a")
    assert (await other.import_file("bia", tmp_path / "a")).sheets == 3
    mine = await other.conversation_memories("ana", limit=9)
    hers = await other.conversation_memories("bia", limit=9)
    assert [len(one) for one in (mine, hers)] == [1, 1]
    assert mine[0].chat_id != hers[0].chat_id
    ids = {cycle.id for cycle in await other.conversation("bia", hers[0].chat_id)}
    assert {one.cycle_id for one in hers[0].old_memory} == ids == {*hers[0].periods[0].cycle_ids}
    judged = [cycle.judgement for cycle in await other.conversation("bia", hers[0].chat_id)]
    assert judged[0] is not None and judged[0].critical[0].cycle in ids
    same = judged[0].facts[1].same_as
    assert same is not None and await other.get("bia", same) is not None
    assert {id for one in (await other.profile("bia")).entries for id in one.cycles} == ids


@pytest.mark.spec("BY-9")
async def test_nothing_hidden_leaves_in_a_sheet(memory: Memory, other: Memory, tmp_path: Path) -> None:
    known = await filled(memory)
    await memory.hide("ana", [known.id])
    await exported(memory, tmp_path / "a")
    text = (tmp_path / "a").read_text().casefold()
    assert "luna" not in text and "350" not in text
    await other.import_file("ana", tmp_path / "a")
    assert (await other.conversation_memory("ana", "chat")).working == "[…] Quer juntar dinheiro."


@pytest.mark.spec("BY-4", "BY-9")
async def test_what_went_with_its_chat_or_was_erased_does_not_come_back(
    memory: Memory, tmp_path: Path
) -> None:
    known = await filled(memory)
    await exported(memory, tmp_path / "a")
    await memory.erase("ana", [known.id])
    assert (await memory.import_file("ana", tmp_path / "a")).sheets == 0
    assert await left_of(memory, "ana", ["Luna"]) == []
    await memory.delete_chat("ana", "chat")
    assert (await memory.import_file("ana", tmp_path / "a")).sheets == 0
    assert await memory.conversation_memories("ana", limit=9) == []


@pytest.mark.spec("BY-4")
@pytest.mark.parametrize(
    "change",
    [
        {"kind": "diary"},
        {"document": {"colour": 1}},
        {"document": "text"},
        {"updated": "yesterday"},
        {"updated": "2026-03-01T12:00:00"},
        {"id": 7},
    ],
)
async def test_a_sheet_of_another_form_stops_an_import_before_it_begins(
    memory: Memory, other: Memory, tmp_path: Path, change: dict[str, Any]
) -> None:
    await filled(memory)
    found = await exported(memory, tmp_path / "a")
    place = next(number for number, line in enumerate(found) if line["line"] == "sheet")
    found[place] = found[place] | change
    (tmp_path / "a").write_text("".join(json.dumps(line) + "\n" for line in found))
    with pytest.raises(InputRefused) as refused:
        await other.import_file("ana", tmp_path / "a")
    assert refused.value.code == "import_damaged"
    assert await other.chats("ana") == []


CHATGPT = [
    {
        "conversation_id": "c",
        "title": "t",
        "create_time": 1_700_000_000,
        "current_node": "b",
        "mapping": {
            "a": {
                "message": {
                    "author": {"role": "user"},
                    "content": {"content_type": "text", "parts": ["Moro em Natal"]},
                }
            },
            "b": {
                "parent": "a",
                "message": {
                    "author": {"role": "assistant"},
                    "content": {"content_type": "text", "parts": ["Certo"]},
                },
            },
        },
    }
]


@pytest.mark.spec("BY-4", "BY-10")
@pytest.mark.parametrize("paused", [False, True])
async def test_foreign_chats_are_learned_from_unless_paused(
    memory: Memory, tmp_path: Path, paused: bool
) -> None:
    if paused:
        await memory.change_settings("ana", paused=True)
    (tmp_path / "conversations.json").write_text(json.dumps(CHATGPT))
    await memory.import_file("ana", tmp_path / "conversations.json")
    assert len(await memory.conversations.pending_cycles("ana", limit=9)) == (not paused)
    assert len(await memory.chats("ana")) == 1


@pytest.mark.spec("BY-10")
@pytest.mark.parametrize("paused", [False, True])
async def test_of_what_a_crash_cut_off_nothing_is_learned_while_paused(memory: Memory, paused: bool) -> None:
    await memory.transcript.open_cycle("ana", "chat", said("Moro em Natal"), parent=None, channel="cli")
    if paused:
        await memory.change_settings("ana", paused=True)
    await talk(memory, PLAN)
    found = [cycle.formation for cycle in await memory.conversation("ana", "chat")]
    assert found == ["pending"]
    cut = [
        one.formation
        for one in (await memory.core.storage.transcript.cycle_feed("ana", 0, model=None)).cycles
    ]
    assert sorted(map(str, cut)) == (["none", "pending"] if paused else ["pending", "pending"])

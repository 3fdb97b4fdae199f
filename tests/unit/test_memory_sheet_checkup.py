"""`doctor` over sheets: each flaw has one line, and repairing leaves none and loses nothing that was said."""

import json
from collections.abc import Callable
from typing import Any

import pytest

from support.engines import memory as memory
from support.memories import START
from support.sheets import PLAN, judgement, profile, sheet, talk
from thoughtcycle.memory.memory import Memory
from thoughtcycle.memory.model.conversation import UserSettings
from thoughtcycle.memory.storage import DocumentName

CHAT: DocumentName = ("conversation", "chat")
PROFILE: DocumentName = ("profile", "")
SETTINGS = ("settings", "")
Edit = Callable[[dict[str, Any]], object]

EDITS: dict[str, tuple[DocumentName | tuple[str, str], Edit, str]] = {
    "unknown field": (CHAT, lambda found: found.update(colour=1), "sheet_broken"),
    "another user": (CHAT, lambda found: found.update(user_id="bia"), "sheet_broken"),
    "another chat": (CHAT, lambda found: found.update(chat_id="other"), "sheet_broken"),
    "half an entry": (CHAT, lambda found: found["old_memory"][0].pop("summary"), "sheet_broken"),
    "no time zone": (CHAT, lambda found: found.update(created_at="2026-03-01T12:00:00"), "sheet_broken"),
    "a cycle of nobody's": (
        CHAT,
        lambda found: found["ledger"][0].update(cycle_id="x"),
        "sheet_cycle",
    ),
    "a cycle less": (CHAT, lambda found: found["cycle_ids"][0].pop(), "sheet_broken"),
    "no cycles": (CHAT, lambda found: found["cycle_ids"].clear(), "sheet_broken"),
    "half a row": (CHAT, lambda found: found["ledger"][0].pop("timestamp"), "sheet_broken"),
    "another end": (CHAT, lambda found: found.update(head="x"), "sheet_cycle"),
    "wrong count": (CHAT, lambda found: found["periods"][0].update(word_count=99), "sheet_counts"),
    "other revision": (CHAT, lambda found: found.update(revision=7), "sheet_revision"),
    "habit of nothing": (PROFILE, lambda found: found["entries"][0].update(cycles=["x"]), "sheet_cycle"),
    "no confidence": (PROFILE, lambda found: found["entries"][0].update(confidence="?"), "sheet_broken"),
    "no language": (SETTINGS, lambda found: found.update(language="fr"), "sheet_broken"),
    "no count": (CHAT, lambda found: found.pop("rolled"), "sheet_broken"),
}


async def filled(memory: Memory) -> None:
    """A chat whose first cycle formation has taken in, with all sheets."""
    told, other = await talk(memory), await talk(memory, PLAN)
    await memory.conversations.form_cycle(
        "ana", told.id, judgement=judgement(told.id), marks=(), formation="done", expected=told
    )
    await memory.conversations.form_cycle(
        "ana", other.id, judgement=None, marks=(), formation="none", expected=other
    )
    await memory.conversations.keep_conversation_memory(sheet(told, other))
    await memory.conversations.keep_profile(profile(told, other))
    await memory.change_settings("ana", smart_context=True, paused=True)
    assert await memory.doctor() == []


async def edit(memory: Memory, name: Any, change: Edit) -> None:
    """What somebody does with an editor."""
    if name == SETTINGS:
        fields: dict[str, Any] = {}
        change(fields)
        await memory.core.storage.documents.change_settings("ana", fields)
        return
    (stored,) = await memory.core.storage.documents.find("ana", [name])
    assert stored.document is not None
    parts = {part: [json.loads(row) for row in rows] for part, rows in stored.entries.items()}
    found = json.loads(stored.document) | parts
    change(found)
    found["revision"] += 1
    entries = {part: [json.dumps(row) for row in found.pop(part)] for part in parts}
    assert await memory.core.storage.documents.put(
        "ana", name, json.dumps(found), before=stored.revision, at=START, entries=entries
    )


@pytest.mark.spec("CM-8", "BY-4")
@pytest.mark.parametrize("case", EDITS)
async def test_a_sheet_edited_by_hand_is_told_and_put_right(memory: Memory, case: str) -> None:
    await filled(memory)
    name, change, code = EDITS[case]
    await edit(memory, name, change)
    (flaw,) = await memory.doctor("ana")
    assert (flaw.code, flaw.repairable) == (code, True)
    assert name[0] in flaw.text("pt") and name[0] in flaw.text("en")
    await memory.sheets("ana", "chat")
    assert await memory.doctor(mend=True) == []
    rebuilt = name != SETTINGS and (code == "sheet_broken" or case in ("a cycle of nobody's", "another end"))
    pending = await memory.conversations.pending_cycles("ana", limit=9)
    assert [cycle.judgement is not None for cycle in pending] == ([True] if rebuilt else [])
    read = await memory.conversation_memory("ana", "chat")
    assert bool(read.old_memory) == (name != CHAT or not rebuilt)
    assert (await memory.settings("ana")).smart_context
    before = await memory.stats("ana")
    assert await memory.doctor("ana", mend=True) == []
    assert await memory.stats("ana") == before


async def test_a_sheet_of_no_chat_goes(memory: Memory) -> None:
    await memory.core.storage.documents.put("ana", ("conversation", "nowhere"), "{}", before=0, at=START)
    assert [flaw.code for flaw in await memory.doctor("ana")] == ["sheet_lost"]
    assert await memory.doctor("ana", mend=True) == []
    assert dict((await memory.stats("ana")).sheets) == {}


@pytest.mark.spec("BY-10")
@pytest.mark.parametrize(
    ("fields", "paused"),
    [
        ({"paused": False, "language": "fr", "smart_context": True}, False),
        ({"paused": True, "language": 7, "smart_context": True}, True),
        ({"paused": "?", "smart_context": True}, True),
        ({"paused": 2, "time_zone": b"x", "smart_context": 3}, True),
    ],
)
async def test_of_broken_settings_what_can_be_read_stays(
    memory: Memory, fields: dict[str, Any], paused: bool
) -> None:
    await memory.core.storage.documents.change_settings("ana", fields)
    assert (await memory.settings("ana")).paused
    assert await memory.doctor("ana", mend=True) == []
    smart = True if fields["smart_context"] is True else None
    known = await memory.settings("ana")
    assert known.model_copy(update={"time_zone": None}) == UserSettings(
        user="ana", revision=2, paused=paused, smart_context=smart
    )
    assert not (await memory.change_settings("ana", paused=False)).paused

"""`doctor` over sheets: each flaw has one line, and repairing leaves none and loses nothing that was said."""

import json
from collections.abc import Callable
from typing import Any

import pytest

from support.engines import memory as memory
from support.memories import START
from support.sheets import PLAN, judgement, profile, sheet, talk
from thoughtcycle.memory.formed import UserSettings
from thoughtcycle.memory.memory import Memory
from thoughtcycle.memory.storage.sheet_port import SheetName

CHAT: SheetName = ("conversation", "chat")
PROFILE: SheetName = ("profile", "")
SETTINGS: SheetName = ("settings", "")
Edit = Callable[[dict[str, Any]], object]

EDITS: dict[str, tuple[SheetName, Edit, str]] = {
    "unknown field": (CHAT, lambda found: found.update(colour=1), "sheet_broken"),
    "another user": (CHAT, lambda found: found.update(user_id="bia"), "sheet_broken"),
    "another chat": (CHAT, lambda found: found.update(chat_id="other"), "sheet_broken"),
    "half an entry": (CHAT, lambda found: found["old_memory"][0].pop("summary"), "sheet_broken"),
    "no time zone": (CHAT, lambda found: found.update(created_at="2026-03-01T12:00:00"), "sheet_broken"),
    "a cycle of nobody's": (
        CHAT,
        lambda found: found["annex"]["ledger"][0].update(cycle_id="x"),
        "sheet_cycle",
    ),
    "a cycle less": (CHAT, lambda found: found["annex"]["rolled"][0].pop(), "sheet_broken"),
    "no annex": (CHAT, lambda found: found["annex"].clear(), "sheet_broken"),
    "half an annex": (CHAT, lambda found: found["annex"]["ledger"][0].pop("timestamp"), "sheet_broken"),
    "another end": (CHAT, lambda found: found.update(head="x"), "sheet_cycle"),
    "wrong count": (CHAT, lambda found: found["periods"][0].update(word_count=99), "sheet_counts"),
    "other revision": (CHAT, lambda found: found.update(revision=7), "sheet_revision"),
    "habit of nothing": (PROFILE, lambda found: found["entries"][0].update(cycles=["x"]), "sheet_cycle"),
    "no confidence": (PROFILE, lambda found: found["entries"][0].update(confidence="?"), "sheet_broken"),
    "no language": (SETTINGS, lambda found: found.update(language="fr"), "sheet_broken"),
}


async def filled(memory: Memory) -> None:
    """A chat whose first cycle formation has taken in, with all sheets."""
    told, other = await talk(memory), await talk(memory, PLAN)
    await memory.form_cycle(
        "ana", told.id, judgement=judgement(told.id), marks=(), formation="done", expected=told
    )
    await memory.form_cycle("ana", other.id, judgement=None, marks=(), formation="none", expected=other)
    await memory.keep_conversation_memory(sheet(told, other))
    await memory.keep_profile(profile(told, other))
    await memory.change_settings("ana", smart_context=True, paused=True)
    assert await memory.doctor() == []


async def edit(memory: Memory, name: SheetName, change: Edit) -> None:
    """What somebody does with an editor."""
    (stored,) = await memory._storage.sheets("ana", [name])
    assert stored.document is not None
    found = json.loads(stored.document) | {"annex": json.loads(stored.annex or "{}")}
    change(found)
    found["revision"] += 1
    annex = found.pop("annex")
    document, annex = json.dumps(found), json.dumps(annex) if annex else ""
    before = stored.revision
    assert await memory._storage.put_sheet("ana", name, document, before=before, at=START, annex=annex)


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
    pending = await memory.pending_cycles("ana", limit=9)
    assert [cycle.judgement is not None for cycle in pending] == ([True] if rebuilt else [])
    read = await memory.conversation_memory("ana", "chat")
    assert bool(read.old_memory) == (name != CHAT or not rebuilt)
    assert (await memory.settings("ana")).smart_context
    before = await memory.stats("ana")
    assert await memory.doctor("ana", mend=True) == []
    assert await memory.stats("ana") == before


async def test_a_sheet_of_no_chat_goes(memory: Memory) -> None:
    await memory._storage.put_sheet("ana", ("conversation", "nowhere"), "{}", before=0, at=START)
    assert [flaw.code for flaw in await memory.doctor("ana")] == ["sheet_lost"]
    assert await memory.doctor("ana", mend=True) == []
    assert dict((await memory.stats("ana")).sheets) == {}


@pytest.mark.spec("BY-10")
@pytest.mark.parametrize(
    ("document", "paused"),
    [
        ('{"user": "ana", "paused": false, "language": "fr", "smart_context": true}', False),
        ('{"user": "ana", "paused": true, "colour": 1, "smart_context": true}', True),
        ('{"user": "ana", "paused": "?", "smart_context": true}', True),
        ("not JSON", True),
        ("[1]", True),
    ],
)
async def test_of_broken_settings_what_can_be_read_stays(memory: Memory, document: str, paused: bool) -> None:
    await memory._storage.put_sheet("ana", SETTINGS, document, before=0, at=START)
    assert (await memory.settings("ana")).paused
    assert await memory.doctor("ana", mend=True) == []
    smart = True if "smart" in document else None
    assert await memory.settings("ana") == UserSettings(
        user="ana", revision=2, paused=paused, smart_context=smart
    )
    assert not (await memory.change_settings("ana", paused=False)).paused

"""Sheets through the engine: memories of chats, profile and settings, masked, counted, each its owner's."""

import json
from datetime import timedelta

import pytest

from support.engines import memory as memory
from support.memories import START, said
from support.sheets import DOG, PLAN, dog, judgement, profile, sheet, talk
from thoughtcycle.errors import InputRefused, NotAllowed
from thoughtcycle.memory.conversation.loading import DocumentBroken, dumped
from thoughtcycle.memory.conversation.service import PROFILE
from thoughtcycle.memory.memory import Memory
from thoughtcycle.memory.model.conversation import ConversationMemory, LedgerEntry, Profile, UserSettings
from thoughtcycle.memory.model.judgement import LayerMark, Preserved, PreservedData
from thoughtcycle.memory.rules.word_budget import with_word_counts
from thoughtcycle.memory.storage import Conflict, DocumentName
from thoughtcycle.memory.text.spans import HIDDEN

CHAT: DocumentName = ("conversation", "chat")


@pytest.mark.spec("CM-1")
async def test_an_unknown_chat_starts_empty_and_a_known_one_is_loaded(memory: Memory) -> None:
    told, other = await talk(memory), await talk(memory, PLAN)
    empty = await memory.conversation_memory("ana", "chat")
    assert (empty.revision, empty.head, empty.old_memory) == (0, None, ())
    kept = await memory.conversations.keep_conversation_memory(sheet(told, other))
    assert kept.revision == 1
    loaded = await memory.conversation_memory("ana", "chat")
    assert loaded.model_copy(update={"total_word_count": 0}) == kept
    again = await memory.conversations.keep_conversation_memory(loaded.model_copy(update={"stuck": True}))
    assert again.revision == 2
    with pytest.raises(Conflict):
        await memory.conversations.keep_conversation_memory(kept)
    assert [one.chat_id for one in await memory.conversation_memories("ana", limit=9)] == ["chat"]
    assert again.updated_at > loaded.updated_at


@pytest.mark.spec("CM-1", "CM-4")
async def test_what_grows_with_a_chat_is_neither_read_nor_written_with_each_cycle(memory: Memory) -> None:
    told, other = await talk(memory), await talk(memory, PLAN)

    async def in_part(user: str = "ana") -> ConversationMemory:
        return await memory.conversation_memory(user, "chat", partial=True)

    assert (await in_part()).revision == 0
    await memory.conversations.keep_conversation_memory(sheet(told, other))
    whole, part = await memory.conversation_memory("ana", "chat"), await in_part()
    assert (part.partial, part.rolled, part.ledger) == (True, 2, ())
    assert [one.cycle_ids for one in part.periods] == [(told.id,)] != [one.cycle_ids for one in whole.periods]
    same = {"periods", "ledger"}
    assert part.model_dump(exclude=same) == whole.model_dump(exclude=same)
    shown = (await memory.sheets("ana", "chat")).conversation
    assert shown is not None and shown.periods == part.periods
    kept = await memory.conversations.keep_conversation_memory(part.model_copy(update={"stuck": True}))
    changed = {"stuck": True, "revision": 2, "updated_at": kept.updated_at}
    assert await memory.conversation_memory("ana", "chat") == whole.model_copy(update=changed)
    with pytest.raises(Conflict):
        await memory.conversations.keep_conversation_memory(part)
    with pytest.raises(NotAllowed):
        await in_part("bia")
    read = await in_part()
    known = await dog(memory, told)
    await memory.hide("ana", [known.id])
    masked = await in_part()
    assert not masked.partial and "Luna" not in masked.model_dump_json()
    assert masked == await memory.conversation_memory("ana", "chat")
    await memory.conversations.keep_conversation_memory(read.model_copy(update={"stuck": False}))
    await memory.undo("ana", known.id)
    changed = {"revision": 3, "updated_at": (await in_part()).updated_at}
    assert await memory.conversation_memory("ana", "chat") == whole.model_copy(update=changed)


@pytest.mark.spec("CM-8")
async def test_wrong_word_counts_are_put_right_on_load(memory: Memory) -> None:
    told, other = await talk(memory), await talk(memory, PLAN)
    made = sheet(told, other)
    wrong = made.model_copy(
        update={
            "old_memory": tuple(one.model_copy(update={"summary_word_count": 99}) for one in made.old_memory),
            "total_word_count": -7,
        }
    )
    text, rows = dumped(wrong, 0)
    await memory.core.storage.documents.put("ana", CHAT, text, before=0, at=START, entries=rows)
    assert [flaw.code for flaw in await memory.doctor("ana")] == ["sheet_revision", "sheet_counts"]
    loaded = await memory.conversation_memory("ana", "chat")
    assert [one.summary_word_count for one in loaded.old_memory] == [5, 5]
    recent = sum(len(text.split()) for text in (DOG, PLAN)) * 2 + 2
    assert loaded.total_word_count == recent + 5 + 5 + 6 + 6
    given = (await memory.sheets("ana", "chat")).conversation
    assert given is not None and [one.summary_word_count for one in given.old_memory] == [5, 5]
    assert (
        await memory.conversations.keep_conversation_memory(wrong.model_copy(update={"revision": 1}))
    ).revision == 2


@pytest.mark.spec("BY-5")
async def test_a_users_sheets_are_nobody_elses(memory: Memory) -> None:
    told, other = await talk(memory), await talk(memory, PLAN)
    kept = await memory.conversations.keep_conversation_memory(sheet(told, other))
    await memory.conversations.keep_profile(profile(told, other))
    await memory.change_settings("ana", smart_context=True, paused=True)
    for user in ("bia", "Ana", "ana\x1f"):
        with pytest.raises(NotAllowed):
            await memory.conversation_memory(user, "chat")
        with pytest.raises(NotAllowed):
            await memory.conversations.keep_conversation_memory(kept.model_copy(update={"user_id": user}))
        seen = await memory.sheets(user, "chat")
        assert seen.conversation is not None and seen.conversation.old_memory == ()
        assert (seen.profile, seen.settings) == (Profile(user=user), UserSettings(user=user))
        assert await memory.conversation_memories(user, limit=9) == []
        assert await memory.conversations.pending_cycles(user, limit=9) == []
        formed = await memory.conversations.form_cycle(
            user, told.id, judgement=None, marks=(), formation="done", expected=told
        )
        assert formed is None
        census = await memory.stats(user)
        assert (dict(census.sheets), census.pending) == ({}, 0)
    for call in (memory.settings, memory.profile):
        with pytest.raises(NotAllowed):
            await call("")


@pytest.mark.spec("SM-6")
async def test_settings_are_kept_and_checked(memory: Memory) -> None:
    assert await memory.settings("ana") == UserSettings(user="ana")
    await memory.change_settings("ana", smart_context=True)
    changed = await memory.change_settings("ana", paused=True, time_zone="America/Sao_Paulo")
    assert changed == UserSettings(
        user="ana", revision=2, smart_context=True, paused=True, time_zone="America/Sao_Paulo"
    )
    assert await memory.settings("ana") == changed
    assert await memory.change_settings("ana", paused=True) == changed
    assert (await memory.sheets("ana", None)).settings == changed
    refused = {
        "preference_unknown": {"colour": 1},
        "preference_value": {"paused": "perhaps"},
        "unknown_language": {"language": "fr"},
        "unknown_time_zone": {"time_zone": "../etc/passwd"},
    }
    for code, fields in refused.items():
        with pytest.raises(InputRefused) as error:
            await memory.change_settings("ana", **fields)
        assert error.value.code == code
    assert (await memory.change_settings("ana", smart_context=None)).smart_context is None


async def test_pending_cycles_are_formed_once(memory: Memory) -> None:
    first, second = await talk(memory), await talk(memory, PLAN)
    assert [one.id for one in await memory.conversations.pending_cycles(limit=9)] == [first.id, second.id]
    assert await memory.conversations.pending_users(limit=9) == ["ana"]
    marks = (LayerMark(layer="medium", priority=7.0),)
    found = judgement(first.id)
    formed = await memory.conversations.form_cycle(
        "ana", first.id, judgement=found, marks=marks, formation="done", expected=first
    )
    assert formed is not None and (formed.judgement, formed.marks) == (found, marks)
    assert [one.id for one in await memory.conversations.pending_cycles("ana", limit=9)] == [second.id]
    reply = said("outra", "r9", "assistant")
    await memory.transcript.close_cycle("ana", second.id, execution="e2", messages=[reply], steps=[])
    assert (
        await memory.conversations.form_cycle(
            "ana", second.id, judgement=found, marks=marks, formation="done", expected=second
        )
        is None
    )
    (left,) = await memory.conversations.pending_cycles("ana", limit=9)
    assert left.judgement is None


@pytest.mark.spec("BY-9")
async def test_a_cycle_whose_words_were_hidden_meanwhile_is_judged_again(memory: Memory) -> None:
    told = await talk(memory)
    known = await dog(memory, told)
    (read,) = await memory.conversations.pending_cycles("ana", limit=9)
    await memory.hide("ana", [known.id])
    args = {"judgement": judgement(told.id), "marks": (), "formation": "done"}
    assert await memory.conversations.form_cycle("ana", told.id, expected=read, **args) is None
    (masked,) = await memory.conversations.pending_cycles("ana", limit=9)
    assert "Luna" not in masked.model_dump_json()
    await memory.erase("ana", [known.id])
    assert await memory.conversations.form_cycle("ana", told.id, expected=read, **args) is None
    (left,) = await memory.conversations.pending_cycles("ana", limit=9)
    assert (
        await memory.conversations.form_cycle("ana", told.id, expected=left, **(args | {"judgement": None}))
        is not None
    )


@pytest.mark.spec("BY-9")
async def test_hidden_words_are_masked_in_sheets_and_judgements_and_undo_brings_them_back(
    memory: Memory,
) -> None:
    told, other = await talk(memory), await talk(memory, PLAN)
    known = await dog(memory, told)
    await memory.conversations.form_cycle(
        "ana", told.id, judgement=judgement(told.id), marks=(), formation="done", expected=told
    )
    await memory.conversations.keep_conversation_memory(sheet(told, other))
    await memory.conversations.keep_profile(profile(told, other))
    before = (await memory.conversation_memory("ana", "chat"), await memory.profile("ana"))
    await memory.hide("ana", [known.id])
    read, seen = await memory.conversation_memory("ana", "chat"), await memory.profile("ana")
    shown = await memory.sheets("ana", "chat")
    (cycle, _) = await memory.conversation("ana", "chat")
    listed = await memory.conversation_memories("ana", limit=9)
    for one in (read, seen, shown.conversation, shown.profile, cycle.judgement, *listed):
        assert one is not None
        text = one.model_dump_json().casefold()
        assert "luna" not in text and "350" not in text, text
    assert read.old_memory[1].summary == f"Junta dinheiro. Pensa na {HIDDEN}."
    assert read.old_memory[1].preserved_data == before[0].old_memory[1].preserved_data
    assert read.periods[0].summary == f"{HIDDEN} Falou de dinheiro."
    assert read.critical_data[1].text == PLAN
    assert read.working == f"{HIDDEN} Quer juntar dinheiro."
    assert [one.value for one in shown.profile.entries] == ["e-mail"]
    assert shown.conversation is not None and len(shown.conversation.critical_data) == 1
    assert cycle.judgement is not None
    assert [one.content for one in cycle.judgement.facts] == ["Gosta de jazz"]
    assert cycle.judgement.preserved.decisions == (HIDDEN, "Mudar de casa.")[1:]
    await memory.conversations.keep_conversation_memory(read.model_copy(update={"stuck": True}))
    await memory.conversations.keep_profile(seen)
    await memory.undo("ana", known.id)
    back = await memory.conversation_memory("ana", "chat")
    fields = {"stuck": False, "revision": 1, "updated_at": before[0].updated_at}
    assert back.model_copy(update=fields) == before[0]
    assert (await memory.profile("ana")).entries == before[1].entries
    (cycle, _) = await memory.conversation("ana", "chat")
    assert cycle.judgement == judgement(told.id)


async def test_what_an_upkeep_moves_to_the_ledger_is_moved_in_full(memory: Memory) -> None:
    told, other = await talk(memory), await talk(memory, PLAN)
    known = await dog(memory, told)
    await memory.conversations.keep_conversation_memory(sheet(told, other).model_copy(update={"ledger": ()}))
    await memory.hide("ana", [known.id])
    read = await memory.conversation_memory("ana", "chat")
    first = read.old_memory[0]
    row = LedgerEntry(cycle_id=first.cycle_id, timestamp=first.timestamp, preserved_data=first.preserved_data)
    moved = {"old_memory": read.old_memory[1:], "ledger": (row,)}
    await memory.conversations.keep_conversation_memory(read.model_copy(update=moved))
    assert (await memory.conversation_memory("ana", "chat")).ledger[0].preserved_data == PreservedData()
    await memory.undo("ana", known.id)
    (entry,) = (await memory.conversation_memory("ana", "chat")).ledger
    assert entry.preserved_data.numerical_values == (Preserved(said="R$ 350", normalised="350"),)


async def test_what_was_said_anew_after_a_deletion_is_shown(memory: Memory) -> None:
    told = await talk(memory)
    known = await dog(memory, told)
    await memory.hide("ana", [known.id])
    anew = sheet(told, await talk(memory, "Vou passear com a Luna"))
    at = anew.created_at + timedelta(days=1)
    said_anew = anew.old_memory[1].model_copy(update={"timestamp": at})
    fields = {"old_memory": (said_anew,), "periods": (), "working": "", "ledger": ()}
    await memory.conversations.keep_conversation_memory(anew.model_copy(update=fields))
    (entry,) = (await memory.conversation_memory("ana", "chat")).old_memory
    assert entry.summary == "Junta dinheiro. Pensa na Luna."


BROKEN = {
    "no JSON": "not JSON",
    "unknown field": '{"user": "ana", "colour": 1}',
    "list": "[]",
    "number": "1e999",
    "another user's": '{"user": "bia", "user_id": "bia", "chat_id": "chat"}',
}


@pytest.mark.parametrize("document", BROKEN.values(), ids=BROKEN)
async def test_a_broken_sheet_never_breaks_a_turn(memory: Memory, document: str) -> None:
    await talk(memory)
    storage = memory.core.storage
    for name in (CHAT, PROFILE):
        await storage.documents.put("ana", name, document, before=0, at=START)
    await storage.documents.change_settings("ana", {"language": "fr"})
    seen = await memory.sheets("ana", "chat")
    assert seen.conversation is not None and seen.conversation.old_memory == ()
    assert seen.profile.entries == ()
    assert seen.settings.paused and seen.settings.smart_context is None
    assert (await memory.settings("ana")).paused
    assert await memory.conversation_memories("ana", limit=9) == []
    for call in (
        memory.conversation_memory("ana", "chat"),
        memory.profile("ana"),
        memory.change_settings("ana", paused=False),
    ):
        with pytest.raises(DocumentBroken) as broken:
            await call
        assert broken.value.code == "sheet_broken"
    await storage.users.forget("ana", START)


async def test_times_without_a_zone_are_broken(memory: Memory) -> None:
    told, other = await talk(memory), await talk(memory, PLAN)
    text, rows = dumped(sheet(told, other), 1)
    old = json.loads(rows["old_memory"][0]) | {"timestamp": "2026-03-01T12:00:00"}
    changed = {**rows, "old_memory": [json.dumps(old), *rows["old_memory"][1:]]}
    await memory.core.storage.documents.put("ana", CHAT, text, before=0, at=START, entries=changed)
    with pytest.raises(DocumentBroken) as broken:
        await memory.conversation_memory("ana", "chat")
    assert broken.value.cause == "old_memory.0.timestamp: timezone_aware"
    await memory.core.storage.documents.drop("ana", CHAT, at=START)


async def test_words_that_come_back_while_a_masked_sheet_is_worked_on_are_not_lost(memory: Memory) -> None:
    told, other = await talk(memory), await talk(memory, PLAN)
    known = await dog(memory, told)
    await memory.conversations.keep_conversation_memory(sheet(told, other))
    await memory.conversations.keep_profile(profile(told, other))
    await memory.hide("ana", [known.id])
    chat, own = await memory.conversation_memory("ana", "chat"), await memory.profile("ana")
    assert HIDDEN in chat.working and HIDDEN in own.entries[0].value
    await memory.undo("ana", known.id)
    with pytest.raises(Conflict):
        await memory.conversations.keep_conversation_memory(chat.model_copy(update={"stuck": True}))
    with pytest.raises(Conflict):
        await memory.conversations.keep_profile(own.model_copy(update={"moods": ()}))
    chat, own = await memory.conversation_memory("ana", "chat"), await memory.profile("ana")
    assert HIDDEN not in chat.model_dump_json() + own.model_dump_json()
    assert (await memory.conversations.keep_conversation_memory(chat)).revision == 2


async def test_counting_the_words_that_are_left_of_a_masked_sheet_loses_none(memory: Memory) -> None:
    told, other = await talk(memory), await talk(memory, PLAN)
    known = await dog(memory, told)
    await memory.conversations.keep_conversation_memory(sheet(told, other))
    before = await memory.conversation_memory("ana", "chat")
    await memory.hide("ana", [known.id])
    masked = with_word_counts(await memory.conversation_memory("ana", "chat"), ())
    assert masked.old_memory[0].summary_word_count < before.old_memory[0].summary_word_count
    kept = await memory.conversations.keep_conversation_memory(masked.model_copy(update={"stuck": True}))
    await memory.undo("ana", known.id)
    changed = {"stuck": True, "revision": 2, "updated_at": kept.updated_at}
    assert await memory.conversation_memory("ana", "chat") == before.model_copy(update=changed)

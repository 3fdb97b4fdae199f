"""What is erased for good, or goes with its chat or user, leaves sheets and judgements too."""

import pytest

from support.engines import memory as memory
from support.left import left_of
from support.memories import START
from support.sheets import DOG, PLAN, dog, judgement, profile, sheet, talk
from thoughtcycle.errors import NotAllowed
from thoughtcycle.memory.memory import Memory
from thoughtcycle.memory.model import Cycle, MemoryDraft, MemoryRecord, Source
from thoughtcycle.memory.model.conversation import ConversationMemory, LedgerEntry, Profile, ProfileEntry
from thoughtcycle.memory.model.judgement import Mood, PreservedData
from thoughtcycle.memory.storage import Conflict

WORDS = ["Luna", "350"]


async def formed(memory: Memory) -> tuple[Cycle, Cycle, MemoryRecord]:
    """Two cycles, a memory, and everything that formation makes of them."""
    told, other = await talk(memory), await talk(memory, PLAN)
    known = await dog(memory, told)
    found = judgement(told.id)
    await memory.conversations.form_cycle(
        "ana", told.id, judgement=found, marks=(), formation="done", expected=told
    )
    await memory.conversations.form_cycle(
        "ana", other.id, judgement=found, marks=(), formation="done", expected=other
    )
    await memory.conversations.keep_conversation_memory(sheet(told, other))
    await memory.conversations.keep_profile(profile(told, other))
    return told, other, known


@pytest.mark.spec("BY-9")
async def test_what_is_erased_leaves_sheets_and_judgements_for_good(memory: Memory) -> None:
    told, other, known = await formed(memory)
    receipt = await memory.erase("ana", [known.id])
    assert (receipt.cycles, receipt.sheets, receipt.left) == (2, 2, ())
    assert "2 summary(ies) or profile(s)" in receipt.text("en")
    assert await left_of(memory, "ana", ["Luna"]) == []
    left = await memory.conversation_memory("ana", "chat")
    assert "350" not in left.model_dump_json()
    assert [one.text for one in left.critical_data] == [PLAN]
    assert [one.cycle_id for one in left.old_memory] == [told.id, other.id]
    assert left.old_memory[1].preserved_data.numerical_values[0].normalised == "5000"
    seen = await memory.profile("ana")
    assert [one.value for one in seen.entries] == ["e-mail"]
    assert seen.moods == ()
    for cycle in await memory.conversation("ana", "chat"):
        assert cycle.judgement is not None and "Luna" not in cycle.judgement.model_dump_json()
    assert (await memory.erase("ana", [known.id])).sheets == 0


@pytest.mark.spec("BY-9")
async def test_what_grows_with_a_chat_is_looked_through_too(memory: Memory) -> None:
    told, _, _ = await formed(memory)
    data = PreservedData(decisions=('Levar o "Bolt" à Lagoa d\'Água.',))
    row = LedgerEntry(cycle_id=told.id, timestamp=told.message.at, preserved_data=data)
    known = await memory.conversation_memory("ana", "chat")
    await memory.conversations.keep_conversation_memory(
        known.model_copy(update={"ledger": (*known.ledger, row)})
    )
    for word in ("Bolt", "Lagoa d'Água"):
        assert await left_of(memory, "ana", [word]) == ["sheets"]
    draft = MemoryDraft(content="Cachorro: Bolt", source=Source(cycle=told.id, words="Bolt"))
    (bolt,) = await memory.save("ana", [draft])
    assert (await memory.erase("ana", [bolt.record.id])).left == ()
    assert await left_of(memory, "ana", ["Bolt"]) == []


@pytest.mark.spec("BY-9")
async def test_what_was_read_before_an_erasure_is_not_written_back(memory: Memory) -> None:
    told, other = await talk(memory), await talk(memory, PLAN)
    known = await dog(memory, told)
    elsewhere = await talk(memory, "Oi, tudo bem?", chat="other")
    await memory.conversations.keep_conversation_memory(
        sheet(told, other).model_copy(update={"old_memory": ()})
    )
    late = [await memory.conversation_memory("ana", "chat"), await memory.profile("ana")]
    free = await memory.conversation_memory("ana", "other")
    await memory.erase("ana", [known.id])
    made, habits = sheet(told, other), profile(told, other)
    with pytest.raises(Conflict):
        await memory.conversations.keep_conversation_memory(
            made.model_copy(update={"revision": late[0].revision})
        )
    with pytest.raises(Conflict):
        await memory.conversations.keep_profile(habits)
    assert (await memory.conversations.keep_conversation_memory(free)).chat_id == elsewhere.chat
    again = await memory.conversation_memory("ana", "chat")
    assert (await memory.conversations.keep_conversation_memory(again)).revision == again.revision + 1
    assert await left_of(memory, "ana", ["Luna"]) == []


@pytest.mark.spec("BY-9")
async def test_an_erasure_leaves_nothing_of_a_sheet_that_cannot_be_read(memory: Memory) -> None:
    told, _, known = await formed(memory)
    storage = memory.core.storage
    for name, revision in ((("conversation", "chat"), 1), (("profile", ""), 1)):
        assert await storage.documents.put("ana", name, '{"broken": "Luna"}', before=revision, at=START)
    assert await left_of(memory, "ana", ["Luna"]) != []
    receipt = await memory.erase("ana", [known.id])
    assert (receipt.sheets, receipt.left) == (2, ())
    assert await left_of(memory, "ana", ["Luna"]) == []
    pending = await memory.conversations.pending_cycles("ana", limit=9)
    assert told.id in [cycle.id for cycle in pending]
    assert all(cycle.judgement is not None for cycle in pending)
    assert (await memory.conversation_memory("ana", "chat")).old_memory == ()


@pytest.mark.spec("BY-4")
async def test_a_chat_goes_with_its_sheet_and_what_the_profile_rests_on(memory: Memory) -> None:
    told, other, _ = await formed(memory)
    third = await talk(memory, "Prefiro que me escrevam de manhã", chat="other")
    times = {"created": START, "updated": START}
    rest = ProfileEntry(key="hora", value="manhã", confidence=0.7, cycles=(other.id, third.id), **times)
    known = await memory.profile("ana")
    moods = (*known.moods, (third.id, Mood(name="calmo")))
    await memory.conversations.keep_profile(
        known.model_copy(update={"entries": (*known.entries, rest), "moods": moods})
    )
    read = await memory.conversation_memory("ana", "chat")
    await memory.delete_chat("ana", "chat")
    seen = await memory.profile("ana")
    assert [(one.key, one.cycles) for one in seen.entries] == [("hora", (third.id,))]
    assert [cycle for cycle, _ in seen.moods] == [third.id]
    assert await memory.conversation_memories("ana", limit=9) == []
    assert (await memory.conversation_memory("ana", "chat")).old_memory == ()
    assert await left_of(memory, "ana", ["Luna", "dezembro"]) == []
    with pytest.raises(Conflict):
        await memory.conversations.keep_conversation_memory(read)
    assert [cycle.id for cycle in await memory.conversations.pending_cycles("ana", limit=9)] == [third.id]
    assert (
        await memory.conversations.form_cycle(
            "ana", told.id, judgement=judgement(told.id), marks=(), formation="done", expected=told
        )
        is None
    )
    await memory.delete_chat("ana", "chat")
    anew = await talk(memory, "Oi de novo, estou aqui")
    fresh = await memory.conversation_memory("ana", "chat")
    kept = await memory.conversations.keep_conversation_memory(fresh.model_copy(update={"head": anew.id}))
    assert kept.revision == fresh.revision + 1


@pytest.mark.spec("BY-4")
async def test_a_forgotten_users_sheets_go_and_do_not_come_back(memory: Memory) -> None:
    told, other, _ = await formed(memory)
    await memory.change_settings("ana", paused=True)
    read = await memory.conversation_memory("ana", "chat")
    farewell = await memory.forget_user("ana")
    assert [farewell.erased[name] for name in ("documents", "settings")] == [2, 1]
    assert dict(farewell.left) == {}
    for late in (read, ConversationMemory.model_validate(read.model_dump() | {"revision": 0})):
        with pytest.raises(NotAllowed):
            await memory.conversations.keep_conversation_memory(late)
    with pytest.raises(Conflict):
        await memory.conversations.keep_profile(profile(told, other).model_copy(update={"revision": 1}))
    assert await memory.profile("ana") == Profile(user="ana")
    assert not (await memory.settings("ana")).paused
    assert DOG not in repr(await memory.conversations.pending_cycles(limit=9))

"""What is kept of chats, listed and one by one: the same counts, whether or not formation has come that far."""

import pytest

from support.engines import memory as memory
from support.memories import START, said
from support.sheets import PLAN, sheet, talk
from thoughtcycle.errors import NotAllowed
from thoughtcycle.memory.chats import KeptChat
from thoughtcycle.memory.conversation.loading import DocumentBroken
from thoughtcycle.memory.memory import Memory
from thoughtcycle.memory.rules.rendering import render_object
from thoughtcycle.memory.rules.word_budget import WordBudget, cycle_words
from thoughtcycle.text_clipping import count_words


async def looked_at(memory: Memory) -> KeptChat:
    """The chat as the list has it, which is as it is shown by itself."""
    (listed,) = await memory.kept_chats("ana")
    shown = await memory.kept_chat("ana", "chat")
    assert listed == shown
    counts = render_object(shown.memory, shown.recent, WordBudget())["metadata"]
    assert counts["total_word_count"] == listed.memory.total_word_count
    assert counts["total_cycles"] == listed.chat.cycles == len(await memory.transcript.branch("ana", "chat"))
    return listed


@pytest.mark.spec("CM-5", "CM-10")
async def test_a_list_and_one_chat_count_the_same(memory: Memory) -> None:
    assert await memory.kept_chats("ana") == []
    first = await talk(memory)
    kept = await looked_at(memory)
    assert kept.memory.total_word_count == cycle_words(first) and kept.memory.revision == 0
    assert (kept.memory.created_at, kept.memory.updated_at) == (kept.chat.created, kept.chat.used)
    second = await talk(memory, PLAN)
    assert (await looked_at(memory)).memory.total_word_count == cycle_words(first) + cycle_words(second)
    formed = await memory.conversations.keep_conversation_memory(sheet(first, second))
    third = await talk(memory, "Gosto de jazz")  # formation has not seen it
    kept = await looked_at(memory)
    assert [cycle.id for cycle in kept.recent] == [second.id, third.id]
    texts = [one.summary for one in (*formed.old_memory, *formed.periods)] + [formed.working]
    expected = cycle_words(second) + cycle_words(third) + sum(map(count_words, texts))
    assert kept.memory.total_word_count == expected


@pytest.mark.spec("BY-5")
async def test_only_the_users_own_chats_in_which_something_was_answered(memory: Memory) -> None:
    await talk(memory)
    await memory.transcript.open_cycle("ana", "silent", said("oi"), parent=None, channel="cli")
    assert [one.chat.id for one in await memory.kept_chats("ana")] == ["chat"]
    assert await memory.kept_chats("bia") == []
    for user, chat in (("bia", "chat"), ("ana", "silent"), ("ana", "none")):
        with pytest.raises(NotAllowed):
            await memory.kept_chat(user, chat)


async def test_a_chat_that_goes_on_from_another_has_its_own_exchanges_only(memory: Memory) -> None:
    first = await talk(memory)
    cycle = await memory.transcript.open_cycle("ana", "copy", said("oi"), parent=first.id, channel="cli")
    await memory.transcript.close_cycle("ana", cycle.id, execution="copy", messages=[], steps=[])
    copied = await memory.kept_chat("ana", "copy")
    assert [one.id for one in copied.recent] == [cycle.id]
    recent = {kept.chat.id: [one.id for one in kept.recent] for kept in await memory.kept_chats("ana")}
    assert recent == {"chat": [first.id], "copy": [cycle.id]}
    assert [one.cycles for one in await memory.chats("ana")] == [1, 1] and copied.chat.cycles == 1


async def test_a_broken_memory_counts_as_none_in_a_list(memory: Memory) -> None:
    cycle = await talk(memory)
    await memory.core.storage.documents.put("ana", ("conversation", "chat"), "{}", before=0, at=START)
    (kept,) = await memory.kept_chats("ana")
    assert kept.memory.total_word_count == cycle_words(cycle)
    with pytest.raises(DocumentBroken):
        await memory.kept_chat("ana", "chat")
    assert await memory.doctor("ana", mend=True) == []

"""Chats, cycles, and memories that follow the live branch."""

import asyncio
from datetime import timedelta

import pytest

from support.engines import memory
from support.memories import START, hidden, said, step
from thoughtcycle.errors import NotAllowed
from thoughtcycle.memory.memory import Memory
from thoughtcycle.memory.model import Cycle, MemoryDraft, Source
from thoughtcycle.memory.model.conversation import Profile
from thoughtcycle.memory.rules.layer_rules import Preference
from thoughtcycle.memory.rules.profile import with_observation

__all__ = ["memory"]


async def exchange(memory: Memory, text: str, parent: str | None = None, chat: str = "chat") -> Cycle:
    """A complete cycle."""
    cycle = await memory.transcript.open_cycle("ana", chat, said(text, id=text), parent=parent, channel="cli")
    reply = said(f"re: {text}", "r", "assistant")
    return await memory.transcript.close_cycle(
        "ana", cycle.id, execution="e1", messages=[reply], steps=[step()]
    )


async def save(memory: Memory, content: str, cycle: Cycle, key: str | None = None) -> str:
    draft = MemoryDraft(content=content, key=key, source=Source(cycle=cycle.id))
    return (await memory.save("ana", [draft]))[0].record.id


async def active(memory: Memory) -> list[object]:
    return sorted(str(record.content) for record in await memory.list("ana"))


@pytest.mark.spec("BY-5")
async def test_a_chat_is_the_first_claimer_s_even_in_a_race(memory: Memory) -> None:
    calls = [memory.transcript.claim_chat(user, "chat") for user in ("ana", "bia", "cai", "ana")]
    results = await asyncio.gather(*calls, return_exceptions=True)
    owners = {result.user for result in results if not isinstance(result, BaseException)}
    refused = [result for result in results if isinstance(result, BaseException)]
    assert len(owners) == 1
    assert all(isinstance(error, NotAllowed) and error.code == "chat_of_another" for error in refused)
    assert 2 <= len(refused) <= 3


@pytest.mark.spec("BY-1")
async def test_opening_again_gives_the_stored_cycle(memory: Memory) -> None:
    first = await memory.transcript.open_cycle("ana", "chat", said("oi"), parent=None, channel="cli")
    await memory.transcript.append("ana", first.id, "e1", step(), None)
    again = await memory.transcript.open_cycle("ana", "chat", said("oi"), parent=None, channel="cli")
    assert again.id == first.id
    assert len(again.progress) == 1
    other = await memory.transcript.open_cycle("ana", "chat", said("oi de novo"), parent=None, channel="cli")
    assert other.id != first.id


@pytest.mark.spec("BY-1")
async def test_what_a_crash_left_open_is_closed_with_what_was_shown(memory: Memory) -> None:
    left = await memory.transcript.open_cycle("ana", "chat", said("oi"), parent=None, channel="cli")
    await memory.transcript.append("ana", left.id, "e1", step("MemorySave"), said("Anotei", "2", "assistant"))
    await memory.transcript.open_cycle("ana", "chat", said("e aí?", "3"), parent=left.id, channel="cli")
    (kept,) = await memory.conversation("ana", "chat", tip=left.id)
    (variant,) = kept.variants
    assert (variant.cut, [message.text for message in variant.messages]) == (True, ["Anotei"])
    assert [done["action"] for done in variant.steps] == ["MemorySave"]
    assert (kept.formation, kept.progress) == ("pending", ())


async def test_a_repeated_step_replaces_its_own(memory: Memory) -> None:
    cycle = await memory.transcript.open_cycle("ana", "chat", said("oi"), parent=None, channel="cli")
    for execution, action, text in (("e1", "A", "1"), ("e1", "A", "2"), ("e1", "B", "3"), ("e2", "A", "4")):
        await memory.transcript.append(
            "ana", cycle.id, execution, step(action), said(text, text, "assistant")
        )
    again = await memory.transcript.open_cycle("ana", "chat", said("oi"), parent=None, channel="cli")
    assert [text.text for _, _, text in again.progress if text] == ["2", "3", "4"]


async def test_regenerating_adds_a_variant_and_a_repeated_run_does_not(memory: Memory) -> None:
    cycle = await exchange(memory, "oi")
    for execution, text in (("e2", "dois"), ("e1", "um"), ("e1", "um")):
        reply = said(text, "r", "assistant")
        cycle = await memory.transcript.close_cycle(
            "ana", cycle.id, execution=execution, messages=[reply], steps=[]
        )
    assert [variant.execution for variant in cycle.variants] == ["e2", "e1"]
    assert [message.text for message in cycle.replies] == ["um"]


async def test_closing_moves_the_tip(memory: Memory) -> None:
    cycle = await exchange(memory, "oi")
    conversation = await memory.transcript.claim_chat("ana", "chat")
    assert (conversation.tip, conversation.updated) == (cycle.id, cycle.heartbeat)


@pytest.mark.spec("CM-2")
async def test_the_window_is_the_last_closed_cycles_of_the_path(memory: Memory) -> None:
    assert await memory.conversation("ana", "chat") == []
    one = await exchange(memory, "1")
    two = await exchange(memory, "2", one.id)
    three = await exchange(memory, "3", two.id)
    await exchange(memory, "2b", one.id)
    running = await memory.transcript.open_cycle(
        "ana", "chat", said("4", "4"), parent=three.id, channel="cli"
    )

    async def texts(**options: object) -> list[str]:
        cycles = await memory.conversation("ana", "chat", **options)  # type: ignore[arg-type]
        return [cycle.message.text for cycle in cycles]

    assert await texts() == ["1", "2b"]
    assert await texts(tip=three.id) == ["2", "3"]
    assert await texts(tip=running.id, limit=9) == ["1", "2", "3"]
    assert await texts(tip="unknown") == []


async def test_a_cycle_of_another_chat_or_user_is_no_tip(memory: Memory) -> None:
    cycle = await exchange(memory, "1", chat="other")
    assert await memory.conversation("ana", "chat", tip=cycle.id) == []
    assert await memory.conversation("bia", "other", tip=cycle.id) == []


async def test_an_unknown_cycle_is_refused(memory: Memory) -> None:
    cycle = await exchange(memory, "1")
    for user, id in (("ana", "unknown"), ("bia", cycle.id)):
        with pytest.raises(NotAllowed, match="no cycle"):
            await memory.transcript.append(user, id, "e", step(), None)
        with pytest.raises(NotAllowed, match="no cycle"):
            await memory.transcript.close_cycle(user, id, execution="e", messages=[], steps=[])


async def test_sweeping_closes_only_what_is_silent(memory: Memory) -> None:
    await memory.transcript.open_cycle("ana", "chat", said("oi"), parent=None, channel="cli")
    assert await memory.transcript.sweep() == 0
    assert await memory.transcript.sweep(timedelta(0)) == 1
    assert await memory.transcript.sweep(timedelta(0)) == 0
    (cycle,) = await memory.conversation("ana", "chat")
    assert (cycle.variants[0].cut, cycle.replies) == (True, ())


async def test_without_branches_nothing_is_settled(memory: Memory) -> None:
    one = await exchange(memory, "1")
    await save(memory, "Vegetariano", one)
    assert await memory.transcript.settle_branches("ana", "chat", one.id) == []
    assert await active(memory) == ["Vegetariano"]


@pytest.mark.spec("BY-1")
async def test_memories_follow_the_live_branch(memory: Memory) -> None:
    one = await exchange(memory, "1")
    two = await exchange(memory, "2", one.id)
    fork = await exchange(memory, "2b", one.id)
    await save(memory, "raiz", one)
    await save(memory, "antigo", two)
    elsewhere = await exchange(memory, "x", chat="other")
    await save(memory, "alhures", elsewhere)
    (gone,) = await memory.transcript.settle_branches("ana", "chat", fork.id)
    assert (gone.content, gone.status, gone.reason) == ("antigo", "hidden", "abandoned")
    assert await active(memory) == ["alhures", "raiz"]
    assert await memory.search("ana", "antigo") == []
    assert await hidden(memory, "ana") == []
    assert await memory.transcript.settle_branches("ana", "chat", fork.id) == []
    await save(memory, "novo", fork)
    changed = await memory.transcript.settle_branches("ana", "chat", two.id)
    assert {record.content for record in changed} == {"antigo", "novo"}
    assert await active(memory) == ["alhures", "antigo", "raiz"]


@pytest.mark.spec("BY-1")
async def test_what_the_assistant_said_goes_and_comes_with_its_reply(memory: Memory) -> None:
    one = await exchange(memory, "1")
    two = await exchange(memory, "2", one.id)
    source = Source(cycle=two.id, speaker="assistant", words="re: 2")
    await memory.save("ana", [MemoryDraft(content="código", type="code", source=source)])
    await save(memory, "dito por mim", two)

    async def answer(text: str, execution: str) -> None:
        reply = said(text, "r", "assistant")
        await memory.transcript.close_cycle("ana", two.id, execution=execution, messages=[reply], steps=[])

    for execution in ("e2", "e3"):
        await answer("outra coisa", execution)
        assert await active(memory) == ["dito por mim"]
        await answer("re: 2, de novo", f"{execution}b")
        assert await active(memory) == ["código", "dito por mim"]


async def test_what_abandoned_branches_showed_leaves_the_profile(memory: Memory) -> None:
    one = await exchange(memory, "1")
    two = await exchange(memory, "2", one.id)
    habit = Preference("time_preference", "morning", "schedule")
    shown = Profile(user="ana")
    for cycle in (one, two):
        shown = with_observation(shown, habit, cycle.id, START)
    other = with_observation(shown, Preference("communication_preference", "email", "channel"), two.id, START)
    await memory.conversations.keep_profile(other)
    await exchange(memory, "2b", one.id)
    (left,) = (await memory.profile("ana")).entries
    assert (left.key, left.cycles) == ("time_preference", (one.id,))


async def test_what_the_user_hid_stays_hidden(memory: Memory) -> None:
    one = await exchange(memory, "1")
    fork = await exchange(memory, "1b")
    id = await save(memory, "segredo", one)
    await memory.hide("ana", [id])
    await memory.transcript.settle_branches("ana", "chat", fork.id)
    await memory.transcript.settle_branches("ana", "chat", one.id)
    assert await active(memory) == []


@pytest.mark.spec("BY-1")
async def test_what_an_abandoned_branch_changed_returns_to_what_it_was(memory: Memory) -> None:
    one = await exchange(memory, "1")
    two = await exchange(memory, "2", one.id)
    fork = await exchange(memory, "2b", one.id)
    id = await save(memory, "vegetariano", one, key="diet")
    await save(memory, "vegano", two, key="diet")
    for _ in range(2):
        await memory.transcript.settle_branches("ana", "chat", fork.id)
        assert await active(memory) == ["vegetariano"]
        assert [hit.record.id for hit in await memory.search("ana", "vegetariano")] == [id]
        assert await memory.search("ana", "vegano") == []
        await memory.transcript.settle_branches("ana", "chat", two.id)
        assert await active(memory) == ["vegano"]
        assert [version.content for version in await memory.versions("ana", id)] == ["vegetariano"]
        assert [hit.record.id for hit in await memory.search("ana", "vegano")] == [id]


async def test_a_branch_s_own_value_of_a_key_takes_turns(memory: Memory) -> None:
    one = await exchange(memory, "1")
    fork = await exchange(memory, "1b")
    await save(memory, "Recife", one, key="city")
    await memory.transcript.settle_branches("ana", "chat", fork.id)
    await save(memory, "Natal", fork, key="city")
    for tip, expected in ((one, "Recife"), (fork, "Natal")):
        await memory.transcript.settle_branches("ana", "chat", tip.id)
        assert await active(memory) == [expected]


async def test_undo_leaves_abandoned_branches_alone(memory: Memory) -> None:
    one = await exchange(memory, "1")
    fork = await exchange(memory, "1b")
    await save(memory, "antigo", one)
    await memory.transcript.settle_branches("ana", "chat", fork.id)
    assert (await memory.undo("ana")).undone is None


@pytest.mark.spec("BY-9")
async def test_what_the_user_deletes_stays_deleted_when_its_branch_comes_back(memory: Memory) -> None:
    one = await exchange(memory, "1")
    fork = await exchange(memory, "1b")
    id = await save(memory, "gosta de gatos", one)
    await memory.transcript.settle_branches("ana", "chat", fork.id)
    (hidden,) = await memory.hide("ana", [id])
    assert (hidden.status, hidden.reason) == ("hidden", "user")
    await memory.transcript.settle_branches("ana", "chat", one.id)
    assert await active(memory) == []
    await memory.transcript.settle_branches("ana", "chat", fork.id)
    back = (await memory.undo("ana", id)).record
    assert back is not None and (back.status, back.reason) == ("hidden", "abandoned")
    await memory.transcript.settle_branches("ana", "chat", one.id)
    assert await active(memory) == ["gosta de gatos"]

"""Chats are listed, found, renamed, and deleted with what was learned in them alone."""

import json
from pathlib import Path

import pytest

from support.engines import memory
from support.left import left_of
from support.memories import START, said, step
from thoughtcycle.errors import InputRefused, NotAllowed
from thoughtcycle.memory.chats.service import emptied_cycle, found_chat, is_empty
from thoughtcycle.memory.memory import Memory
from thoughtcycle.memory.model import Conversation, Cycle, MemoryDraft, Source
from thoughtcycle.memory.transfer.import_own import Imported

__all__ = ["memory"]


async def exchange(memory: Memory, text: str, chat: str, user: str = "ana") -> Cycle:
    cycle = await memory.transcript.open_cycle(
        user, chat, said(text, id="1"), parent=None, channel="cli", follow=True
    )
    reply = said(f"re: {text}", "r", "assistant")
    return await memory.transcript.close_cycle(
        user, cycle.id, execution="e", messages=[reply], steps=[step()]
    )


async def save(memory: Memory, content: str, cycle: Cycle, key: str | None = None) -> str:
    draft = MemoryDraft(content=content, key=key, source=Source(cycle=cycle.id, words=content))
    return (await memory.save(cycle.user, [draft]))[0].record.id


async def active(memory: Memory, user: str = "ana") -> set[object]:
    return {record.content for record in await memory.list(user)}


@pytest.mark.spec("BY-4")
async def test_chats_are_listed_by_last_use_and_renamed(memory: Memory) -> None:
    for text, chat in (("um", "a"), ("dois", "b"), ("três", "a")):
        await exchange(memory, text, chat)
    await exchange(memory, "x", "c", "bia")
    await memory.transcript.open_cycle("ana", "d", said("sem resposta"), parent=None, channel="cli")
    await memory.rename_chat("ana", "b", "  Viagem ")
    assert [(chat.id, chat.title, chat.cycles) for chat in await memory.chats("ana")] == [
        ("a", None, 2),
        ("b", "Viagem", 1),
    ]
    assert [chat.id for chat in await memory.chats("ana", limit=1)] == ["a"]
    one = await memory.chat("ana", "b")
    assert one is not None and (one.id, one.title) == ("b", "Viagem")
    assert [await memory.chat(user, chat) for user, chat in (("ana", "d"), ("ana", "c"), ("bia", "b"))] == [
        None,
        None,
        None,
    ]
    assert await memory.find_chat("ana", "viagem") == "b"
    assert await memory.find_chat("bia", "viagem") is None
    for work in (memory.rename_chat("bia", "b", "x"), memory.delete_chat("bia", "b")):
        with pytest.raises(NotAllowed) as refused:
            await work
        assert refused.value.code == "chat_unknown"
    await memory.rename_chat("ana", "b", " ")
    assert await memory.find_chat("ana", "viagem") is None
    assert [await memory.chat_service.name_chat("ana", chat, "Nome") for chat in ("b", "d", "c")] == [
        True,
        False,
        False,
    ]
    assert (
        await memory.chat_service.name_chat("ana", "b", "Outro")
        and await memory.find_chat("ana", "nome") == "b"
    )


@pytest.mark.spec("BY-4")
async def test_a_chat_goes_with_what_was_learned_in_it_alone(memory: Memory, tmp_path: Path) -> None:
    here, there = await exchange(memory, "adoro quimeras em Recife", "a"), await exchange(memory, "oi", "b")
    only = await save(memory, "adora quimeras", here, "beast")
    both = await save(memory, "mora em Recife", here)
    assert await save(memory, "mora em Recife", there) == both
    before = await save(memory, "nasceu em 1990", there, "birth")
    await save(memory, "nasceu em 1991", here, "birth")
    hidden = await save(memory, "detesta quimeras", here)
    await memory.hide("ana", [hidden])
    await memory.search("ana", "quimeras", include=("facts", "cycles"))
    await memory.rename_chat("ana", "a", "Quimeras")
    removed = await memory.delete_chat("ana", "a")
    assert (removed.cycles, removed.memories) == (1, 3)
    assert await active(memory) == {"mora em Recife", "nasceu em 1990"}
    assert (await memory.get("ana", only)).status == "erased"  # type: ignore[union-attr]
    assert before in {record.id for record in await memory.list("ana")}
    assert [chat.id for chat in await memory.chats("ana")] == ["b"]
    assert await memory.search("ana", "adoro quimeras", include=("facts", "cycles"), floor=0.5) == []
    told = json.dumps([line async for line in memory.export("ana")])
    assert "uimera" not in told and '"a"' not in told
    for file in tmp_path.glob("m.db*"):
        assert b"uimera" not in file.read_bytes()
    assert (await memory.delete_chat("ana", "a")).memories == 0


@pytest.mark.spec("BY-4")
@pytest.mark.parametrize("deleted, left", [("a", "Leeds"), ("b", "Leeds"), ("c", "Bath")])
async def test_a_memory_says_again_what_it_said_before_the_chat(
    memory: Memory, tmp_path: Path, deleted: str, left: str
) -> None:
    towns = {"a": "Bristol", "b": "Bath", "c": "Leeds"}
    for chat, town in towns.items():
        await save(memory, f"Lives in {town}", await exchange(memory, f"I moved to {town}", chat), "city")
    await memory.delete_chat("ana", deleted)
    assert await active(memory) == {f"Lives in {left}"}
    (record,) = await memory.list("ana")
    assert record.source.words == f"Lives in {left}"
    told = json.dumps([line async for line in memory.export("ana")])
    history = f"{await memory.history('ana', record.id)}{await memory.versions('ana', record.id)}"
    assert towns[deleted] not in told + history
    for file in tmp_path.glob("m.db*"):
        assert towns[deleted].encode() not in file.read_bytes()
    await memory.undo("ana")
    assert towns[deleted] not in repr(await memory.list("ana"))
    for chat in sorted(towns.keys() - {deleted}):
        await memory.delete_chat("ana", chat)
    assert await active(memory) == set()


async def test_another_process_drops_what_it_knew_of_the_chat(database_url: str) -> None:
    async with (
        Memory.open(database_url, embeddings=None) as one,
        Memory.open(database_url, embeddings=None) as two,
    ):
        await exchange(one, "adoro quimeras", "a")
        assert len(await two.search("ana", "quimeras", include=("cycles",))) == 2
        await one.delete_chat("ana", "a")
        assert await two.search("ana", "quimeras", include=("cycles",)) == []


async def test_an_import_does_not_bring_a_deleted_chat_back(memory: Memory, tmp_path: Path) -> None:
    cycle = await exchange(memory, "adoro quimeras", "a")
    await save(memory, "adora quimeras", cycle)
    own, foreign = tmp_path / "own", tmp_path / "foreign"
    own.write_text("".join([f"{json.dumps(line)}\n" async for line in memory.export("ana")]))
    message = {"sender": "human", "text": "Vou a Roma", "created_at": "2026-01-02T03:05:00Z"}
    foreign.write_text(json.dumps([{"uuid": "c", "name": "Viagem", "chat_messages": [message]}]))
    await memory.import_file("ana", foreign)
    for chat in await memory.chats("ana"):
        await memory.delete_chat("ana", chat.id)
    for file in (own, foreign):
        assert await memory.import_file("ana", file) == Imported()
    assert await memory.chats("ana") == []
    assert await active(memory) == set()
    assert "Viagem" not in json.dumps([line async for line in memory.export("ana")])
    await exchange(memory, "de novo", "a")
    assert [(chat.id, chat.cycles) for chat in await memory.chats("ana")] == [("a", 1)]


def test_an_emptied_cycle_says_nothing() -> None:
    cycle = Cycle(
        id="c",
        user="ana",
        chat="a",
        channel="cli",
        parent=None,
        message=said("oi"),
        opened_at=START,
        heartbeat=START,
        progress=(("e", step(), said("olá", "2", "assistant")),),
    )
    empty = emptied_cycle(cycle)
    assert (is_empty(cycle), is_empty(empty), empty.closed, emptied_cycle(empty)) == (
        False,
        True,
        True,
        empty,
    )


def test_a_chat_is_found_by_title_before_the_beginning_of_an_id() -> None:
    names = {"abc1": "Viagem", "abc2": "viagem", "abd": "ABC1", "x": None}
    chats = [
        Conversation(id=id, user="ana", title=title, created=START, updated=START)
        for id, title in names.items()
    ]
    found = {name: found_chat(chats, name) for name in ("abc1", "ABC1", "abd", "x", "y", " ", "abc10")}
    assert found == {
        "abc1": "abc1",
        "ABC1": "abd",
        "abd": "abd",
        "x": "x",
        "y": None,
        " ": None,
        "abc10": None,
    }
    assert found_chat(chats, "abd", whole=True) == "abd" and found_chat(chats, "ab", whole=True) is None
    for name in ("VIAGEM", "abc"):
        with pytest.raises(InputRefused) as refused:
            found_chat(chats, name)
        assert refused.value.code == "chat_ambiguous"


@pytest.mark.spec("BY-4", "BY-9")
async def test_what_went_with_a_chat_is_in_no_other_chat_and_is_not_learned_from_one(memory: Memory) -> None:
    here = await exchange(memory, "meu cachorro é o Zarquon", "a")
    await save(memory, "Cachorro: Zarquon", here)
    cycle = await memory.transcript.open_cycle(
        "ana", "b", said("qual é o meu cachorro?"), parent=None, channel="cli"
    )
    reply = said("Seu cachorro é o Zarquon. Algo mais?", "r", "assistant")
    there = await memory.transcript.close_cycle(
        "ana", cycle.id, execution="e", messages=[reply], steps=[step()]
    )
    await memory.delete_chat("ana", "a")
    assert await left_of(memory, "ana", ["Zarquon"]) == []
    (exchanged,) = await memory.conversation("ana", "b")
    assert "Algo mais?" in exchanged.replies[0].text
    assert "Zarquon" not in repr(await memory.search("ana", "cachorro", include=("facts", "cycles")))
    await save(memory, "Cachorro: Zarquon", there)
    assert await active(memory) == set()

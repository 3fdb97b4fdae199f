"""Deleting in a conversation: hidden and brought back, or – when the user says so – erased for good."""

import json
from datetime import timedelta
from pathlib import Path

import pytest

from support.dialogue import HEAVY, REASON, TALK
from support.fake_openai import FakeOpenAI
from support.graphs import Lab, lab
from support.left import left_of
from thoughtcycle.checkpoints.erasure import bound
from thoughtcycle.memory.text.spans import HIDDEN


async def state_of(lab: Lab, thread: str = "t") -> str:
    return repr((await lab.graph.aget_state({"configurable": {"thread_id": thread}})).values)


async def history_of(lab: Lab, thread: str = "t") -> str:
    config = {"configurable": {"thread_id": thread}}
    return repr([state async for state in lab.graph.aget_state_history(config)])


@pytest.mark.spec("BY-9", "TC-11")
@pytest.mark.parametrize(
    ("told", "asked", "forget"),
    [
        ("Meu nome é Pedro e moro em Natal.", "Qual é meu nome?", "Esqueça meu nome."),
        ("My name is Pedro and I live in Natal.", "What is my name?", "Forget my name."),
    ],
)
async def test_what_is_forgotten_is_in_no_state_and_undo_brings_it_back(
    tmp_path: Path, told: str, asked: str, forget: str
) -> None:
    async with lab(tmp_path) as talk:
        bound(talk.memory, talk.checkpointer)
        await talk.say(told)
        assert "Pedro" in await talk.answer(asked)
        await talk.say(forget)
        assert "Pedro" not in await state_of(talk)
        assert "Pedro" not in await talk.answer(asked)
        chats = await talk.memory.conversation("ana", "t", limit=9)
        assert "Pedro" not in repr(chats)
        assert "Natal" in repr(chats)
        await talk.memory.undo("ana")
        assert "Pedro" in await talk.answer(asked, thread="another")
        assert "Pedro" in repr(await talk.memory.conversation("ana", "t", limit=9))


@pytest.mark.spec("BY-9", "TC-11")
@pytest.mark.parametrize(
    ("told", "asked", "forget", "answer"),
    [
        (
            "Meu nome é Pedro e moro em Natal.",
            "Qual é meu nome?",
            "Apague definitivamente meu nome.",
            "definitivo",
        ),
        (
            "My name is Pedro and I live in Natal.",
            "What is my name?",
            "Delete my name permanently.",
            "for good",
        ),
    ],
)
async def test_what_is_erased_for_good_is_nowhere_after_the_turn(
    tmp_path: Path, told: str, asked: str, forget: str, answer: str
) -> None:
    async with lab(tmp_path) as talk:
        bound(talk.memory, talk.checkpointer)
        await talk.say(told)
        await talk.answer(asked)
        await talk.answer(asked, thread="another")
        assert answer in await talk.answer(forget)
        assert "Pedro" not in await state_of(talk)
        receipt = await talk.memory.erasure.finish_erasing("ana")
        assert receipt is not None
        assert (receipt.memories, receipt.left) == (1, ())
        assert receipt.elsewhere > 0
        assert await talk.memory.erasure.finish_erasing("ana") is None
        assert await left_of(talk.memory, "ana", ["Pedro"]) == []
        for thread in ("t", "another"):
            assert "Pedro" not in await history_of(talk, thread)
        assert "Pedro" not in await talk.answer(asked)
        assert "Natal" in await talk.answer("Onde eu moro?" if "Qual" in asked else "Where do I live?")
        assert HIDDEN in repr(await talk.memory.conversation("ana", "t", limit=9))
        await talk.say(told, thread="new")
        assert "Pedro" in await talk.answer(asked, thread="new")


@pytest.mark.spec("BY-9")
async def test_a_sqlite_file_holds_nothing_after_an_erasure_in_a_conversation(tmp_path: Path) -> None:
    async with lab(tmp_path) as talk:
        bound(talk.memory, talk.checkpointer)
        await talk.say("Meu nome é Zoroastro e moro em Natal.")
        await talk.answer("Qual é meu nome?")
        await talk.say("Apague definitivamente meu nome.")
        await talk.memory.erasure.finish_erasing("ana")
    assert not [file.name for file in tmp_path.iterdir() if b"oroastro" in file.read_bytes().lower()]


@pytest.mark.spec("BY-9")
async def test_nothing_is_emptied_while_the_deleting_turn_runs(tmp_path: Path) -> None:
    async with lab(tmp_path) as talk:
        await talk.say("Meu nome é Pedro.")
        (record,) = await talk.memory.list("ana")
        cycle = await talk.memory.transcript.open_cycle(
            "ana", "t", (await talk.memory.conversation("ana", "t"))[0].message, parent="x", channel="cli"
        )
        assert (await talk.memory.erase("ana", [record.id], cycle=cycle.id)).memories == 0
        assert await talk.memory.erase_due(timedelta(0), user="ana") != []
        assert (await talk.memory.get("ana", record.id)) is not None
        assert await talk.memory.list("ana") == []
        await talk.memory.transcript.close_cycle("ana", cycle.id, execution="e", messages=[], steps=[])
        receipt = await talk.memory.erasure.finish_erasing("ana")
        assert receipt is not None and receipt.memories == 1


@pytest.mark.spec("BY-9", "TC-11")
@pytest.mark.parametrize("message", ["Esqueça que odeio coentro.", "Esqueça para sempre que odeio coentro."])
async def test_a_model_erases_for_good_only_what_the_user_said_so_of(
    fake_openai: FakeOpenAI, tmp_path: Path, message: str
) -> None:
    async with lab(tmp_path, fake_openai) as talk:
        fake_openai.say("MemorySave", "Finish", model=HEAVY)
        fake_openai.say('[{"content": "Odeia coentro", "bindings": ["comida"]}]', model=REASON)
        fake_openai.say("Guardei.", "Pronto.", model=TALK)
        await talk.say("Odeio coentro.")
        (record,) = await talk.memory.list("ana")
        fake_openai.say("MemoryDelete", "Finish", model=HEAVY)
        fake_openai.say(json.dumps({"ids": [record.id], "final": True}), model=REASON)
        fake_openai.say("Apaguei.", "Feito.", model=TALK)
        await talk.say(message)
        final = await talk.memory.erasure.finish_erasing("ana")
        assert (final is not None) is ("para sempre" in message)
        kept = await talk.memory.get("ana", record.id)
        assert kept is not None
        assert kept.status == ("erased" if final else "hidden")

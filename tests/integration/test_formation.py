"""Formation by rules, through the worker: what becomes of a chat, and that doing it again changes nothing."""

from collections.abc import AsyncIterator
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest

from support.databases import new_database
from support.doctor import problems
from support.memories import WordEmbedder
from thoughtcycle.errors import NotAllowed, StorageFailed, StorageLocked
from thoughtcycle.graph.formation import compile_formation
from thoughtcycle.memory.conversation.loading import HOT
from thoughtcycle.memory.memory import Memory
from thoughtcycle.memory.model import Cycle
from thoughtcycle.memory.model.conversation import ConversationMemory
from thoughtcycle.mind.rules import RuleMind
from thoughtcycle.nodes.base.context import Context
from thoughtcycle.nodes.base.services import Services
from thoughtcycle.nodes.formation.roll_window import live_until
from thoughtcycle.runtime.upkeep import create_worker

START = datetime(2026, 3, 2, 9, tzinfo=UTC)


@pytest.fixture(params=["sqlite", "mongodb"])
async def memory(request: pytest.FixtureRequest, tmp_path: Path) -> AsyncIterator[Memory]:
    url = f"sqlite:///{tmp_path}/m.db"
    if request.param == "mongodb":
        url = new_database(request.getfixturevalue("mongodb_url"))
    async with Memory.open(url, embeddings=WordEmbedder()) as opened:
        yield opened
        assert await problems(opened.core.storage, "ana") == []


async def tell(memory: Memory, *said: str, chat: str = "c", since: int = 0) -> list[Cycle]:
    return [
        await memory.record_cycle(
            "ana", chat, text, "Certo.", at=START + timedelta(hours=since + place), channel="test"
        )
        for place, text in enumerate(said)
    ]


async def form(memory: Memory) -> None:
    await create_worker(Services(memory, RuleMind())).drain()


async def state(memory: Memory) -> dict[str, Any]:
    """Everything that formation makes."""
    chat = await memory.conversation_memory("ana", "c")
    return {
        "memories": [record.model_dump() for record in await memory.list("ana")],
        "chat": chat.model_dump(exclude={"revision", "updated_at"}),
        "profile": (await memory.profile("ana")).model_dump(exclude={"revision"}),
        "cycles": [cycle.model_dump() for cycle in await memory.conversation("ana", "c", limit=99)],
    }


SAID = (
    "oi, tudo bem?",
    "meu nome é Pedro e moro em Recife",
    "Quero economizar R$ 5.000 até junho",
    "prefiro falar por whatsapp de manhã",
    "agora moro em Natal",
)


@pytest.mark.spec("SM-1")
@pytest.mark.spec("HM-6")
@pytest.mark.spec("CM-3")
@pytest.mark.spec("CM-7")
@pytest.mark.spec("LM-3")
async def test_a_chat_becomes_memories_summaries_critical_data_and_a_profile(memory: Memory) -> None:
    await tell(memory, *SAID)
    await form(memory)
    contents = {str(record.content): record for record in await memory.list("ana")}
    assert {"Nome: Pedro", "Mora em Natal", "Quer economizar R$ 5.000 até junho"} <= contents.keys()
    home = contents["Mora em Natal"]
    assert home.valid_from == START + timedelta(hours=4) and home.source.words
    assert [former.content for former in await memory.versions("ana", home.id)] == ["Mora em Recife"]
    chat = await memory.conversation_memory("ana", "c")
    assert len(chat.old_memory) == 3 and chat.total_cycles == 5
    assert [one.expires is not None for one in chat.old_memory] == [True, False, False], "only questions"
    (goal,) = [one for one in chat.critical_data if one.kind == "financial_goals"]
    assert goal.text == "Quero economizar R$ 5.000 até junho" and goal.values == ("5000", "2026-06")
    profile = await memory.profile("ana")
    assert {(entry.key, entry.value) for entry in profile.entries} == {
        ("communication_preference", "whatsapp"),
        ("time_preference", "morning"),
    }


@pytest.mark.spec("SM-2")
@pytest.mark.spec("LM-6")
async def test_what_the_funnel_drops_stays_in_the_transcript_and_becomes_no_memory(memory: Memory) -> None:
    await tell(memory, "oi, tudo bem?", "o que é fotossíntese?")
    await form(memory)
    assert await memory.list("ana") == []
    cycles = await memory.conversation("ana", "c")
    assert [cycle.formation for cycle in cycles] == ["done", "done"]
    assert [cycle.judgement and cycle.judgement.importance for cycle in cycles] == [0, 0]
    layers = [[mark.layer for mark in cycle.marks] for cycle in cycles]
    assert layers == [["short", "medium"], ["short", "medium"]]


async def test_forming_again_changes_nothing(memory: Memory) -> None:
    cycles = await tell(memory, *SAID)
    await form(memory)
    before = await state(memory)
    for cycle in cycles:
        await memory.conversations.form_cycle(
            "ana", cycle.id, judgement=None, marks=(), formation="pending", expected=cycle
        )
    await form(memory)
    assert await state(memory) == before


@pytest.mark.spec("HM-6")
async def test_a_run_that_ended_before_it_merged_is_made_up_for(
    memory: Memory, monkeypatch: pytest.MonkeyPatch
) -> None:
    (first, second) = await tell(memory, "não gosto de carne de porco", "não gosto de carne")
    graph = compile_formation(Services(memory, RuleMind()))
    await graph.ainvoke({"cycle_id": first.id}, context=Context(user_id="ana"))

    async def ended(*args: object, **options: object) -> None:
        raise StorageLocked("m.db")

    with monkeypatch.context() as patch:
        patch.setattr(memory, "merge", ended)
        with pytest.raises(StorageFailed):
            await graph.ainvoke({"cycle_id": second.id}, context=Context(user_id="ana"))
    assert len(await memory.list("ana")) == 2
    await form(memory)
    (kept,) = await memory.list("ana")
    assert kept.content == "Não gosta de carne" and kept.source.cycle == second.id
    assert [former.content for former in await memory.versions("ana", kept.id)] == [
        "Não gosta de carne de porco"
    ]


@pytest.mark.spec("BY-9")
async def test_what_was_deleted_is_not_learned_again(memory: Memory) -> None:
    cycles = await tell(memory, "meu nome é Pedro e moro em Recife", "odeio coentro", "ok", "certo então")
    await form(memory)
    (home,) = [record for record in await memory.list("ana") if "Recife" in record.text]
    await memory.hide("ana", [home.id])
    await memory.conversations.form_cycle(
        "ana", cycles[0].id, judgement=None, marks=(), formation="pending", expected=(await reread(memory))[0]
    )
    await form(memory)
    assert not [record for record in await memory.list("ana") if "Recife" in record.text]
    chat = await memory.conversation_memory("ana", "c")
    assert "Recife" not in chat.model_dump_json()
    await memory.erase("ana", [home.id])
    assert "Recife" not in (await memory.conversation_memory("ana", "c")).model_dump_json()


@pytest.mark.spec("HM-6")
async def test_what_is_taken_back_is_no_longer_so_and_stays_in_history(memory: Memory) -> None:
    await tell(memory, "sou vegetariano", "não sou mais vegetariano", "não moro mais em Recife")
    await form(memory)
    (diet,) = await memory.list("ana")
    assert diet.key == "diet" and "não" in diet.text.casefold()
    assert [former.content for former in await memory.versions("ana", diet.id)] == ["Vegetariano"]
    rows = len(await memory.history("ana", diet.id))
    for cycle in await reread(memory):
        await memory.conversations.form_cycle(
            "ana", cycle.id, judgement=None, marks=(), formation="pending", expected=cycle
        )
    await form(memory)
    assert len(await memory.history("ana", diet.id)) == rows


@pytest.mark.spec("SM-7")
async def test_what_was_said_is_found_by_meaning_once_it_is_understood(memory: Memory) -> None:
    await tell(memory, "o gato dorme na varanda", "a bicicleta está quebrada")
    await form(memory)
    assert await memory.recall.embed_messages("ana") is None
    hits = await memory.recall.recollect("ana", "gato varanda", "c", memories=0, messages=3)
    assert hits.messages[0].text == "o gato dorme na varanda"


async def reread(memory: Memory) -> list[Cycle]:
    return await memory.conversation("ana", "c", limit=99)


@pytest.mark.spec("BY-10")
async def test_a_user_who_pauses_is_not_analysed(memory: Memory) -> None:
    await tell(memory, "moro em Recife")
    await memory.change_settings("ana", paused=True)
    await form(memory)
    assert await memory.list("ana") == []
    (cycle,) = await reread(memory)
    assert cycle.formation == "none" and cycle.judgement is None


@pytest.mark.spec("HM-4")
async def test_a_mood_that_comes_back_becomes_one_memory(memory: Memory) -> None:
    await tell(memory, *(f"{word} ansioso com o prazo" for word in ("estou", "continuo", "fiquei")), "oi!")
    await form(memory)
    patterns = [record for record in await memory.list("ana") if str(record.key).startswith("pattern:")]
    assert len(patterns) == 1 and patterns[0].kind == "emo"


@pytest.mark.spec("BY-5")
async def test_formation_of_another_users_cycle_does_nothing(memory: Memory) -> None:
    (cycle,) = await tell(memory, "moro em Recife")
    graph = compile_formation(Services(memory, RuleMind()))
    done = await graph.ainvoke({"cycle_id": cycle.id}, context=Context(user_id="bia"))
    assert done["done"] is True and await memory.list("bia") == []
    with pytest.raises(NotAllowed):
        await graph.ainvoke({"cycle_id": cycle.id}, context=Context())
    (left,) = await reread(memory)
    assert left.formation == "pending"


async def test_of_a_backlog_no_cycle_takes_in_those_that_still_wait(memory: Memory) -> None:
    ids = [cycle.id for cycle in await tell(memory, *(f"Hoje caminhei {n} km no parque" for n in range(6)))]
    formation = compile_formation(Services(memory, RuleMind()))
    await formation.ainvoke({"cycle_id": ids[0]}, context=Context(user_id="ana"))
    known = await memory.conversation_memory("ana", "c")
    assert (known.head, known.total_cycles, known.old_memory) == (ids[0], 1, ())
    await form(memory)
    known = await memory.conversation_memory("ana", "c")
    assert (known.head, known.total_cycles) == (ids[-1], 6)
    assert [one.cycle_id for one in known.old_memory] == ids[:-2]
    assert not any(one.pending_summarization for one in known.old_memory)


async def test_behind_a_known_chat_only_its_end_is_read(
    memory: Memory, monkeypatch: pytest.MonkeyPatch
) -> None:
    said = [f"Hoje caminhei {n} km no parque, gosto de {word}" for n, word in enumerate(("sol", "mar"))]
    first = await tell(memory, *said * 3)
    await form(memory)
    whole: list[str] = []
    read, put = memory.core.storage.transcript.links, memory.core.storage.documents.put

    async def watched(user: str, chat: str) -> dict[str, str | None]:
        whole.append(chat)
        return await read(user, chat)

    parts: set[str] = set()

    async def stored(*args: Any, entries: Any, **kwargs: Any) -> bool:
        parts.update(entries)
        return await put(*args, entries=entries, **kwargs)

    monkeypatch.setattr(memory.core.storage.transcript, "links", watched)
    monkeypatch.setattr(memory.core.storage.documents, "put", stored)
    for place in range(3):
        await tell(memory, f"agora moro em Natal {place}", since=6 + place)
        await form(memory)
    known = await memory.conversation_memory("ana", "c")
    assert (whole, known.total_cycles, len(known.old_memory)) == ([], 9, 7)
    assert parts == {*HOT}, "what grows with the chat is left as it is"
    await memory.unlearning.unlearn("ana", (await memory.transcript.cycles("ana", [first[1].id]))[0], "nada")
    whole.clear()
    await tell(memory, "prefiro chá", "prefiro café", since=9)
    await form(memory)
    known = await memory.conversation_memory("ana", "c")
    assert (known.total_cycles, len(known.old_memory), known.old_memory[1].summary) == (11, 9, "nada")
    assert whole, "a backlog, and something to be made up for"


@pytest.mark.parametrize(
    ("head", "revision", "cycle", "expected"),
    [
        (None, 0, "b", "ab"),
        ("b", 1, "c", "abc"),
        ("d", 4, "b", "abcd"),  # formed anew: what came after it stays
        (None, 3, "b", "abcde"),  # it was erased, and has to be made anew
        ("x", 3, "b", "abcde"),  # of another branch
        ("b", 2, "x", "abcde"),  # on an abandoned branch
    ],
)
def test_the_live_branch_counts_as_far_as_formation_has_come(
    head: str | None, revision: int, cycle: str, expected: str
) -> None:
    known = ConversationMemory(
        chat_id="c", user_id="ana", head=head, revision=revision, created_at=START, updated_at=START
    )
    assert list(live_until(known, list("abcde"), cycle)) == list(expected)

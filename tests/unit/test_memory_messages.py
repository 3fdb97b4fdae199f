"""What was said is found word by word: by itself, its neighbours, speaker and date, and only where it may be."""

import gc
import tracemalloc
from collections.abc import Sequence
from datetime import timedelta
from pathlib import Path

import numpy as np
import pytest

from support.engines import memory
from support.memories import START, WordEmbedder, said
from thoughtcycle.errors import ModelFailed, NotAllowed
from thoughtcycle.memory.index.message_index import MessageIndex
from thoughtcycle.memory.memory import Memory
from thoughtcycle.memory.model import (
    Cycle,
    MemoryDraft,
    MemoryHit,
    MessageHit,
    MessageVector,
    Source,
    Variant,
)
from thoughtcycle.memory.storage import CycleFeed

__all__ = ["memory"]

TALK = (
    ("Fui acampar no fim de semana", "Que bom! Onde foi?"),
    ("Na serra, com meu irmão Bruno", "E o tempo ajudou?"),
    ("Choveu muito", "Que pena!"),
)


async def talk(memory: Memory, user: str = "ana", chat: str = "chat", lines: object = TALK) -> list[Cycle]:
    """Cycles a day apart."""
    return [
        await memory.record_cycle(
            user,
            chat,
            one,
            other,
            at=START + timedelta(days=day),
            channel="cli",
            user_name="Ana",
            reply_name="Katherine",
        )
        for day, (one, other) in enumerate(lines)  # type: ignore[call-overload]
    ]


async def messages(
    memory: Memory, query: str, user: str = "ana", limit: int = 3, floor: float = 0.25
) -> list[MessageHit]:
    hits = await memory.search(user, query, include=("cycles",), limit=limit, floor=floor)
    return [hit for hit in hits if isinstance(hit, MessageHit)]


async def texts(memory: Memory, query: str, user: str = "ana", limit: int = 3) -> list[str]:
    return [hit.text for hit in await messages(memory, query, user, limit)]


async def test_a_message_is_found_by_its_words(memory: Memory) -> None:
    cycles = await talk(memory)
    (hit, *_) = await messages(memory, "acampar")
    assert hit.text == TALK[0][0]
    assert (hit.cycle, hit.message, hit.chat) == (cycles[0].id, cycles[0].message.id, "chat")
    assert (hit.role, hit.name, hit.at) == ("user", "Ana", START)
    assert 0 < hit.relevance <= 1
    assert await texts(memory, "astronomia") == []


async def test_an_answer_is_found_by_the_question_before_it(memory: Memory) -> None:
    await talk(memory)
    assert TALK[2][0] in await texts(memory, "o tempo ajudou?")


async def test_speaker_and_date_are_keys(memory: Memory) -> None:
    await talk(memory)
    found = await messages(memory, "Katherine", limit=9)
    assert {hit.name for hit in found[:3]} == {"Katherine"}
    assert {hit.at.day for hit in (await messages(memory, "3 de março", limit=9))[:2]} == {3}
    assert await texts(memory, "March") != []


async def test_facts_alone_are_searched_unless_cycles_are_asked_for(memory: Memory) -> None:
    await talk(memory)
    await memory.save("ana", [MemoryDraft(content="Gosta de acampar")])
    assert [hit.record.content for hit in await memory.search("ana", "acampar")] == ["Gosta de acampar"]
    both = await memory.search("ana", "acampar", include=("facts", "cycles"))
    assert {type(hit) for hit in both} == {MemoryHit, MessageHit}
    assert [hit.relevance for hit in both] == sorted((hit.relevance for hit in both), reverse=True)
    assert len(await memory.search("ana", "acampar", include=("facts", "cycles"), limit=1)) == 1
    assert await memory.search("ana", "acampar", include=()) == []


async def test_who_asks_for_facts_pays_for_no_message(tmp_path: Path) -> None:
    embedder = WordEmbedder()
    async with Memory.open(f"sqlite:///{tmp_path}/m.db", embeddings=embedder) as memory:
        await talk(memory)
        assert await memory.search("ana", "acampar") == []
        assert embedder.calls == []
        assert len(await texts(memory, "acampar")) > 0
        asked = len(embedder.calls)
        await texts(memory, "acampar")
        assert len(embedder.calls) == asked + 1
    async with Memory.open(f"sqlite:///{tmp_path}/m.db", embeddings=embedder) as memory:
        await texts(memory, "acampar")
        assert len(embedder.calls) == asked + 2


async def test_vectors_find_what_no_word_tells(tmp_path: Path) -> None:
    embedder = WordEmbedder(same=[{"choveu", "tempestade"}])
    async with Memory.open(f"sqlite:///{tmp_path}/m.db", embeddings=embedder) as memory:
        await talk(memory)
        assert (await texts(memory, "tempestade"))[0] == "Choveu muito"
        words = np.empty(0, dtype=np.float32)
        assert await memory.search("ana", "tempestade", vector=words, include=("cycles",)) == []


@pytest.mark.spec("BY-5")
async def test_messages_of_others_are_neither_found_nor_counted(memory: Memory) -> None:
    await talk(memory)
    before = [(hit.text, hit.relevance) for hit in await messages(memory, "acampar na serra", floor=0.0)]
    for number in range(5):
        await talk(memory, "bia", f"bia{number}", [("acampar na serra", "serra")])
    after = [(hit.text, hit.relevance) for hit in await messages(memory, "acampar na serra", floor=0.0)]
    assert after == before
    assert {hit.chat for hit in await messages(memory, "acampar", "bia", limit=50)} == {
        f"bia{number}" for number in range(5)
    }


@pytest.mark.spec("BY-2")
async def test_another_process_sees_what_was_said(tmp_path: Path) -> None:
    url = f"sqlite:///{tmp_path}/m.db"
    async with Memory.open(url, embeddings=None) as one, Memory.open(url, embeddings=None) as other:
        assert await texts(other, "acampar") == []
        await talk(one)
        assert await texts(other, "acampar") != []


@pytest.mark.spec("TC-11", "BY-9")
async def test_words_of_hidden_memories_are_found_no_more(memory: Memory) -> None:
    cycles = await talk(memory)
    source = Source(cycle=cycles[1].id, words="meu irmão Bruno")
    (saved,) = await memory.save("ana", [MemoryDraft(content="O irmão se chama Bruno", source=source)])
    assert TALK[1][0] in await texts(memory, "irmão Bruno")
    await memory.hide("ana", [saved.record.id])
    assert await texts(memory, "Bruno") == []
    assert "Na serra, com […]" in await texts(memory, "serra")
    await memory.undo("ana")
    assert TALK[1][0] in await texts(memory, "irmão Bruno")


async def test_an_open_cycle_is_not_found_until_it_is_closed(memory: Memory) -> None:
    cycle = await memory.transcript.open_cycle("ana", "chat", said("vou acampar"), parent=None, channel="cli")
    assert await texts(memory, "acampar") == []
    await memory.transcript.close_cycle(
        "ana", cycle.id, execution="e", messages=[said("ok", "2", "assistant")], steps=[]
    )
    assert await texts(memory, "acampar") == ["vou acampar", "ok"]


async def test_an_abandoned_branch_is_found_no_more_and_comes_back(memory: Memory) -> None:
    first = await memory.transcript.open_cycle("ana", "chat", said("oi"), parent=None, channel="cli")
    await memory.transcript.close_cycle("ana", first.id, execution="e", messages=[], steps=[])
    for number, topic in enumerate(("praia", "serra", "praia")):
        told = said(f"gosto da {topic}", topic)
        branch = await memory.transcript.open_cycle("ana", "chat", told, parent=first.id, channel="cli")
        reply = said(f"anotado: {topic}", f"r{number}", "assistant")
        await memory.transcript.close_cycle("ana", branch.id, execution="e", messages=[reply], steps=[])
        away = "praia" if topic == "serra" else "serra"
        assert f"gosto da {topic}" in await texts(memory, topic)
        assert await texts(memory, away) == []


async def test_a_regenerated_reply_replaces_the_former(memory: Memory) -> None:
    (cycle, *_) = await talk(memory)
    reply = said("Acampamento é ótimo", "r", "assistant")
    await memory.transcript.close_cycle("ana", cycle.id, execution="again", messages=[reply], steps=[])
    assert "Que bom! Onde foi?" not in await texts(memory, "acampar bom", limit=9)
    assert "Acampamento é ótimo" in await texts(memory, "acampamento", limit=9)


async def test_recording_again_adds_nothing(memory: Memory) -> None:
    cycles = await talk(memory)
    assert [cycle.id for cycle in await talk(memory)] == [cycle.id for cycle in cycles]
    assert [one.id for one in await memory.conversation("ana", "chat", limit=9)] == [
        cycle.id for cycle in cycles
    ]
    assert len(await texts(memory, "acampar", limit=9)) == len(set(await texts(memory, "acampar", limit=9)))
    assert cycles[0].formation == "pending"
    with pytest.raises(NotAllowed, match="another user"):
        await talk(memory, "bia")


async def test_one_of_the_two_may_be_silent(memory: Memory) -> None:
    await talk(memory, lines=[("", "Bem-vinda à praia"), ("obrigada pela praia", "")])
    assert sorted(await texts(memory, "praia")) == ["Bem-vinda à praia", "obrigada pela praia"]


class Failing(WordEmbedder):
    """Gives no vectors for documents."""

    async def aembed_documents(self, texts: list[str], /) -> list[list[float]]:
        return [] if len(texts) > 1 else await super().aembed_documents(texts)


async def test_a_failing_model_is_told_and_words_still_serve(tmp_path: Path) -> None:
    async with Memory.open(f"sqlite:///{tmp_path}/m.db", embeddings=Failing()) as memory:
        await talk(memory)
        with pytest.raises(ModelFailed):
            await texts(memory, "acampar")
        words = np.empty(0, dtype=np.float32)
        hits = await memory.search("ana", "acampar", vector=words, include=("cycles",))
        assert next(hit.text for hit in hits if isinstance(hit, MessageHit)) == TALK[0][0]


def closed(id: str, parent: str | None, texts: Sequence[str], chat: str = "chat") -> Cycle:
    replies = tuple(said(text, f"{id}{place}", "assistant") for place, text in enumerate(texts[1:]))
    variant = Variant(execution="e", messages=replies, steps=(), at=START)
    return Cycle(
        id=id,
        user="ana",
        chat=chat,
        channel="cli",
        parent=parent,
        message=said(texts[0]),
        opened_at=START,
        heartbeat=START,
        variants=(variant,),
        formation="none",
    )


def test_a_message_takes_little_memory() -> None:
    def stored(number: int) -> Cycle:
        """As the database gives it: every text and time an object of its own."""
        parent = f"{number - 1:032x}" if number else None
        texts = [f"Hoje fui à praia {number % 7} vezes", "Uma resposta de algumas palavras."]
        return Cycle.model_validate_json(closed(f"{number:032x}", parent, texts).model_dump_json())

    def learn(index: MessageIndex, number: int) -> None:
        cycle = stored(number)
        index.apply(CycleFeed(number + 1, (cycle,), {"chat": cycle.id}, ()))

    index = MessageIndex()
    learn(index, 0)
    gc.collect()
    tracemalloc.start(1)
    for number in range(1, 301):
        learn(index, number)
    gc.collect()
    taken, _ = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert len(index) == 602
    assert taken / 600 < 1_200  # with each cycle's own objects 2,050
    assert 0.7 * taken < index.nbytes < 2 * taken


def test_a_vector_takes_two_bytes_per_number() -> None:
    index = MessageIndex()
    index.apply(CycleFeed(1, (closed("c0", None, ["casa", "carro", "praia"]),), {"chat": "c0"}, ()))
    bare, rows = index.nbytes, np.eye(3, 384, dtype="<f4")
    index.add_vectors(
        {
            slot: MessageVector(cycle="c0", digest="d", model="m", data=rows[slot].tobytes())
            for slot in list(index.pending)
        }
    )
    assert index.nbytes - bare <= 3 * 2 * 384
    (found, *_) = index.search("", rows[1], limit=3)
    assert (found.text, found.relevance) == ("carro", pytest.approx(1.0, abs=0.001))


WORDS = ("casa", "carro", "viagem", "praia", "livro", "gato", "chuva")


@pytest.mark.spec("BY-2")
@pytest.mark.parametrize("seed", range(6))
def test_catching_up_equals_making_anew(seed: int) -> None:
    chance = np.random.default_rng(seed)
    live = MessageIndex()
    state: dict[str, Cycle] = {}
    tips: dict[str, str] = {}
    for number in range(1, 50):
        chat = f"chat{chance.integers(2)}"
        id = f"{chat}c{chance.integers(12)}"
        parent = state[id].parent if id in state else tips.get(chat)
        if chance.random() < 0.2 and id not in state and tips.get(chat):
            parent = state[tips[chat]].parent
        state.pop(id, None)
        state[id] = closed(id, parent, [" ".join(chance.choice(WORDS, 2)) for _ in range(3)], chat)
        if chance.random() < 0.9:
            tips[chat] = id
        live.apply(CycleFeed(number, (state[id],), {chat: tips.get(chat)}, ()))
    fresh = MessageIndex()
    fresh.apply(CycleFeed(49, tuple(state.values()), tips, ()))
    assert len(live) == len(fresh) > 0
    assert sorted(live.pending.values()) == sorted(fresh.pending.values())
    for word in WORDS:
        one = {(f.cycle, f.message): pytest.approx(f.relevance) for f in live.search(word, None, limit=99)}
        other = {(f.cycle, f.message): f.relevance for f in fresh.search(word, None, limit=99)}
        assert one == other

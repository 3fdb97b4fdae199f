"""Searches that are narrowed: by kind, layer, tag and time, to archived memories, to a day in the past, by a recipe."""

from collections.abc import AsyncIterator
from datetime import datetime, timedelta
from pathlib import Path

import pytest

from support.engines import memory
from support.memories import START, Clock, WordEmbedder
from thoughtcycle.errors import InputRefused
from thoughtcycle.memory.memory import Memory
from thoughtcycle.memory.model.records import MemoryDraft

__all__ = ["memory"]

DRAFTS = (
    MemoryDraft(content="praia azul", kind="bio", tags=("mar", "verão")),
    MemoryDraft(content="praia verde", kind="pref", tags=("mar",)),
    MemoryDraft(content="praia clara", kind="emo"),
    MemoryDraft(content="praia funda", kind="obj", tags=("'; DROP TABLE x; --",)),
    MemoryDraft(content="praia sem nome"),
)


@pytest.fixture
async def beaches(memory: Memory) -> AsyncIterator[Memory]:
    """Five memories of ana, saved one second after the other, and one of bia."""
    for draft in DRAFTS:
        await memory.save("ana", [draft])
    await memory.save("bia", [MemoryDraft(content="praia de bia", kind="bio", tags=("mar",))])
    yield memory


async def found(memory: Memory, query: str = "praia", **options: object) -> set[str]:
    """The last words of what is found."""
    hits = await memory.search("ana", query, limit=20, **options)  # type: ignore[arg-type]
    return {hit.record.text.split()[-1] for hit in hits}


@pytest.mark.spec("HM-9", "BY-5")
@pytest.mark.parametrize(
    ("options", "expected"),
    [
        ({}, {"azul", "verde", "clara", "funda", "nome"}),
        ({"kinds": ["bio", "obj"]}, {"azul", "funda"}),
        ({"kinds": ["unknown"]}, set()),
        ({"kinds": []}, set()),
        ({"layers": ["semantic"]}, {"verde", "clara"}),
        ({"layers": ["long", "episodic"]}, {"azul", "funda", "nome"}),
        ({"tags": ["mar"]}, {"azul", "verde"}),
        ({"tags": ["verão", "'; DROP TABLE x; --"]}, {"azul", "funda"}),
        ({"tags": ["unknown"]}, set()),
        ({"tags": []}, set()),
        ({"tags": ["mar"], "kinds": ["pref"], "layers": ["semantic"]}, {"verde"}),
        ({"tags": ["mar"], "kinds": ["emo"]}, set()),
        ({"since": START + timedelta(days=1)}, set()),
        ({"until": START}, set()),
        (
            {"until": (START + timedelta(days=1)).replace(tzinfo=None)},
            {"azul", "verde", "clara", "funda", "nome"},
        ),
    ],
)
async def test_filters(beaches: Memory, options: dict[str, object], expected: set[str]) -> None:
    assert await found(beaches, **options) == expected


async def test_since_is_inclusive_and_until_is_not(beaches: Memory) -> None:
    second = next(one for one in await beaches.list("ana") if one.content == "praia verde").valid_from
    assert "verde" in await found(beaches, since=second)
    assert "azul" not in await found(beaches, since=second)
    assert await found(beaches, until=second) == {"azul"}


async def test_a_filter_follows_changes(beaches: Memory) -> None:
    azul = next(one for one in await beaches.list("ana") if one.content == "praia azul")
    await beaches.hide("ana", [azul.id])
    assert await found(beaches, tags=["mar"]) == {"verde"}
    await beaches.save("ana", [MemoryDraft(content="praia nova", tags=("mar",))])
    assert await found(beaches, tags=["mar"]) == {"verde", "nova"}
    await beaches.undo("ana", azul.id)
    assert await found(beaches, tags=["mar", "verão"]) == {"verde", "nova", "azul"}


@pytest.mark.spec("LM-12")
async def test_archived_memories_are_found_when_asked_for_or_when_nothing_else_is(beaches: Memory) -> None:
    by_content = {one.content: one for one in await beaches.list("ana")}
    azul, verde = by_content["praia azul"], by_content["praia verde"]
    await beaches.archive("ana", [azul.id, verde.id])
    assert await found(beaches) == {"clara", "funda", "nome"}
    assert await found(beaches, include=("facts", "archived")) == {"azul", "verde", "clara", "funda", "nome"}
    assert await found(beaches, include=("archived",)) == {"azul", "verde"}
    assert await found(beaches, "azul") == {"azul"}, "nothing active says so"
    (hit,) = await beaches.search("ana", "azul")
    assert (hit.record.status, hit.matched) == ("archived", "praia azul")
    assert await found(beaches, tags=["mar"]) == {"azul", "verde"}, "no active memory bears the tag"
    assert await found(beaches, "azul", kinds=["pref"]) == set()
    await beaches.restore("ana", [azul.id])
    assert await found(beaches, tags=["mar"]) == {"azul"}


@pytest.mark.spec("HM-6")
async def test_what_was_believed_on_a_day(memory: Memory) -> None:
    (saved,) = await memory.save("ana", [MemoryDraft(content="Mora em Natal", key="city")])
    before = saved.record.valid_from - timedelta(milliseconds=1)
    first = saved.record.valid_from
    (later,) = await memory.save("ana", [MemoryDraft(content="Mora em Recife", key="city")])
    second = later.record.valid_from
    (secret,) = await memory.save("ana", [MemoryDraft(content="Mora com Rui")])
    await memory.hide("ana", [secret.record.id])
    after = second + timedelta(days=1)

    async def then(at: datetime) -> tuple[set[str], list[str]]:
        listed = [one.text.split()[-1] for one in await memory.list("ana", at=at)]
        return await found(memory, "mora", at=at), listed

    assert await then(before) == (set(), [])
    assert await then(first) == ({"Natal"}, ["Natal"])
    assert await then(second - timedelta(milliseconds=1)) == ({"Natal"}, ["Natal"])
    assert await then(second) == ({"Recife"}, ["Recife"])
    assert await then(after.replace(tzinfo=None)) == ({"Recife"}, ["Recife"])
    (hit,) = await memory.search("ana", "mora", at=first)
    assert (hit.record.status, hit.record.current) == ("superseded", saved.record.id)
    assert await memory.search("bia", "mora", at=first) == []
    assert await memory.list("bia", at=first) == []
    await memory.archive("ana", [saved.record.id])
    assert await then(after) == ({"Recife"}, ["Recife"]), "archiving takes nothing back"
    assert (await then(first))[0] == {"Natal"}


@pytest.mark.spec("HM-6")
async def test_the_past_is_searched_by_vectors_too(tmp_path: Path) -> None:
    embedder = WordEmbedder(same=[{"natal", "litoral"}])
    async with Memory.open(f"sqlite:///{tmp_path}/m.db", embeddings=embedder, clock=Clock()) as memory:
        (saved,) = await memory.save("ana", [MemoryDraft(content="Natal", key="city")])
        await memory.save("ana", [MemoryDraft(content="Curitiba", key="city")])
        assert await found(memory, "litoral", at=saved.record.valid_from) == {"Natal"}
        assert await found(memory, "litoral") == set()


async def test_recipes_weigh_words_vectors_or_both(tmp_path: Path) -> None:
    embedder = WordEmbedder(same=[{"carne", "vegetariano"}])
    async with Memory.open(f"sqlite:///{tmp_path}/m.db", embeddings=embedder) as memory:
        await memory.save(
            "ana", [MemoryDraft(content="Vegetariano"), MemoryDraft(content="carne seca em Natal")]
        )
        assert await found(memory, "carne", recipe="adaptive") == {"Vegetariano", "Natal"}
        calls = len(embedder.calls)
        assert await found(memory, "carne", recipe="words") == {"Natal"}
        assert len(embedder.calls) == calls, "words cost no embedding"
        assert (await memory.search("ana", "carne", recipe="vectors"))[0].record.content == "Vegetariano"
        with pytest.raises(InputRefused, match="adaptive, words, vectors"):
            await memory.search("ana", "carne", recipe="magic")


@pytest.mark.spec("LM-9")
async def test_a_memory_without_embedding_is_found_by_word_overlap(tmp_path: Path) -> None:
    url = f"sqlite:///{tmp_path}/m.db"
    async with Memory.open(url, embeddings=None) as memory:
        await memory.save(
            "ana", [MemoryDraft(content="Odeia coentro"), MemoryDraft(content="Odeia cebola crua")]
        )
    async with Memory.open(url, embeddings=WordEmbedder()) as memory:
        await memory.save("ana", [MemoryDraft(content="Gosta de praia")])
        hits = await memory.search("ana", "odeia cebola")
        assert [hit.record.content for hit in hits] == ["Odeia cebola crua", "Odeia coentro"]
        assert hits[0].record.vector_ids == ()

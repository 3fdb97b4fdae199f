"""What a search finds, what it leaves out, and in which order."""

from collections.abc import AsyncIterator, Sequence
from pathlib import Path

import numpy as np
import pytest

from support.engines import memory
from support.memories import Clock, WordEmbedder
from thoughtcycle.errors import ModelFailed
from thoughtcycle.memory.memory import Memory
from thoughtcycle.memory.model.records import MemoryDraft

__all__ = ["memory"]

DIET = ("alimentação", "dieta", "food", "diet")


@pytest.fixture
async def diets(memory: Memory) -> AsyncIterator[Memory]:
    """Ana's name, hidden, and two memories about food."""
    name, *_ = await memory.save(
        "ana",
        [
            MemoryDraft(content="O nome é Ana", bindings=("nome", "name"), kind="bio"),
            MemoryDraft(content="Vegetariano", bindings=DIET, kind="pref"),
            MemoryDraft(content="Odeia coentro", bindings=DIET, kind="pref"),
        ],
    )
    await memory.hide("ana", [name.record.id])
    yield memory


async def found(memory: Memory, query: str, **options: object) -> list[object]:
    return [hit.record.content for hit in await memory.search("ana", query, **options)]  # type: ignore[arg-type]


@pytest.mark.spec("TC-8", "TC-11")
@pytest.mark.parametrize(
    "query", ["nome", "name", "Qual é o meu nome?", "what is my name", "Ana", "", "  ", "e o"]
)
async def test_an_unrelated_query_finds_nothing(diets: Memory, query: str) -> None:
    assert await found(diets, query) == []


@pytest.mark.spec("TC-8", "TC-9")
@pytest.mark.parametrize(
    "query", ["minha alimentação", "alimentacao", "my diet", "Dietas?", "What food do I like?"]
)
async def test_bindings_find_every_memory_under_them(diets: Memory, query: str) -> None:
    assert sorted(map(str, await found(diets, query))) == ["Odeia coentro", "Vegetariano"]


async def test_the_better_match_comes_first(diets: Memory) -> None:
    assert (await found(diets, "coentro na alimentação"))[0] == "Odeia coentro"


async def test_limit_and_kinds(diets: Memory) -> None:
    assert len(await found(diets, "dieta", limit=1)) == 1
    assert await found(diets, "dieta", limit=0) == []
    assert await found(diets, "dieta", kinds=["bio"]) == []
    assert len(await found(diets, "dieta", kinds=["pref"])) == 2


async def test_a_hit_tells_which_key_matched_and_how_well(diets: Memory) -> None:
    (first, second) = await diets.search("ana", "alimentação")
    assert first.matched == "alimentação"
    assert 1 >= first.relevance >= second.relevance > 0


async def test_a_long_message_can_be_about_one_thing(diets: Memory) -> None:
    words = (
        "Vou receber amigos no sábado e pensei em preparar uma moqueca com bastante coentro fresco por cima"
    )
    assert await found(diets, words) == ["Odeia coentro"]


@pytest.mark.spec("TC-8")
async def test_vectors_find_what_no_word_tells(tmp_path: Path) -> None:
    embedder = WordEmbedder(same=[{"vegetariano", "carne"}])
    async with Memory.open(f"sqlite:///{tmp_path}/m.db", embeddings=embedder) as memory:
        await memory.save("ana", [MemoryDraft(content="Vegetariano"), MemoryDraft(content="Mora em Natal")])
        (hit,) = await memory.search("ana", "carne")
        assert (hit.record.content, hit.matched) == ("Vegetariano", "Vegetariano")
        vector = (await memory.embed(["carne"]))["carne"]
        calls = len(embedder.calls)
        assert await found(memory, "carne", vector=vector) == ["Vegetariano"]
        assert await found(memory, "carne", vector=np.empty(0, dtype=np.float32)) == []
        assert len(embedder.calls) == calls


async def test_vectors_of_another_model_are_ignored_and_words_still_serve(tmp_path: Path) -> None:
    url = f"sqlite:///{tmp_path}/m.db"
    async with Memory.open(url, embeddings=WordEmbedder("old", same=[{"vegetariano", "carne"}])) as memory:
        await memory.save("ana", [MemoryDraft(content="Vegetariano")])
    async with Memory.open(url, embeddings=WordEmbedder("new", same=[{"vegetariano", "carne"}])) as memory:
        assert await found(memory, "carne") == []
        assert await found(memory, "vegetariana") == ["Vegetariano"]


async def test_an_empty_space_costs_no_embedding(tmp_path: Path) -> None:
    embedder = WordEmbedder()
    async with Memory.open(f"sqlite:///{tmp_path}/m.db", embeddings=embedder) as memory:
        assert await memory.search("ana", "dieta") == []
    assert embedder.calls == []


@pytest.mark.spec("HM-9")
async def test_of_equal_relevance_the_stronger_and_later_comes_first(tmp_path: Path) -> None:
    async with Memory.open(f"sqlite:///{tmp_path}/m.db", embeddings=None, clock=Clock()) as memory:
        for content, weight in (("praia azul", 0.2), ("praia verde", 1.0), ("praia clara", 1.0)):
            await memory.save("ana", [MemoryDraft(content=content, weight=weight, kind="pref")])
        assert await found(memory, "praia") == ["praia clara", "praia verde", "praia azul"]


@pytest.mark.parametrize(
    "text", ["'; DROP TABLE memories", '" OR 1', "a\x01b", "\U0001f980 siri", "palavra " * 130_000]
)
@pytest.mark.spec("BY-5")
async def test_any_text_is_data(memory: Memory, text: str) -> None:
    (saved,) = await memory.save("ana", [MemoryDraft(content=text, bindings=("caranguejo",))])
    assert [hit.record for hit in await memory.search("ana", "caranguejo")] == [saved.record]
    assert saved.record.content == text
    assert len(await memory.search("ana", text)) <= 1


class Broken(WordEmbedder):
    """Gives one vector too few, or vectors without a direction."""

    def __init__(self, rows: Sequence[list[float]]) -> None:
        super().__init__()
        self.rows = rows

    async def aembed_documents(self, texts: list[str], /) -> list[list[float]]:
        return list(self.rows)


@pytest.mark.parametrize("length", [499, 500, 501])
async def test_an_update_keeps_the_vector_of_a_long_search_key(tmp_path: Path, length: int) -> None:
    url = f"sqlite:///{tmp_path}/m.db"
    async with Memory.open(url, embeddings=WordEmbedder("e")) as memory:
        (saved,) = await memory.save("ana", [MemoryDraft(content="Mora em Natal", bindings=("n" * length,))])
        after = await memory.update("ana", saved.record.id, content="Mora em Recife")
        vectors = await memory.core.storage.memories.vectors("ana", [after.id])
    assert "n" * min(length, 500) in {one.text for one in vectors}


async def test_a_wrong_number_of_vectors_is_told(tmp_path: Path) -> None:
    async with Memory.open(f"sqlite:///{tmp_path}/m.db", embeddings=Broken([])) as memory:
        with pytest.raises(ModelFailed, match="0 vectors for 1 texts"):
            await memory.embed(["Vegetariano"])
        (saved,) = await memory.save("ana", [MemoryDraft(content="Vegetariano")])
        assert saved.record.vector_ids == (), "a save never fails for want of vectors"


@pytest.mark.parametrize("row", [[0.0, 0.0], [float("nan"), 1.0], [float("inf"), 1.0], []])
async def test_a_vector_without_direction_is_left_out(tmp_path: Path, row: list[float]) -> None:
    async with Memory.open(f"sqlite:///{tmp_path}/m.db", embeddings=Broken([row])) as memory:
        (saved,) = await memory.save("ana", [MemoryDraft(content="Vegetariano")])
        assert saved.record.vector_ids == ()
        assert await found(memory, "vegetariano") == ["Vegetariano"]


async def test_vectors_have_unit_length(memory: Memory) -> None:
    for vector in (await memory.embed(["a b", "c", "a b", " "])).values():
        assert vector.dtype == np.float32
        assert np.linalg.norm(vector) == pytest.approx(1.0)

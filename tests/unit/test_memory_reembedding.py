"""A change of the embedding model: keywords serve, new vectors are made on demand, the old ones go."""

from collections.abc import AsyncIterator
from contextlib import AbstractAsyncContextManager

import pytest

from support.doctor import problems
from support.memories import START, Clock, WordEmbedder
from thoughtcycle.errors import InputRefused, ModelFailed
from thoughtcycle.memory.maintenance import reembed as reembedding
from thoughtcycle.memory.maintenance.reembed import Outdated, Reembedded
from thoughtcycle.memory.memory import Memory
from thoughtcycle.memory.model import MemoryDraft, MemoryHit

EVERY = ("active", "archived", "superseded", "hidden")


def opened(
    url: str, name: str | None, embedder: WordEmbedder | None = None
) -> AbstractAsyncContextManager[Memory]:
    made = WordEmbedder(name, same=[{"vegetariano", "carne"}, {"viagem", "passeio"}]) if name else None
    return Memory.open(url, embeddings=embedder or made, clock=Clock())


async def models(memory: Memory, user: str = "ana") -> set[str]:
    records = await memory.list(user, statuses=EVERY)
    return {
        one.model
        for one in await memory.core.storage.memories.vectors(user, [record.id for record in records])
    }


async def found(memory: Memory, query: str) -> list[str]:
    hits = await memory.search("ana", query, include=("facts", "cycles"))
    return sorted(hit.record.text if isinstance(hit, MemoryHit) else hit.text for hit in hits)


async def steps(memory: Memory) -> list[Reembedded]:
    return [step async for step in memory.reembed("ana")]


@pytest.fixture
async def url(database_url: str) -> AsyncIterator[str]:
    """Ana's memories – one superseded, one archived, one hidden – and a cycle, embedded by `old`; bia's one."""
    async with opened(database_url, "old") as memory:
        for city in ("Natal", "Recife"):
            await memory.save("ana", [MemoryDraft(content=f"Mora em {city}", key="city")])
        await memory.save("ana", [MemoryDraft(content="Vegetariano", bindings=("dieta",))])
        aside, secret = await memory.save(
            "ana", [MemoryDraft(content="Tem barco"), MemoryDraft(content="Segredo")]
        )
        await memory.archive("ana", [aside.record.id])
        await memory.hide("ana", [secret.record.id])
        await memory.record_cycle("ana", "chat", "fiz um passeio", "que bom", at=START, channel="cli")
        await found(memory, "passeio")
        await memory.save("bia", [MemoryDraft(content="Vegetariano")])
    yield database_url


async def test_keywords_serve_until_the_new_vectors_are_there(url: str) -> None:
    async with opened(url, "new") as memory:
        assert [hit.record.text for hit in await memory.search("ana", "vegetariana")] == ["Vegetariano"]
        assert await memory.search("ana", "carne") == []
        asked = await memory.outdated("ana")
        assert (asked.memories, asked.messages, asked.texts) == (4, 2, 7)
        texts = (
            "Mora em Natal",
            "Mora em Recife",
            "Vegetariano",
            "dieta",
            "Tem barco",
            "fiz um passeio",
            "que bom",
        )
        assert asked.characters == sum(map(len, texts))
        assert [(step.done, step.total) for step in await steps(memory)][-1] == (6, 6)
        assert [hit.record.text for hit in await memory.search("ana", "carne")] == ["Vegetariano"]
        assert await found(memory, "viagem") == ["fiz um passeio"]
        assert await memory.outdated("ana") == Outdated()
        assert await steps(memory) == []
        assert await models(memory) == {"new", "old"}, "what is hidden is shown to no model"
        assert await models(memory, "bia") == {"old"}
        assert (await memory.core.storage.transcript.cycle_feed("ana", 0, model="old")).vectors == ()
        assert await problems(memory.core.storage, "ana") == []


async def test_nothing_else_changes(url: str) -> None:
    async with opened(url, "new") as memory:
        before = {one.id: one for one in await memory.list("ana", statuses=EVERY)}
        await steps(memory)
        for one in await memory.list("ana", statuses=EVERY):
            unlike = {"revision", "vector_ids"}
            assert one.model_dump(exclude=unlike) == before[one.id].model_dump(exclude=unlike)
        (diet,) = [one for one in before.values() if one.content == "Vegetariano"]
        assert [entry.op for entry in await memory.history("ana", diet.id)] == ["save", "reembed"]
        result = await memory.undo("ana")
        assert result.undone is not None and result.undone.op == "hide", "there is nothing to undo in vectors"
        assert (await memory.outdated("ana")).memories == 1
        await steps(memory)
        assert await models(memory) == {"new"}
        changed = await memory.update("ana", diet.id, content="Vegano")
        back = await memory.undo("ana", diet.id)
        assert (
            changed.content == "Vegano" and back.record is not None and back.record.content == "Vegetariano"
        )
        assert [hit.record.text for hit in await memory.search("ana", "carne")] == ["Vegetariano"]
        assert await problems(memory.core.storage, "ana") == []


class Tired(WordEmbedder):
    """Fails after some calls."""

    def __init__(self, calls: int) -> None:
        super().__init__("new")
        self.left = calls

    async def aembed_documents(self, texts: list[str], /) -> list[list[float]]:
        self.left -= 1
        return await super().aembed_documents(texts) if self.left >= 0 else []


async def test_whoever_stops_in_the_middle_goes_on_from_there(
    url: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(reembedding, "_AT_ONCE", 2)
    async with opened(url, "new", Tired(1)) as memory:
        with pytest.raises(ModelFailed):
            await steps(memory)
        assert await models(memory) == {"new", "old"}
    async with opened(url, "new") as memory:
        left = await memory.outdated("ana")
        assert 0 < left.memories < 4
        await steps(memory)
        assert await memory.outdated("ana") == Outdated()
        assert [hit.record.text for hit in await memory.search("ana", "carne")] == ["Vegetariano"]


async def test_memories_saved_without_a_model_get_vectors_too(database_url: str) -> None:
    async with opened(database_url, None) as memory:
        await memory.save("ana", [MemoryDraft(content="Vegetariano")])
        with pytest.raises(InputRefused, match="embedding model"):
            await memory.outdated("ana")
        with pytest.raises(InputRefused, match="embedding model"):
            await steps(memory)
    async with opened(database_url, "new") as memory:
        assert len(await steps(memory)) == 1
        assert [hit.record.text for hit in await memory.search("ana", "carne")] == ["Vegetariano"]

"""Embeddings are optional: what is told is remembered and found while a server has none, or is slow."""

import json
import logging
import time
from datetime import timedelta
from pathlib import Path

import pytest

from support.background import Background
from support.dialogue import HEAVY, REASON, TALK
from support.fake_openai import FakeOpenAI, Hang, Status
from support.graphs import lab, replies
from support.memories import WordEmbedder
from thoughtcycle.errors import ModelTransient
from thoughtcycle.memory.core.worker import Worker
from thoughtcycle.memory.index import circuit_breaker
from thoughtcycle.memory.memory import Memory
from thoughtcycle.memory.model import MemoryDraft, MemoryHit, utc_now
from thoughtcycle.mind.base import Mind
from thoughtcycle.mind.rules import RuleMind
from thoughtcycle.nodes.base.services import Services
from thoughtcycle.prompts.loader import LANGUAGES
from thoughtcycle.runtime.upkeep import job_kinds

SAVE = json.dumps([{"content": "Nome: Pedro", "bindings": ["nome"]}])


def asked(server: FakeOpenAI) -> int:
    """How often the server was asked for vectors."""
    return sum(request.path == "/v1/embeddings" for request in server.requests)


@pytest.mark.spec("TC-14")
@pytest.mark.parametrize("status", [404, 401, 501])
async def test_a_server_without_embeddings_remembers_and_finds(
    status: int, tmp_path: Path, fake_openai: FakeOpenAI, caplog: pytest.LogCaptureFixture
) -> None:
    fake_openai.embeddings = Status(status)
    async with lab(tmp_path, fake_openai) as cycle:
        fake_openai.say("MemorySave", "Finish", "MemorySearch", "Finish", model=HEAVY)
        fake_openai.say(SAVE, '["nome"]', model=REASON)
        fake_openai.say("Guardei.", "Pronto.", "Achei.", "Pedro.", model=TALK)
        with caplog.at_level(logging.WARNING):
            said = replies(await cycle.say("Meu nome é Pedro", language="pt"))
            assert said.startswith("Guardei. Pronto.")
            for name in ("THOUGHTCYCLE_EMBEDDING__MODEL", "lexical", "none", "local:", "reembed"):
                assert name in said
            assert [record.text for record in await cycle.memory.list("ana")] == ["Nome: Pedro"]
            values = await cycle.say("Qual é o meu nome?", "other", language="pt")
        assert values["steps"][0]["status"] == "done", "found by its words"
        assert replies(values) == "Achei. Pedro.", "told once"
        assert asked(fake_openai) == 1 and caplog.text.count("found by their words alone") == 1
        assert await cycle.memory.queue.listing(["ana"]) == []


@pytest.mark.spec("CM-8")
async def test_formation_needs_no_embeddings(tmp_path: Path, fake_openai: FakeOpenAI) -> None:
    fake_openai.embeddings = Status(404)
    async with lab(tmp_path, fake_openai) as cycle:
        model = Background(fake_openai)
        model.facts["Recife"] = [{"t": "bio", "c": "Mora em Recife", "words": "moro em Recife"}]
        await cycle.say("Eu moro em Recife.", language="pt")
        await cycle.understand("form")
        (told,) = await cycle.memory.transcript.conversation("ana", "t")
        assert told.formation == "done"
        (hit,) = await cycle.memory.search("ana", "Recife")
        assert isinstance(hit, MemoryHit) and hit.record.text == "Mora em Recife"


@pytest.mark.spec("TC-9")
async def test_a_save_waits_a_second_for_vectors_and_gets_them_later(
    tmp_path: Path, fake_openai: FakeOpenAI
) -> None:
    fake_openai.embeddings = Hang()
    async with lab(tmp_path, fake_openai) as cycle:
        began = time.monotonic()
        (saved,) = await cycle.memory.save("ana", [MemoryDraft(content="Mora em Natal", bindings=("casa",))])
        assert 0.9 < time.monotonic() - began < 2.0
        assert saved.record.vector_ids == ()
        (job,) = await cycle.memory.queue.listing(["ana"])
        assert (job.kind, job.payload) == ("embed", {"items": False, "since": 0})
        fake_openai.embeddings = None
        await cycle.understand("embed")
        assert len((await cycle.memory.get("ana", saved.record.id)).vector_ids) == 2  # type: ignore[union-attr]
        assert await cycle.memory.queue.listing(["ana"]) == []


class Flaky(WordEmbedder):
    """Fails until it is told to answer."""

    failing = True

    async def aembed_documents(self, texts: list[str], /) -> list[list[float]]:
        if self.failing:
            self.calls.append(texts)
            raise ModelTransient("model_down", cause="test")
        return await super().aembed_documents(texts)


async def worked(memory: Memory, mind: Mind | None = None) -> None:
    """Does the due jobs that add vectors."""
    kinds = job_kinds(Services(memory, mind or RuleMind()), timedelta())
    await Worker(memory.queue, {"embed": kinds["embed"]}).drain()


async def test_an_outage_of_embeddings_leaves_no_dead_letter(tmp_path: Path) -> None:
    now, embedder = utc_now(), Flaky()
    async with Memory.open(f"sqlite:///{tmp_path}/m.db", embeddings=embedder, clock=lambda: now) as memory:
        first, second = [
            (await memory.save("ana", [MemoryDraft(content=text)]))[0].record for text in ("Natal", "Recife")
        ]
        for _ in range(7):
            await worked(memory)
            now += timedelta(minutes=10)
        (job,) = await memory.queue.listing(["ana"])
        assert (job.state, job.payload["since"]) == ("waiting", 0)
        await memory.update("ana", second.id, content="Olinda")
        embedder.failing = False
        now += timedelta(minutes=10)
        await worked(memory)
        for id in (first.id, second.id):
            found = await memory.get("ana", id)
            assert found is not None and len(found.vector_ids) == 1
        assert await memory.queue.listing(["ana"]) == []


async def test_only_what_was_saved_without_vectors_gets_them_by_itself(tmp_path: Path) -> None:
    url = f"sqlite:///{tmp_path}/m.db"
    async with Memory.open(url, embeddings=WordEmbedder("old")) as memory:
        await memory.save("ana", [MemoryDraft(content="Mora em Natal")])
    flaky = Flaky("new")
    async with Memory.open(url, embeddings=flaky) as memory:
        await memory.save("ana", [MemoryDraft(content="Toca violão")])
        flaky.failing = False
        await worked(memory)
        assert [texts for texts in flaky.calls if "Mora em Natal" in texts] == [], "reembed asks first"
        assert (await memory.outdated("ana")).memories == 1


async def test_a_refused_model_is_asked_again_after_a_while(
    tmp_path: Path, fake_openai: FakeOpenAI, monkeypatch: pytest.MonkeyPatch
) -> None:
    fake_openai.embeddings = Status(404)
    async with lab(tmp_path, fake_openai) as cycle:
        await cycle.memory.save("ana", [MemoryDraft(content="Mora em Natal")])
        fake_openai.embeddings = None
        (saved,) = await cycle.memory.save("ana", [MemoryDraft(content="Toca violão")])
        assert saved.record.vector_ids == () and asked(fake_openai) == 1
        later = time.monotonic() + circuit_breaker.REFUSED_SECONDS
        monkeypatch.setattr(circuit_breaker.time, "monotonic", lambda: later)
        (saved,) = await cycle.memory.save("ana", [MemoryDraft(content="Tem um gato")])
        assert len(saved.record.vector_ids) == 1
        assert cycle.memory.embedding_notice() is None, "all is well"


def test_the_notice_is_in_both_languages() -> None:
    failure = circuit_breaker.EmbeddingsAway(
        ModelTransient("model_down", model="e", url="u", role="embedding")
    )
    for language in LANGUAGES:
        assert "THOUGHTCYCLE_EMBEDDING__MODEL" in failure.text(language)

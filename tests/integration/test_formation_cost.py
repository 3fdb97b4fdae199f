"""What formation may cost: model calls per exchange, and never a moment of the reply."""

import asyncio
from collections.abc import Awaitable, Callable
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest

from support.background import BACK, Background
from support.fake_openai import FakeOpenAI, Hang
from support.graphs import Lab, lab
from support.memories import WordEmbedder
from thoughtcycle.memory.memory import Memory
from thoughtcycle.memory.model import Cycle
from thoughtcycle.mind.rules import RuleMind
from thoughtcycle.nodes.base.limits import Limits
from thoughtcycle.nodes.base.services import Services
from thoughtcycle.runtime.upkeep import create_worker

MARCH = datetime(2026, 3, 2, 9, tzinfo=UTC)
KEPT = {
    "pt": (
        "Quero economizar R$ 5.000 até junho",
        "Moro em Recife com a minha irmã",
        "Prefiro trabalhar de manhã",
        "Meu projeto usa Postgres",
        "Decidi vender o carro em outubro",
        "Estou muito ansioso com o prazo",
    ),
    "en": (
        "I want to save $5,000 by June",
        "I live in Recife with my sister",
        "I prefer to work in the morning",
        "My project uses Postgres",
        "I decided to sell the car in October",
        "I am very anxious about the deadline",
    ),
}
DROPPED = {
    "pt": ("oi", "bom dia!", "obrigado", "o que é fotossíntese?", "kkkk", "👍"),
    "en": ("hi", "good morning!", "thanks", "what is photosynthesis?", "lol", "👍"),
}


@pytest.fixture
def model(fake_openai: FakeOpenAI) -> Background:
    return Background(fake_openai)


async def heard(memory: Memory, *said: str) -> None:
    for place, text in enumerate(said):
        at = MARCH + timedelta(minutes=place)
        await memory.record_cycle("ana", "t", text, "Certo.", at=at, channel="test")


@pytest.mark.parametrize("language", ["pt", "en"])
@pytest.mark.spec("SM-2", "SM-4", "HM-2", "HM-12")
async def test_one_call_per_kept_exchange_none_per_dropped_one(
    tmp_path: Path, fake_openai: FakeOpenAI, model: Background, language: str
) -> None:
    async with lab(tmp_path, fake_openai) as product:
        for kept, dropped in zip(KEPT[language], DROPPED[language], strict=True):
            await product.say(kept, language=language)
            await product.say(dropped, language=language)
            assert model.calls <= 12, "the turn itself asks the background model nothing"
            await product.understand("form")
        cycles = await product.memory.conversation("ana", "t", limit=99)
        judged = {one.message.text: one.judgement.by for one in cycles if one.judgement}
        assert judged == dict.fromkeys(KEPT[language], "model") | dict.fromkeys(DROPPED[language], "rules")
        assert dict(model.asked) == {"judge": 6, "working": 3}
        assert not any(text in shown for text in DROPPED[language] for shown in model.judged)


@pytest.mark.spec("SM-2")
async def test_a_turn_alone_asks_the_background_model_nothing(
    tmp_path: Path, fake_openai: FakeOpenAI, model: Background
) -> None:
    async with lab(tmp_path, fake_openai) as product:
        for text in KEPT["pt"]:
            await product.say(text, language="pt")
        assert not [request for request in fake_openai.requests if request.model == BACK]


@pytest.mark.spec("CM-6")
async def test_compression_asks_once_for_ten_summaries_and_once_for_a_period(
    tmp_path: Path, fake_openai: FakeOpenAI, model: Background
) -> None:
    model.summary = "Ana told " + "of many things and then of others " * 6
    async with lab(tmp_path, fake_openai, limits=Limits(memory_words=700)) as product:
        said = [f"Prefiro o fornecedor {number} da lista" for number in range(40)]
        await heard(product.memory, *said)
        await product.understand("form")
        known = await product.memory.conversation_memory("ana", "t")
        assert known.compression_count >= 2
        assert model.asked["judge"] == 40 and model.asked["working"] == 10
        assert model.asked["compress"] <= 2 * known.compression_count
        assert model.asked["roll_up"] <= 2 * known.compression_count


@pytest.mark.spec("CM-4", "CM-9", "SM-1")
async def test_the_reply_arrives_while_the_judge_hangs(
    tmp_path: Path, fake_openai: FakeOpenAI, model: Background
) -> None:
    model.refuses["judge"] = Hang()
    async with lab(tmp_path, fake_openai, timeout=600) as product:
        worker = asyncio.create_task(create_worker(product.services).run())
        try:
            assert await product.answer(KEPT["pt"][0], language="pt") == model.reply
            await until(lambda: model.asked["judge"] == 1)
            async with asyncio.timeout(60):
                for text in KEPT["pt"][1:4]:
                    assert await product.answer(text, language="pt") == model.reply
            assert model.asked["judge"] == 1, "it still hangs"
            assert [one.formation for one in await told(product)] == ["pending"] * 4
        finally:
            worker.cancel()
            await asyncio.wait({worker})
        del model.refuses["judge"]
        await product.understand("form")
        assert [one.formation for one in await told(product)] == ["done"] * 4


@pytest.mark.spec("BY-3")
async def test_without_a_model_nothing_is_looked_for_that_only_a_prompt_shows(tmp_path: Path) -> None:
    embedder = WordEmbedder()
    async with Memory.open(f"sqlite:///{tmp_path}/m.db", embeddings=embedder) as memory:
        await heard(memory, "Moro em Recife")
        await create_worker(Services(memory, RuleMind())).drain()
        await heard(memory, "Que pergunta difícil essa do projeto, preciso pensar um pouco mais nisso")
        before = len(embedder.calls)
        await create_worker(Services(memory, RuleMind())).drain()
        (cycle,) = await memory.conversation("ana", "t", limit=1)
        assert cycle.judgement is not None and cycle.judgement.importance and not cycle.judgement.facts
        assert len(embedder.calls) == before + 1, "what was said is embedded, once"


async def told(product: Lab) -> list[Cycle]:
    return await product.memory.conversation("ana", "t", limit=9)


async def until(true: Callable[[], bool], pause: Callable[[float], Awaitable[None]] = asyncio.sleep) -> None:
    async with asyncio.timeout(60):
        while not true():
            await pause(0.01)

"""The acceptance list of the conversation memory (CM), through the product, with both minds in both languages."""

import json
from collections.abc import AsyncIterator, Callable
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest

from support.background import Background
from support.doctor import problems
from support.fake_openai import FakeOpenAI, Hang, Reply
from support.graphs import Lab, lab
from thoughtcycle.memory.conversation.loading import dumped
from thoughtcycle.memory.memory import Memory
from thoughtcycle.memory.model import Preserved
from thoughtcycle.memory.model.conversation import ConversationMemory
from thoughtcycle.memory.rules.rendering import render_object, render_text
from thoughtcycle.memory.rules.word_budget import WordBudget, reply_text
from thoughtcycle.nodes.base.limits import Limits
from thoughtcycle.prompts.loader import Language
from thoughtcycle.text_clipping import count_words

MARCH = datetime(2026, 3, 2, 9, tzinfo=UTC)
VOLUME = WordBudget()
GOAL = {"pt": "Quero economizar R$ 5.000 até junho", "en": "I want to save $5,000 by June"}
SAID = {
    "pt": (
        "Quero economizar R$ 5.000 até junho 👋🏽",
        "Prefiro  investir em renda fixa,\n\tsem “surpresas” — ok?",
        "Decidi que vou vender o carro em 10/12/2026 por R$ 32.500,00",
        "Não quero gastar mais de R$ 400 por mês com delivery",
    ),
    "en": (
        "I want to save $5,000 by June 👋🏽",
        "I prefer  fixed income,\n\twithout “surprises” — ok?",
        "I decided to sell the car on December 10, 2026 for $32,500.00",
        "I don't want to spend more than $400 a month on delivery",
    ),
}


@pytest.fixture(params=["rules", "model"])
def mind(request: pytest.FixtureRequest) -> str:
    return str(request.param)


@pytest.fixture(params=["pt", "en"])
def language(request: pytest.FixtureRequest) -> Language:
    return "en" if request.param == "en" else "pt"


Opened = Callable[..., AbstractAsyncContextManager[Lab]]


@pytest.fixture
def clock() -> "Clock":
    return Clock()


@pytest.fixture
def opened(tmp_path: Path, fake_openai: FakeOpenAI, mind: str, clock: "Clock") -> Opened:
    """Opens the product on one database, again and again, with the mind of this test."""

    @asynccontextmanager
    async def open_lab(limits: Limits | None = None, sound: bool = True) -> AsyncIterator[Lab]:
        server = fake_openai if mind == "model" else None
        async with lab(tmp_path, server, limits=limits, clock=clock) as opened:
            yield opened
            assert not sound or await problems(opened.memory.core.storage, "ana") == []

    return open_lab


@pytest.fixture
def model(fake_openai: FakeOpenAI) -> Background:
    return Background(fake_openai)


class Clock:
    """Moves ten seconds per look."""

    def __init__(self) -> None:
        self.now = MARCH

    def __call__(self) -> datetime:
        self.now += timedelta(seconds=10)
        return self.now


async def turn(product: Lab, text: str, language: Language, chat: str = "t") -> ConversationMemory:
    """One exchange and what becomes of it behind the reply."""
    await product.say(text, chat, language=language)
    await product.understand("form")
    return await product.memory.conversation_memory("ana", chat)


async def heard(memory: Memory, *said: str, reply: str = "Certo.", since: datetime = MARCH) -> None:
    """Exchanges that took place elsewhere."""
    for place, text in enumerate(said):
        at = since + timedelta(minutes=place)
        await memory.record_cycle("ana", "t", text, reply, at=at, channel="test")


@pytest.mark.spec("CM-1", "CM-2", "CM-3", "CM-4")
async def test_a_chat_begins_grows_and_is_known_again(
    opened: Opened, language: Language, mind: str, model: Background
) -> None:
    async with opened() as product:
        new = await product.memory.conversation_memory("ana", "t")
        assert (new.revision, new.total_cycles, new.old_memory) == (0, 0, ())
        revision, seen = 0, []
        for number, text in enumerate(SAID[language], 1):
            known = await turn(product, text, language)
            assert known.revision > revision, "persisted after each cycle"
            assert known.total_cycles == number
            revision = known.revision
            recent = await product.memory.conversation("ana", "t", limit=2)
            seen = [*seen, (text, reply_text(recent[-1]))]
            told = render_object(known, recent, VOLUME)
            pairs = [(one["user_message"], one["ai_response"]) for one in told["recent_memory"]]
            assert pairs == seen[-2:], "the last two, byte for byte"
            assert len(known.old_memory) == max(number - 2, 0)
            assert told["metadata"]["total_word_count"] == known.total_word_count > 0
    async with opened() as product:  # another process
        assert await product.memory.conversation_memory("ana", "t") == known
        recent = await product.memory.conversation("ana", "t", limit=2)
        assert [(one.message.text, reply_text(one)) for one in recent] == seen[-2:]
        again = await turn(product, "E agora?" if language == "pt" else "And what now?", language)
        assert again.total_cycles == 5 and len(again.old_memory) == 3
        other = await product.memory.conversation_memory("ana", "other")
        assert (other.total_cycles, other.critical_data) == (0, ())


@pytest.mark.spec("CM-3", "CM-7", "CM-10", "BY-11")
async def test_summaries_keep_numbers_dates_and_what_is_critical(
    opened: Opened, language: Language, mind: str, model: Background
) -> None:
    async with opened() as product:
        for text in SAID[language]:
            known = await turn(product, text, language)
        first, second = known.old_memory
        assert all(
            count_words(one.summary) <= 50 and not one.pending_summarization for one in (first, second)
        )
        by_model = [one.summary.startswith("The person said: ") for one in (first, second)]
        assert by_model == [mind == "model"] * 2
        assert first.original_word_count > 0 < first.summary_word_count
        money, month = ("R$ 5.000", "junho") if language == "pt" else ("$5,000", "June")
        assert Preserved(said=money, normalised="5000") in first.preserved_data.numerical_values
        (date,) = first.preserved_data.dates
        assert date.normalised == "2026-06" and month in date.said
        kinds = {one.kind: one for one in known.critical_data}
        assert kinds.keys() == {
            "financial_goals",
            "configured_limits",
            "declared_preferences",
            "important_decisions",
        }
        assert GOAL[language] in kinds["financial_goals"].text
        assert {"32500", "2026-12-10"} <= set(kinds["important_decisions"].values)
        assert "400" in kinds["configured_limits"].values
        recent = await product.memory.conversation("ana", "t", limit=2)
        text = render_text(known, recent, VOLUME, language)
        assert all(datum.text in text for datum in known.critical_data)
        assert f"{recent[-1].message.text}" in text


FILLER = {
    "pt": "Hoje na reunião {n} falamos de fornecedores, prazos e da obra, e paguei R$ {n}01,25 ao pedreiro Zeca",
    "en": "Today in meeting {n} we spoke of suppliers, deadlines and the site, and I paid ${n}01.25 to Zeke",
}


@pytest.mark.spec("CM-5", "CM-6", "CM-7")
async def test_compression_fires_at_2250_words_and_ends_near_1000(
    opened: Opened, language: Language, mind: str, model: Background
) -> None:
    model.summary = "The person told " + "of many things and then of others " * 6
    long = " e também outras coisas" * 30 if language == "pt" else " and some other things too" * 30
    async with opened() as product:
        known = await turn(product, SAID[language][0], language)
        number, before = 0, known
        while known.compression_count == 0:
            number, before = number + 1, known
            text = FILLER[language].format(n=number) + long
            await heard(product.memory, text, since=MARCH + timedelta(hours=number))
            await product.understand("form")
            known = await product.memory.conversation_memory("ana", "t")
            assert known.total_word_count < 2_250 and number < 80
        assert 2_250 - 250 < before.total_word_count < 2_250
        assert 900 < known.total_word_count <= 1_000 and not known.stuck
        assert known.last_compression is not None
        recent = await product.memory.conversation("ana", "t", limit=2)
        assert [one.message.text for one in recent] == [
            FILLER[language].format(n=n) + long for n in (number - 1, number)
        ]
        assert {entry.cycle_id for entry in known.ledger} | {one.cycle_id for one in known.old_memory} >= {
            cycle for period in known.periods for cycle in period.cycle_ids
        }
        (goal,) = [one for one in known.critical_data if one.kind == "financial_goals"]
        assert goal.values == ("5000", "2026-06") and GOAL[language] in goal.text
        if mind == "model":
            assert model.asked["compress"] >= 1
            assert any(one.summary == model.short for one in known.old_memory)


@pytest.mark.spec("CM-6", "CM-7")
async def test_what_is_critical_outlives_compression_after_compression(
    opened: Opened, language: Language, mind: str, model: Background
) -> None:
    model.summary = "The person told " + "of many things and then of others " * 6
    async with opened(Limits(memory_words=300)) as product:
        await heard(product.memory, *SAID[language])
        await product.understand("form")
        known = await product.memory.conversation_memory("ana", "t")
        critical, day = known.critical_data, 0
        assert len(critical) == 4
        while known.compression_count < 3 or not known.periods:
            day += 1
            texts = [FILLER[language].format(n=5 * day + n) for n in range(5)]
            await heard(product.memory, *texts, since=MARCH + timedelta(days=day))
            await product.understand("form")
            known = await product.memory.conversation_memory("ana", "t")
            assert day < 40
        assert known.critical_data == critical
        told = render_text(known, (), VOLUME, language)
        assert GOAL[language] in told
        kept = [one.preserved_data for one in (*known.ledger, *known.old_memory)]
        numbers = {one.normalised for data in kept for one in data.numerical_values}
        dates = {one.normalised for data in kept for one in data.dates}
        paid = {f"{number}01.25" for number in range(5, 5 * day + 3)}
        assert numbers >= {"5000", "32500", "400"} | paid
        assert dates >= {"2026-06", "2026-12-10"}
        assert known.periods and known.total_word_count <= 270


@pytest.mark.usefixtures("silence_passes")
@pytest.mark.parametrize("mind", ["model"])
@pytest.mark.spec("CM-8")
async def test_a_summariser_that_hangs_costs_one_retry_and_nothing_is_lost(
    opened: Opened, language: Language, model: Background
) -> None:
    async with opened() as product:
        model.refuses["judge"] = Hang()
        await heard(product.memory, SAID[language][0])
        await product.understand("form")
        assert model.asked["judge"] == 2, "one retry"
        await heard(product.memory, *SAID[language][1:], since=MARCH + timedelta(hours=1))
        await product.understand("form")
        known = await product.memory.conversation_memory("ana", "t")
        first, second = known.old_memory
        assert first.pending_summarization and second.pending_summarization
        assert first.summary == f"{SAID[language][0]}\n\nCerto."
        assert len(known.critical_data) == 4, "the rules find them whatever the model does"
        assert model.asked["judge"] == 2 * 4, "while it hangs, one retry per exchange and no more"
    del model.refuses["judge"]
    async with opened() as product:
        await heard(product.memory, GOAL[language], since=MARCH + timedelta(hours=2))
        await product.understand("form")
        known = await product.memory.conversation_memory("ana", "t")
        assert [one.pending_summarization for one in known.old_memory] == [False] * 3
        assert all(one.summary.startswith("The person said: ") for one in known.old_memory)
        cycles = await product.memory.conversation("ana", "t", limit=9)
        assert [one.judgement.by for one in cycles if one.judgement] == ["model"] * 5
        assert model.asked["judge"] == 2 * 4 + 5


@pytest.mark.parametrize("mind", ["model"])
@pytest.mark.spec("CM-8")
async def test_what_nobody_can_judge_is_judged_by_rules_in_the_end(
    opened: Opened, language: Language, model: Background
) -> None:
    """A filter of the model's that refuses one exchange costs a few calls, not one in every later exchange."""
    async with opened() as product:
        model.refuses_words = {GOAL[language]: Reply("", finish="content_filter")}
        await heard(product.memory, GOAL[language])
        talk = [FILLER[language].format(n=number) for number in range(1, 7)]
        await heard(product.memory, *talk, since=MARCH + timedelta(hours=1))
        await product.understand("form")
        assert model.asked["judge"] == len(talk) + 1 + 3
        known = await product.memory.conversation_memory("ana", "t")
        assert not any(one.pending_summarization for one in known.old_memory)
        assert [record.text for record in await product.memory.list("ana")] != []


@pytest.mark.usefixtures("silence_passes")
@pytest.mark.parametrize("mind", ["model"])
@pytest.mark.spec("CM-8")
async def test_the_last_word_of_a_chat_is_understood_when_the_model_is_back(
    opened: Opened, language: Language, model: Background, clock: Clock
) -> None:
    fact = {"t": "obj", "c": "GOAL FOUND", "words": GOAL[language]}
    model.facts[GOAL[language]] = [fact]
    async with opened() as product:
        await product.understand()
        model.refuses["judge"] = Hang()
        await heard(product.memory, GOAL[language])
        await product.understand()
        assert await product.memory.list("ana") == []
        assert len((await product.memory.conversation_memory("ana", "t")).unjudged) == 1
    del model.refuses["judge"]
    async with opened() as product:
        clock.now += timedelta(days=1)
        await product.understand()
        assert [record.text for record in await product.memory.list("ana")] == ["GOAL FOUND"]
        assert (await product.memory.conversation_memory("ana", "t")).unjudged == ()
        calls = model.calls
        clock.now += timedelta(days=1)
        await product.understand()
        assert model.calls == calls


@pytest.mark.parametrize("mind", ["rules"])
@pytest.mark.spec("CM-8")
async def test_a_wrong_word_count_is_put_right_when_it_is_loaded(opened: Opened, language: Language) -> None:
    async with opened(sound=False) as product:
        await heard(product.memory, *SAID[language])
        await product.understand("form")
        right = await product.memory.conversation_memory("ana", "t")
        first = right.old_memory[0].model_copy(update={"summary_word_count": 777})
        changes = {"total_word_count": 9_999, "old_memory": (first, *right.old_memory[1:])}
        text, rows = dumped(right.model_copy(update=changes), right.revision + 1)
        storage, name = product.memory.core.storage, ("conversation", "t")
        put = await storage.documents.put("ana", name, text, before=right.revision, at=MARCH, entries=rows)
        assert put, "the document was edited by hand"
        assert (await product.memory.conversation_memory("ana", "t")).model_dump(
            exclude={"revision"}
        ) == right.model_dump(exclude={"revision"})
    async with opened() as product:
        await heard(product.memory, "Bom dia", since=MARCH + timedelta(days=1))
        await product.understand("form")
        (found,) = await product.memory.core.storage.documents.find("ana", [("conversation", "t")])
        assert json.loads(found.document or "")["total_word_count"] < 500
        stored = [json.loads(one) for one in found.entries["old_memory"]]
        assert [one["summary_word_count"] for one in stored] == [
            count_words(one["summary"]) for one in stored
        ]

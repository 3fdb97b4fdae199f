"""Whatever a model sends, a turn ends: split characters are joined, endless replies cut, long messages given."""

import json
import resource
import time
from pathlib import Path

import pytest

from support.background import Background
from support.dialogue import HEAVY, REASON, TALK
from support.fake_openai import FakeOpenAI, Reply, Status
from support.graphs import Lab, lab, models, replies
from thoughtcycle.mind.llm import THOUGHT_TOKENS, LLMMind

HALVES = ("Oi \ud83d", "\ude00!", " meio \ud83d", " e \ude00 fim")
JOINED = "Oi 😀! meio \ufffd e \ufffd fim"


async def closed(cycle: Lab, thread: str = "t") -> bool:
    """Whether no cycle of the chat is left open."""
    return all(one.closed for one in await cycle.memory.transcript.conversation("ana", thread))


def asked_for(server: FakeOpenAI, model: str) -> list[str]:
    """The user's words in the requests of a model."""
    return [request.text("user") for request in server.requests if request.model == model]


@pytest.mark.spec("TC-13")
async def test_a_character_split_by_the_server_is_joined(tmp_path: Path, fake_openai: FakeOpenAI) -> None:
    async with lab(tmp_path, fake_openai) as cycle:
        fake_openai.say("Finish", model=HEAVY)
        fake_openai.say(Reply(pieces=HALVES), model=TALK)
        values = await cycle.say("oi", language="pt")
        assert replies(values) == JOINED
        (told,) = await cycle.memory.transcript.conversation("ana", "t")
        assert told.variants[-1].messages[-1].text == JOINED


@pytest.mark.spec("TC-9")
async def test_halves_in_a_whole_answer_are_joined_or_replaced(
    tmp_path: Path, fake_openai: FakeOpenAI
) -> None:
    escaped = json.dumps([{"content": "Gosta de 😀", "bindings": ["gosto"]}])
    raw = '[{"content": "Tem um \ud83d\ude00 e \ud83d", "bindings": ["bicho"]}]'
    async with lab(tmp_path, fake_openai) as cycle:
        fake_openai.say("MemorySave", "Finish", "\ud83d MemorySave", "Finish", model=HEAVY)
        fake_openai.say(escaped, raw, model=REASON)
        fake_openai.say(*["Guardei."] * 4, model=TALK)
        await cycle.say("Gosto de 😀", language="pt")
        await cycle.say("Lembre que tenho um 😀", language="pt")
        texts = {record.text for record in await cycle.memory.list("ana")}
        assert {"Gosta de 😀", "Tem um 😀 e \ufffd"} <= texts


@pytest.mark.spec("TC-13")
async def test_an_endless_reply_is_cut_and_marked(tmp_path: Path, fake_openai: FakeOpenAI) -> None:
    settings = models(fake_openai).model_copy(update={"reply_tokens": 500})
    mind = LLMMind.from_settings(settings)
    async with lab(tmp_path, fake_openai, mind=mind) as cycle:
        Background(fake_openai)
        fake_openai.say("Finish", model=HEAVY)
        fake_openai.say(Reply("Sim. " * 200, endless=True), model=TALK)
        before, began = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss, time.monotonic()
        values = await cycle.say("conte tudo", language="pt")
        assert time.monotonic() - began < 10
        said = replies(values)
        assert said.startswith("Sim. Sim.") and "interrompida" in said
        assert len(said) < 500 * 4 + 300
        assert values["steps"][-1]["status"] == "cut"
        began = time.monotonic()
        await cycle.understand("form")
        assert time.monotonic() - began < 10
        assert resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before < 200_000, "kilobytes"
        (told,) = await cycle.memory.transcript.conversation("ana", "t")
        assert told.variants[-1].cut and told.formation == "done"
    (sent,) = [request.body["max_tokens"] for request in fake_openai.requests if request.model == TALK]
    assert sent == 500 + THOUGHT_TOKENS


@pytest.mark.spec("BY-7")
async def test_a_long_message_is_given_whole_up_to_the_window(
    tmp_path: Path, fake_openai: FakeOpenAI
) -> None:
    settings = models(fake_openai).model_copy(update={"context_tokens": 20_000})
    async with lab(tmp_path, fake_openai, mind=LLMMind.from_settings(settings)) as cycle:
        fake_openai.say("Finish", "Finish", model=HEAVY)
        fake_openai.say("Sim.", "Sim.", model=TALK)
        fits = "texto " * 3_500
        assert replies(await cycle.say(fits, language="pt")) == "Sim."
        assert all(fits.strip() in given for given in asked_for(fake_openai, TALK))
        long = "começo " + "texto " * 5_000 + "fim"
        said = replies(await cycle.say(long, "other", language="pt"))
        left = len(long) - 6_000 * 4
        assert said.startswith("Sim. ") and str(left) in said and str(len(long)) in said
        given = asked_for(fake_openai, TALK)[-1]
        assert "começo" in given and given.endswith("fim") and f"{left} caracteres omitidos" in given


async def test_a_server_that_refuses_the_limit_is_asked_without_it(
    tmp_path: Path, fake_openai: FakeOpenAI
) -> None:
    async with lab(tmp_path, fake_openai) as cycle:
        fake_openai.say("Finish", "Finish", model=HEAVY)
        fake_openai.say(Status(422, message="extra_forbidden: body.max_tokens"), "Sim.", "Não.", model=TALK)
        assert replies(await cycle.say("oi", language="pt")) == "Sim."
        assert replies(await cycle.say("e aí", language="pt")) == "Não."
    limits = [each.body.get("max_tokens") for each in fake_openai.requests if each.model == TALK]
    assert limits == [4_000 + THOUGHT_TOKENS, None, None]

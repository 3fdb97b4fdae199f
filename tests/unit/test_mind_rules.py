"""Texts that stream like a model's, and the mind that answers by rules."""

import subprocess
import sys
from typing import Annotated, TypedDict

import pytest
from langchain_core.language_models import BaseChatModel
from langchain_core.messages import AIMessage, AnyMessage, HumanMessage
from langgraph.graph import START, StateGraph, add_messages
from pydantic import ValidationError

from support.minds import events_of, question, view
from thoughtcycle.errors import ModelFailed
from thoughtcycle.mind.base import View
from thoughtcycle.mind.rules import LONG, RuleMind
from thoughtcycle.mind.streaming import TextModel, pieces, speak
from thoughtcycle.prompts.loader import LANGUAGES

TEXT = "Olá, Ana!\n\n- um\n- dois  três\n"


class State(TypedDict):
    messages: Annotated[list[AnyMessage], add_messages]


def graph_of(node):
    builder = StateGraph(State)
    builder.add_node("node", node)
    builder.add_edge(START, "node")
    return builder.compile()


@pytest.mark.parametrize("text", [TEXT, "", " ", "um", "  um ", "\n\num"])
def test_no_character_is_lost_between_the_pieces(text):
    assert "".join(pieces(text)) == text


@pytest.mark.spec("TC-1", "TC-13")
async def test_a_fixed_text_streams_as_a_models_does():
    async def node(state: State) -> State:
        return {"messages": [await speak(TEXT, chat_history=False, modal="text-for-replace")]}

    graph = graph_of(node)
    seen = [part async for part in graph.astream({"messages": [HumanMessage("oi")]}, stream_mode="messages")]
    texts = [chunk.text for chunk, _ in seen if chunk.text]
    assert texts == pieces(TEXT)
    assert len({chunk.id for chunk, _ in seen}) == 1
    assert all(meta["chat_history"] is False and meta["modal"] == "text-for-replace" for _, meta in seen)
    assert all(meta["langgraph_node"] == "node" for _, meta in seen)
    assert all(not chunk.additional_kwargs for chunk, _ in seen)


@pytest.mark.spec("TC-1")
async def test_the_final_message_carries_the_envelope_and_the_id_of_its_pieces():
    said: list[str] = []
    one = await speak(TEXT, chat_history=True, on_text=said.append)
    two = await speak(TEXT, chat_history=True)
    assert isinstance(one, AIMessage)
    assert one.text == TEXT
    assert one.additional_kwargs == {"chat_history": True, "modal": "text"}
    assert said == pieces(TEXT)
    assert one.id
    assert one.id != two.id


async def test_the_newer_event_protocol_streams_too():
    async def node(state: State) -> State:
        return {"messages": [await speak(TEXT, chat_history=True)]}

    run = await events_of(graph_of(node))
    texts = []
    async for message in run.messages:
        texts += [piece async for piece in message.text]
    assert "".join(texts) == TEXT
    assert len(texts) > 1


def test_the_text_model_speaks_without_an_event_loop():
    model: BaseChatModel = TextModel()
    assert model.invoke([HumanMessage(TEXT)]).text == TEXT
    assert "".join(chunk.text for chunk in model.stream([HumanMessage(TEXT)])) == TEXT


@pytest.mark.parametrize("message", ["curta", "longa " * LONG])
async def test_answers_by_the_rule_of_the_question(message):
    mind = RuleMind()
    asked = question("reasoning", list[str], lambda view: [view.message[:5]])
    assert await mind.ask(asked, view(message)) == [message[:5]]
    reply = await mind.reply(question("chat", str, lambda view: "Olá!"), view(message), chat_history=False)
    assert reply.text == "Olá!"
    assert reply.additional_kwargs == {"chat_history": False, "modal": "text"}


async def test_beyond_rules_is_said_in_one_line():
    for call in (
        RuleMind().ask(question("chat"), view()),
        RuleMind().reply(question("chat"), view(), chat_history=True),
    ):
        with pytest.raises(ModelFailed) as failed:
            await call
        assert failed.value.code == "beyond_rules"
        assert all("OPENAI_API_KEY" in failed.value.text(language) for language in LANGUAGES)


async def test_a_rule_that_breaks_its_own_schema_is_loud():
    def rule(view: View) -> list[str]:
        return ["a", 1]  # type: ignore[list-item]

    with pytest.raises(ValidationError):
        await RuleMind().ask(question("chat", list[str], rule), view())


@pytest.mark.spec("BY-3")
def test_rules_need_no_client_of_a_model():
    code = """
import asyncio, sys
from datetime import UTC, datetime
from thoughtcycle.mind.base import Question, View
from thoughtcycle.mind.embeddings import build_embeddings
from thoughtcycle.mind.llm import LLMMind
from thoughtcycle.mind.model_settings import ModelSettings
from thoughtcycle.mind.rules import RuleMind
build_embeddings(ModelSettings()).embed_query("a")
question = Question("a#b", "chat", str, lambda view: "oi")
asyncio.run(RuleMind().reply(question, View("m", datetime.now(UTC)), chat_history=True))
print(sorted({"openai", "langchain_openai", "tiktoken", "torch", "langgraph"} & set(sys.modules)))
"""
    run = subprocess.run([sys.executable, "-c", code], env={}, capture_output=True, text=True, check=True)
    assert run.stdout.strip() == "[]"

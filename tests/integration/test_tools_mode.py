"""Deciding with tools: one streamed call that acts or answers, through the real client against a real server."""

from collections import defaultdict
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest
from langchain_core.messages import AIMessage, HumanMessage

from support.fake_openai import FakeOpenAI, Reply, ToolCall
from support.graphs import Lab, lab, one_model, replied
from thoughtcycle.mind.llm import LLMMind
from thoughtcycle.nodes.base.context import Context

CONTENT = [{"content": "Nome: Pedro", "bindings": ["nome"]}]
SAVE = ToolCall("MemorySave", {"memories": CONTENT})
SEARCH = ToolCall("MemorySearch", {"contexts": ["nome"]})


@asynccontextmanager
async def tools_lab(folder: Path, server: FakeOpenAI, **given: Any) -> AsyncIterator[Lab]:
    """A lab whose model serves all roles; the server applies the rules of chat templates."""
    server.strict = True
    mind = LLMMind.from_settings(one_model(server, **given))
    async with lab(folder, server, mind=mind, explain="auto") as opened:
        yield opened


@dataclass
class Heard:
    """What listeners got of one turn."""

    ids: set[str | None] = field(default_factory=set)
    text: str = ""
    flags: set[Any] = field(default_factory=set)
    tool_pieces: int = 0
    pieces: int = 0
    values: dict[str, Any] = field(default_factory=dict)


async def listen(cycle: Lab, text: str, **context: Any) -> Heard:
    """One turn as `messages` and `values` show it."""
    heard = Heard()
    stream = cycle.graph.astream(
        {"messages": [HumanMessage(text)]},
        {"configurable": {"thread_id": "t"}},
        context=Context(**{"user_id": "ana", "language": "pt", **context}),
        stream_mode=["messages", "values"],
    )
    async for mode, data in stream:
        if mode == "values":
            heard.values = data  # type: ignore[assignment]
            continue
        chunk, metadata = data
        heard.ids.add(chunk.id)  # type: ignore[union-attr]
        heard.text += chunk.text  # type: ignore[union-attr]
        heard.pieces += bool(chunk.text)  # type: ignore[union-attr]
        heard.tool_pieces += len(getattr(chunk, "tool_call_chunks", ()))
        heard.flags.add((metadata["chat_history"], metadata["modal"]))  # type: ignore[index]
    return heard


def chats(server: FakeOpenAI) -> int:
    return len([request for request in server.requests if request.model == "talk"])


def steps(heard: Heard) -> list[tuple[str, str]]:
    return [(step["action"], step["status"]) for step in heard.values["steps"]]


@pytest.mark.spec("TC-4", "TC-6", "TC-13")
async def test_a_greeting_takes_one_call_and_streams_as_it_comes(
    tmp_path: Path, fake_openai: FakeOpenAI
) -> None:
    async with tools_lab(tmp_path, fake_openai) as cycle:
        fake_openai.say("Olá! Tudo bem com você?")
        heard = await listen(cycle, "Oi, bom dia!")
        (said,) = replied(heard.values)
        assert chats(fake_openai) == 1 and fake_openai.requests[-1].stream
        assert heard.text == said.text == "Olá! Tudo bem com você?"
        assert heard.ids == {said.id} and heard.pieces > 1 and heard.flags == {(False, "text")}
        assert said.additional_kwargs == {"chat_history": False, "modal": "text"}
        assert steps(heard) == [("Finish", "done")]
        (exchange,) = await cycle.memory.conversation("ana", "t", limit=5)
        assert [reply.text for reply in exchange.replies] == [said.text]
        assert {tool["function"]["name"] for tool in fake_openai.requests[-1].body["tools"]} == {
            "MemorySearch",
            "MemorySave",
            "MemoryUpdate",
            "MemoryDelete",
        }


@pytest.mark.spec("TC-4", "TC-9", "TC-13")
async def test_a_told_fact_is_saved_by_a_call_with_its_input(tmp_path: Path, fake_openai: FakeOpenAI) -> None:
    async with tools_lab(tmp_path, fake_openai) as cycle:
        fake_openai.say(SAVE, "Prazer, Pedro! Anotei seu nome.")
        heard = await listen(cycle, "Meu nome é Pedro.")
        (said,) = replied(heard.values)
        assert chats(fake_openai) == 2 and heard.ids == {said.id}
        assert heard.text == said.text == "Prazer, Pedro! Anotei seu nome." and heard.tool_pieces == 0
        assert steps(heard) == [("MemorySave", "done"), ("Finish", "done")]
        assert [record.text for record in await cycle.memory.list("ana")] == ["Nome: Pedro"]


@pytest.mark.spec("TC-4", "TC-8", "TC-13")
async def test_text_before_a_call_begins_the_one_reply(tmp_path: Path, fake_openai: FakeOpenAI) -> None:
    async with tools_lab(tmp_path, fake_openai) as cycle:
        fake_openai.say(SAVE, "Anotei.")
        await listen(cycle, "Meu nome é Pedro.")
        fake_openai.say(Reply("Vou procurar na memória.", calls=(SEARCH,)), "Você se chama Pedro.")
        heard = await listen(cycle, "Como eu me chamo?")
        (said,) = replied(heard.values)
        assert said.text == heard.text == "Vou procurar na memória.\n\nVocê se chama Pedro."
        assert heard.ids == {said.id} and heard.tool_pieces == 0
        assert steps(heard) == [("MemorySearch", "done"), ("Finish", "done")]
        last = fake_openai.requests[-1].body["messages"]
        assert [each["role"] for each in last] == ["system", "user", "assistant", "user", "assistant", "tool"]
        assert last[4]["content"] == "Vou procurar na memória." and "Nome: Pedro" in last[5]["content"]


@pytest.mark.spec("TC-13")
async def test_events_show_no_token_twice(tmp_path: Path, fake_openai: FakeOpenAI) -> None:
    async with tools_lab(tmp_path, fake_openai) as cycle:
        fake_openai.say(Reply("Um momento.", calls=(SAVE,)), "Anotei, Pedro.")
        texts: dict[str, str] = defaultdict(str)
        events = cycle.graph.astream_events(
            {"messages": [HumanMessage("Meu nome é Pedro.")]},
            {"configurable": {"thread_id": "t"}},
            context=Context(user_id="ana", language="pt"),
            version="v2",
        )
        async for event in events:
            if event["event"] == "on_chat_model_stream":
                chunk = event["data"]["chunk"]
                assert not chunk.tool_call_chunks
                texts[chunk.id] += chunk.text
        assert list(texts.values()) == ["Um momento.\n\nAnotei, Pedro."]


@pytest.mark.spec("TC-4")
async def test_what_is_sent_keeps_its_beginning(tmp_path: Path, fake_openai: FakeOpenAI) -> None:
    async with tools_lab(tmp_path, fake_openai) as cycle:
        for text in ("Oi!", "Tudo bem?", "Que dia é hoje?"):
            fake_openai.say("Tudo certo por aqui.")
            await listen(cycle, text)
        first, second, third = (r.body["messages"] for r in fake_openai.requests if r.model == "talk")
        assert first[0] == second[0] == third[0], "the system message does not change"
        assert [each["role"] for each in third] == ["system", *["user", "assistant"] * 2, "user"]
        assert third[1]["content"] == "Oi!" and third[3]["content"] == "Tudo bem?"
        assert third[-1]["content"].endswith("Que dia é hoje?") and "<data>" in third[-1]["content"]
        assert "<data>" not in third[0]["content"]


@pytest.mark.spec("TC-1")
async def test_the_reply_is_one_message_of_the_state(tmp_path: Path, fake_openai: FakeOpenAI) -> None:
    async with tools_lab(tmp_path, fake_openai) as cycle:
        fake_openai.say(Reply("Um momento.", calls=(SAVE,)), "Anotei.")
        heard = await listen(cycle, "Meu nome é Pedro.")
        assert [type(each) for each in heard.values["messages"]] == [HumanMessage, AIMessage]
        state = await cycle.graph.aget_state({"configurable": {"thread_id": "t"}})
        assert state.values["calls"] == []

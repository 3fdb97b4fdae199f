"""Calls of a model up to the first token of the reply, deciding with tools and by names (BY-18)."""

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any, Literal

import pytest
from langchain_core.messages import HumanMessage

from support.fake_openai import Behaviour, FakeOpenAI, ToolCall
from support.graphs import Lab, lab, one_model
from thoughtcycle.memory.model import MemoryDraft
from thoughtcycle.mind.llm import LLMMind
from thoughtcycle.nodes.base.context import Context

Way = Literal["tools", "names"]
SCENES: dict[str, tuple[str, dict[Way, Callable[[str], list[Any]]], dict[Way, int]]] = {
    "greeting": (
        "Oi, bom dia!",
        {"tools": lambda id: [], "names": lambda id: ["Finish"]},
        {"tools": 1, "names": 2},
    ),
    "told fact": (
        "Meu cachorro se chama Tobias.",
        {
            "tools": lambda id: [ToolCall("MemorySave", {"memories": [{"content": "Cachorro: Tobias"}]})],
            "names": lambda id: ["MemorySave", '[{"content": "Cachorro: Tobias"}]'],
        },
        {"tools": 2, "names": 3},
    ),
    "question answered by the briefing": (
        "Onde eu moro?",
        {"tools": lambda id: [], "names": lambda id: ["Finish"]},
        {"tools": 1, "names": 2},
    ),
    "question with search": (
        "O que sabe do meu primo Rui?",
        {
            "tools": lambda id: [ToolCall("MemorySearch", {"contexts": ["primo Rui"]})],
            "names": lambda id: ["MemorySearch", '["primo Rui"]', "Finish"],
        },
        {"tools": 2, "names": 4},
    ),
    "correction": (
        "Na verdade agora moro em Natal.",
        {
            "tools": lambda id: [
                ToolCall("MemorySearch", {"contexts": ["moradia"]}),
                ToolCall("MemoryUpdate", {"memories": [{"_id": id, "content": "Mora em Natal"}]}),
            ],
            "names": lambda id: [
                "MemorySearch",
                '["moradia"]',
                "MemoryUpdate",
                json.dumps([{"_id": id, "content": "Mora em Natal"}]),
            ],
        },
        {"tools": 3, "names": 5},
    ),
    "forgetting": (
        "Esqueça onde eu moro.",
        {
            "tools": lambda id: [
                ToolCall("MemorySearch", {"contexts": ["moradia"]}),
                ToolCall("MemoryDelete", {"ids": [id]}),
            ],
            "names": lambda id: ["MemorySearch", '["moradia"]', "MemoryDelete", json.dumps([id])],
        },
        {"tools": 3, "names": 5},
    ),
}


@pytest.mark.spec("TC-4", "BY-18")
@pytest.mark.parametrize("way", ["tools", "names"])
@pytest.mark.parametrize("scene", SCENES)
async def test_calls_before_the_first_token(
    scene: str, way: Way, tmp_path: Path, fake_openai: FakeOpenAI
) -> None:
    message, scripts, most = SCENES[scene]
    mind = LLMMind.from_settings(one_model(fake_openai, decisions=way))
    async with lab(tmp_path, fake_openai, mind=mind, explain="auto") as cycle:
        draft = MemoryDraft(content="Mora em Recife", key="home", bindings=("moradia",))
        (saved,) = await cycle.memory.save("ana", [draft])
        script: list[Behaviour] = [*scripts[way](saved.record.id), "Está feito por aqui."]
        fake_openai.say(*script, model="talk")
        calls, text = await _first_token(cycle, fake_openai, message)
        assert calls == most[way] and text == "Está feito por aqui." and fake_openai.left == 0


async def _first_token(cycle: Lab, server: FakeOpenAI, message: str) -> tuple[int, str]:
    """How many chat requests had been made at the first token, and all that was said."""
    calls, said = 0, ""
    stream = cycle.graph.astream(
        {"messages": [HumanMessage(message)]},
        {"configurable": {"thread_id": "t"}},
        context=Context(user_id="ana", language="pt"),
        stream_mode="messages",
    )
    async for chunk, _ in stream:
        if chunk.text:
            calls = calls or sum(request.model == "talk" for request in server.requests)
            said += chunk.text
    return calls, said

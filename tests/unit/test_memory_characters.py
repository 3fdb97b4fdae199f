"""U+0000 is refused where a user gives it, in one clear line, and dropped from what nobody typed."""

import json
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Any

import pytest

from support.engines import memory
from support.memories import START, said
from thoughtcycle.errors import InputRefused
from thoughtcycle.memory.memory import Memory
from thoughtcycle.memory.model import MemoryDraft
from thoughtcycle.mind.answer_parser import parse

__all__ = ["memory"]

NUL = "Mora em\0 Recife"
EDGES: dict[str, Callable[[Memory, str], Awaitable[Any]]] = {
    "message": lambda memory, _: memory.transcript.open_cycle(
        "ana", "c", said(NUL), parent=None, channel="cli"
    ),
    "content": lambda memory, _: memory.save("ana", [MemoryDraft(content=NUL)]),
    "key": lambda memory, _: memory.save("ana", [MemoryDraft(content="x", key=NUL)]),
    "update": lambda memory, id: memory.update("ana", id, content=NUL),
    "new key": lambda memory, id: memory.update("ana", id, content="x", key=NUL),
    "title": lambda memory, _: memory.rename_chat("ana", "chat", NUL),
    "user": lambda memory, _: memory.list("an\0a"),
}


@pytest.mark.spec("BY-6")
@pytest.mark.parametrize("edge", EDGES)
async def test_it_is_refused_where_a_user_gives_it(memory: Memory, edge: str) -> None:
    (saved,) = await memory.save("ana", [MemoryDraft(content="Gosta do mar")])
    with pytest.raises(InputRefused) as refused:
        await EDGES[edge](memory, saved.record.id)
    assert refused.value.code == "text_null"
    assert "U+0000" in refused.value.text("pt") and "U+0000" in refused.value.text("en")
    assert [record.text for record in await memory.list("ana")] == ["Gosta do mar"]


async def test_content_that_is_no_text_keeps_it(memory: Memory) -> None:
    content = {"a": NUL, "b\0": [1]}
    (saved,) = await memory.save("ana", [MemoryDraft(content=content)])
    assert (await memory.get("ana", saved.record.id)).content == content  # type: ignore[union-attr]


@pytest.mark.spec("BY-4")
async def test_it_is_dropped_from_what_comes_from_elsewhere(memory: Memory, tmp_path: Path) -> None:
    cycle = await memory.record_cycle("ana", "c", "o\0i", "ol\0á", at=START, channel="test")
    assert (cycle.message.text, [one.text for one in cycle.replies]) == ("oi", ["olá"])
    told = {"sender": "human", "text": "mo\0ro em Natal", "created_at": START.isoformat()}
    chat = {"uuid": "1", "name": "Ca\0sa", "created_at": START.isoformat(), "chat_messages": [told]}
    (tmp_path / "conversations.json").write_text(json.dumps([chat]))
    await memory.import_file("ana", tmp_path / "conversations.json")
    imported = next(one for one in await memory.chats("ana") if one.id != "c")
    assert imported.title == "Casa"
    assert [one.message.text for one in await memory.conversation("ana", imported.id)] == ["moro em Natal"]
    await memory.save("ana", [MemoryDraft(content="Nasceu em Recife", key="born")])
    own = tmp_path / "own"
    lines = [json.dumps(line) async for line in memory.export("ana")]
    own.write_text("".join(f"{line}\n" for line in lines).replace("Nasceu", "Nas\\u0000ceu"))
    await memory.import_file("bia", own)
    assert [record.text for record in await memory.list("bia")] == ["Nasceu em Recife"]


def test_it_is_dropped_from_what_a_model_says() -> None:
    assert parse('{"a": ["b\\u0000c", 1]}', dict[str, list[Any]]) == {"a": ["bc", 1]}
    assert parse("o\0i", str) == "oi"

"""An export holds everything of one user and nothing that was taken out of sight."""

import json
from typing import Any

import pytest

from support.engines import memory
from support.memories import said, step
from thoughtcycle.memory.memory import Memory
from thoughtcycle.memory.model import Cycle, MemoryDraft, Source
from thoughtcycle.memory.text.analyzer import digest
from thoughtcycle.memory.transfer import export as exporting
from thoughtcycle.memory.transfer.format import in_order, to_change, to_chat, to_cycle, to_memory

__all__ = ["memory"]


async def exchange(memory: Memory, text: str, user: str = "ana", parent: str | None = None) -> Cycle:
    cycle = await memory.transcript.open_cycle(
        user, f"{user}'s", said(text, id=digest(text)), parent=parent, channel="cli"
    )
    reply = said(f"re: {text}", "r", "assistant")
    return await memory.transcript.close_cycle(
        user, cycle.id, execution="e1", messages=[reply], steps=[step()]
    )


async def save(memory: Memory, content: str, cycle: Cycle, key: str | None = None) -> str:
    draft = MemoryDraft(content=content, key=key, source=Source(cycle=cycle.id, words=content))
    return (await memory.save(cycle.user, [draft]))[0].record.id


async def lines(memory: Memory, user: str = "ana") -> list[dict[str, Any]]:
    """The export, as it is once it was written and read again."""
    return [json.loads(json.dumps(line)) async for line in memory.export(user)]


def of(kind: str, found: list[dict[str, Any]]) -> list[dict[str, Any]]:
    return [line for line in found if line["line"] == kind]


@pytest.mark.spec("BY-4")
async def test_every_record_comes_out_as_it_is_kept(memory: Memory, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(exporting, "_PAGE", 2)
    parent = None
    for number in range(5):
        cycle = await exchange(memory, f"mensagem {number}", parent=parent)
        parent = cycle.id
        await save(memory, f"fato {number}", cycle, key="k" if number > 2 else None)
    await exchange(memory, "de outra pessoa", "bia")
    await memory.transcript.open_cycle(
        "ana", "ana's", said("sem resposta", "x"), parent=parent, channel="cli"
    )
    found = await lines(memory)
    assert found[0] | {"at": ""} == {
        "line": "header",
        "format": "thoughtcycle-export",
        "version": 1,
        "user": "ana",
        "at": "",
    }
    assert [to_chat(line, "ana") for line in of("chat", found)] == [
        await memory.transcript.claim_chat("ana", "ana's")
    ]
    cycles = [to_cycle(line, "ana") for line in of("cycle", found)]
    assert [cycle.message.text for cycle in cycles] == [f"mensagem {n}" for n in range(5)] + ["sem resposta"]
    assert cycles[:5] == (await memory.conversation("ana", "ana's", limit=9))
    kept = {record.id: record.model_copy(update={"vector_ids": ()}) for record in await memory.list("ana")}
    assert {line["_id"]: to_memory(line, "ana") for line in of("memory", found)} == kept
    (version,) = of("version", found)
    assert version["content"] == "fato 3" and version["current"] in kept
    changes = [to_change(line, "ana") for line in of("change", found)]
    assert [change.number for change in changes] == list(range(1, 7))
    assert changes[-1].before is not None and changes[-1].before.content == "fato 3"
    counted = {name: len(of(name, found)) for name in ("chat", "cycle", "memory", "version", "change")}
    assert found[-1] == {"line": "end", "lines": counted}
    assert "outra pessoa" not in json.dumps(found)


@pytest.mark.spec("BY-9")
@pytest.mark.spec("TC-1")
async def test_what_is_hidden_is_not_told(memory: Memory) -> None:
    cycle = await exchange(memory, "odeio coentro e moro em Recife")
    id = await save(memory, "odeio coentro", cycle, key="herb")
    await save(memory, "moro em Recife", cycle)
    await memory.update("ana", id, content="odeio coentro cru")
    await memory.rename_chat("ana", "ana's", "Receita sem coentro")
    await memory.hide("ana", [id])
    found = await lines(memory)
    text = json.dumps(found, ensure_ascii=False)
    assert "coentro" not in text and "Recife" in text
    assert [chat["title"] for chat in of("chat", found)] == [(await memory.chats("ana"))[0].title]
    assert await memory.find_chat("ana", "Receita sem coentro") is None
    (line,) = of("cycle", found)
    assert (
        line["message"].items()
        >= {
            "chat-history": True,
            "modal": "text",
            "role": "user",
            "content": "[…] e moro em Recife",
        }.items()
    )
    assert [line["_id"] for line in of("hidden", found)].count(id) == 1
    assert {line["withheld"] for line in of("change", found) if line["memory"] == id} == {True}
    await memory.undo("ana", id)
    assert "odeio coentro cru" in json.dumps(await lines(memory), ensure_ascii=False)


async def test_somebody_unknown_has_an_empty_export(memory: Memory) -> None:
    assert [line["line"] for line in await lines(memory, "nobody")] == ["header", "end"]


def test_cycles_come_after_their_parents() -> None:
    links = {"c": "b", "b": "a", "a": None, "x": "elsewhere", "loop": "pool", "pool": "loop", "d": "b"}
    order = list(in_order(links))
    assert sorted(order) == sorted(links)
    assert order.index("a") < order.index("b") < min(order.index("c"), order.index("d"))

"""Memories of what was said earlier and is heard of later: they hold from when it was said."""

from datetime import datetime, timedelta

import pytest

from support.engines import memory
from support.memories import START
from thoughtcycle.memory.memory import Memory
from thoughtcycle.memory.model.records import MemoryDraft, Saved, Source

__all__ = ["memory"]

JANUARY, FEBRUARY = START - timedelta(days=60), START - timedelta(days=30)


async def said(memory: Memory, content: str, at: datetime, cycle: str, key: str | None = "city") -> Saved:
    draft = MemoryDraft(content=content, key=key, said=at, source=Source(cycle=cycle))
    return (await memory.save("ana", [draft]))[0]


@pytest.mark.spec("HM-6")
async def test_a_memory_holds_from_when_it_was_said(memory: Memory) -> None:
    first = await said(memory, "Mora em Recife", JANUARY, "c1")
    then = await said(memory, "Mora em Natal", FEBRUARY, "c2")
    assert (first.record.valid_from, then.record.valid_from) == (JANUARY, FEBRUARY)
    assert then.former is not None and then.former.valid_to == FEBRUARY
    old = await memory.list("ana", at=FEBRUARY - timedelta(days=1))
    assert [record.content for record in old] == ["Mora em Recife"]


@pytest.mark.spec("HM-6")
async def test_what_was_said_before_supersedes_nothing(memory: Memory) -> None:
    now = await said(memory, "Mora em Natal", FEBRUARY, "c2")
    late = await said(memory, "Mora em Recife", JANUARY, "c1")
    assert (late.outcome, late.record) == ("known", now.record)
    assert [record.content for record in await memory.list("ana")] == ["Mora em Natal"]
    (former,) = await memory.versions("ana", now.record.id)
    assert (former.content, former.valid_from, former.valid_to) == ("Mora em Recife", JANUARY, FEBRUARY)
    rows = len(await memory.history("ana", former.id))
    await said(memory, "Mora em Recife", JANUARY, "c1")
    assert len(await memory.history("ana", former.id)) == rows


@pytest.mark.spec("HM-6")
async def test_saying_it_again_reinforces_once_and_never_backwards(memory: Memory) -> None:
    record = (await said(memory, "Mora em Natal", JANUARY, "c1", key=None)).record
    for _ in range(2):
        await said(memory, "Mora em Natal", FEBRUARY, "c2", key=None)
        await memory.reinforce("ana", record.id, cycle="c2", said=FEBRUARY)
        await memory.reinforce("ana", record.id, cycle="c0", said=JANUARY - timedelta(days=1))
    kept = await memory.get("ana", record.id)
    assert kept is not None and kept.reinforced_at == FEBRUARY
    assert [entry.op for entry in await memory.history("ana", record.id)] == ["save", "reinforce"]


async def test_an_update_holds_from_when_it_was_said(memory: Memory) -> None:
    record = (await said(memory, "Mora em Recife", JANUARY, "c1")).record
    await memory.update("ana", record.id, content="Mora em Natal", cycle="c2", said=FEBRUARY)
    (former,) = await memory.versions("ana", record.id)
    assert former.valid_to == FEBRUARY


async def test_nothing_is_said_in_the_future(memory: Memory) -> None:
    record = (await said(memory, "Mora em Natal", START + timedelta(days=900), "c1")).record
    assert record.valid_from == record.created

"""What waited while its words were erased arrives without them; what was said after the erasure arrives whole."""

from collections.abc import Sequence
from datetime import datetime
from typing import get_args

import pytest

from support.engines import memory
from support.left import left_of
from support.memories import said
from thoughtcycle.memory.memory import Memory
from thoughtcycle.memory.model import CycleMessage, MemoryDraft, MemoryRecord, Source, Status, Step
from thoughtcycle.memory.offline.intents import Append, CloseCycle, Intent, OpenCycle
from thoughtcycle.memory.offline.replay import Replay
from thoughtcycle.memory.text.spans import HIDDEN
from thoughtcycle.memory.versioning.cycle_transitions import new_cycle

__all__ = ["memory"]

NAME = MemoryDraft(content="Nome: Zoroastro", key="name", bindings=("nome", "Zoroastro"))


async def introduced(memory: Memory) -> MemoryRecord:
    """A name and a home, told in one message."""
    first = await memory.record_cycle(
        "ana", "told", "Meu nome é Zoroastro e moro em Natal", "Prazer!", at=memory.core.clock(), channel="t"
    )
    source = Source(cycle=first.id, words="Meu nome é Zoroastro")
    drafts = [NAME.model_copy(update={"source": source}), MemoryDraft(content="Mora em Natal", key="home")]
    name, _ = await memory.save("ana", drafts)
    return name.record


def waiting(at: datetime) -> Sequence[Intent]:
    """Two turns, asked for at `at`."""
    told = CycleMessage(id="1", role="user", text="Sou o Zoroastro! Zoroastro, de Natal.", at=at)
    cycle = new_cycle("ana", "away", told, parent=None, channel="cli", at=at, late=True)
    reply = CycleMessage(id="2", role="assistant", text="Olá, Zoroastro. Tudo bem?", at=at)
    done = Step(action="MemorySearch", input=["Zoroastro"], outcome="Zoroastro achado", status="done")
    known = {"user": "ana", "at": at}
    open_one = cycle.model_copy(update={"id": "open", "message": told.model_copy(update={"id": "3"})})
    return (
        OpenCycle(**known, cycle=cycle, follow=False),
        Append(**known, cycle=cycle.id, execution="e", step=done, text=reply),
        CloseCycle(
            **known, cycle=cycle.id, execution="e", messages=(reply,), steps=(done,), cut=False, formation="pending"
        ),
        OpenCycle(**known, cycle=open_one, follow=True),
        Append(**known, cycle="open", execution="e", step=done, text=reply),
    )  # fmt: skip


async def replayed(memory: Memory, intents: Sequence[Intent]) -> None:
    replay = Replay(memory.core.storage, embeddings=memory.core.embeddings)
    for intent in intents:
        await replay.carry_out(intent)


@pytest.mark.spec("BY-9", "CM-8")
@pytest.mark.parametrize("emptied", [True, False])
async def test_what_waited_arrives_without_what_was_erased_since(memory: Memory, emptied: bool) -> None:
    name = await introduced(memory)
    at, under_way = memory.core.clock(), None
    if not emptied:  # what another machine is erasing and has not emptied yet
        under_way = await memory.transcript.open_cycle("ana", "other", said("oi"), parent=None, channel="cli")
    assert (await memory.erase("ana", [name.id])).waiting == (not emptied)
    await replayed(memory, waiting(at))
    if under_way is not None:
        await memory.transcript.close_cycle("ana", under_way.id, execution="e", messages=[], steps=[])
        await memory.transcript.close_cycle("ana", "open", execution="e", messages=[], steps=[])
        await memory.erasure.finish_erasing("ana")
    every = await memory.list("ana", statuses=get_args(Status))
    assert [one for one in every if "oroastro" in repr(one)] == []
    assert await left_of(memory, "ana", ["Zoroastro"]) == []
    (cycle,) = [one for one in await memory.conversation("ana", "away", limit=9) if one.id != "open"]
    assert HIDDEN in cycle.message.text and "Natal" in cycle.message.text
    assert [reply.text for reply in cycle.replies] == [f"Olá, {HIDDEN}. Tudo bem?"]
    await memory.transcript.close_cycle("ana", "open", execution="e", messages=[], steps=[])


@pytest.mark.spec("BY-9", "CM-8")
async def test_what_was_said_after_an_erasure_arrives_whole(memory: Memory) -> None:
    name = await introduced(memory)
    await memory.erase("ana", [name.id])
    await replayed(memory, waiting(memory.core.clock()))
    (cycle, *_) = await memory.conversation("ana", "away", limit=9)
    assert cycle.message.text == "Sou o Zoroastro! Zoroastro, de Natal."
    assert [reply.text for reply in cycle.replies] == ["Olá, Zoroastro. Tudo bem?"]
    await memory.transcript.close_cycle("ana", "open", execution="e", messages=[], steps=[])

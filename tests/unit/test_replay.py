"""What waited while its words were erased arrives without them; what was said after the erasure arrives whole."""

from collections.abc import Sequence
from datetime import datetime
from typing import get_args

import pytest

from support.engines import memory
from support.memories import said
from thoughtcycle.memory.cycle_changes import begun_at
from thoughtcycle.memory.intents import Append, CloseCycle, Intent, OpenCycle, Save, Update
from thoughtcycle.memory.masking import HIDDEN
from thoughtcycle.memory.memory import Memory
from thoughtcycle.memory.records import CycleMessage, MemoryDraft, MemoryRecord, Source, Status, Step
from thoughtcycle.memory.replay import Replay

__all__ = ["memory"]

NAME = MemoryDraft(content="Nome: Zoroastro", key="name", bindings=("nome", "Zoroastro"))


async def introduced(memory: Memory) -> tuple[MemoryRecord, MemoryRecord]:
    """A name and a home, told in one message."""
    first = await memory.record_cycle(
        "ana", "told", "Meu nome é Zoroastro e moro em Natal", "Prazer!", at=memory._clock(), channel="t"
    )
    source = Source(cycle=first.id, words="Meu nome é Zoroastro")
    drafts = [NAME.model_copy(update={"source": source}), MemoryDraft(content="Mora em Natal", key="home")]
    name, home = await memory.save("ana", drafts)
    return name.record, home.record


def waiting(home: MemoryRecord, at: datetime) -> Sequence[Intent]:
    """Two turns and what they save, asked for at `at`."""
    told = CycleMessage(id="1", role="user", text="Sou o Zoroastro! Zoroastro, de Natal.", at=at)
    cycle = begun_at("ana", "away", told, parent=None, channel="cli", at=at, late=True)
    reply = CycleMessage(id="2", role="assistant", text="Olá, Zoroastro. Tudo bem?", at=at)
    done = Step(action="MemorySearch", input=["Zoroastro"], outcome="Zoroastro achado", status="done")
    from_cycle = Source(cycle=cycle.id, words="Zoroastro, de Natal")
    drafts = (
        NAME.model_copy(update={"source": from_cycle}),
        NAME,
        MemoryDraft(content="Tem um gato", bindings=("gato", "Zoroastro"), source=from_cycle),
    )
    known = {"user": "ana", "at": at}
    open_one = cycle.model_copy(update={"id": "open", "message": told.model_copy(update={"id": "3"})})
    return (
        OpenCycle(**known, cycle=cycle, follow=False),
        Append(**known, cycle=cycle.id, execution="e", step=done, text=reply),
        Save(**known, drafts=drafts, vectors={}, model=None),
        CloseCycle(
            **known, cycle=cycle.id, execution="e", messages=(reply,), steps=(done,), cut=False, formation="pending"
        ),
        Update(
            **known, id=home.id, content="Mora em Olinda", bindings=("casa", "Zoroastro"), correction=False,
            cycle=cycle.id, words="Zoroastro mora em Olinda",
        ),
        OpenCycle(**known, cycle=open_one, follow=True),
        Append(**known, cycle="open", execution="e", step=done, text=reply),
    )  # fmt: skip


async def replayed(memory: Memory, intents: Sequence[Intent]) -> None:
    replay = Replay(memory._storage, embeddings=memory._embeddings, clock=lambda: replay.at)
    for intent in intents:
        await replay.carry_out(intent)


@pytest.mark.spec("BY-9", "CM-8")
@pytest.mark.parametrize("emptied", [True, False])
async def test_what_waited_arrives_without_what_was_erased_since(memory: Memory, emptied: bool) -> None:
    name, home = await introduced(memory)
    at, under_way = memory._clock(), None
    if not emptied:  # what another machine is erasing and has not emptied yet
        under_way = await memory.open_cycle("ana", "other", said("oi"), parent=None, channel="cli")
    assert (await memory.erase("ana", [name.id])).waiting == (not emptied)
    await replayed(memory, waiting(home, at))
    if under_way is not None:
        await memory.close_cycle("ana", under_way.id, execution="e", messages=[], steps=[])
        await memory.close_cycle("ana", "open", execution="e", messages=[], steps=[])
        await memory.finish_erasing("ana")
    every = await memory.list("ana", statuses=get_args(Status))
    assert [one for one in every if "oroastro" in repr(one)] == []
    assert await memory.prove_erased("ana", ["Zoroastro"]) == []
    (cycle,) = [one for one in await memory.conversation("ana", "away", limit=9) if one.id != "open"]
    assert HIDDEN in cycle.message.text and "Natal" in cycle.message.text
    assert [reply.text for reply in cycle.replies] == [f"Olá, {HIDDEN}. Tudo bem?"]
    kept = {one.text: one for one in await memory.list("ana")}
    assert kept.keys() == {"Mora em Olinda", "Tem um gato"}
    assert kept["Tem um gato"].bindings == ("gato",) and "Natal" in kept["Tem um gato"].source.words
    await memory.close_cycle("ana", "open", execution="e", messages=[], steps=[])


@pytest.mark.spec("BY-9", "CM-8")
async def test_what_was_said_after_an_erasure_arrives_whole(memory: Memory) -> None:
    name, home = await introduced(memory)
    await memory.erase("ana", [name.id])
    await replayed(memory, waiting(home, memory._clock()))
    (cycle, *_) = await memory.conversation("ana", "away", limit=9)
    assert cycle.message.text == "Sou o Zoroastro! Zoroastro, de Natal."
    assert "Nome: Zoroastro" in {one.text for one in await memory.list("ana")}
    await memory.close_cycle("ana", "open", execution="e", messages=[], steps=[])

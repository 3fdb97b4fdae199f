"""What was erased, or forgotten before it was understood, never comes back (BY-9, BY-10)."""

from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import pytest

from support.survivors import survivors
from thoughtcycle.checkpoints.erasure import bound
from thoughtcycle.checkpoints.factory import open_checkpointer
from thoughtcycle.errors import InputRefused
from thoughtcycle.graph import create_thought_cycle
from thoughtcycle.memory.memory import Memory
from thoughtcycle.memory.model import STATUSES, MemoryDraft
from thoughtcycle.mind.rules import RuleMind
from thoughtcycle.nodes.base.context import Context
from thoughtcycle.nodes.base.services import Services
from thoughtcycle.runtime.upkeep import create_worker


class Talk:
    """A user's chats over an open database."""

    def __init__(self, memory: Memory, saver: Any, language: str = "pt") -> None:
        self.memory, self.mind = memory, RuleMind()
        self._language = language
        self._graph = create_thought_cycle(memory=memory, mind=self.mind, checkpointer=saver)

    async def say(self, *messages: str, thread: str = "t", **context: Any) -> str:
        """One turn per message; the last reply."""
        reply = ""
        for text in messages:
            values = await self._graph.ainvoke(
                {"messages": [("user", text)]},
                {"configurable": {"thread_id": thread}},
                context=Context(**{"user_id": "ana", "language": self._language, **context}),
            )
            reply = str(values["messages"][-1].content)
        return reply

    async def understand(self) -> None:
        """Formation of all that waits."""
        await create_worker(Services(self.memory, self.mind)).drain()

    async def undo_all(self) -> None:
        """Each change that can be taken back, one by one."""
        while True:
            try:
                if (await self.memory.undo("ana")).undone is None:
                    return
            except InputRefused:
                return


@pytest.fixture
async def talk(database_url: str) -> AsyncIterator[Talk]:
    async with Memory.open(database_url, embeddings=None) as memory, open_checkpointer(database_url) as saver:
        bound(memory, saver)
        yield Talk(memory, saver)


TOLD_TWICE = [
    ("Moro em Zaragoza.", "Esqueça onde eu moro", "Apague definitivamente onde eu moro"),
    ("I live in Zaragoza.", "Forget where I live", "Delete where I live for good"),
]


@pytest.mark.spec("BY-9", "BY-14")
@pytest.mark.parametrize(("told", "forget", "erase"), TOLD_TWICE)
async def test_a_hidden_twin_goes_with_what_is_erased(
    talk: Talk, database_url: str, tmp_path: Path, told: str, forget: str, erase: str
) -> None:
    await talk.say(told, forget, told)
    assert survivors(database_url, tmp_path, "ana", ["Zaragoza"])
    await talk.say(erase)
    await talk.memory.erasure.finish_erasing("ana")
    await talk.undo_all()
    assert survivors(database_url, tmp_path, "ana", ["Zaragoza"]) == []
    assert await talk.memory.list("ana") == []


async def _hidden(memory: Memory) -> None:
    (one,) = await memory.save("ana", [MemoryDraft(content="Mora em ZARAGOZÁ!")])
    await memory.hide("ana", [one.record.id])


async def _archived(memory: Memory) -> None:
    (one,) = await memory.save("ana", [MemoryDraft(content="Mora em Zaragoza")])
    await memory.archive("ana", [one.record.id])


async def _superseded(memory: Memory) -> None:
    (one,) = await memory.save("ana", [MemoryDraft(content="Mora em Zaragoza")])
    await memory.update("ana", one.record.id, content="Mora em Natal")


async def _corrected(memory: Memory) -> None:
    (one,) = await memory.save("ana", [MemoryDraft(content="Mora em Zaragoza")])
    await memory.update("ana", one.record.id, content="Mora em Natal", correction=True)


async def _undone(memory: Memory) -> None:
    (one,) = await memory.save("ana", [MemoryDraft(content="Mora em Zaragoza")])
    await memory.undo("ana", one.record.id)


async def _reworded(memory: Memory) -> None:
    (one,) = await memory.save("ana", [MemoryDraft(content="A casa é em Zaragoza", key="home")])
    await memory.archive("ana", [one.record.id])


@pytest.mark.spec("BY-9")
@pytest.mark.parametrize("former", [_hidden, _archived, _superseded, _corrected, _undone, _reworded])
async def test_each_kind_of_twin_goes_with_what_is_erased(
    talk: Talk, database_url: str, tmp_path: Path, former: Any
) -> None:
    memory = talk.memory
    await memory.save("ana", [MemoryDraft(content="Gosta de jazz")])
    await former(memory)
    (one,) = await memory.save("ana", [MemoryDraft(content="Mora em Zaragoza", key="home")])
    receipt = await memory.erase("ana", [one.record.id])
    assert receipt.left == ()
    kept = {record.text for record in await memory.list("ana")}
    assert kept >= {"Gosta de jazz"} and kept <= {"Gosta de jazz", "Mora em Natal"}
    await talk.undo_all()
    assert survivors(database_url, tmp_path, "ana", ["Zaragoza"]) == []
    assert not [one for one in await memory.list("ana", statuses=STATUSES) if "Zaragoza" in one.text]


@pytest.mark.spec("BY-9")
async def test_what_was_told_again_after_a_deletion_stays(talk: Talk) -> None:
    memory = talk.memory
    (first,) = await memory.save("ana", [MemoryDraft(content="Mora em Zaragoza")])
    await memory.hide("ana", [first.record.id])
    (again,) = await memory.save("ana", [MemoryDraft(content="Mora em Zaragoza")])
    await memory.archive("ana", [again.record.id])
    await memory.erase("ana", [first.record.id])
    (kept,) = await memory.list("ana", statuses=("archived",))
    assert kept.text == "Mora em Zaragoza"

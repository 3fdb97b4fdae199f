"""What is erased for good is in no byte and no stored value, as a program sees it that shares no code."""

from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import pytest

from support.survivors import survivors
from thoughtcycle.checkpoints.erasure import bound
from thoughtcycle.checkpoints.factory import open_checkpointer
from thoughtcycle.graph import create_thought_cycle
from thoughtcycle.memory.memory import Memory
from thoughtcycle.memory.model import MemoryDraft
from thoughtcycle.mind.rules import RuleMind
from thoughtcycle.nodes.base.context import Context


class Talk:
    """A user's chat over an open database."""

    def __init__(self, memory: Memory, saver: Any) -> None:
        self.memory = memory
        self._graph = create_thought_cycle(memory=memory, mind=RuleMind(), checkpointer=saver)

    async def say(self, text: str, thread: str = "t", **context: Any) -> dict[str, Any]:
        """One turn; the values at its end."""
        return await self._graph.ainvoke(
            {"messages": [("user", text)]},
            {"configurable": {"thread_id": thread}},
            context=Context(**{"user_id": "ana", "language": "pt", **context}),
        )


@pytest.fixture
async def talk(database_url: str) -> AsyncIterator[Talk]:
    async with Memory.open(database_url, embeddings=None) as memory, open_checkpointer(database_url) as saver:
        bound(memory, saver)
        yield Talk(memory, saver)


ASKED = "De que cor é meu carro amarelo?"
SAID = f"{ASKED} É um quinti\u00adfruz_novo? E o quin\u200btifruz?"


@pytest.mark.spec("BY-9", "BY-14")
@pytest.mark.parametrize(
    ("key", "content", "said"),
    [
        ("carro_quintifruz", "Carro amarelo: quintifruz", SAID),
        ("carro_quintifruz", "Tem um carro amarelo com teto preto", ASKED),
        ("carro:quinti_fruz", "Tem um quinti\u00adfruz, um carro amarelo", SAID),
        ("carro", "Tem um Quinti-Fruz, um carro amarelo", f"{SAID} Um quintifruz?"),
        ("carro", "Tem um Quintifruz, um carro amarelo", f"{SAID} Um quinti-fruz?"),
    ],
)
async def test_no_underscore_and_no_hyphen_hides_a_word(
    talk: Talk, database_url: str, tmp_path: Path, key: str, content: str, said: str
) -> None:
    (done,) = await talk.memory.save("ana", [MemoryDraft(content=content, key=key)])
    for text in (ASKED, said):
        assert done.record.id in str((await talk.say(text))["recalled"])
    words = ["quintifruz", content]
    assert any("checkpoint" in one for one in survivors(database_url, tmp_path, "ana", words))
    receipt = await talk.memory.erase("ana", [done.record.id])
    assert receipt.left == ()
    assert survivors(database_url, tmp_path, "ana", words) == []

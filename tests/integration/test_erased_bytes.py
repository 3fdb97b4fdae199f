"""What is erased for good is in no byte and no stored value, as a program sees it that shares no code."""

from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import pytest

from support.databases import MONGODB_IN_TORTURE
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


HIDDEN_WORDS = {
    "quintifruz": ("carro_quintifruz", "Tem um carro amarelo: quintifruz"),
    "quadrifruz": ("carro_quadrifruz", "Tem um carro azul com teto preto"),
    "trinifruz": ("carro:trini_fruz", "Tem um trini\u00adfruz, um carro verde"),
    "binifruz": ("carro", "Tem um Bini-Fruz, um carro roxo"),
    "unifruzal": ("carro-novo", "Tem um Unifruzal, um carro cinza"),
}
"""Word: the key and the content of a memory that has it."""


@MONGODB_IN_TORTURE
@pytest.mark.spec("BY-9", "BY-14")
async def test_no_underscore_and_no_hyphen_hides_a_word(
    talk: Talk, database_url: str, tmp_path: Path
) -> None:
    drafts = [MemoryDraft(content=content, key=key) for key, content in HIDDEN_WORDS.values()]
    ids = [done.record.id for done in await talk.memory.save("ana", drafts)]
    for asked in (
        "amarelo, o quin\u200btifruz",
        "azul",
        "verde, um trini\u00adfruz_novo",
        "roxo, o binifruz",
    ):
        await talk.say(f"De que cor é meu carro {asked}?")
    recalled = str((await talk.say("De que cor é meu carro cinza, um uni-fruzal?"))["recalled"])
    assert all(id in recalled for id in ids)
    words = [*HIDDEN_WORDS, *(content for _, content in HIDDEN_WORDS.values())]
    found = survivors(database_url, tmp_path, "ana", words)
    assert all(any("checkpoint" in one and word in one for one in found) for word in HIDDEN_WORDS)
    receipt = await talk.memory.erase("ana", ids)
    assert receipt.left == ()
    assert survivors(database_url, tmp_path, "ana", words) == []

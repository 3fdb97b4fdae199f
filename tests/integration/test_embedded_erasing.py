"""In somebody's own program, opened as the README opens it, what is erased leaves every thread."""

from collections.abc import AsyncIterator, Awaitable, Callable
from typing import Any, NamedTuple

import pytest

from support.talking import Saver
from thoughtcycle.graph import create_thought_cycle
from thoughtcycle.graph.checkpoints.factory import open_checkpointer
from thoughtcycle.memory.memory import Memory
from thoughtcycle.mind.rules import RuleMind
from thoughtcycle.nodes.context import Context


class Embedded(NamedTuple):
    memory: Memory
    saver: Saver
    say: Callable[..., Awaitable[Any]]


@pytest.fixture
async def embedded(database_url: str) -> AsyncIterator[Embedded]:
    async with Memory.open(database_url, embeddings=None) as memory, open_checkpointer(database_url) as saver:
        graphs = [create_thought_cycle(memory=memory, mind=RuleMind(), checkpointer=saver) for _ in "12"]

        async def say(text: str, thread: str, **context: Any) -> Any:
            return await graphs[0].ainvoke(
                {"messages": [("user", text)]},
                {"configurable": {"thread_id": thread}},
                context=Context(**{"user_id": "ana", "language": "pt", **context}),
            )

        yield Embedded(memory, saver, say)


async def stored(saver: Saver, thread: str) -> str:
    """All that is stored of a thread, as no mask shows it."""
    masks, saver.masks = saver.masks, None
    found = repr([one async for one in saver.alist({"configurable": {"thread_id": thread}})])
    saver.masks = masks
    return found


@pytest.mark.spec("BY-9")
async def test_the_threads_lose_what_is_erased_with_transcript_or_without(embedded: Embedded) -> None:
    memory, saver, say = embedded
    await say("Meu nome é Zoroastro e moro em Natal.", "told")
    await say("Qual é o meu nome?", "unkept", incognito=True)
    await saver.acopy_thread("told", "copy")
    await say("Meu nome é Zoroastro.", "hers", user_id="bia")
    threads = ("told", "unkept", "copy")
    for thread in threads:
        assert "Zoroastro" in await stored(saver, thread)
    name = next(one for one in await memory.list("ana") if "Zoroastro" in one.text)
    receipt = await memory.erase("ana", [name.id])
    assert receipt.left == ()
    for thread in threads:
        assert "Zoroastro" not in await stored(saver, thread)
    assert "Natal" in await stored(saver, "copy")
    assert "Zoroastro" in await stored(saver, "hers")


@pytest.mark.spec("BY-9")
async def test_a_second_graph_does_not_count_the_checkpoints_twice(embedded: Embedded) -> None:
    memory, saver, say = embedded
    await say("Meu nome é Zoroastro.", "told")
    counts: list[int] = []
    redact = saver.aredact

    async def counted(thread: str, mask: Any) -> int:
        counts.append(await redact(thread, mask))
        return counts[-1]

    saver.aredact = counted  # type: ignore[method-assign]
    receipt = await memory.erase("ana", [one.id for one in await memory.list("ana")])
    assert counts == [receipt.elsewhere, 0] and receipt.elsewhere > 0

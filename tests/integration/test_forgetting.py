"""Forgetting a user takes the threads along, those that no chat tells of too."""

import pytest

from thoughtcycle.checkpoints.factory import open_checkpointer
from thoughtcycle.graph import create_thought_cycle
from thoughtcycle.memory.memory import Memory
from thoughtcycle.mind.rules import RuleMind
from thoughtcycle.nodes.base.context import Context
from thoughtcycle.runtime.forgetting import forget_user


@pytest.mark.spec("BY-4")
async def test_threads_go_with_their_user(database_url: str) -> None:
    async with Memory.open(database_url, embeddings=None) as memory, open_checkpointer(database_url) as saver:
        graph = create_thought_cycle(memory=memory, mind=RuleMind(), checkpointer=saver)
        for user, thread, incognito in (("ana", "1", False), ("ana", "2", True), ("bia", "3", False)):
            await graph.ainvoke(
                {"messages": [("user", "Meu nome é Pedro")]},
                {"configurable": {"thread_id": thread}},
                context=Context(user_id=user, incognito=incognito),
            )
        assert await saver.athreads_of("ana") == ["1", "2"]
        farewell = await forget_user(memory, saver, "ana")
        assert farewell.left == {}
        assert farewell.erased["threads"] == 2
        assert [await saver.aget_tuple({"configurable": {"thread_id": id}}) for id in "12"] == [None, None]
        assert await saver.athreads_of("bia") == ["3"]
        assert len(await memory.list("bia")) == 1

"""A turn of the graph as it travels on every wire (TC-1), for the terminal and the web alike."""

from collections.abc import AsyncGenerator, Iterator
from contextlib import AsyncExitStack, aclosing
from typing import Any, cast

from langchain_core.messages import AIMessage, HumanMessage
from langchain_core.runnables import RunnableConfig
from langsmith import tracing_context

from thoughtcycle.graph.thought_cycle import ThoughtCycle
from thoughtcycle.nodes.base import envelope
from thoughtcycle.nodes.base.context import Context
from thoughtcycle.nodes.base.tracing import tag_of


async def stream(
    graph: ThoughtCycle,
    message: HumanMessage | None,
    config: RunnableConfig,
    context: Context,
    failures: list[str],
) -> AsyncGenerator[envelope.Wire, None]:
    """A turn in wire form: statuses, recalled memories, pieces of replies, then each reply whole.

    An incognito turn is not traced: nothing of it leaves the machine but what the model is asked.
    Without a message the run goes on from the checkpoint that `config` names. Puts the code of a failure
    that ended it politely into `failures`.
    """
    config = {**config, "tags": [*config.get("tags", ()), tag_of(context.user_id)]}
    whole: dict[str, AIMessage] = {}
    spoken: set[str] = set()
    parts = graph.astream(
        {"messages": [message]} if message is not None else None,
        config,
        context=context,
        stream_mode=["custom", "messages", "updates"],
        durability="async",
    )
    async with AsyncExitStack() as stack:
        if context.incognito:
            stack.enter_context(tracing_context(enabled=False))
        running = aclosing(cast(AsyncGenerator[tuple[str, Any], None], parts))
        parts_of_turn = await stack.enter_async_context(running)
        async for mode, data in parts_of_turn:
            if mode == "custom":
                yield data
            elif mode == "messages":
                chunk, metadata = data
                if chunk.text and not isinstance(chunk, HumanMessage):
                    spoken.add(chunk.id)
                    yield envelope.piece(chunk.text, chunk.id, metadata)
            else:
                failures += [update["failure"] for update in data.values() if (update or {}).get("failure")]
                for reply in _replies(data):
                    if reply.id in spoken and reply.id not in whole:  # an erasure rewrites older ones
                        whole[str(reply.id)] = reply
                        yield envelope.of_message(reply)


def _replies(updates: dict[str, Any]) -> Iterator[AIMessage]:
    for update in updates.values():
        for message in (update or {}).get("messages", ()):
            if isinstance(message, AIMessage):
                yield message

"""Runs and streams turns of the thought cycle; a user's message survives an outage of the database."""

import asyncio
from collections.abc import AsyncGenerator, AsyncIterator
from contextlib import aclosing, nullcontext
from dataclasses import replace
from typing import Any, cast

from langchain_core.callbacks import Callbacks
from langchain_core.messages import AIMessage, HumanMessage
from langchain_core.runnables import RunnableConfig
from langgraph.types import StateSnapshot
from langsmith import tracing_context

from thoughtcycle.errors import InputRefused, StorageFailed, TurnKept
from thoughtcycle.graph.thought_cycle import ThoughtCycle, builder, compile_cycle
from thoughtcycle.memory.model import CycleMessage, utc_now
from thoughtcycle.memory.offline import SpooledTranscript
from thoughtcycle.mind.streaming import BEGUN
from thoughtcycle.nodes.actions.registry import discover
from thoughtcycle.nodes.base.context import Context
from thoughtcycle.nodes.base.envelope import Wire, of_message, piece
from thoughtcycle.nodes.base.services import provider_of
from thoughtcycle.nodes.base.tracing import tag_of
from thoughtcycle.runtime.incognito import IncognitoChats
from thoughtcycle.runtime.resources import Resources


class TurnRunner:
    """Runs turns of all users; the caller runs those of one chat one after the other."""

    def __init__(self, resources: Resources) -> None:
        self._memory = resources.services.memory
        services = replace(resources.services, single_user=None)  # the context names the user
        graph = builder(provider_of(services), actions=discover(resources.settings.disabled_actions))
        self._graph = compile_cycle(graph, resources.checkpointer)
        self._incognito = IncognitoChats(compile_cycle(graph), self._memory, services.limits.keep_turns)

    async def turn(
        self,
        context: Context,
        chat: str,
        message: HumanMessage | None = None,
        *,
        replaces: str | None = None,
        callbacks: Callbacks = None,
        failures: list[str] | None = None,
    ) -> AsyncGenerator[Wire, None]:
        """Streams the answer to `message`; without one, another reply to the last message.

        With `replaces` the message is an edit of the message with that id, on a new branch. Codes of failures
        that the turn reported in a reply are added to `failures`. A cancelled turn stores the reply so far,
        marked as cut. Raises TurnKept where the database is away and the message was spooled (after the
        chat's last one, also for an edit), InputRefused ('nothing_to_answer', 'edit_too_old') where the
        checkpoint to begin from is missing.
        """
        user, incognito = context.user_id, context.incognito
        graph = self._incognito.graph_for_turn(user, chat) if incognito else self._graph
        try:
            place = await _beginning(graph, user, chat, message, replaces)
            config: RunnableConfig = {**place, "callbacks": callbacks}
            running = stream(graph, message, config, context, [] if failures is None else failures)
            async with aclosing(running) as parts:
                async for part in parts:
                    yield part
        except asyncio.CancelledError:
            if not incognito:
                await self._memory.transcript.cut_short(user, chat)
            raise
        except StorageFailed as failure:
            if message is None or incognito:
                raise
            await self._spool(context, chat, message, failure)
            raise TurnKept() from failure
        if not incognito:
            await self._memory.erasure.finish_erasing(user)

    async def last(self, user: str, chat: str, *, incognito: bool = False) -> dict[str, Any]:
        """The state that the last turn of the user's chat left; {} without one."""
        graph = self._incognito.graph_of(user, chat) if incognito else self._graph
        if graph is None:
            return {}
        state = await graph.aget_state(_thread(chat))
        return dict(state.values) if state.values.get("user_id") == user else {}

    def drop(self, user: str) -> None:
        """Forgets the user's incognito chats."""
        self._incognito.drop(user)

    async def _spool(
        self, context: Context, chat: str, message: HumanMessage, failure: StorageFailed
    ) -> None:
        """Puts the message into the spool; raises `failure` where there is none."""
        transcript = self._memory.transcript
        if not isinstance(transcript, SpooledTranscript) or not self._memory.availability.survives(failure):
            raise failure
        said = CycleMessage(id=str(message.id), role="user", text=message.text, at=utc_now())
        await transcript.keep_message(context.user_id, chat, said, channel=context.channel)


async def stream(
    graph: ThoughtCycle,
    message: HumanMessage | None,
    config: RunnableConfig,
    context: Context,
    failures: list[str],
) -> AsyncGenerator[Wire, None]:
    """A turn in wire form (TC-1): statuses, recalled memories, pieces of replies, then each reply whole.

    Without a message the run goes on from the checkpoint that `config` names. An incognito turn is not
    traced. Codes of failures that the turn reported in a reply are added to `failures`.
    """
    spoken: set[str] = set()
    complete: set[str] = set()
    parts = graph.astream(
        {"messages": [message]} if message is not None else None,
        {**config, "tags": [*config.get("tags", ()), tag_of(context.user_id)]},
        context=context,
        stream_mode=["custom", "messages", "updates"],
        durability="async",
    )
    with tracing_context(enabled=False) if context.incognito else nullcontext():
        async with aclosing(cast(AsyncGenerator[tuple[str, Any], None], parts)) as running:
            async for mode, data in running:
                if mode == "custom":
                    yield data
                elif mode == "messages":
                    chunk, metadata = data
                    if chunk.text and not isinstance(chunk, HumanMessage):
                        spoken.add(chunk.id)
                        yield piece(chunk.text, chunk.id, metadata)
                else:
                    updates = [update for update in data.values() if update]
                    failures += [update["failure"] for update in updates if update.get("failure")]
                    for reply in (one for update in updates for one in update.get("messages", ())):
                        new = reply.id in spoken - complete  # an erasure rewrites older ones
                        new = new and BEGUN not in reply.additional_kwargs
                        if isinstance(reply, AIMessage) and new:
                            complete.add(str(reply.id))
                            yield of_message(reply)


def _thread(chat: str) -> RunnableConfig:
    return {"configurable": {"thread_id": chat}}


async def _beginning(
    graph: ThoughtCycle, user: str, chat: str, message: HumanMessage | None, replaces: str | None
) -> RunnableConfig:
    """The checkpoint to start from: the newest, or an earlier one for another reply or an edit."""
    if message is None:
        return await _before_reply(graph, user, chat)
    if replaces is not None:
        return await _before_message(graph, user, chat, replaces)
    return _thread(chat)


async def _before_reply(graph: ThoughtCycle, user: str, chat: str) -> RunnableConfig:
    """The checkpoint at which the last turn had recalled and not yet decided."""
    later: StateSnapshot | None = None
    async for state in _states(graph, user, chat):
        if state.next == ("recall",) and later is not None:
            return later.config
        if state.next == ("__start__",):
            break
        later = state
    raise InputRefused("nothing_to_answer")


async def _before_message(graph: ThoughtCycle, user: str, chat: str, id: str) -> RunnableConfig:
    """The checkpoint of the run whose input was the message `id`."""
    async for state in _states(graph, user, chat):
        if state.next == ("__start__",):
            inputs = [task.result for task in state.tasks if isinstance(task.result, dict)]
            new = {message.id for values in inputs for message in values.get("messages", ())}
            if id in new and id not in {message.id for message in state.values.get("messages", ())}:
                return state.config
    raise InputRefused("edit_too_old")


async def _states(graph: ThoughtCycle, user: str, chat: str) -> AsyncIterator[StateSnapshot]:
    """The states of the chat, newest first; none of another user's."""
    async for state in graph.aget_state_history(_thread(chat)):
        if state.values.get("user_id", user) != user:
            return
        yield state

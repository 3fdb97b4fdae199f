"""Runs turns of the thought cycle over a process's resources; what the user says outlives an outage."""

import asyncio
from collections.abc import AsyncGenerator, AsyncIterator
from contextlib import aclosing
from dataclasses import replace
from typing import Any, NoReturn

from langchain_core.callbacks import Callbacks
from langchain_core.messages import HumanMessage
from langchain_core.runnables import RunnableConfig
from langgraph.types import StateSnapshot

from thoughtcycle.errors import InputRefused, StorageFailed, TurnKept
from thoughtcycle.graph.thought_cycle import ThoughtCycle, builder, compile_cycle
from thoughtcycle.memory.model import CycleMessage, utc_now
from thoughtcycle.memory.offline import SpooledTranscript
from thoughtcycle.nodes.actions.registry import discover
from thoughtcycle.nodes.base.context import Context
from thoughtcycle.nodes.base.envelope import Wire
from thoughtcycle.nodes.base.services import provider_of
from thoughtcycle.runtime.incognito import IncognitoChats
from thoughtcycle.runtime.resources import Resources
from thoughtcycle.runtime.streaming import stream


class TurnRunner:
    """Turns of any user in any chat; those of one chat have to come one after the other.

    The state of an incognito chat is kept in this process's memory and nowhere else.
    """

    def __init__(self, resources: Resources) -> None:
        self._memory = resources.services.memory
        services = replace(resources.services, single_user=None)  # whose turn it is, its context says
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

        With `replaces` the message takes the place of the one with that id, whose branch is left. Codes of
        failures that ended the turn politely are put into `failures`. Cancelled, it keeps what was said so
        far, marked as cut. Raises TurnKept where the state could not be kept but the
        message was (behind the chat's last one, also if it should have replaced another), InputRefused
        ('nothing_to_answer', 'edit_too_old') where the checkpoint to begin from is not there.
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
            await self._keep(context, chat, message, failure)
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

    async def _keep(
        self, context: Context, chat: str, message: HumanMessage, failure: StorageFailed
    ) -> NoReturn:
        """Has the message wait in the spool; raises TurnKept, or `failure` without one."""
        transcript = self._memory.transcript
        if not isinstance(transcript, SpooledTranscript) or not self._memory.availability.survives(failure):
            raise failure
        said = CycleMessage(id=str(message.id), role="user", text=message.text, at=utc_now())
        await transcript.keep_message(context.user_id, chat, said, channel=context.channel)
        raise TurnKept() from failure


def _thread(chat: str) -> RunnableConfig:
    return {"configurable": {"thread_id": chat}}


async def _beginning(
    graph: ThoughtCycle, user: str, chat: str, message: HumanMessage | None, replaces: str | None
) -> RunnableConfig:
    """The checkpoint from which the turn goes on; the thread itself for a message behind the last one."""
    if message is None:
        return (await _before_reply(graph, user, chat)).config
    if replaces is not None:
        return (await _before_message(graph, user, chat, replaces)).config
    return _thread(chat)


async def _before_reply(graph: ThoughtCycle, user: str, chat: str) -> StateSnapshot:
    """The state in which the last turn had recalled and not yet decided."""
    later: StateSnapshot | None = None
    async for state in _states(graph, user, chat):
        if state.next == ("recall",) and later is not None:
            return later
        if state.next == ("__start__",):
            break
        later = state
    raise InputRefused("nothing_to_answer")


async def _before_message(graph: ThoughtCycle, user: str, chat: str, id: str) -> StateSnapshot:
    """The state into which the message `id` came."""
    async for state in _states(graph, user, chat):
        known = {message.id for message in state.values.get("messages", ())}
        if state.next == ("__start__",) and id not in known and id in _brought(state):
            return state
    raise InputRefused("edit_too_old")


async def _states(graph: ThoughtCycle, user: str, chat: str) -> AsyncIterator[StateSnapshot]:
    """The states of the chat, newest first; none of another user's."""
    async for state in graph.aget_state_history(_thread(chat)):
        if state.values.get("user_id", user) != user:
            return
        yield state


def _brought(state: StateSnapshot) -> set[str | None]:
    """Ids of the messages that the run beginning at this state was given."""
    given = [task.result for task in state.tasks if isinstance(task.result, dict)]
    return {message.id for one in given for message in one.get("messages", ())}

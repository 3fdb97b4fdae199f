"""Runs turns of the graph in this process, one at a time per chat, whether or not anybody listens."""

import asyncio
import logging
from collections import OrderedDict
from collections.abc import AsyncGenerator, AsyncIterator
from contextlib import aclosing, suppress
from dataclasses import dataclass, field, replace
from typing import Any

from langchain_core.callbacks import UsageMetadataCallbackHandler
from langchain_core.messages import HumanMessage
from langchain_core.runnables import RunnableConfig
from langgraph.checkpoint.memory import InMemorySaver
from langgraph.types import StateSnapshot

from thoughtcycle.graph.resources import Resources
from thoughtcycle.graph.streaming import stream
from thoughtcycle.graph.thought_cycle import ThoughtCycle, builder, compile_cycle
from thoughtcycle.nodes.actions.registry import discover
from thoughtcycle.nodes.context import Context
from thoughtcycle.nodes.envelope import Wire
from thoughtcycle.nodes.services import lent
from thoughtcycle.prompts.errors import InputRefused, ThoughtcycleError
from thoughtcycle.web.limits import Budget

log = logging.getLogger(__name__)

INCOGNITO = 200
"""Incognito chats whose state is kept in memory; the oldest is dropped."""


@dataclass
class _Line:
    """Those who want to talk in one chat: one speaks, the others wait."""

    lock: asyncio.Lock = field(default_factory=asyncio.Lock)
    waiting: int = 0
    running: "asyncio.Task[None] | None" = None


class Turns:
    """The turns of all users on this event loop."""

    def __init__(self, resources: Resources, budget: Budget) -> None:
        self._resources = resources
        self._budget = budget
        self._graph = self._compiled(incognito=False)
        self._saver = InMemorySaver()
        self._incognito = self._compiled(incognito=True)
        self._kept: OrderedDict[str, None] = OrderedDict()
        self._lines: dict[tuple[str, str], _Line] = {}

    def _compiled(self, *, incognito: bool) -> ThoughtCycle:
        services = replace(self._resources.services, single_user=None)
        graph = builder(lent(services), actions=discover(self._resources.settings.disabled_actions))
        return compile_cycle(graph, self._saver if incognito else self._resources.checkpointer)

    @property
    def running(self) -> int:
        """Turns under way."""
        return sum(line.running is not None for line in self._lines.values())

    @property
    def waiting(self) -> int:
        """Turns that wait for the one before."""
        return sum(line.waiting for line in self._lines.values())

    def say(self, context: Context, chat: str, text: str, *, id: str) -> AsyncGenerator[Wire, None]:
        """What comes back for a message; InputRefused('chat_busy') when too many wait in this chat."""
        said = HumanMessage(text, id=id)
        config: RunnableConfig = {"configurable": {"thread_id": chat}}
        return self._run(context, chat, said, config)

    async def regenerate(self, context: Context, chat: str) -> AsyncGenerator[Wire, None]:
        """Another reply to the last message; InputRefused when there is none that can be answered anew."""
        before = await self._before_reply(context, chat)
        async with aclosing(self._run(context, chat, None, before.config)) as events:
            async for event in events:
                yield event

    async def edit(
        self, context: Context, chat: str, id: str, text: str, *, new_id: str
    ) -> AsyncGenerator[Wire, None]:
        """The reply to `text` in the place of the message `id`, whose branch is left.

        InputRefused('edit_too_old') when the checkpoints of that turn are gone.
        """
        before = await self._before_message(context, chat, id)
        said = HumanMessage(text, id=new_id)
        async with aclosing(self._run(context, chat, said, before.config)) as events:
            async for event in events:
                yield event

    async def stop(self, user: str, chat: str) -> bool:
        """Ends the turn that runs in the user's chat; what was said so far is kept, marked as cut."""
        line = self._lines.get((user, chat))
        if line is None or line.running is None:
            return False
        line.running.cancel()
        with suppress(asyncio.CancelledError):
            await asyncio.shield(line.running)
        return True

    async def stop_all(self, user: str) -> None:
        """Ends the turns that run in any chat of the user."""
        for chat in [chat for owner, chat in self._lines if owner == user]:
            await self.stop(user, chat)

    async def last(self, user: str, chat: str, *, incognito: bool = False) -> dict[str, Any]:
        """The state that the last turn of the user's chat left; {} without one."""
        graph = self._incognito if incognito else self._graph
        state = await graph.aget_state({"configurable": {"thread_id": chat}})
        return dict(state.values) if state.values.get("user_id") == user else {}

    async def aclose(self) -> None:
        """Stops all turns; each writes what it has said."""
        running = [line.running for line in self._lines.values() if line.running is not None]
        for task in running:
            task.cancel()
        await asyncio.gather(*running, return_exceptions=True)

    async def _run(
        self, context: Context, chat: str, message: HumanMessage | None, config: RunnableConfig
    ) -> AsyncGenerator[Wire, None]:
        """Listens to a turn that goes on when the listener leaves; raises what the turn fails with."""
        parts: asyncio.Queue[Wire | None] = asyncio.Queue()
        place = (context.user_id, chat)
        line = self._lines.setdefault(place, _Line())
        if line.waiting >= self._resources.settings.web.waiting:
            raise InputRefused("chat_busy")
        line.waiting += 1
        try:
            await line.lock.acquire()
        finally:
            line.waiting -= 1
        turn = asyncio.create_task(self._turn(context, chat, message, config, parts))
        line.running = turn
        turn.add_done_callback(lambda _: self._leave(place, line))
        turn.add_done_callback(_log)
        turn.add_done_callback(lambda _: parts.put_nowait(None))
        while (part := await parts.get()) is not None:
            yield part
        if not turn.cancelled() and (error := turn.exception()) is not None:
            raise error

    def _leave(self, place: tuple[str, str], line: _Line) -> None:
        line.running = None
        line.lock.release()
        if not line.waiting:
            self._lines.pop(place, None)

    async def _turn(
        self,
        context: Context,
        chat: str,
        message: HumanMessage | None,
        config: RunnableConfig,
        parts: "asyncio.Queue[Wire | None]",
    ) -> None:
        memory = self._resources.services.memory
        used = UsageMetadataCallbackHandler()
        config = {**config, "callbacks": [used]}
        try:
            async with aclosing(stream(self._graph_for(context), message, config, context, [])) as coming:
                async for part in coming:
                    parts.put_nowait(part)
        except asyncio.CancelledError:
            if not context.incognito:
                await memory.cut_short(context.user_id, chat)
            raise
        finally:
            tokens = sum(usage["total_tokens"] for usage in used.usage_metadata.values())
            self._budget.spend(context.user_id, tokens)
        if context.incognito:
            await self._keep_few(chat)
        else:
            await memory.finish_erasing(context.user_id)

    def _graph_for(self, context: Context) -> ThoughtCycle:
        return self._incognito if context.incognito else self._graph

    async def _keep_few(self, chat: str) -> None:
        self._kept[chat] = None
        self._kept.move_to_end(chat)
        if len(self._kept) > INCOGNITO:
            oldest, _ = self._kept.popitem(last=False)
            await self._saver.adelete_thread(oldest)

    async def _before_reply(self, context: Context, chat: str) -> StateSnapshot:
        """The state in which the last turn had recalled and not yet decided."""
        later: StateSnapshot | None = None
        async for state in self._states(context, chat):
            if state.next == ("recall",) and later is not None:
                return later
            if state.next == ("__start__",):
                break
            later = state
        raise InputRefused("nothing_to_answer")

    async def _before_message(self, context: Context, chat: str, id: str) -> StateSnapshot:
        """The state into which the message `id` came."""
        async for state in self._states(context, chat):
            known = {message.id for message in state.values.get("messages", ())}
            if state.next == ("__start__",) and id not in known and id in _brought(state):
                return state
        raise InputRefused("edit_too_old")

    async def _states(self, context: Context, chat: str) -> AsyncIterator[StateSnapshot]:
        """The states of the chat, newest first; none of another user's."""
        config: RunnableConfig = {"configurable": {"thread_id": chat}}
        async for state in self._graph_for(context).aget_state_history(config):
            if state.values.get("user_id", context.user_id) != context.user_id:
                return
            yield state


def _log(turn: "asyncio.Task[None]") -> None:
    """Why a turn failed: whoever listened may have left."""
    if not turn.cancelled() and (error := turn.exception()) is not None:
        known = isinstance(error, ThoughtcycleError)
        log.log(logging.INFO if known else logging.ERROR, "a turn failed: %s", type(error).__name__)


def _brought(state: StateSnapshot) -> set[str | None]:
    """Ids of the messages that the run beginning at this state was given."""
    given = [task.result for task in state.tasks if isinstance(task.result, dict)]
    return {message.id for one in given for message in one.get("messages", ())}

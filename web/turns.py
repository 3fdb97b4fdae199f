"""Runs turns of the graph in this process, one at a time per chat, whether or not anybody listens."""

import asyncio
import logging
from collections.abc import AsyncGenerator
from contextlib import aclosing
from dataclasses import dataclass, field
from typing import Any

from langchain_core.callbacks import UsageMetadataCallbackHandler
from langchain_core.messages import HumanMessage

from thoughtcycle.graph.resources import Resources
from thoughtcycle.graph.running import TurnRunner
from thoughtcycle.nodes.context import Context
from thoughtcycle.nodes.envelope import Wire
from thoughtcycle.prompts.errors import InputRefused, ThoughtcycleError
from thoughtcycle.web.limits import Budget

log = logging.getLogger(__name__)

Place = tuple[str, str]
"""User and chat."""


@dataclass
class _Line:
    """Those who want to talk in one chat: one speaks, the others wait."""

    lock: asyncio.Lock = field(default_factory=asyncio.Lock)
    waiting: int = 0
    running: "asyncio.Task[None] | None" = None
    over: bool = False
    """Those who wait are sent away."""


class Turns:
    """The turns of all users on this event loop."""

    def __init__(self, resources: Resources, budget: Budget) -> None:
        self._runner = TurnRunner(resources)
        self._waiting = resources.settings.web.waiting
        self._budget = budget
        self._lines: dict[Place, _Line] = {}
        self._closed = False

    @property
    def running(self) -> int:
        """Turns under way."""
        return sum(line.running is not None for line in self._lines.values())

    @property
    def waiting(self) -> int:
        """Turns that wait for the one before."""
        return sum(line.waiting for line in self._lines.values())

    def answering(self, user: str, chat: str) -> bool:
        """Whether a turn of the user's chat is under way or waits."""
        line = self._lines.get((user, chat))
        return line is not None and (line.running is not None or line.waiting > 0)

    def say(self, context: Context, chat: str, text: str, *, id: str) -> AsyncGenerator[Wire, None]:
        """What comes back for a message.

        InputRefused('chat_busy') when too many wait in this chat, 'chat_over' for one that still waits when
        the chat ends.
        """
        return self._run(context, chat, HumanMessage(text, id=id))

    def regenerate(self, context: Context, chat: str) -> AsyncGenerator[Wire, None]:
        """Another reply to the last message; InputRefused when there is none that can be answered anew."""
        return self._run(context, chat, None)

    def edit(
        self, context: Context, chat: str, id: str, text: str, *, new_id: str
    ) -> AsyncGenerator[Wire, None]:
        """The reply to `text` in the place of the message `id`, whose branch is left.

        InputRefused('edit_too_old') when the checkpoints of that turn are gone.
        """
        return self._run(context, chat, HumanMessage(text, id=new_id), id)

    async def stop(self, user: str, chat: str) -> bool:
        """Ends the turn that runs in the user's chat; what was said so far is kept, marked as cut."""
        line = self._lines.get((user, chat))
        if line is None or line.running is None:
            return False
        line.running.cancel()
        await asyncio.wait((line.running,))
        return True

    async def end(self, user: str, chat: str) -> None:
        """Stops the turn that runs in the user's chat, and sends away those who wait for it."""
        if (line := self._lines.get((user, chat))) is not None:
            line.over = True
            await self.stop(user, chat)

    async def leave(self, user: str) -> None:
        """Ends the user's chats, and forgets the incognito ones."""
        await asyncio.gather(*(self.end(*place) for place in list(self._lines) if place[0] == user))
        self._runner.drop(user)

    async def last(self, user: str, chat: str, *, incognito: bool = False) -> dict[str, Any]:
        """The state that the last turn of the user's chat left; {} without one."""
        return await self._runner.last(user, chat, incognito=incognito)

    async def aclose(self) -> None:
        """Stops all turns, each of which writes what it has said; none begins any more."""
        self._closed = True
        await asyncio.gather(*(self.end(*place) for place in list(self._lines)))

    async def _run(
        self, context: Context, chat: str, message: HumanMessage | None, replaces: str | None = None
    ) -> AsyncGenerator[Wire, None]:
        """Listens to a turn that goes on when the listener leaves; raises what the turn fails with."""
        parts: asyncio.Queue[Wire | None] = asyncio.Queue()
        if self._closed:
            raise InputRefused("chat_over")
        place = (context.user_id, chat)
        line = self._lines.setdefault(place, _Line())
        if line.waiting >= self._waiting:
            raise InputRefused("chat_busy")
        line.waiting += 1
        try:
            await line.lock.acquire()
        finally:
            line.waiting -= 1
            if not (line.waiting or line.lock.locked()):  # the last who waited has left
                self._lines.pop(place, None)
        if line.over:
            self._leave(place, line)
            raise InputRefused("chat_over")
        used = UsageMetadataCallbackHandler()
        coming = self._runner.turn(context, chat, message, replaces=replaces, callbacks=[used])
        turn = asyncio.create_task(self._turn(context.user_id, coming, used, parts))
        line.running = turn
        turn.add_done_callback(lambda _: self._leave(place, line))
        turn.add_done_callback(_log)
        turn.add_done_callback(lambda _: parts.put_nowait(None))
        while (part := await parts.get()) is not None:
            yield part
        if not turn.cancelled() and (error := turn.exception()) is not None:
            raise error

    def _leave(self, place: Place, line: _Line) -> None:
        line.running = None
        line.lock.release()
        if not line.waiting:
            self._lines.pop(place, None)

    async def _turn(
        self,
        user: str,
        coming: AsyncGenerator[Wire, None],
        used: UsageMetadataCallbackHandler,
        parts: "asyncio.Queue[Wire | None]",
    ) -> None:
        try:
            async with aclosing(coming):
                async for part in coming:
                    parts.put_nowait(part)
        finally:
            tokens = sum(usage["total_tokens"] for usage in used.usage_metadata.values())
            self._budget.spend(user, tokens)


def _log(turn: "asyncio.Task[None]") -> None:
    """Why a turn failed: whoever listened may have left."""
    if not turn.cancelled() and (error := turn.exception()) is not None:
        known = isinstance(error, ThoughtcycleError)
        log.log(logging.INFO if known else logging.ERROR, "a turn failed: %s", type(error).__name__)

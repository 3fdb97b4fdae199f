"""Runs turns of the graph in this process, one at a time per chat, listeners or not."""

import asyncio
import logging
from collections import Counter
from collections.abc import AsyncGenerator, AsyncIterator, Sequence
from contextlib import AbstractAsyncContextManager, aclosing, asynccontextmanager
from dataclasses import dataclass, field
from typing import Any

from langchain_core.messages import HumanMessage

from thoughtcycle.errors import ChatBusy, ChatOver, StorageFailed, ThoughtcycleError
from thoughtcycle.nodes.base.context import Context
from thoughtcycle.nodes.base.envelope import Wire, whole
from thoughtcycle.runtime.resources import Resources
from thoughtcycle.runtime.turn_runner import TurnRunner
from thoughtcycle.web.auth.limits import TokenBudget
from thoughtcycle.web.server.tokens import TokenCount

log = logging.getLogger(__name__)

ChatKey = tuple[str, str]
"""User and chat."""


@dataclass(frozen=True)
class PendingMessage:
    """A message that is being answered."""

    id: str
    text: str
    replaces: str | None
    """Id of the earlier message in whose place it is said."""


@dataclass(eq=False)
class _Turn:
    """The published parts of a turn; every listener gets all of them, however late."""

    said: PendingMessage | None
    """None for another reply to the last message."""
    incognito: bool
    task: "asyncio.Task[None]" = field(init=False)
    _parts: list[Wire] = field(default_factory=list)
    _changed: asyncio.Event = field(default_factory=asyncio.Event)

    def publish(self, part: Wire) -> None:
        """Adds a part."""
        self._parts.append(part)
        self.notify()

    def notify(self) -> None:
        """Wakes the listeners."""
        self._changed.set()
        self._changed = asyncio.Event()

    async def stream(self) -> AsyncGenerator[Wire, None]:
        """All parts as they come; raises what the turn fails with."""
        place = 0
        while place < len(self._parts) or not self.task.done():
            if place == len(self._parts):
                await self._changed.wait()
                continue
            yield self._parts[place]
            place += 1
        if not self.task.cancelled() and (error := self.task.exception()) is not None:
            raise error


@dataclass
class _ChatQueue:
    """The turns of one chat: one runs, the others wait."""

    lock: asyncio.Lock = field(default_factory=asyncio.Lock)
    turns: list[_Turn] = field(default_factory=list)
    running: _Turn | None = None
    stopping: bool = False
    """Whether the running turn was told to stop."""

    @property
    def waiting(self) -> int:
        return len(self.turns) - (self.running is not None)

    def find(self, said: PendingMessage) -> _Turn | None:
        """The turn of this message, if it was sent before."""
        return next((turn for turn in self.turns if turn.said == said), None)

    async def stop(self) -> bool:
        """Ends the turn that runs; one that is ending already is not disturbed."""
        if (turn := self.running) is None:
            return False
        if not self.stopping:
            self.stopping = True
            turn.task.cancel()
        await asyncio.wait((turn.task,))
        return True


class TurnQueues:
    """The turns of all users on this event loop."""

    def __init__(self, resources: Resources, budget: TokenBudget) -> None:
        self._runner = TurnRunner(resources)
        self._memory = resources.services.memory
        self._waiting = resources.settings.web.waiting
        self._budget = budget
        self._queues: dict[ChatKey, _ChatQueue] = {}
        self._closed: Counter[tuple[str | None, str | None]] = Counter()
        """Closed chats, counted: a user's chat, all of a user's (None), all of all users (None, None)."""

    @property
    def running(self) -> int:
        """Turns under way."""
        return sum(line.running is not None for line in self._queues.values())

    @property
    def waiting(self) -> int:
        """Turns that wait for the one before."""
        return sum(line.waiting for line in self._queues.values())

    def is_busy(self, user: str, chat: str) -> bool:
        """Whether a turn of the user's chat is under way or waits."""
        return (user, chat) in self._queues

    def pending(self, user: str, chat: str) -> list[PendingMessage | None]:
        """The messages of the running and waiting turns of the user's chat, in order.

        None for another reply, and for what is said incognito.
        """
        line = self._queues.get((user, chat))
        return [None if turn.incognito else turn.said for turn in line.turns] if line else []

    def say(self, context: Context, chat: str, text: str, *, id: str) -> AsyncGenerator[Wire, None]:
        """The reply to a message, part by part.

        ChatBusy when too many wait in this chat, ChatOver for one that still waits when
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
        line = self._queues.get((user, chat))
        return line is not None and await line.stop()

    def closing_chat(self, user: str, chat: str) -> AbstractAsyncContextManager[None]:
        """Closes a chat within the block: stops its turn, refuses waiting and new ones."""
        return self._closing(user, chat)

    @asynccontextmanager
    async def closing_user(self, user: str) -> AsyncIterator[None]:
        """Closes all chats of the user within the block; the incognito ones are forgotten."""
        async with self._closing(user):
            self._runner.drop(user)
            yield

    async def last(self, user: str, chat: str, *, incognito: bool = False) -> dict[str, Any]:
        """The state that the last turn of the user's chat left; {} without one."""
        return await self._runner.last(user, chat, incognito=incognito)

    async def aclose(self) -> None:
        """Stops all turns, each of which writes what it has said; none begins any more."""
        self._closed[None, None] += 1
        await self._wait_until_empty(list(self._queues.values()))

    @asynccontextmanager
    async def _closing(self, user: str, chat: str | None = None) -> AsyncIterator[None]:
        self._closed[user, chat] += 1
        try:
            places = [place for place in self._queues if place[0] == user and chat in (None, place[1])]
            await self._wait_until_empty([self._queues[place] for place in places])
            yield
        finally:
            self._closed[user, chat] -= 1
            self._closed += Counter()  # drops what is at zero

    async def _wait_until_empty(self, lines: Sequence[_ChatQueue]) -> None:
        """Stops the running turns of closed queues, and waits until the others are refused."""
        await asyncio.gather(*(line.stop() for line in lines))
        if turns := [turn.task for line in lines for turn in line.turns]:
            await asyncio.wait(turns)

    def _check_open(self, user: str, chat: str) -> None:
        if any(self._closed[quiet] for quiet in ((user, chat), (user, None), (None, None))):
            raise ChatOver()

    async def _run(
        self, context: Context, chat: str, message: HumanMessage | None, replaces: str | None = None
    ) -> AsyncGenerator[Wire, None]:
        """Listens to a turn that waits and runs even when the listener leaves; raises what it fails with."""
        async with aclosing(self._start(context, chat, message, replaces).stream()) as parts:
            async for part in parts:
                yield part

    def _start(
        self, context: Context, chat: str, message: HumanMessage | None, replaces: str | None
    ) -> _Turn:
        """Enqueues a turn; returns the existing one of a message that was sent before."""
        place = (context.user_id, chat)
        self._check_open(*place)
        line = self._queues.setdefault(place, _ChatQueue())
        said = PendingMessage(str(message.id), str(message.text), replaces) if message is not None else None
        if said is not None and (turn := line.find(said)) is not None:
            return turn
        if len(line.turns) > self._waiting:  # one of them runs
            raise ChatBusy()
        turn = _Turn(said, context.incognito)
        turn.task = asyncio.create_task(self._run_in_order(line, turn, context, chat, message, replaces))
        line.turns.append(turn)
        turn.task.add_done_callback(lambda _: self._leave(place, line, turn))
        turn.task.add_done_callback(_log)
        return turn

    def _leave(self, place: ChatKey, line: _ChatQueue, turn: _Turn) -> None:
        line.turns.remove(turn)
        if not line.turns:
            self._queues.pop(place, None)
        turn.notify()

    async def _run_in_order(
        self,
        line: _ChatQueue,
        turn: _Turn,
        context: Context,
        chat: str,
        message: HumanMessage | None,
        replaces: str | None,
    ) -> None:
        user, used = context.user_id, TokenCount()
        async with line.lock:
            self._check_open(user, chat)
            self._budget.check(user)
            line.running, line.stopping = turn, False
            try:
                if replies := await self._stored_replies(context, chat, turn.said):
                    for reply in replies:
                        turn.publish(reply)
                    return
                coming = self._runner.turn(context, chat, message, replaces=replaces, callbacks=[used])
                async with aclosing(coming):
                    async for part in coming:
                        turn.publish(part)
                        if line.stopping:  # a driver now and then keeps a cancellation to itself
                            turn.task.cancel()
            finally:
                line.running = None
                self._budget.spend(user, used.total)

    async def _stored_replies(self, context: Context, chat: str, said: PendingMessage | None) -> list[Wire]:
        """The stored replies to a message that is sent again after it was answered."""
        if said is None or context.incognito:
            return []
        try:
            cycle = await self._memory.answered(context.user_id, chat, said.id)
        except StorageFailed:  # the turn goes on without memory, and says so
            return []
        if cycle is None or cycle.message.text != said.text.strip():  # an id used twice is refused
            return []
        return [whole(reply) for reply in cycle.replies]


def _log(turn: "asyncio.Task[None]") -> None:
    """Logs the failure of a turn: its listener may have left."""
    if not turn.cancelled() and (error := turn.exception()) is not None:
        known = isinstance(error, ThoughtcycleError)
        log.log(logging.INFO if known else logging.ERROR, "a turn failed: %s", type(error).__name__)

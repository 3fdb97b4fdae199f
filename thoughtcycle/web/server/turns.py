"""Runs turns of the graph, one at a time per chat; a turn goes on when its listener leaves."""

import asyncio
import logging
from collections import Counter
from collections.abc import AsyncGenerator, AsyncIterator, Sequence
from contextlib import aclosing, asynccontextmanager
from dataclasses import dataclass, field
from typing import Any

from langchain_core.callbacks import UsageMetadataCallbackHandler
from langchain_core.messages import HumanMessage

from thoughtcycle.errors import ChatBusy, ChatOver, StorageFailed, ThoughtcycleError
from thoughtcycle.nodes.base.context import Context
from thoughtcycle.nodes.base.envelope import Wire, whole
from thoughtcycle.runtime.resources import Resources
from thoughtcycle.runtime.turn_runner import TurnRunner
from thoughtcycle.web.auth.limits import TokenBudget

log = logging.getLogger(__name__)

ChatKey = tuple[str, str]
"""User and chat."""


class TokenCount(UsageMetadataCallbackHandler):
    """Adds up the tokens of a turn's model calls.

    It is called on the event loop, and not for every step: LangChain gives every event of a handler that does
    not say so to a thread, thirty in a turn, and to one without `on_chat_model_start` the prompt as text.
    """

    run_inline = True

    @property
    def ignore_chain(self) -> bool:
        """True: steps of a graph have no tokens."""
        return True

    @property
    def ignore_chat_model(self) -> bool:
        """True: the tokens are told at the end of a call."""
        return True

    @property
    def total(self) -> int:
        """Tokens of all calls that have ended."""
        return sum(usage["total_tokens"] for usage in self.usage_metadata.values())


@dataclass(frozen=True)
class PendingMessage:
    """A message that is being answered."""

    id: str
    text: str
    replaces: str | None
    """Id of the earlier message in whose place it is said."""


@dataclass(eq=False)
class _Turn:
    """A turn and its published parts; every listener gets all of them, however late."""

    context: Context
    chat: str
    pending: PendingMessage | None
    """None for another reply to the last message."""
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
        sent = 0
        while sent < len(self._parts) or not self.task.done():
            if sent == len(self._parts):
                await self._changed.wait()
                continue
            yield self._parts[sent]
            sent += 1
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

    async def stop(self) -> bool:
        """Stops the running turn; does not cancel it again while it stops."""
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
        return sum(queue.running is not None for queue in self._queues.values())

    @property
    def waiting(self) -> int:
        """Turns that wait for the one before."""
        return sum(queue.waiting for queue in self._queues.values())

    def is_busy(self, user: str, chat: str) -> bool:
        """Whether a turn of the user's chat is under way or waits."""
        return (user, chat) in self._queues

    def pending(self, user: str, chat: str) -> list[PendingMessage | None]:
        """The messages of the running and waiting turns of the user's chat, in order.

        None for another reply, and for an incognito message.
        """
        queue = self._queues.get((user, chat))
        return [None if turn.context.incognito else turn.pending for turn in queue.turns] if queue else []

    def say(self, context: Context, chat: str, text: str, *, id: str) -> AsyncGenerator[Wire, None]:
        """The reply to a message, part by part.

        ChatBusy when too many wait in this chat, ChatOver for one that still waits when
        the chat ends.
        """
        return self._run(context, chat, PendingMessage(id, text, None))

    def regenerate(self, context: Context, chat: str) -> AsyncGenerator[Wire, None]:
        """Another reply to the last message; InputRefused when there is none that can be answered anew."""
        return self._run(context, chat, None)

    def edit(
        self, context: Context, chat: str, id: str, text: str, *, new_id: str
    ) -> AsyncGenerator[Wire, None]:
        """The reply to `text` in the place of the message `id`, on a new branch.

        InputRefused('edit_too_old') when the checkpoints of that turn are gone.
        """
        return self._run(context, chat, PendingMessage(new_id, text, id))

    async def stop(self, user: str, chat: str) -> bool:
        """Stops the running turn of the user's chat, which stores the reply so far, marked as cut."""
        queue = self._queues.get((user, chat))
        return queue is not None and await queue.stop()

    @asynccontextmanager
    async def closing_chat(self, user: str, chat: str | None) -> AsyncIterator[None]:
        """Closes a chat (None: all of the user's) within the block: stops its turn, refuses others."""
        self._closed[user, chat] += 1
        try:
            keys = [key for key in self._queues if key[0] == user and chat in (None, key[1])]
            await self._wait_until_empty([self._queues[key] for key in keys])
            yield
        finally:
            self._closed[user, chat] -= 1
            self._closed += Counter()  # drops what is at zero

    @asynccontextmanager
    async def closing_user(self, user: str) -> AsyncIterator[None]:
        """Closes all chats of the user within the block; the incognito ones are forgotten."""
        async with self.closing_chat(user, None):
            self._runner.drop(user)
            yield

    async def last(self, user: str, chat: str, *, incognito: bool = False) -> dict[str, Any]:
        """The state that the last turn of the user's chat left; {} without one."""
        return await self._runner.last(user, chat, incognito=incognito)

    async def aclose(self) -> None:
        """Stops all turns, each of which stores its reply so far; none begins any more."""
        self._closed[None, None] += 1
        await self._wait_until_empty(list(self._queues.values()))

    async def _wait_until_empty(self, queues: Sequence[_ChatQueue]) -> None:
        """Stops the running turns of closed queues, and waits until the others are refused."""
        await asyncio.gather(*(queue.stop() for queue in queues))
        if tasks := [turn.task for queue in queues for turn in queue.turns]:
            await asyncio.wait(tasks)

    def _check_open(self, user: str, chat: str) -> None:
        if any(self._closed[key] for key in ((user, chat), (user, None), (None, None))):
            raise ChatOver()

    async def _run(
        self, context: Context, chat: str, pending: PendingMessage | None
    ) -> AsyncGenerator[Wire, None]:
        """Streams a turn, which runs on when the listener leaves; raises what it fails with."""
        async with aclosing(self._start(context, chat, pending).stream()) as parts:
            async for part in parts:
                yield part

    def _start(self, context: Context, chat: str, pending: PendingMessage | None) -> _Turn:
        """Enqueues a turn; returns the existing one of a message that was sent before."""
        key = (context.user_id, chat)
        self._check_open(*key)
        queue = self._queues.setdefault(key, _ChatQueue())
        for turn in queue.turns:
            if pending is not None and turn.pending == pending:
                return turn
        if len(queue.turns) > self._waiting:  # one of them runs
            raise ChatBusy()
        turn = _Turn(context, chat, pending)
        turn.task = asyncio.create_task(self._run_in_order(queue, turn))
        queue.turns.append(turn)
        turn.task.add_done_callback(lambda _: self._leave(key, queue, turn))
        turn.task.add_done_callback(_log)
        return turn

    def _leave(self, key: ChatKey, queue: _ChatQueue, turn: _Turn) -> None:
        queue.turns.remove(turn)
        if not queue.turns:
            self._queues.pop(key, None)
        turn.notify()

    async def _run_in_order(self, queue: _ChatQueue, turn: _Turn) -> None:
        user, used = turn.context.user_id, TokenCount()
        async with queue.lock:
            self._check_open(user, turn.chat)
            self._budget.check(user)
            queue.running, queue.stopping = turn, False
            try:
                async with aclosing(self._stream(turn, used)) as parts:
                    async for part in parts:
                        turn.publish(part)
                        if queue.stopping:  # a driver now and then keeps a cancellation to itself
                            turn.task.cancel()
            finally:
                queue.running = None
                self._budget.spend(user, used.total)

    async def _stream(self, turn: _Turn, used: TokenCount) -> AsyncGenerator[Wire, None]:
        """The parts of a turn; of a message that was answered before, its stored replies."""
        context, chat, pending = turn.context, turn.chat, turn.pending
        if replies := await self._stored_replies(context, chat, pending):
            for reply in replies:
                yield reply
            return
        message = HumanMessage(pending.text, id=pending.id) if pending is not None else None
        replaces = pending.replaces if pending is not None else None
        running = self._runner.turn(context, chat, message, replaces=replaces, callbacks=[used])
        async with aclosing(running) as parts:
            async for part in parts:
                yield part

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

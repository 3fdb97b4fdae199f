"""Runs turns of the graph in this process, one at a time per chat, whether or not anybody listens."""

import asyncio
import logging
from collections import Counter
from collections.abc import AsyncGenerator, AsyncIterator, Sequence
from contextlib import AbstractAsyncContextManager, aclosing, asynccontextmanager
from dataclasses import dataclass, field
from typing import Any

from langchain_core.messages import HumanMessage

from thoughtcycle.graph.resources import Resources
from thoughtcycle.graph.running import TurnRunner
from thoughtcycle.nodes.context import Context
from thoughtcycle.nodes.envelope import Wire, whole
from thoughtcycle.prompts.errors import InputRefused, StorageFailed, ThoughtcycleError
from thoughtcycle.web.limits import Budget
from thoughtcycle.web.tokens import TokenCount

log = logging.getLogger(__name__)

Place = tuple[str, str]
"""User and chat."""


@dataclass(frozen=True)
class Said:
    """A message that is being answered."""

    id: str
    text: str
    replaces: str | None
    """Id of the earlier message in whose place it is said."""


@dataclass(eq=False)
class _Turn:
    """What a turn has told so far: whoever listens hears all of it, however late, and however many listen."""

    said: Said | None
    """None where it is another reply to what was said."""
    incognito: bool
    task: "asyncio.Task[None]" = field(init=False)
    _told: list[Wire] = field(default_factory=list)
    _news: asyncio.Event = field(default_factory=asyncio.Event)

    def tell(self, part: Wire) -> None:
        """Adds a part."""
        self._told.append(part)
        self.wake()

    def wake(self) -> None:
        """Has the listeners look again."""
        self._news.set()
        self._news = asyncio.Event()

    async def heard(self) -> AsyncGenerator[Wire, None]:
        """All parts as they come; raises what the turn fails with."""
        place = 0
        while place < len(self._told) or not self.task.done():
            if place == len(self._told):
                await self._news.wait()
                continue
            yield self._told[place]
            place += 1
        if not self.task.cancelled() and (error := self.task.exception()) is not None:
            raise error


@dataclass
class _Line:
    """The turns of one chat: one runs, the others wait."""

    lock: asyncio.Lock = field(default_factory=asyncio.Lock)
    turns: list[_Turn] = field(default_factory=list)
    running: _Turn | None = None
    stopping: bool = False
    """Whether what runs was told to end."""

    @property
    def waiting(self) -> int:
        return len(self.turns) - (self.running is not None)

    def saying(self, said: Said) -> _Turn | None:
        """The turn of this message, which was sent before."""
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


class Turns:
    """The turns of all users on this event loop."""

    def __init__(self, resources: Resources, budget: Budget) -> None:
        self._runner = TurnRunner(resources)
        self._memory = resources.services.memory
        self._waiting = resources.settings.web.waiting
        self._budget = budget
        self._lines: dict[Place, _Line] = {}
        self._quiet: Counter[tuple[str | None, str | None]] = Counter()
        """Where no turn begins: a user's chat, all of a user's (None), everywhere (None, None)."""

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
        return (user, chat) in self._lines

    def under_way(self, user: str, chat: str) -> list[Said | None]:
        """What each turn of the user's chat answers that runs or waits, in their order.

        None for another reply, and for what is said incognito.
        """
        line = self._lines.get((user, chat))
        return [None if turn.incognito else turn.said for turn in line.turns] if line else []

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
        return line is not None and await line.stop()

    def ended(self, user: str, chat: str) -> AbstractAsyncContextManager[None]:
        """Within it nothing is said in this chat: what runs is stopped, what waits or comes is refused."""
        return self._silence(user, chat)

    @asynccontextmanager
    async def left(self, user: str) -> AsyncIterator[None]:
        """`ended` for all chats of the user; the incognito ones are forgotten."""
        async with self._silence(user):
            self._runner.drop(user)
            yield

    async def last(self, user: str, chat: str, *, incognito: bool = False) -> dict[str, Any]:
        """The state that the last turn of the user's chat left; {} without one."""
        return await self._runner.last(user, chat, incognito=incognito)

    async def aclose(self) -> None:
        """Stops all turns, each of which writes what it has said; none begins any more."""
        self._quiet[None, None] += 1
        await self._all_ended(list(self._lines.values()))

    @asynccontextmanager
    async def _silence(self, user: str, chat: str | None = None) -> AsyncIterator[None]:
        self._quiet[user, chat] += 1
        try:
            places = [place for place in self._lines if place[0] == user and chat in (None, place[1])]
            await self._all_ended([self._lines[place] for place in places])
            yield
        finally:
            self._quiet[user, chat] -= 1
            self._quiet += Counter()  # drops what is at zero

    async def _all_ended(self, lines: Sequence[_Line]) -> None:
        """Where nobody may begin any more: until what runs has stopped and what waits was refused."""
        await asyncio.gather(*(line.stop() for line in lines))
        if turns := [turn.task for line in lines for turn in line.turns]:
            await asyncio.wait(turns)

    def _admit(self, user: str, chat: str) -> None:
        if any(self._quiet[quiet] for quiet in ((user, chat), (user, None), (None, None))):
            raise InputRefused("chat_over")

    async def _run(
        self, context: Context, chat: str, message: HumanMessage | None, replaces: str | None = None
    ) -> AsyncGenerator[Wire, None]:
        """Listens to a turn that waits and runs even when the listener leaves; raises what it fails with."""
        async with aclosing(self._begun(context, chat, message, replaces).heard()) as parts:
            async for part in parts:
                yield part

    def _begun(
        self, context: Context, chat: str, message: HumanMessage | None, replaces: str | None
    ) -> _Turn:
        """The turn, at the end of its line; that of the same message where this was sent before."""
        place = (context.user_id, chat)
        self._admit(*place)
        line = self._lines.setdefault(place, _Line())
        said = Said(str(message.id), str(message.text), replaces) if message is not None else None
        if said is not None and (turn := line.saying(said)) is not None:
            return turn
        if len(line.turns) > self._waiting:  # one of them runs
            raise InputRefused("chat_busy")
        turn = _Turn(said, context.incognito)
        turn.task = asyncio.create_task(self._in_line(line, turn, context, chat, message, replaces))
        line.turns.append(turn)
        turn.task.add_done_callback(lambda _: self._leave(place, line, turn))
        turn.task.add_done_callback(_log)
        return turn

    def _leave(self, place: Place, line: _Line, turn: _Turn) -> None:
        line.turns.remove(turn)
        if not line.turns:
            self._lines.pop(place, None)
        turn.wake()

    async def _in_line(
        self,
        line: _Line,
        turn: _Turn,
        context: Context,
        chat: str,
        message: HumanMessage | None,
        replaces: str | None,
    ) -> None:
        user, used = context.user_id, TokenCount()
        async with line.lock:
            self._admit(user, chat)
            self._budget.check(user)
            line.running, line.stopping = turn, False
            try:
                if replies := await self._given(context, chat, turn.said):
                    for reply in replies:
                        turn.tell(reply)
                    return
                coming = self._runner.turn(context, chat, message, replaces=replaces, callbacks=[used])
                async with aclosing(coming):
                    async for part in coming:
                        turn.tell(part)
                        if line.stopping:  # a driver now and then keeps a cancellation to itself
                            turn.task.cancel()
            finally:
                line.running = None
                self._budget.spend(user, used.total)

    async def _given(self, context: Context, chat: str, said: Said | None) -> list[Wire]:
        """The replies to a message that was answered already, and is sent again: its client heard none."""
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
    """Why a turn failed: whoever listened may have left."""
    if not turn.cancelled() and (error := turn.exception()) is not None:
        known = isinstance(error, ThoughtcycleError)
        log.log(logging.INFO if known else logging.ERROR, "a turn failed: %s", type(error).__name__)

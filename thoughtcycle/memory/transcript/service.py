"""The transcript: chats, their cycles, and which branch of a chat is live."""

from asyncio import gather
from collections.abc import Callable, Collection, Iterable, Sequence
from datetime import datetime, timedelta
from functools import partial
from typing import Literal

from thoughtcycle.errors import NotAllowed
from thoughtcycle.memory.conversation import Conversations
from thoughtcycle.memory.core import Core, owned
from thoughtcycle.memory.model import (
    Conversation,
    Cycle,
    CycleMessage,
    MemoryRecord,
    Step,
    Variant,
    storable,
    without_null,
)
from thoughtcycle.memory.rules import reply_text
from thoughtcycle.memory.storage import Amended, Write
from thoughtcycle.memory.versioning import (
    ABANDONED,
    Keys,
    branch_writes,
    closed_cycle,
    closed_early,
    live_path,
    new_cycle,
    path_from_tip,
    recorded_cycle,
    with_progress,
)

_LAST = 4
"""Exchanges among which a message is looked for that is sent again."""
_LATE = 100
"""Late cycles in a row behind which a chat goes on."""


class Transcript:
    """Every exchange, kept once; only erasure redacts it (BY-1)."""

    def __init__(self, core: Core, conversations: Conversations) -> None:
        self._core = core
        self._conversations = conversations
        self._clock = core.clock
        self._branches = core.branches
        self._masks = core.redactors
        self._model = core.model
        self._indexes = core.memory_indexes
        self._storage = core.storage
        self.queue = core.queue

    async def claim_chat(self, user: str, chat: str) -> Conversation:
        """The chat, which is this user's from now on; raises NotAllowed('chat_of_another') if it is not."""
        conversation = await self._storage.chats.claim(chat, owned(user), self._clock())
        if conversation.user != user:
            raise NotAllowed("chat_of_another")
        return conversation

    async def check_chat(self, user: str, chat: str) -> None:
        """Raises NotAllowed('chat_of_another') when the chat is another user's; writes nothing."""
        if await self._storage.chats.owner(chat) not in (None, owned(user)):
            raise NotAllowed("chat_of_another")

    async def open_cycle(
        self,
        user: str,
        chat: str,
        message: CycleMessage,
        *,
        parent: str | None,
        channel: str,
        follow: bool = False,
    ) -> Cycle:
        """The cycle of this message, stored before anything is answered; the same call gives the same cycle.

        With `follow` its parent is the end of the chat's live branch, instead of `parent`: the same call
        gives the same cycle until that is closed, then one behind it. Where it leaves
        the live branch, the memories of the part left are hidden (`settle_branches`). What a crash left open
        in this chat is closed first, marked as cut. Raises NotAllowed('chat_of_another'), InputRefused as
        `storable`.
        """
        storable(message.text)
        now = self._clock()

        def cycle(conversation: Conversation) -> Cycle:
            before = conversation.tip if follow else parent
            return new_cycle(user, chat, message, parent=before, channel=channel, at=now)

        return await self.begin(user, chat, cycle)

    async def begin(self, user: str, chat: str, make: Callable[[Conversation], Cycle]) -> Cycle:
        """Stores the cycle that `make` makes of the chat; see open_cycle."""
        begun = await self._storage.transcript.begin(owned(user), chat, self._clock(), make)
        if begun.cycle is None:
            raise NotAllowed("chat_of_another")
        for left in begun.interrupted:
            if left.id != begun.cycle.id:
                await self.cut_off(left)
        if begun.cycle.parent == begun.conversation.tip:
            return begun.cycle
        if (joined := await self._joined(begun.cycle, begun.conversation)) is not None:
            return joined
        await self.settle_branches(user, chat, begun.cycle.id)
        return begun.cycle

    async def _joined(self, cycle: Cycle, chat: Conversation) -> Cycle | None:
        """The new cycle at the end of the live branch, where late cycles stand there that its thread lacks.

        It lost its state together with them (an outage took both), and did not branch off: it goes on from
        what they follow, or from what stood there before they took its place.
        """
        if cycle.closed or chat.tip is None:
            return None
        parent: str | None = chat.tip
        for before in await self._storage.transcript.path(cycle.user, cycle.chat, chat.tip, limit=_LATE):
            if not before.late or parent == cycle.parent:
                break
            parent = before.parent
        if parent == chat.tip:
            return None
        if parent != cycle.parent:
            seen = live_path(await self._storage.transcript.links(cycle.user, [cycle.chat]), cycle.parent)
            if cycle.parent is None or not (parent is None or parent in seen):
                return None

        def onto_tip(cycle: Cycle) -> Cycle:
            return cycle.model_copy(update={"parent": chat.tip})

        return (await self.amend(cycle.user, cycle.id, onto_tip, tip=False)).cycle

    async def append(
        self, user: str, cycle_id: str, execution: str, step: Step, text: CycleMessage | None
    ) -> None:
        """Keeps what an action did and showed; a repeated run replaces what it wrote before."""
        change = partial(with_progress, execution=execution, step=step, text=text, at=self._clock())
        await self.amend(user, cycle_id, change, tip=False)

    async def close_cycle(
        self,
        user: str,
        cycle_id: str,
        *,
        execution: str,
        messages: Sequence[CycleMessage],
        steps: Sequence[Step],
        cut: bool = False,
        formation: Literal["none", "pending"] = "pending",
        shown: Sequence[str] = (),
    ) -> Cycle | None:
        """Adds this execution's reply (a repeated run replaces it) and makes the cycle the chat's tip.

        What was said after it on the live branch, or beside it meanwhile, is abandoned. `shown`: the
        memories that were given unasked. None where it waits for the database.
        """
        variant = Variant(
            execution=execution,
            messages=tuple(messages),
            steps=tuple(steps),
            at=self._clock(),
            cut=cut,
            shown=tuple(shown),
        )
        return await self.close(user, cycle_id, variant, formation=formation, tip=True)

    async def close(
        self, user: str, cycle_id: str, variant: Variant, *, formation: Literal["none", "pending"], tip: bool
    ) -> Cycle:
        """Adds a variant; see close_cycle."""
        change = partial(closed_cycle, variant=variant, formation=formation)
        amended = await self.amend(user, cycle_id, change, tip=tip)
        anew = [cycle_id] if len(amended.cycle.variants) > 1 else []
        if tip and (anew or amended.tip not in (cycle_id, amended.cycle.parent)):
            await self.settle_branches(user, amended.cycle.chat, cycle_id, anew=anew)
        self.queue.wake_soon()
        return amended.cycle

    async def record_cycle(
        self,
        user: str,
        chat: str,
        user_text: str,
        reply_text: str,
        *,
        at: datetime,
        channel: str,
        user_name: str | None = None,
        reply_name: str | None = None,
        formation: Literal["none", "pending"] = "pending",
    ) -> Cycle:
        """Keeps a complete cycle that took place elsewhere as the chat's newest; the same call adds one only.

        `at` is when it was said; either text may be empty, where only one of the two spoke. `formation`
        pending: what is worth remembering is taken from it later. Raises NotAllowed('chat_of_another').
        """
        await self.claim_chat(user, chat)
        cycle = recorded_cycle(
            user,
            chat,
            (without_null(user_text), user_name),
            (without_null(reply_text), reply_name),
            at=at,
            channel=channel,
            formation=formation,
        )
        return await self._storage.transcript.append_cycle(cycle)

    async def cycle(self, user: str, id: str) -> Cycle | None:
        """One cycle, without the words of what the user has deleted; None when there is none of this id."""
        found, mask = await gather(self._storage.transcript.cycle(owned(user), id), self._masks.of(user))
        return found and mask.cycle(found)

    async def cycles(self, user: str, ids: Sequence[str]) -> list[Cycle]:
        """These cycles, in any order, without the words of what the user has deleted."""
        if not ids:
            return []
        found, mask = await gather(self._storage.transcript.cycles(owned(user), ids), self._masks.of(user))
        return [mask.cycle(cycle) for cycle in found]

    async def branch(self, user: str, chat: str) -> list[str]:
        """Ids of the cycles on the chat's live branch, oldest first; reads the links of the whole chat."""
        tip = (await self.claim_chat(user, chat)).tip  # first: whatever it is by then, its links are there
        return path_from_tip(await self._storage.transcript.links(user, [chat]), tip)[::-1]

    async def is_live(self, user: str, chat: str, cycle: str) -> bool:
        """Whether a cycle is on the chat's live branch; as a rule it is the end of it, and little is read."""
        tip = (await self.claim_chat(user, chat)).tip
        return await self._branches.contains(user, chat, tip, cycle)

    async def left_behind(self, user: str, chat: str, cycle: Cycle) -> frozenset[str]:
        """The cycles of the chat that do not lead to this open one, since an earlier message was edited.

        As a rule there are none, and little is read; else the links of the whole chat.
        """
        known = await self._storage.chats.conversation(owned(user), chat)
        if known is None or known.tip in (None, cycle.id, cycle.parent):
            return frozenset()
        links = await self._storage.transcript.links(user, [chat])
        return frozenset(links.keys() - live_path(links, cycle.parent))

    async def conversation(
        self, user: str, chat: str, *, limit: int = 2, tip: str | None = None
    ) -> list[Cycle]:
        """The last `limit` closed cycles on the path to `tip` (None: the chat's), oldest first.

        Without the words of what the user has deleted.
        """
        if tip is None:
            tip = (await self.claim_chat(user, chat)).tip
        if tip is None or limit < 1:
            return []
        path = self._storage.transcript.path(owned(user), chat, tip, limit=limit)
        found, mask = await gather(path, self._masks.of(user))
        return [mask.cycle(cycle) for cycle in reversed(found)]

    async def answered(self, user: str, chat: str, message: str) -> Cycle | None:
        """The cycle in which the message of this id got its whole reply, among the chat's last few.

        None where there is none. Without the words of what the user has deleted.
        """
        known = await self._storage.chats.conversation(owned(user), chat)
        if known is None or known.tip is None:
            return None
        last = await self.conversation(user, chat, limit=_LAST, tip=known.tip)
        of_message = (cycle for cycle in last if cycle.message.id == message and cycle.variants)
        return next((cycle for cycle in of_message if not cycle.variants[-1].cut), None)

    async def sweep(self, older_than: timedelta = timedelta(minutes=10)) -> int:
        """Closes the cycles, of any user, that gave no sign of life for so long; how many there were."""
        left = await self._storage.transcript.open_cycles(before=self._clock() - older_than)
        for cycle in left:
            await self.cut_off(cycle)
        return len(left)

    async def cut_short(self, user: str, chat: str) -> None:
        """Closes what stands open in the chat: its turn was stopped, and what was said of it is kept."""
        for cycle in await self._storage.transcript.open_cycles(user=owned(user), chat=chat):
            await self.cut_off(cycle)

    async def settle_branches(
        self, user: str, chat: str, tip: str | None, *, anew: Collection[str] = ()
    ) -> list[MemoryRecord]:
        """Hides memories that only abandoned branches of this chat said, restores those of its live one.

        `tip` ends the live branch. Of cycles that were answered `anew`, what the assistant said before is
        abandoned, too; what abandoned branches showed leaves the profile. Gives the memories that changed.
        """
        links = await self._storage.transcript.links(owned(user), [chat])
        live = live_path(links, tip)
        dead = links.keys() - live
        async with self._indexes.index(user) as index:
            away = any(reason == ABANDONED for reason in index.hidden.values())
        concerned = [*dead, *live] if dead or away else list(anew)
        if not concerned:
            return []

        async def plan() -> tuple[list[Write], None]:
            records = await self._storage.memories.of_cycles(user, concerned)
            named = [id for record in records for id in (record.id, record.current) if id is not None]
            versions = await self._storage.memories.versions(user, named)
            versions += await self._storage.memories.records(user, named)
            vectors = await self._storage.memories.vectors(user, [record.id for record in versions])
            keys = Keys(self._model, stored={vector.id: vector for vector in vectors})
            replies = await self._answered_anew(user, [*records, *versions])
            at = self._clock()
            writes = branch_writes(records, versions, live=live, dead=dead, replies=replies, keys=keys, at=at)
            return writes, None

        stored, _ = await self._core.change(user, plan)
        await self._conversations.drop_observed(user, dead)
        return list(stored.values())

    async def _answered_anew(self, user: str, records: Iterable[MemoryRecord]) -> dict[str, str]:
        """What those cycles of `records` say now that the assistant answered more than once."""
        spoken = {one.source.cycle for one in records if one.source.speaker == "assistant"} - {None}
        cycles = await self._storage.transcript.cycles(user, sorted(map(str, spoken))) if spoken else []
        return {cycle.id: reply_text(cycle) for cycle in cycles if len(cycle.variants) > 1}

    async def cut_off(self, cycle: Cycle) -> None:
        change = partial(closed_early, at=self._clock(), formation=await self.formation_state(cycle.user))
        await self._storage.transcript.amend_cycle(cycle.user, cycle.id, change, tip=True)

    async def formation_state(self, user: str) -> Literal["none", "pending"]:
        """What becomes of a cycle: while the user has paused nothing is learned (BY-10)."""
        return "none" if (await self._conversations.settings(user)).paused else "pending"

    async def amend(
        self, user: str, cycle_id: str, change: Callable[[Cycle], Cycle], *, tip: bool
    ) -> Amended:
        amended = await self._storage.transcript.amend_cycle(owned(user), cycle_id, change, tip=tip)
        if amended is None:
            raise NotAllowed("cycle_unknown", id=repr(cycle_id))
        return amended

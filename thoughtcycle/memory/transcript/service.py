"""The transcript: chats, their cycles, and the live branch of each chat."""

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
from thoughtcycle.memory.rules.word_budget import reply_text
from thoughtcycle.memory.storage import Amended, Write
from thoughtcycle.memory.versioning.branches import ABANDONED, branch_writes, live_path, path_from_tip
from thoughtcycle.memory.versioning.cycle_transitions import (
    closed_cycle,
    closed_early,
    new_cycle,
    recorded_cycle,
    with_progress,
)
from thoughtcycle.memory.versioning.record_writes import SearchVectors

_LAST = 4
"""Latest exchanges in which a message that is sent again is recognised."""
_LATE = 100
"""Late cycles in a row after which a chat continues."""


class Transcript:
    """Every exchange, stored once; only erasure redacts it (BY-1)."""

    def __init__(self, core: Core, conversations: Conversations) -> None:
        self._core, self._conversations, self._clock = core, conversations, core.clock
        self._branches, self._masks, self._indexes = core.branches, core.redactors, core.memory_indexes
        self._cycles, self._chats = core.storage.transcript, core.storage.chats
        self._memories, self._model = core.storage.memories, core.model
        self.queue = core.queue

    async def claim_chat(self, user: str, chat: str) -> Conversation:
        """The chat, assigned to this user if it is new; raises NotAllowed('chat_of_another')."""
        conversation = await self._chats.claim(chat, owned(user), self._clock())
        if conversation.user != user:
            raise NotAllowed("chat_of_another")
        return conversation

    async def check_chat(self, user: str, chat: str) -> None:
        """Raises NotAllowed('chat_of_another') when the chat is another user's; writes nothing."""
        if await self._chats.owner(chat) not in (None, owned(user)):
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
        """Stores the cycle of this message before anything is answered; idempotent.

        With `follow` its parent is the tip of the live branch instead of `parent`: the same call gives the
        same cycle until that is closed, then one behind it. Where it leaves the live branch, the memories of
        the abandoned part are hidden (`settle_branches`). Cycles that a crash left open in this chat are
        closed first, marked as cut. Raises NotAllowed('chat_of_another'), InputRefused as `storable`.
        """
        storable(message.text)
        now = self._clock()

        def cycle(conversation: Conversation) -> Cycle:
            before = conversation.tip if follow else parent
            return new_cycle(user, chat, message, parent=before, channel=channel, at=now)

        return await self.begin(user, chat, cycle)

    async def begin(self, user: str, chat: str, make: Callable[[Conversation], Cycle]) -> Cycle:
        """Stores the cycle that `make` makes of the chat; see open_cycle."""
        begun = await self._cycles.begin(owned(user), chat, self._clock(), make)
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
        """Moves the new cycle behind late cycles at the end of the live branch that its thread lacks.

        An outage took both its state and those cycles, so that it did not branch off: its parent is the one
        they follow, or the one whose place they took. None where that is not the case.
        """
        if cycle.closed or chat.tip is None:
            return None
        parent: str | None = chat.tip
        for before in await self._cycles.path(cycle.user, cycle.chat, chat.tip, limit=_LATE):
            if not before.late or parent == cycle.parent:
                break
            parent = before.parent
        if parent == chat.tip:
            return None
        if parent != cycle.parent:
            seen = live_path(await self._cycles.links(cycle.user, [cycle.chat]), cycle.parent)
            if cycle.parent is None or not (parent is None or parent in seen):
                return None

        def onto_tip(cycle: Cycle) -> Cycle:
            return cycle.model_copy(update={"parent": chat.tip})

        return (await self.amend(cycle.user, cycle.id, onto_tip, tip=False)).cycle

    async def append(
        self, user: str, cycle_id: str, execution: str, step: Step, text: CycleMessage | None
    ) -> None:
        """Stores a step of an action and the text it showed; a repeated run replaces them."""
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
        """Adds the reply of this execution (a repeated run replaces it); the cycle becomes the chat's tip.

        Later cycles of the live branch, and siblings, are abandoned. `shown`: ids of memories in the
        briefing. None where the write waits for the database.
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
        """Stores a complete cycle that took place elsewhere as the chat's newest; idempotent.

        `at` is when it was said; either text may be empty, where only one of the two spoke. `formation`
        pending: memories are formed from it later. Raises NotAllowed('chat_of_another').
        """
        await self.claim_chat(user, chat)
        spoken = (without_null(user_text), user_name), (without_null(reply_text), reply_name)
        cycle = recorded_cycle(user, chat, *spoken, at=at, channel=channel, formation=formation)
        return await self._cycles.append_cycle(cycle)

    async def cycle(self, user: str, id: str) -> Cycle | None:
        """One cycle without the words of deleted memories; None when there is none of this id."""
        found, mask = await gather(self._cycles.cycle(owned(user), id), self._masks.of(user))
        return found and mask.cycle(found)

    async def cycles(self, user: str, ids: Sequence[str]) -> list[Cycle]:
        """These cycles, in any order, without the words of deleted memories."""
        if not ids:
            return []
        found, mask = await gather(self._cycles.cycles(owned(user), ids), self._masks.of(user))
        return [mask.cycle(cycle) for cycle in found]

    async def branch(self, user: str, chat: str) -> list[str]:
        """Ids of the cycles on the chat's live branch, oldest first; reads the links of the whole chat."""
        tip = (await self.claim_chat(user, chat)).tip  # read first: its links are stored by then
        return path_from_tip(await self._cycles.links(user, [chat]), tip)[::-1]

    async def is_live(self, user: str, chat: str, cycle: str) -> bool:
        """Whether a cycle is on the chat's live branch; for its tip, little is read."""
        tip = (await self.claim_chat(user, chat)).tip
        return await self._branches.contains(user, chat, tip, cycle)

    async def left_behind(self, user: str, chat: str, cycle: Cycle) -> frozenset[str]:
        """The cycles of the chat that are no ancestors of this open one, since an earlier message was edited.

        Reads the links of the whole chat only where there may be any.
        """
        known = await self._chats.conversation(owned(user), chat)
        if known is None or known.tip in (None, cycle.id, cycle.parent):
            return frozenset()
        links = await self._cycles.links(user, [chat])
        return frozenset(links.keys() - live_path(links, cycle.parent))

    async def conversation(
        self, user: str, chat: str, *, limit: int = 2, tip: str | None = None
    ) -> list[Cycle]:
        """The last `limit` closed cycles on the path to `tip` (None: the chat's), oldest first, masked."""
        if tip is None:
            tip = (await self.claim_chat(user, chat)).tip
        if tip is None or limit < 1:
            return []
        path = self._cycles.path(owned(user), chat, tip, limit=limit)
        found, mask = await gather(path, self._masks.of(user))
        return [mask.cycle(cycle) for cycle in reversed(found)]

    async def answered(self, user: str, chat: str, message: str) -> Cycle | None:
        """The cycle among the chat's last few in which the message of this id got its whole reply, masked."""
        known = await self._chats.conversation(owned(user), chat)
        if known is None or known.tip is None:
            return None
        last = await self.conversation(user, chat, limit=_LAST, tip=known.tip)
        of_message = (cycle for cycle in last if cycle.message.id == message and cycle.variants)
        return next((cycle for cycle in of_message if not cycle.variants[-1].cut), None)

    async def sweep(self, older_than: timedelta = timedelta(minutes=10)) -> int:
        """Closes the cycles, of any user, without activity for so long; returns how many."""
        left = await self._cycles.open_cycles(before=self._clock() - older_than)
        for cycle in left:
            await self.cut_off(cycle)
        return len(left)

    async def cut_short(self, user: str, chat: str) -> None:
        """Closes the open cycles of the chat after its turn was stopped; the text shown so far is kept."""
        for cycle in await self._cycles.open_cycles(user=owned(user), chat=chat):
            await self.cut_off(cycle)

    async def settle_branches(
        self, user: str, chat: str, tip: str | None, *, anew: Collection[str] = ()
    ) -> list[MemoryRecord]:
        """Hides memories from abandoned branches of this chat, restores those of its live one; returns both.

        `tip` ends the live branch. Memories from a former reply of cycles answered `anew` are hidden too, and
        observations from abandoned branches leave the profile.
        """
        links = await self._cycles.links(owned(user), [chat])
        live = live_path(links, tip)
        dead = links.keys() - live
        async with self._indexes.index(user) as index:
            away = any(reason == ABANDONED for reason in index.hidden.values())
        concerned = [*dead, *live] if dead or away else list(anew)
        if not concerned:
            return []

        async def plan() -> tuple[list[Write], None]:
            records = await self._memories.of_cycles(user, concerned)
            named = [id for record in records for id in (record.id, record.current) if id is not None]
            versions = await self._memories.versions(user, named)
            versions += await self._memories.records(user, named)
            vectors = await self._memories.vectors(user, [record.id for record in versions])
            keys = SearchVectors(self._model, stored={vector.id: vector for vector in vectors})
            replies = await self._answered_anew(user, [*records, *versions])
            at = self._clock()
            writes = branch_writes(records, versions, live=live, dead=dead, replies=replies, keys=keys, at=at)
            return writes, None

        stored, _ = await self._core.change(user, plan)
        await self._conversations.drop_observed(user, dead)
        return list(stored.values())

    async def _answered_anew(self, user: str, records: Iterable[MemoryRecord]) -> dict[str, str]:
        """Cycle → current reply, for source cycles of `records` with more than one reply."""
        spoken = {one.source.cycle for one in records if one.source.speaker == "assistant"} - {None}
        cycles = await self._cycles.cycles(user, sorted(map(str, spoken))) if spoken else []
        return {cycle.id: reply_text(cycle) for cycle in cycles if len(cycle.variants) > 1}

    async def cut_off(self, cycle: Cycle) -> None:
        change = partial(closed_early, at=self._clock(), formation=await self.formation_state(cycle.user))
        await self._cycles.amend_cycle(cycle.user, cycle.id, change, tip=True)

    async def formation_state(self, user: str) -> Literal["none", "pending"]:
        """The state for a closed cycle: while the user has paused, nothing is learned (BY-10)."""
        return "none" if (await self._conversations.settings(user)).paused else "pending"

    async def amend(
        self, user: str, cycle_id: str, change: Callable[[Cycle], Cycle], *, tip: bool
    ) -> Amended:
        amended = await self._cycles.amend_cycle(owned(user), cycle_id, change, tip=tip)
        if amended is None:
            raise NotAllowed("cycle_unknown", id=repr(cycle_id))
        return amended

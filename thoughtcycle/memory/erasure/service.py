"""Erasure for good: what was deleted leaves documents, vectors, journal, transcript and checkpoints."""

import asyncio
import logging
import secrets
from collections.abc import Awaitable, Callable, Iterable, Sequence
from dataclasses import replace
from datetime import UTC, datetime, timedelta

from thoughtcycle.errors import MemoryUnknown, ThoughtcycleError
from thoughtcycle.memory.core import Core, explicit, owned
from thoughtcycle.memory.erasure.documents import DocumentErasure
from thoughtcycle.memory.erasure.plan import (
    contents_until,
    emptied,
    folded,
    given_up,
    is_due,
    redacted,
    stones,
    stub,
    told_in,
    twins,
    without,
)
from thoughtcycle.memory.erasure.scope import Estate
from thoughtcycle.memory.model import (
    STATUSES,
    Conversation,
    Cycle,
    ItemSpace,
    MemoryRecord,
    Status,
    file_of,
    stored_space,
)
from thoughtcycle.memory.model import Receipt as Receipt
from thoughtcycle.memory.redaction import ERASING, KEY_BYTES, NOTHING, Mask
from thoughtcycle.memory.storage import Write

log = logging.getLogger(__name__)

GRACE = timedelta(hours=24)
"""How long what the user deleted can be brought back (BY-9)."""
LOOKS = 20
"""How often at most an erasure looks again, as long as turns under way go on storing its words."""
_PAGE = 1_000
_NEVER = datetime.min.replace(tzinfo=UTC)
_OUT_OF_SIGHT: tuple[Status, ...] = ("hidden", "archived", "superseded")

Place = Callable[[str, Sequence[str], Mask], Awaitable[int]]
"""Takes the words of a mask out of a user's chats in another place; how many stored things it changed."""


class Erasure:
    """The second stage of deleting; the first is `Memory.hide`."""

    def __init__(self, core: Core, documents: DocumentErasure) -> None:
        self._core = core
        self._documents = documents
        self._clock = core.clock
        self._masks = core.redactors
        self._places = core.checkpoint_erasers
        self._storage = core.storage
        self.availability = core.availability

    async def mask(self, user: str) -> Mask:
        """The mask that takes the words of deleted memories out of any text of this user."""
        return await self._masks.of(owned(user))

    async def final_mask(self, user: str) -> Mask:
        """Of `mask` what is being erased for good; nothing during an outage that the memory survives."""
        owned(user)
        return await self.availability.read(lambda: self._masks.final(user), NOTHING, anyway=True)

    async def erased_since(self, user: str, at: datetime) -> Mask | None:
        """The mask of memories erased since `at`, or being erased, for texts read before and stored now.

        None where the user was forgotten since: nothing of theirs may be stored. Nothing during an outage
        that the memory survives.
        """
        owned(user)
        return await self.availability.read(lambda: self._masks.since(user, at), NOTHING, anyway=True)

    async def hidden_since(self, user: str, at: datetime) -> Mask | None:
        """As `erased_since`, with what was hidden since `at` and may still be brought back."""
        erased = await self.erased_since(user, at)
        if erased is None:
            return None
        known = await self.availability.read(lambda: self.mask(user), NOTHING, anyway=True)
        hidden = known.since(at)
        more = [one for one in hidden.traces if one.memory not in erased.memories]
        return replace(erased, traces=(*erased.traces, *more)) if more else erased

    async def redact_states(self, user: str, mask: Mask) -> None:
        """Takes the words of `mask` out of all states of the user, but those being erased for good anyway."""
        if not mask.traces:
            return
        erasing = (await self.final_mask(user)).memories
        if hidden := mask.only(mask.memories - erasing):
            chats = [chat.id for chat in await self._chats(user)]
            for place in self._places:
                await place(user, chats, hidden)

    async def scrub(self) -> None:
        """Empties the database's log of what was erased or redacted."""
        await self._storage.erasure.scrub()

    async def masked_cycle(self, user: str, cycle: Cycle) -> Cycle:
        """`cycle` without the words of deleted memories: as it may be shown, exported or learned from."""
        return (await self.mask(user)).cycle(cycle)

    def erase_also(self, place: Place) -> None:
        """Has `place` redacted whenever something is erased, such as the checkpoints of the user's chats."""
        if place not in self._places:
            self._places.append(place)

    @explicit
    async def give_up(
        self, user: str, ids: Iterable[str], *, cycle: str | None = None, alone: bool = False
    ) -> list[MemoryRecord]:
        """Hides memories so that nothing brings them back; the next `erase` or `erase_due` empties them.

        What is hidden, archived or superseded and says the same, or has the same key, goes with them, unless
        they go `alone`.
        Raises MemoryUnknown before changing any.
        """
        wanted = list(dict.fromkeys(ids))

        async def plan() -> tuple[Sequence[Write], list[MemoryRecord]]:
            records = await self._storage.memories.records(owned(user), wanted)
            if unknown := set(wanted) - {record.id for record in records}:
                raise MemoryUnknown(min(unknown))
            kept = await self._core.current(user, [one.id for one in records if one.status != "erased"])
            family = await self._storage.erasure.family(user, [one.id for one in kept])
            if (
                kept and not alone and not isinstance(user, ItemSpace)
            ):  # items of one value are not one memory
                family += await self._twins(user, family)
            return given_up(family, self._clock(), cycle), kept

        stored, before = await self._core.change(owned(user), plan)
        return [stored.get(record.id, record) for record in before]

    async def _twins(self, user: str, family: Sequence[MemoryRecord]) -> list[MemoryRecord]:
        """The families of what is out of sight and says the same as `family`."""
        at = self._clock()
        journal = await self._storage.memories.journal(user, memories=[one.id for one in family])
        others = await self._storage.memories.listing(user, _OUT_OF_SIGHT, limit=None, offset=0)
        found = twins(family, others, contents_until(family, journal, at), at)
        return await self._storage.erasure.family(user, [one.id for one in found])

    async def erase(self, user: str, ids: Iterable[str], *, cycle: str | None = None) -> Receipt:
        """Erases memories for good, with their former versions and their words in all that was said.

        `cycle` is the one that asks for it. While it or another cycle that began before the deletion is open
        nothing is emptied (`Receipt.waiting`): what that one knew it would write down again. What is erased
        already is left alone; what was begun and broken off is completed.
        Raises MemoryUnknown before changing any.
        """
        await self.give_up(user, ids, cycle=cycle)
        return await self.complete(user)

    async def erase_due(
        self, grace: timedelta = GRACE, *, now: datetime | None = None, user: str | None = None
    ) -> list[Receipt]:
        """Erases what was deleted longer ago than `grace`, and completes what was begun; a receipt per user.

        `user`: of this one only. Without it one user's failure is logged and stops nobody else's erasure.
        """
        until = (now or self._clock()) - grace
        if user is None:
            await self._storage.erasure.scrub()  # what an erasure left in the log when it was killed
            hidden = await self._storage.erasure.hidden()
        else:
            hidden = await self._storage.erasure.hidden(owned(user))
        due: dict[str, list[str]] = {}
        for record in hidden:
            if is_due(record, until):
                due.setdefault(record.space, []).append(record.id)
        receipts = []
        for owner, ids in due.items():
            try:
                receipts.append(await self.erase(stored_space(owner), ids))
            except ThoughtcycleError as failure:
                if user is not None:
                    raise
                log.warning("what a user deleted could not be erased: %s", failure.code)
        return receipts

    async def finish_erasing(self, user: str) -> Receipt | None:
        """Completes the erasures that were begun, e.g. at the end of a turn; None when there are none."""
        return await self.complete(user) if await self.final_mask(user) else None

    async def complete(self, user: str) -> Receipt:
        """Erases what was given up. Documents go last: a repetition needs them to know what to look for."""
        ids, waiting = await self._ready(user)
        if not ids:
            return Receipt(user=user, waiting=waiting)
        estate = await self._estate(user, ids)
        mask = Mask(tuple(await asyncio.to_thread(estate.traces)))  # may take seconds, as all masking here
        secret = await self._storage.erasure.secret(user, secrets.token_bytes(KEY_BYTES))
        tombstones = await asyncio.to_thread(stones, user, mask, estate.cycles, secret)
        await self._storage.erasure.bury(user, tombstones)
        changed = await self._redact_cycles(user, mask, estate.cycles)
        sources = 0
        if not isinstance(user, ItemSpace):  # what an item says is its own
            sources = await self._redact_sources(user, mask, estate)
        chats = await self._retitle(user, mask)
        sheets = await self._documents.redact_sheets(user, mask, estate.cycles, chats, changed)
        elsewhere = sum([await place(user, chats, mask) for place in self._places])
        vectors = await self._storage.memories.vectors(user, [one.id for one in estate.family])
        files = await self._drop_files(user, estate.family)
        await self._empty(user, ids)
        await self._storage.erasure.scrub()
        heads = {one.memory for one in mask.traces}
        return Receipt(
            user=user,
            memories=len(heads),
            versions=len({one.id for one in estate.family} - heads),
            vectors=len(vectors),
            journal=sum(row.before is not None for row in estate.journal),
            cycles=len(changed),
            sources=sources,
            sheets=sheets,
            files=files,
            elsewhere=elsewhere,
            waiting=waiting,
            left=tuple(await self._left(user, mask, estate, chats)),
        )

    async def _ready(self, user: str) -> tuple[list[str], int]:
        """Ids of deleted memories that can be emptied, and the number of those that cannot yet.

        A memory waits if a cycle under way was asked to delete, or may have read before they were deleted.
        """
        under_way = await self._storage.transcript.open_cycles(
            user=user
        )  # first: what opens later reads them no more
        hidden = await self._storage.erasure.hidden(user)
        given = [record for record in hidden if record.reason == ERASING]
        asked = {cycle.id for cycle in under_way}
        waiting = set()
        for record in given:
            rows = await self._storage.memories.journal(user, memories=[record.id], limit=2) if asked else []
            if any(row.op == "hide" and row.cycle in asked for row in rows) or any(
                cycle.opened_at <= record.updated for cycle in under_way
            ):
                waiting.add(record.current or record.id)
        return [one.id for one in given if (one.current or one.id) not in waiting], len(waiting)

    async def _estate(self, user: str, ids: Sequence[str]) -> Estate:
        family = await self._storage.erasure.family(user, ids)
        own = {one.id: one for one in family}
        journal = await self._storage.memories.journal(user, memories=own)
        every = await self._storage.memories.listing(user, STATUSES, limit=None, offset=0)
        return Estate(
            family=tuple(own.values()),
            journal=tuple(journal),
            others=tuple(one for one in every if one.id not in own),
            cycles=tuple(await self._cycles(user)),
        )

    async def _cycles(self, user: str) -> list[Cycle]:
        """All that was said, under way or closed."""
        closed = (await self._storage.transcript.cycle_feed(user, 0, model=None)).cycles
        return [*closed, *await self._storage.transcript.open_cycles(user=user)]

    async def _retitle(self, user: str, mask: Mask) -> list[str]:
        """The user's chats, whose titles lose the words too."""
        chats = await self._chats(user)
        for chat in chats:
            if chat.title and mask.finds(chat.title):
                await self._storage.chats.rename(user, chat.id, mask.text(chat.title))
        return [chat.id for chat in chats]

    async def _chats(self, user: str) -> list[Conversation]:
        chats: list[Conversation] = []
        while page := await self._storage.chats.conversations(
            user, after=chats[-1].id if chats else None, limit=_PAGE
        ):
            chats += page
        return chats

    async def _redact_cycles(self, user: str, mask: Mask, cycles: Iterable[Cycle]) -> list[str]:
        changed = await asyncio.to_thread(told_in, cycles, mask)
        for id in changed:
            await self._storage.transcript.amend_cycle(user, id, mask.cycle)
        return changed

    async def _redact_sources(self, user: str, mask: Mask, estate: Estate) -> int:
        """Takes the words out of other memories and their history, and from there what said the same."""
        family = {one.id for one in estate.family}
        contents = contents_until(estate.family, estate.journal, self._clock())
        still = {(one.current or one.id, folded(one)) for one in estate.others if one.status != "erased"}

        async def plan() -> tuple[Sequence[Write], int]:
            every = await self._storage.memories.listing(user, STATUSES, limit=None, offset=0)
            others = [one for one in every if one.id not in family]
            changed = await asyncio.to_thread(without, others, mask)
            keys = await self._core.search_vectors([one for one, _ in changed], {})
            return [redacted(one, after, keys, self._clock()) for one, after in changed], len(changed)

        _, count = await self._core.change(user, plan)
        before: int | None = None
        while rows := await self._storage.memories.journal(user, before=before, limit=_PAGE):
            kept = {row.number: row.before for row in rows if row.before and row.memory not in family}
            after = {id(one): two for one, two in await asyncio.to_thread(without, kept.values(), mask)}
            rewritten = {number: after[id(one)] for number, one in kept.items() if id(one) in after}
            for row in rows:
                known = kept.get(row.number)
                if known is None or (row.memory, folded(known)) in still:
                    continue
                if row.at <= contents.get(folded(known), _NEVER):
                    rewritten[row.number] = stub(known)
            if rewritten:
                await self._storage.erasure.rewrite_journal(user, rewritten)
            before = rows[-1].number
        return count

    async def _drop_files(self, user: str, family: Sequence[MemoryRecord]) -> int:
        """Deletes the files that only these memories name; before the names go with them."""
        ids = [one.id for one in family]
        files = {sha256 for one in family if (sha256 := file_of(one.content)) is not None}
        return sum([await self._storage.files.drop(user, sha256, without=ids) for sha256 in sorted(files)])

    async def _empty(self, user: str, ids: Sequence[str]) -> None:
        async def plan() -> tuple[Sequence[Write], None]:
            family = {one.id: one for one in await self._storage.erasure.family(user, ids)}
            return emptied(family.values(), self._clock()), None

        await self._core.change(user, plan)

    async def _left(self, user: str, mask: Mask, estate: Estate, chats: Sequence[str]) -> list[str]:
        """Looks again everywhere."""
        ids = [one.id for one in estate.family]
        rows = await self._storage.memories.journal(user, memories=ids)
        cycles = await self._cycles(user)
        kept = {file_of(one.content) for one in estate.others if one.status != "erased"}
        gone = {file_of(one.content) for one in estate.family} - kept
        found = {
            "documents": any(stub(one) != one for one in await self._storage.erasure.family(user, ids)),
            "vectors": bool(await self._storage.memories.vectors(user, ids)),
            "files": not gone.isdisjoint(await self._storage.files.listing(user)),
            "journal": any(row.before is not None for row in rows),
            "transcript": bool(await asyncio.to_thread(told_in, cycles, mask)),
            "sheets": await self._documents.told_in_sheets(user, mask, cycles, chats),
            "checkpoints": await self._comes_again(user, chats, mask),
        }
        return [name for name, there in found.items() if there]

    async def _comes_again(self, user: str, chats: Sequence[str], mask: Mask) -> bool:
        """Redacts what turns under way stored meanwhile; whether there is something each time."""
        for _ in range(LOOKS):
            if not any([await place(user, chats, mask) for place in self._places]):
                return False
        return True

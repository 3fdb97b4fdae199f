"""Memory records: saved, updated, hidden, brought back, read."""

from collections.abc import Collection, Iterable, Mapping, Sequence
from datetime import datetime
from typing import Any, TypeAlias

import numpy as np

from thoughtcycle.errors import InputRefused
from thoughtcycle.memory.core import Core, explicit, owned
from thoughtcycle.memory.index import BELIEVED, aware, packed, units, valid_at
from thoughtcycle.memory.model import (
    Access,
    JournalEntry,
    MemoryDraft,
    MemoryRecord,
    Saved,
    Source,
    Status,
    UndoResult,
    as_text,
    file_of,
    key_of,
    revised,
    storable,
)
from thoughtcycle.memory.records.lifecycle import Lifecycle
from thoughtcycle.memory.records.relearning import not_again, relearned
from thoughtcycle.memory.redaction import ERASING
from thoughtcycle.memory.storage import ExistingRecords, Lookup, Write
from thoughtcycle.memory.text import writes_mask_over
from thoughtcycle.memory.versioning import (
    Keys,
    Planned,
    SavePlan,
    UndoSearch,
    corrected,
    hidden,
    is_version,
    named,
    new_version,
    same_content,
    search_keys,
    undone,
)

_PAGE = 100
_ACTIVE: tuple[Status, ...] = ("active",)

Listed: TypeAlias = list[MemoryRecord]
Entries: TypeAlias = list[JournalEntry]
# Aliases, because inside the class `list` is the method.


class Records:
    """The memories of users. All or nothing: a failed call leaves everything as it was."""

    def __init__(self, core: Core, lifecycle: Lifecycle) -> None:
        self._core, self._lifecycle = core, lifecycle
        self._storage, self._clock, self._model = core.storage, core.clock, core.model
        self._embeddings, self._accesses = core.embeddings, core.accesses
        self._indexes, self._redactors = core.indexes, core.redactors
        self.availability = core.availability

    @explicit
    async def save(
        self, user: str, drafts: Sequence[MemoryDraft], *, vectors: Mapping[str, np.ndarray] | None = None
    ) -> list[Saved]:
        """Keeps drafts, all or none; one answer per draft, in order.

        The same content as an active memory's reinforces that one (except from the cycle that made it);
        another content under the key of one supersedes it. `vectors`: text → vector for contents and
        bindings, made here when None. Running it again with the same drafts adds nothing, where they name
        their cycle. Of what was deleted after their cycle nothing is kept.
        """
        owned(user)
        for draft in drafts:
            storable(draft.content)
            storable(draft.key or "")
        await self._require_files(user, drafts)
        if stubs := await relearned(self._core, user, drafts):
            rest = [draft for place, draft in enumerate(drafts) if place not in stubs]
            saved = iter(await self.save(user, rest, vectors=vectors))
            return [
                not_again(stubs[place]) if place in stubs else next(saved) for place in range(len(drafts))
            ]
        if vectors is None:
            texts = [text for draft in drafts for text in search_keys(draft)]
            vectors = await self._core.embed(texts)
        else:
            vectors = units(vectors)
        data = packed(vectors)
        wanted = [named(user, draft) for draft in drafts]
        asked = Lookup(
            identities={one.identity for one in wanted},
            keys={draft.key for draft in drafts if draft.key is not None},
            ids=[one.id for one in wanted],
        )

        def plan(standing: ExistingRecords) -> tuple[tuple[Write, ...], Planned]:
            keys = Keys(self._model, data, {vector.id: vector for vector in standing.vectors})
            planned = SavePlan(user, standing.records, keys, self._clock()).add(wanted)
            return planned.writes, planned

        stored, planned = await self._core.repeat(
            user, lambda: self._storage.memories.save(user, asked, plan)
        )
        return [
            Saved(
                record=stored.get(record.id, record),
                outcome=outcome,
                former=stored.get(former.id, former) if former is not None else None,
            )
            for record, outcome, former in planned.outcomes
        ]

    @explicit
    async def update(
        self,
        user: str,
        id: str,
        *,
        content: Any,
        bindings: Sequence[str] | None = None,
        key: str | None = None,
        correction: bool = False,
        cycle: str | None = None,
        words: str = "",
        said: datetime | None = None,
    ) -> MemoryRecord:
        """Gives an active memory new content; what it said before stays in history as its former version.

        With `correction` it was never true: changed in place, only the journal remembers. `bindings` None
        leaves them; a `key` gives it another slot, unless an active memory stands there. `cycle` and `words`
        say where the new content comes from, `said` since when it holds (None: now). The same content again
        changes nothing. Of a file (LM-15) a text is what is said about it: the file stays.
        Raises MemoryUnknown, MemoryNotActive, InputRefused('file_content', and
        'content_masked' where a mask would take the place of what it hides).
        """
        storable(content)
        storable(key or "")
        data: dict[str, bytes] = {}
        if self._embeddings is not None:
            data = packed(await self._new_keys(user, id, content, bindings))

        async def plan() -> tuple[Sequence[Write], MemoryRecord]:
            record = await self._core.active(user, id)
            taken = (
                await self._storage.memories.same(user, identities=(), keys={key}) if key is not None else ()
            )
            if writes_mask_over(as_text(content), record.text):
                raise InputRefused("content_masked")
            says, found = revised(record.content, record.bindings, content, bindings)
            changed = record.model_copy(
                update={
                    "content": says,
                    "key": record.key if key is None or taken or file_of(says) else key,
                    "bindings": tuple(dict.fromkeys(found)),
                }
            )
            if same_content(changed, record):
                return (), record
            keys = await self._core.keys([record], data)
            if correction:
                return corrected(record, changed, keys, self._clock(), cycle), record
            if cycle is not None:
                changed = changed.model_copy(update={"source": Source(cycle=cycle, words=words)})
            since = aware(said)
            if since is not None and not record.valid_from <= since <= self._clock():
                since = None
            return new_version(record, changed, keys, self._clock(), cycle, since=since), record

        stored, before = await self._core.change(owned(user), plan)
        return stored.get(before.id, before)

    @explicit
    async def hide(
        self, user: str, ids: Iterable[str], *, reason: str = "user", cycle: str | None = None
    ) -> Listed:
        """Takes memories, with their former versions, out of sight at once; `undo` brings them back.

        What the user has hidden already stays as it is; what left sight with its branch stays out of it from
        now on, whatever becomes of the branch. Raises MemoryUnknown before changing any.
        """
        wanted = list(dict.fromkeys(ids))

        async def plan() -> tuple[Sequence[Write], list[MemoryRecord]]:
            records = await self._core.current(user, wanted)
            versions = await self._storage.memories.versions(user, [record.id for record in records])
            writes = hidden(records, versions, reason=reason, at=self._clock(), cycle=cycle)
            return writes, records

        stored, before = await self._core.change(owned(user), plan)
        return [stored.get(record.id, record) for record in before]

    @explicit
    async def undo(self, user: str, id: str | None = None) -> UndoResult:
        """Takes back the newest change of a memory – or of all – that was not taken back yet.

        A hidden memory is visible again, an updated one says again what it said, a saved one is out of
        sight. A merge, by the id of either memory, gives both back as they were, if neither has changed since
        but for being reinforced. Each call goes one change further back; with nothing left, both fields are
        None. Raises MemoryUnknown, and InputRefused('undo_replaced') when another active
        memory has the same key or says the same by now, 'undo_merged' when a merged memory has changed.
        What was erased for good is refused with 'memory_erased'.
        """
        if id is not None:
            await self._require_kept(owned(user), id)
            await self._core.known(user, [id])

        async def plan() -> tuple[Sequence[Write], JournalEntry | None]:
            entry = await self._undoable(user, id)
            if entry is None:
                return (), None
            if entry.op == "merge":
                return await self._lifecycle.unmerging(user, entry), entry
            record = (await self._core.known(user, [entry.memory]))[0]
            versions = await self._storage.memories.versions(user, [record.id])
            if entry.before is not None:
                await self._core.require_place(user, [entry.before], "undo_replaced")
            keys = await self._core.keys([record, *versions], await self._lost_keys(entry, record, versions))
            return undone(entry, record, versions, keys, self._clock()), entry

        stored, entry = await self._core.change(owned(user), plan)
        return UndoResult(undone=entry, record=stored[entry.memory] if entry is not None else None)

    async def get(self, user: str, id: str) -> MemoryRecord | None:
        """A memory, whatever its status; None when this user has none of this id.

        One that was merged into another (`merged`) names it (`current`).
        """
        return next(iter(await self._storage.memories.records(owned(user), [id])), None)

    async def active(self, user: str, ids: Sequence[str]) -> "list[MemoryRecord]":
        """Those of these memories that are active now, in this order, as they read now.

        In place of one that was merged into another comes that one.
        """
        records = await self._storage.memories.records(owned(user), list(ids)) if ids else []
        if any(record.merged for record in records):
            records = await self._core.current(
                user, [record.id for record in records if record.status != "erased"]
            )
        return [record for record in records if record.status == "active"]

    async def list(
        self,
        user: str,
        *,
        statuses: Collection[Status] = _ACTIVE,
        at: datetime | None = None,
        limit: int | None = None,
        offset: int = 0,
    ) -> Listed:
        """The user's memories of these statuses, the last changed first.

        `at`: instead what was believed then, former versions included and whatever is archived by now; this
        reads all memories of the user. A time without a zone is UTC.
        """
        if at is None:
            return await self._storage.memories.listing(owned(user), statuses, limit=limit, offset=offset)
        kept = await self._storage.memories.listing(owned(user), BELIEVED, limit=None, offset=0)
        then = [record for record in kept if valid_at(record, aware(at))]
        return then[offset:][:limit]

    async def history(self, user: str, id: str) -> Entries:
        """All changes of a memory, oldest first; [] when this user has none of this id."""
        return (await self._storage.memories.journal(owned(user), memories=[id]))[::-1]

    async def accesses(self, user: str, ids: Sequence[str]) -> dict[str, Access]:
        """How often these memories were found by searches, and when last; those never found are left out."""
        return await self._accesses.read(owned(user), ids)

    async def versions(self, user: str, id: str) -> Listed:
        """The former versions of a memory, the latest first."""
        return await self._storage.memories.versions(owned(user), [id])

    async def told_in(self, user: str, cycles: Sequence[str]) -> Listed:
        """The memories that rest on what was said in these cycles, former versions and hidden ones too."""
        return await self._storage.memories.of_cycles(owned(user), cycles)

    async def _new_keys(
        self, user: str, id: str, content: Any, bindings: Sequence[str] | None
    ) -> dict[str, np.ndarray]:
        """Vectors of the texts under which the memory was not found so far."""
        record = await self._core.active(owned(user), id)
        says, found = revised(record.content, record.bindings, content, bindings)
        new = search_keys(record.model_copy(update={"content": says, "bindings": tuple(found)}))
        vectors = await self._storage.memories.vectors(user, [record.id])
        known = {vector.text for vector in vectors if vector.model == self._model}
        return await self._core.embed([text for text in new if text not in known])

    async def _lost_keys(
        self, entry: JournalEntry, record: MemoryRecord, versions: Iterable[MemoryRecord]
    ) -> dict[str, bytes]:
        """Vectors of what was said before the change, where no version kept them (after a correction)."""
        before = entry.before
        if before is None or same_content(before, record):
            return {}
        if any(is_version(version, before) for version in versions):
            return {}
        return packed(await self._core.embed(search_keys(before)))

    async def _undoable(self, user: str, id: str | None) -> JournalEntry | None:
        async with self._indexes.index(user) as index:
            gone = {known for known, reason in index.hidden.items() if reason == ERASING}
        search, before = UndoSearch(gone, one=id is not None), None
        asked = None if id is None else [id]
        while entries := await self._storage.memories.journal(
            user, memories=asked, before=before, limit=_PAGE
        ):
            if (found := search.first(entries)) is not None:
                return found
            before = entries[-1].number
        return None

    async def _require_kept(self, user: str, id: str) -> None:
        """Raises InputRefused('memory_erased') when the memory is erased for good, or about to be."""
        for record in await self._storage.memories.records(user, [id]):
            if record.status == "erased" or record.reason == ERASING:
                raise InputRefused("memory_erased", id=repr(id))

    async def _require_files(self, user: str, drafts: Sequence[MemoryDraft]) -> None:
        """Raises InputRefused('file_content') for a draft that names a file which is not there."""
        named = [(sha256, draft) for draft in drafts if (sha256 := file_of(draft.content)) is not None]
        there = await self._storage.files.listing(user) if named else {}
        for sha256, draft in named:
            if sha256 not in there or draft.key != key_of(sha256):
                raise InputRefused("file_content", name=repr(draft.content["name"]))

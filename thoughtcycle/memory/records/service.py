"""The memory records of users: save, update, hide, undo, and the reads."""

from collections.abc import Collection, Iterable, Mapping, Sequence
from datetime import datetime
from typing import Any, TypeAlias

import numpy as np

from thoughtcycle.errors import InputRefused
from thoughtcycle.memory.core import Core, explicit, owned
from thoughtcycle.memory.index import ACTIVE, BELIEVED, aware, packed, units, valid_at
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
from thoughtcycle.memory.records.relearn_guard import erased_drafts
from thoughtcycle.memory.redaction import ERASING
from thoughtcycle.memory.storage import ExistingRecords, Lookup, Write
from thoughtcycle.memory.text.secrets import writes_mask_over
from thoughtcycle.memory.text.spans import is_blank
from thoughtcycle.memory.versioning.record_writes import (
    KEY_LENGTH,
    Planned,
    SavePlan,
    SearchVectors,
    correct_writes,
    hide_writes,
    identified,
    new_version_writes,
    search_keys,
)
from thoughtcycle.memory.versioning.undo import UndoSearch, is_version, same_content, undo_writes

_PAGE = 100

Listed: TypeAlias = list[MemoryRecord]
Entries: TypeAlias = list[JournalEntry]
Writes: TypeAlias = list[Write]
# Aliases, because inside the class `list` is the method.


class Records:
    """The memories of users. Each call is atomic: one that fails changes nothing."""

    def __init__(self, core: Core, lifecycle: Lifecycle) -> None:
        self._core, self._lifecycle = core, lifecycle
        self._clock, self._model, self._embeddings = core.clock, core.model, core.embeddings
        self._memories, self._files = core.storage.memories, core.storage.files
        self._accesses, self._indexes = core.accesses, core.memory_indexes
        self.availability = core.availability

    @explicit
    async def save(
        self, user: str, drafts: Sequence[MemoryDraft], *, vectors: Mapping[str, np.ndarray] | None = None
    ) -> list[Saved]:
        """Saves drafts, all or none; returns one answer per draft, in order.

        The content of an active memory reinforces that one (except from the cycle that made it); another
        content under its key supersedes it. `vectors`: text → vector for contents and bindings, made here
        when None. Idempotent for drafts that name their cycle. Nothing is saved of what was deleted after
        the cycle of its draft.
        """
        owned(user)
        for draft in drafts:
            _require_content(draft.content)
            storable(draft.key or "")
        await self._require_files(user, drafts)
        if stubs := await erased_drafts(self._core, user, drafts):
            rest = [draft for place, draft in enumerate(drafts) if place not in stubs]
            saved = iter(await self.save(user, rest, vectors=vectors))
            return [stubs[place] if place in stubs else next(saved) for place in range(len(drafts))]
        if vectors is None:
            vectors = await self._core.embed_to_save(
                [text for draft in drafts for text in search_keys(draft)]
            )
        else:
            vectors = units(vectors)
        data = packed(vectors)
        wanted = [identified(user, draft) for draft in drafts]
        asked = Lookup(
            identities={one.identity for one in wanted},
            keys={draft.key for draft in drafts if draft.key is not None},
            ids=[one.id for one in wanted],
        )

        def plan(existing: ExistingRecords) -> tuple[tuple[Write, ...], Planned]:
            keys = SearchVectors(self._model, data, {vector.id: vector for vector in existing.vectors})
            planned = SavePlan(user, existing.records, keys, self._clock()).add(wanted)
            return planned.writes, planned

        stored, planned = await self._core.repeat(user, lambda: self._memories.save(user, asked, plan))
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
        """Gives an active memory new content; the old one stays in history as its former version.

        With `correction` it was never true: changed in place, only the journal remembers. `bindings` None
        leaves them; a `key` gives it another slot, unless an active memory has that key. `cycle` and `words`
        are the source of the new content, `said` the time since when it holds (None: now). Equal content
        changes nothing. For a file (LM-15), a text is its description: the file stays.
        Raises MemoryUnknown, MemoryNotActive, InputRefused('file_content', and 'content_masked'
        for marks of redaction alone, or where a mask would replace the text that it hides).
        """
        _require_content(content)
        storable(key or "")
        data: dict[str, bytes] = {}
        if self._embeddings is not None:
            data = packed(await self._new_vectors(user, id, content, bindings))

        async def plan() -> tuple[Sequence[Write], MemoryRecord]:
            record = await self._core.active(user, id)
            taken = await self._memories.same(user, identities=(), keys={key}) if key is not None else ()
            if writes_mask_over(as_text(content), record.text):
                raise InputRefused("content_masked")
            after, found = revised(record.content, record.bindings, content, bindings)
            changed = record.model_copy(
                update={
                    "content": after,
                    "key": record.key if key is None or taken or file_of(after) else key,
                    "bindings": tuple(dict.fromkeys(found)),
                }
            )
            if same_content(changed, record):
                return (), record
            keys = await self._core.search_vectors([record], data)
            if correction:
                return correct_writes(record, changed, keys, self._clock(), cycle), record
            if cycle is not None:
                changed = changed.model_copy(update={"source": Source(cycle=cycle, words=words)})
            since = aware(said)
            if since is not None and not record.valid_from <= since <= self._clock():
                since = None
            return new_version_writes(record, changed, keys, self._clock(), cycle, since=since), record

        stored, before = await self._core.change(owned(user), plan)
        return stored.get(before.id, before)

    @explicit
    async def hide(
        self, user: str, ids: Iterable[str], *, reason: str = "user", cycle: str | None = None
    ) -> Listed:
        """Hides memories with their former versions at once; `undo` brings them back.

        Memories hidden by the user stay as they are; those hidden with their branch stay hidden from now on,
        whatever becomes of the branch. Raises MemoryUnknown before changing any.
        """

        async def plan(records: Listed) -> Sequence[Write]:
            versions = await self._memories.versions(user, [record.id for record in records])
            return hide_writes(records, versions, reason=reason, at=self._clock(), cycle=cycle)

        return await self._core.change_records(user, ids, plan)

    @explicit
    async def undo(self, user: str, id: str | None = None, *, asked: str | None = None) -> UndoResult:
        """Undoes the newest change of a memory – or of all – that was not undone yet.

        Undoing `hide` shows the memory again, undoing `update` restores its former content, undoing `save`
        hides it. Where no memory is named, all that one request deleted comes back together; `asked` names
        the cycle of such a request. Undoing a merge, by the id of either memory, restores both, if neither
        has changed since but for being reinforced. Each call goes one change further back; with nothing left,
        `undone` and `record` are None. Raises MemoryUnknown, and InputRefused('undo_replaced') when another
        active memory has the same key or content by now (of a request: of each memory), 'undo_merged' when a
        merged memory has changed, 'memory_erased' for an erased one.
        """
        if id is not None:
            await self._require_undoable(owned(user), id)

        async def plan() -> tuple[Sequence[Write], Entries]:
            entries = await self._undoable(user, id, asked)
            if entries and entries[0].op == "merge":
                return await self._lifecycle.unmerge(user, entries[0]), entries
            return await self._undo_writes(user, entries)

        stored, entries = await self._core.change(owned(user), plan)
        if not entries:
            return UndoResult(undone=None, record=None)
        first, *others = entries
        back = tuple(stored[entry.memory] for entry in others)
        return UndoResult(undone=first, record=stored[first.memory], others=back)

    async def _undo_writes(self, user: str, entries: Sequence[JournalEntry]) -> tuple[Writes, Entries]:
        """The writes that undo `entries`, and those of them whose memory still has its place."""
        records = {record.id: record for record in await self._core.known(user, [e.memory for e in entries])}
        versions: dict[str | None, Listed] = {}
        for version in await self._memories.versions(user, list(records)):
            versions.setdefault(version.current, []).append(version)
        writes: Writes = []
        done: Entries = []
        refusal = None
        for entry in entries:
            record, former = records[entry.memory], versions.get(entry.memory, [])
            try:
                if entry.before is not None:
                    await self._core.require_place(user, [entry.before], "undo_replaced")
            except InputRefused as replaced:
                refusal = replaced
                continue
            lost = await self._lost_vectors(entry, record, former)
            keys = await self._core.search_vectors([record, *former], lost)
            writes += undo_writes(entry, record, former, keys, self._clock())
            done.append(entry)
        if refusal is not None and not done:
            raise refusal
        return writes, done

    async def get(self, user: str, id: str) -> MemoryRecord | None:
        """A memory, whatever its status; None when this user has none of this id.

        One that was merged into another (`merged`) names it (`current`).
        """
        return next(iter(await self._memories.records(owned(user), [id])), None)

    async def active(self, user: str, ids: Sequence[str]) -> "list[MemoryRecord]":
        """The active ones of these memories, in this order; one merged into another is given as that one."""
        records = await self._memories.records(owned(user), list(ids)) if ids else []
        if any(record.merged for record in records):
            records = await self._core.current(
                user, [record.id for record in records if record.status != "erased"]
            )
        return [record for record in records if record.status == "active"]

    async def list(
        self,
        user: str,
        *,
        statuses: Collection[Status] = ACTIVE,
        at: datetime | None = None,
        limit: int | None = None,
        offset: int = 0,
    ) -> Listed:
        """The user's memories of these statuses, the last changed first.

        `at`: those believed then instead, former versions and archived ones included; this reads all
        memories of the user. A time without a zone is UTC.
        """
        if at is None:
            return await self._memories.listing(owned(user), statuses, limit=limit, offset=offset)
        believed = await self._memories.listing(owned(user), BELIEVED, limit=None, offset=0)
        return [record for record in believed if valid_at(record, aware(at))][offset:][:limit]

    async def history(self, user: str, id: str) -> Entries:
        """All changes of a memory, oldest first; [] when this user has none of this id."""
        return (await self._memories.journal(owned(user), memories=[id]))[::-1]

    async def accesses(self, user: str, ids: Sequence[str]) -> dict[str, Access]:
        """How often these memories were found by searches, and when last; those never found are left out."""
        return await self._accesses.read(owned(user), ids)

    async def versions(self, user: str, id: str) -> Listed:
        """The former versions of a memory, the latest first."""
        return await self._memories.versions(owned(user), [id])

    async def from_cycles(self, user: str, cycles: Sequence[str]) -> Listed:
        """The memories whose source is one of these cycles, former versions and hidden ones included."""
        return await self._memories.of_cycles(owned(user), cycles)

    async def _new_vectors(
        self, user: str, id: str, content: Any, bindings: Sequence[str] | None
    ) -> dict[str, np.ndarray]:
        """Vectors of the search keys that the new content adds."""
        record = await self._core.active(owned(user), id)
        after, keys = revised(record.content, record.bindings, content, bindings)
        new = search_keys(record.model_copy(update={"content": after, "bindings": tuple(keys)}))
        vectors = await self._memories.vectors(user, [record.id])
        known = {one.text for one in vectors if one.model == self._model and len(one.text) < KEY_LENGTH}
        return await self._core.embed_to_save([text for text in new if text not in known])

    async def _lost_vectors(
        self, entry: JournalEntry, record: MemoryRecord, versions: Iterable[MemoryRecord]
    ) -> dict[str, bytes]:
        """Vectors of the content before the change, where no version has them (after a correction)."""
        before = entry.before
        if before is None or same_content(before, record) or any(is_version(one, before) for one in versions):
            return {}
        return packed(await self._core.embed_to_save(search_keys(before)))

    async def _undoable(self, user: str, id: str | None, asked: str | None) -> Entries:
        """The newest change to be undone; without `id` all rows of a request that hid several."""
        async with self._indexes.index(user) as index:
            gone = {known for known, reason in index.hidden.items() if reason == ERASING}
        search, before = UndoSearch(gone, one=id is not None), None
        found: Entries = []
        named = None if id is None else [id]
        while entries := await self._memories.journal(user, memories=named, before=before, limit=_PAGE):
            for entry in entries:
                if found and _request(entry) != _request(found[0]):
                    return found
                if search.fits(entry) and (asked is None or (entry.op, entry.cycle) == ("hide", asked)):
                    found.append(entry)
                    if id is not None or entry.op != "hide":
                        return found
            before = entries[-1].number
        return found

    async def _require_undoable(self, user: str, id: str) -> None:
        """Raises MemoryUnknown, and InputRefused('memory_erased') when it is erased or about to be."""
        for record in await self._memories.records(user, [id]):
            if record.status == "erased" or record.reason == ERASING:
                raise InputRefused("memory_erased", id=repr(id))
        await self._core.known(user, [id])

    async def _require_files(self, user: str, drafts: Sequence[MemoryDraft]) -> None:
        """Raises InputRefused('file_content') for a draft that names a file which is not there."""
        identified = [(sha256, draft) for draft in drafts if (sha256 := file_of(draft.content)) is not None]
        there = await self._files.listing(user) if identified else {}
        for sha256, draft in identified:
            if sha256 not in there or draft.key != key_of(sha256):
                raise InputRefused("file_content", name=repr(draft.content["name"]))


def _request(entry: JournalEntry) -> tuple[object, ...]:
    """Equal for the rows of memories that were hidden together."""
    return entry.op, entry.at, entry.cycle


def _require_content(content: Any) -> None:
    """Raises InputRefused('content_masked') where nothing but marks of redaction is left; as `storable`."""
    storable(content)
    if is_blank(as_text(content)):
        raise InputRefused("content_masked")

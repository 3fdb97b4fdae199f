"""Changes of memories as writes: save, update, hide, archive (pure: records in, writes out)."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime
from typing import Any, Literal, NamedTuple, TypeAlias

from thoughtcycle.errors import InputRefused, MemoryNotActive
from thoughtcycle.memory.model import (
    PRIORITIES,
    MemoryDraft,
    MemoryRecord,
    Op,
    Vector,
    named_id,
    new_id,
    searched_texts,
)
from thoughtcycle.memory.storage import Write
from thoughtcycle.memory.text.analyzer import identity

KEY_LENGTH = 500
"""Characters of a search key that are stored with its vector."""

_SEEN = ("active", "archived", "superseded")
_LOOSE = ("abandoned", "undone")
"""Reasons to hide a memory that are no request of the user."""

Outcome: TypeAlias = tuple[MemoryRecord, Literal["saved", "known", "superseded"], MemoryRecord | None]
"""The memory (as it is before the write), the fate of the draft, the superseded version."""


@dataclass(frozen=True)
class SearchVectors:
    """The vectors at hand for the search keys of memories."""

    model: str | None = None
    data: Mapping[str, bytes] = field(default_factory=dict)
    """Search key → vector, for new texts."""
    stored: Mapping[str, Vector] = field(default_factory=dict)
    """Vector id → vector, of the memories concerned."""

    def stored_for(self, record: MemoryRecord) -> tuple[Vector, ...]:
        """The vectors that `record` lists, as far as they are stored."""
        return tuple(self.stored[id] for id in record.vector_ids if id in self.stored)

    def vectors_for(self, record: MemoryRecord) -> tuple[Vector, ...]:
        """A vector per search key of `record`: a stored one of the same text, else a new one, else none."""
        own = {
            vector.text: vector
            for vector in self.stored.values()
            if vector.memory == record.id and self.model in (None, vector.model)
        }
        found = []
        for text in search_keys(record):
            if text in own and len(text) < KEY_LENGTH:
                found.append(own[text])
            elif self.model is not None and text in self.data:
                vector = Vector(
                    id=named_id("vector", record.id, self.model, text),
                    space=record.space,
                    memory=record.id,
                    text=text[:KEY_LENGTH],
                    model=self.model,
                    data=self.data[text],
                )
                found.append(vector)
        return tuple(found)


@dataclass(frozen=True)
class Planned:
    """The plan of a save: its writes, and the outcome of each draft."""

    writes: tuple[Write, ...]
    outcomes: tuple[Outcome, ...]
    """One per draft."""


def search_keys(one: MemoryDraft | MemoryRecord) -> tuple[str, ...]:
    """The texts under which a memory is found: its content, unless it is an item, and each binding."""
    texts = searched_texts(one.type, one.content, one.bindings)
    return tuple(dict.fromkeys(text for text in texts if text.strip()))


def with_vectors(record: MemoryRecord, vectors: Sequence[Vector]) -> MemoryRecord:
    """`record` listing these vectors."""
    return record.model_copy(update={"vector_ids": tuple(vector.id for vector in vectors)})


def copied_vectors(record: MemoryRecord, vectors: Iterable[Vector]) -> tuple[Vector, ...]:
    """Copies of `vectors` that belong to `record`."""
    return tuple(
        vector.model_copy(update={"id": named_id("moved", record.id, vector.id), "memory": record.id})
        for vector in vectors
    )


def store_former(
    record: MemoryRecord, keys: SearchVectors, at: datetime, *, until: datetime | None = None, **changed: Any
) -> Write:
    """The write that stores `record` as a former version with its own id, valid `until` (None: `at`)."""
    id = named_id("version", record.id, str(record.revision), identity(record.type, record.content))
    kept = {"id": id, "status": "superseded", "valid_to": until or at, "current": record.id}
    former = record.model_copy(update={**kept, **changed})
    vectors = copied_vectors(former, keys.stored_for(record))
    return Write(with_vectors(former, vectors), "supersede", at, vectors=vectors)


def drop_former(record: MemoryRecord, at: datetime) -> Write:
    """The write that empties a former version that is current again."""
    gone = record.model_copy(update={"status": "erased", "content": None, "bindings": (), "vector_ids": ()})
    return Write(gone, "supersede", at, before=record, vectors=())


class Identified(NamedTuple):
    """A draft with its identity and id."""

    draft: MemoryDraft
    identity: str
    id: str
    """Follows from user, identity and cycle, so that a repeated save is idempotent."""


def identified(user: str, draft: MemoryDraft) -> Identified:
    """`draft` with its identity and id among the user's memories."""
    says = identity(draft.type, draft.content)
    return Identified(draft, says, named_id("memory", user, says, draft.source.cycle or ""))


class SavePlan:
    """Plans a save: compares drafts with the memories of the same content, key or id."""

    def __init__(self, user: str, known: Iterable[MemoryRecord], keys: SearchVectors, at: datetime) -> None:
        """`known`: the active memories with a draft's identity or key, those with a draft's id, and the
        targets of merged ones.
        """
        self._user, self._keys, self._at = user, keys, at
        self._records: dict[str, MemoryRecord] = {}
        self._writes: dict[str, Write] = {}
        self._same: dict[str, str] = {}
        self._keyed: dict[str, str] = {}
        for record in known:
            self._know(record)

    def add(self, drafts: Iterable[Identified]) -> Planned:
        """Adds one draft after the other, so that each sees the ones before."""
        outcomes = [self._one(*draft) for draft in drafts]
        latest: list[Outcome] = [
            (self._records[record.id], outcome, former) for record, outcome, former in outcomes
        ]
        return Planned(tuple(self._writes.values()), tuple(latest))

    def _one(self, draft: MemoryDraft, says: str, id: str) -> Outcome:
        same = self._same.get(says)
        if same is not None:
            return self._reinforced(self._records[same], draft), "known", None
        if draft.source.cycle is not None and id in self._records:
            record = self._records[id]  # saved by this cycle before, changed since
            return self._records.get(record.current or "", record) if record.merged else record, "known", None
        if draft.key is not None and draft.key in self._keyed:
            record = self._records[self._keyed[draft.key]]
            if draft.said is not None and draft.said < record.valid_from:
                return self._before(record, id, draft), "known", None
            return self._superseded(record, draft)
        return self._saved(new_id() if id in self._records else id, draft, says), "saved", None

    def _said(self, draft: MemoryDraft) -> datetime:
        return min(draft.said or self._at, self._at).astimezone(UTC)

    def _reinforced(self, record: MemoryRecord, draft: MemoryDraft) -> MemoryRecord:
        cycle, said = draft.source.cycle, self._said(draft)
        own = cycle is not None and record.source.cycle == cycle
        if own or record.id in self._writes or not reinforces(record, said):
            return record
        stronger = record.model_copy(update={"reinforced_at": said})
        self._put(Write(stronger, "reinforce", self._at, before=record, cycle=cycle))
        return stronger

    def _before(self, record: MemoryRecord, id: str, draft: MemoryDraft) -> MemoryRecord:
        """Saves a fact that was said before `record`, but learned later, as its former version."""
        former = self._made(id, draft)
        kept = {"status": "superseded", "valid_to": record.valid_from, "current": record.id}
        former = former.model_copy(update=kept)
        vectors = self._keys.vectors_for(former)
        cycle = draft.source.cycle
        self._put(Write(with_vectors(former, vectors), "supersede", self._at, vectors=vectors, cycle=cycle))
        return record

    def _made(self, id: str, draft: MemoryDraft) -> MemoryRecord:
        return MemoryRecord(
            id=id,
            space=self._user,
            revision=0,
            valid_from=self._said(draft),
            created=self._at,
            updated=self._at,
            **draft_fields(draft),
        )

    def _saved(self, id: str, draft: MemoryDraft, says: str) -> MemoryRecord:
        record = self._made(id, draft)
        vectors = self._keys.vectors_for(record)
        record = with_vectors(record, vectors)
        self._put(Write(record, "save", self._at, vectors=vectors, cycle=draft.source.cycle), says)
        return record

    def _superseded(self, record: MemoryRecord, draft: MemoryDraft) -> Outcome:
        changed = record.model_copy(update=draft_fields(draft, record))
        pending = self._writes.pop(record.id, None)
        keys = self._keys
        if pending is not None and pending.vectors:
            keys = replace(keys, stored={**keys.stored, **{vector.id: vector for vector in pending.vectors}})
        former, current = new_version_writes(
            record, changed, keys, self._at, draft.source.cycle, since=self._said(draft)
        )
        if pending is not None:
            op: Op = "save" if pending.before is None else "update"
            current = replace(current, op=op, before=pending.before)
        self._same.pop(identity(record.type, record.content), None)
        self._put(former)
        self._put(current)
        return current.record, "superseded", former.record

    def _put(self, write: Write, says: str | None = None) -> None:
        self._writes[write.record.id] = write
        self._know(write.record, says)

    def _know(self, record: MemoryRecord, says: str | None = None) -> None:
        """`says`: the identity of `record`, if it was computed before."""
        self._records[record.id] = record
        if record.status == "active":
            self._same[says or identity(record.type, record.content)] = record.id
            if record.key is not None:
                self._keyed[record.key] = record.id


def reinforces(record: MemoryRecord, said: datetime) -> bool:
    """Whether a repetition at `said` reinforces `record`: it is later than all before."""
    return said >= record.valid_from and (record.reinforced_at is None or said > record.reinforced_at)


_DRAFTED = ("type", "content", "kind", "key", "bindings", "tags", "importance", "weight", "expires", "source")


def draft_fields(draft: MemoryDraft, former: MemoryRecord | None = None) -> dict[str, Any]:
    """The fields of the memory of a draft, which supersedes `former` under the same key.

    A pinned memory stays pinned, and a priority moved by use stays.
    """
    layer = draft.layer or ("semantic" if draft.kind in ("pref", "emo") else "long")
    priority = PRIORITIES[layer] if former is None else former.priority
    return {
        **{name: getattr(draft, name) for name in _DRAFTED},
        "layer": layer,
        "priority": priority if draft.priority is None else draft.priority,
        "pinned": draft.pinned or (former is not None and former.pinned),
    }


def new_version_writes(
    record: MemoryRecord,
    changed: MemoryRecord,
    keys: SearchVectors,
    at: datetime,
    cycle: str | None,
    *,
    since: datetime | None = None,
) -> tuple[Write, Write]:
    """A change over time: the former version gets an id of its own, the memory's id names `changed`.

    `changed` is valid `since` then (None: `at`), but not from before the former version, even if a clock
    was set back.
    """
    begin = max(since or at, record.valid_from)
    current = changed.model_copy(
        update={"valid_from": begin, "valid_to": None, "reinforced_at": None, "updated": at}
    )
    vectors = keys.vectors_for(current)
    return (
        store_former(record, keys, at, until=begin),
        Write(with_vectors(current, vectors), "update", at, before=record, vectors=vectors, cycle=cycle),
    )


def correct_writes(
    record: MemoryRecord,
    changed: MemoryRecord,
    keys: SearchVectors,
    at: datetime,
    cycle: str | None,
    op: Op = "correct",
) -> tuple[Write]:
    """Corrects a memory in place: its former content was never true, only the journal has it."""
    current = changed.model_copy(update={"updated": at})
    vectors = keys.vectors_for(current)
    current = with_vectors(current, vectors)
    return (Write(current, op, at, before=record, vectors=vectors, cycle=cycle),)


def hide_writes(
    records: Iterable[MemoryRecord],
    versions: Iterable[MemoryRecord],
    *,
    reason: str,
    at: datetime,
    cycle: str | None,
) -> list[Write]:
    """Hides memories with their former versions; skips those that are hidden for this reason.

    A memory hidden by a branch or an undo is hidden anew, so that no branch brings it back.
    """
    loose = () if reason in _LOOSE else _LOOSE
    heads = [
        one for one in records if one.status in _SEEN or (one.status == "hidden" and one.reason in loose)
    ]
    return [
        Write(
            record.model_copy(update={"status": "hidden", "reason": reason, "updated": at}),
            "hide",
            at,
            before=record,
            cycle=cycle,
        )
        for record in (*(one for one in versions if one.status in _SEEN), *heads)
    ]


def change_fields(
    record: MemoryRecord, op: Op, at: datetime, *, cycle: str | None, **fields: Any
) -> list[Write]:
    """Changes these fields of `record`; no write where it has the values."""
    if all(getattr(record, name) == value for name, value in fields.items()):
        return []
    return [Write(record.model_copy(update={**fields, "updated": at}), op, at, before=record, cycle=cycle)]


def archive_writes(records: Iterable[MemoryRecord], *, at: datetime, cycle: str | None) -> list[Write]:
    """Archives active memories; skips archived ones.

    Raises MemoryNotActive for any other, 'memory_pinned' for a pinned one.
    """
    writes = []
    for record in records:
        if record.status == "archived":
            continue
        if record.status != "active":
            raise MemoryNotActive(record.id)
        if record.pinned:
            raise InputRefused("memory_pinned", id=repr(record.id))
        writes += change_fields(record, "archive", at, cycle=cycle, status="archived", archived_at=at)
    return writes


def unarchive_writes(records: Iterable[MemoryRecord], *, at: datetime, cycle: str | None) -> list[Write]:
    """Makes archived memories active again, without an expiry in the past; skips active ones.

    Raises InputRefused('memory_not_archived') for any other.
    """
    writes = []
    for record in records:
        if record.status == "active":
            continue
        if record.status != "archived":
            raise InputRefused("memory_not_archived", id=repr(record.id))
        expires = record.expires if record.expires is not None and record.expires > at else None
        fields = {"status": "active", "archived_at": None, "expires": expires}
        writes += change_fields(record, "unarchive", at, cycle=cycle, **fields)
    return writes

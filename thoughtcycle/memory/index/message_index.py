"""The search index of a transcript: every message on a live branch, found by itself and its neighbours."""

from collections.abc import Iterable, Mapping, Sequence
from datetime import UTC, date, datetime, timedelta
from functools import cache, lru_cache
from heapq import nlargest
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from thoughtcycle.memory.index.postings import MOST_TERMS, Counted, Postings, counted, grown
from thoughtcycle.memory.index.ranking import (
    ABOUT,
    FLOOR,
    MOST_SATURATED,
    Keywords,
    Scores,
    full_weight,
    fuse,
    idf,
    length_norms,
    saturated,
    spread,
)
from thoughtcycle.memory.index.vector_search import MANY, Vectors
from thoughtcycle.memory.model import Cycle, MessageHit, MessageVector, Role
from thoughtcycle.memory.redaction import NOTHING, Mask, deleted_in, shown_in
from thoughtcycle.memory.storage import CycleFeed
from thoughtcycle.memory.text.analyzer import Term, digest, terms
from thoughtcycle.prompts.loader import LANGUAGES, word_lists


class _IndexedCycle(NamedTuple):
    id: str
    chat: str
    parent: str | None
    at: datetime
    slots: tuple[int, ...]
    """Of its messages that contain words, in the order in which they were said."""
    tied: tuple[str, ...]
    """Memories that were shown or deleted in it."""
    redacted: bool


class _IndexedMessage(NamedTuple):
    """All that a hit on the message needs, so that a search reads no document."""

    cycle: str
    chat: str
    message: str
    role: Role
    name: str | None
    at: datetime
    text: str


class MessageIndex:
    """The closed cycles of one user, as of change `number`. CPU-bound, not thread-safe.

    Only messages on the live branch of their chat are found and counted. `mask` redacts hidden memories
    before anything is indexed. Each message has its own words and vector; the words of its
    neighbours are added while searching, so that a new message changes nothing but itself.
    """

    def __init__(self, mask: Mask = NOTHING) -> None:
        self.number = 0
        self.mask = mask
        self.pending: dict[int, tuple[str, str]] = {}
        """Slot → cycle and text, of messages that have no vector yet."""
        self._cycles: dict[str, _IndexedCycle] = {}
        self._paths: dict[str, list[str]] = {}
        """Chat → its live cycles, oldest first."""
        self._chats: dict[str, str] = {}
        """Chat or memory → its id as one object, shared by all that name it."""
        self._messages: list[_IndexedMessage | None] = []
        """By slot; None for a free slot."""
        self._characters = 0
        self._free: list[int] = []
        self._own, self._about = Postings(), Postings()
        self._live = np.zeros(64, np.bool_)
        self._before, self._after = np.zeros(64, np.int32), np.zeros(64, np.int32)
        self._rows = np.zeros(64, np.int32)
        self._vectors: Vectors | None = None

    def __len__(self) -> int:
        """How many messages can be found."""
        return int(self._live.sum())

    @property
    def size(self) -> int:
        """How many messages are indexed, live or not."""
        return len(self._messages) - len(self._free)

    @property
    def nbytes(self) -> int:
        """Memory used, about."""
        vectors = self._vectors.nbytes if self._vectors is not None else 0
        waiting = sum(len(text) for _, text in self.pending.values())
        texts = self._characters + waiting + 600 * len(self._messages)
        return self._own.nbytes + self._about.nbytes + vectors + texts

    def apply(self, feed: CycleFeed) -> None:
        """Brings the index up to `feed.number`: each cycle of the feed replaces its former state."""
        changed = {cycle.chat for cycle in feed.cycles if cycle.id in self._cycles}
        vectors = {(vector.cycle, vector.digest): vector for vector in feed.vectors}
        ready: dict[int, MessageVector] = {}
        for cycle in feed.cycles:
            vectors = self._vectors_of(cycle.id) | vectors if cycle.id in self._cycles else vectors
            self._remove(cycle.id)
            ready |= self._add(cycle, vectors)
        for chat, tip in feed.tips.items():
            self._set_live(chat, tip, anew=chat in changed)
        self.add_vectors(ready)
        self.number = feed.number

    def touched(self, mask: Mask) -> set[str]:
        """The cycles that another mask may redact otherwise than the one of the index."""
        former = set(map(id, self.mask.traces))
        new = Mask(tuple(one for one in mask.traces if id(one) not in former))
        tied = new.memories
        found = {cycle for one in new.traces for cycle in (*one.sources, *one.requests)} & self._cycles.keys()
        found.update(one.id for one in self._cycles.values() if one.redacted or not tied.isdisjoint(one.tied))
        found.update(one.cycle for one in self._messages if one is not None and new.finds(one.text))
        return found

    def tips(self, cycles: Iterable[Cycle]) -> dict[str, str | None]:
        """Chat → end of its live branch, as far as it is indexed, for the chats of `cycles`."""
        chats = {cycle.chat for cycle in cycles}
        return {chat: path[-1] for chat in chats if (path := self._paths.get(chat))}

    def _vectors_of(self, cycle: str) -> dict[tuple[str, str], MessageVector]:
        """Cycle and digest → vector, of its messages that have one."""
        found: dict[tuple[str, str], MessageVector] = {}
        for slot in self._slots([cycle]):
            message, row = self._messages[slot], int(self._rows[slot])
            if message is not None and row >= 0 and self._vectors is not None:
                name = digest(_embedded(message.name, message.text))
                data = self._vectors.row(row).astype("<f4").tobytes()
                found[cycle, name] = MessageVector(cycle=cycle, digest=name, model="", data=data)
        return found

    def add_vectors(self, vectors: Mapping[int, MessageVector]) -> None:
        """Adds the vectors of these slots."""
        for slot, vector in vectors.items():
            data = np.frombuffer(vector.data, dtype="<f4")
            if self._vectors is None:
                self._vectors = Vectors(data.size)
            self.pending.pop(slot, None)
            if data.size == self._vectors.dimension:
                (self._rows[slot],) = self._vectors.add(data.reshape(1, -1))

    def latest_chats(self, most: int, *, without: str) -> list[str]:
        """The `most` chats with the latest messages, apart from `without`."""
        last = {chat: self._cycles[path[-1]].at for chat, path in self._paths.items() if path}
        last.pop(without, None)
        return nlargest(most, last, key=lambda chat: last[chat])

    def search(
        self,
        query: str,
        vector: npt.NDArray[np.float32] | None,
        *,
        limit: int,
        floor: float = FLOOR,
        chats: Iterable[str] | None = None,
    ) -> list[MessageHit]:
        """The `limit` most relevant messages, best first; those below `floor` are not related.

        `chats`: only messages of these; None: of all.
        """
        if chats is None:
            slots = np.flatnonzero(self._live)
        else:
            listed = [slot for chat in chats for slot in self._slots(self._paths.get(chat, ()))]
            slots = np.array(sorted(listed), np.int64)
        if not len(slots):
            return []
        cosines = self._cosines(vector)
        words = self._keywords(terms(query))
        mean = float(np.nanmean(cosines)) if np.count_nonzero(~np.isnan(cosines)) >= MANY else 0.0
        relevance = fuse(cosines[slots], words.share[slots], words.coverage[slots], mean=mean, floor=floor)
        order = np.lexsort((-slots, -relevance))[:limit]
        found = zip(slots[order].tolist(), relevance[order].tolist(), strict=True)
        return [
            MessageHit(relevance=value, **message._asdict())
            for slot, value in found
            if value > 0 and (message := self._messages[slot]) is not None
        ]

    def _keywords(self, query: Sequence[Term]) -> Keywords:
        """Keyword evidence of every slot: own words, neighbours' words, speaker and date."""
        size, live = len(self._live), self._live
        own, about = self._own.lengths(size), self._about.lengths(size)
        all_live = np.flatnonzero(live)
        length: Scores = spread(all_live, own[all_live], self._before, self._after, size)
        length += ABOUT * about * live
        norms = length_norms(length, float(length.sum()) / max(len(self), 1))
        bm25, matched = np.zeros(size, np.float32), np.zeros(size, np.float32)
        weights = []
        for term in list(dict.fromkeys(query))[:MOST_TERMS]:
            slots, counts = self._own.holders(term)
            found = live[slots]
            frequency = spread(slots[found], counts[found], self._before, self._after, size)
            slots, counts = self._about.holders(term)
            frequency[slots] += np.where(live[slots], ABOUT * counts, 0)
            holders = np.flatnonzero(frequency)
            weight = idf(len(self), len(holders))
            weights.append(weight)
            bm25[holders] += weight * saturated(frequency[holders], norms[holders])
            matched[holders] += weight
        share = bm25 / max(MOST_SATURATED * sum(weights), 1e-9)
        return Keywords(np.arange(size), share, np.minimum(1.0, matched / max(full_weight(weights), 1e-9)))

    def _cosines(self, vector: npt.NDArray[np.float32] | None) -> npt.NDArray[np.float32]:
        """Cosine of every slot; nan for a message that has no vector, or is not live."""
        cosines = np.full(len(self._live), np.nan, np.float32)
        if vector is None or self._vectors is None or vector.size != self._vectors.dimension:
            return cosines
        slots = np.flatnonzero(self._live & (self._rows >= 0))
        cosines[slots] = self._vectors.cosines(vector)[self._rows[slots]]
        return cosines

    def _add(
        self, cycle: Cycle, vectors: Mapping[tuple[str, str], MessageVector]
    ) -> dict[int, MessageVector]:
        """Adds a cycle, on no branch yet; slot → vector of its messages that have one."""
        ready, slots, whole = {}, [], cycle
        cycle = self.mask.cycle(cycle)
        chat = self._chats.setdefault(cycle.chat, cycle.chat)
        parent = self._cycles[cycle.parent].id if cycle.parent in self._cycles else cycle.parent
        for message in (cycle.message, *cycle.replies):
            text, name = message.text, message.name
            if not text.strip():
                continue
            slot = self._slot()
            slots.append(slot)
            at = _shared_utc(message.at)
            self._messages[slot] = _IndexedMessage(cycle.id, chat, message.id, message.role, name, at, text)
            self._characters += len(text)
            self._own.add(slot, (text,))
            self._about.add_counted(slot, _about(name, at.date()))
            embedded = _embedded(name, text)
            if (vector := vectors.get((cycle.id, digest(embedded)))) is not None:
                ready[slot] = vector
            else:
                self.pending[slot] = (cycle.id, embedded)
        at = _shared_utc(cycle.opened_at)
        tied = tuple(self._chats.setdefault(id, id) for id in shown_in(whole) | deleted_in(whole))
        known = _IndexedCycle(cycle.id, chat, parent, at, tuple(slots), tied, cycle is not whole)
        self._cycles[cycle.id] = known
        return ready

    def _remove(self, cycle: str) -> None:
        for slot in self._slots([cycle]):
            message, self._messages[slot] = self._messages[slot], None
            self._characters -= len(message.text) if message is not None else 0
            self.pending.pop(slot, None)
            self._own.remove(slot)
            self._about.remove(slot)
            if self._rows[slot] >= 0 and self._vectors is not None:
                self._vectors.remove([int(self._rows[slot])])
            self._live[slot], self._rows[slot] = False, -1
            self._free.append(slot)
        self._cycles.pop(cycle, None)

    def _set_live(self, chat: str, tip: str | None, *, anew: bool) -> None:
        """Makes the cycles that end with `tip` the live branch of the chat and links their messages."""
        path = self._paths.get(chat, [])
        new, joined = self._path_after(path[-1] if path and not anew else None, tip)
        if not joined:
            self._live[self._slots(path)] = False
            path = []
        self._paths[chat] = path + new
        chain = self._slots(new)
        last = next((slots[-1] for slots in (self._slots([one]) for one in reversed(path)) if slots), -1)
        for before, slot in zip([last, *chain], chain, strict=False):
            self._before[slot], self._after[slot] = before, -1
            if before >= 0:
                self._after[before] = slot
        self._live[chain] = True

    def _path_after(self, known: str | None, tip: str | None) -> tuple[list[str], bool]:
        """The cycles after `known` up to `tip`, oldest first, and whether `known` is an ancestor of `tip`."""
        path: list[str] = []
        seen: set[str] = set()
        while tip is not None and tip != known and tip in self._cycles and tip not in seen:
            seen.add(tip)
            path.append(self._cycles[tip].id)
            tip = self._cycles[tip].parent
        return path[::-1], known is not None and tip == known

    def _slots(self, cycles: Iterable[str]) -> list[int]:
        return [slot for cycle in cycles if cycle in self._cycles for slot in self._cycles[cycle].slots]

    def _slot(self) -> int:
        if self._free:
            slot = self._free.pop()
        else:
            slot = len(self._messages)
            self._messages.append(None)
        self._live = grown(self._live, slot + 1)
        self._before, self._after, self._rows = (
            grown(links, slot + 1) for links in (self._before, self._after, self._rows)
        )
        self._before[slot] = self._after[slot] = self._rows[slot] = -1
        return slot


@lru_cache(maxsize=1_024)
def _about(name: str | None, day: date) -> Counted:
    """Search words of a message beside its text: the speaker and the day it was said."""
    return counted((name or "", str(day.day), *_months()[day.month], str(day.year)))


def _embedded(name: str | None, text: str) -> str:
    """What of a message is made a vector."""
    return f"{name}: {text}" if name else text


def _shared_utc(at: datetime) -> datetime:
    """The same time with Python's one UTC object, where each document that was read brings its own."""
    return at.replace(tzinfo=UTC) if at.utcoffset() == timedelta() else at


@cache
def _months() -> dict[int, tuple[str, ...]]:
    """Month → its name in every language."""
    lists = [word_lists(language, "language/dates")["months"] for language in LANGUAGES]
    return {
        number: tuple(next(name for name, found in names.items() if found == number) for names in lists)
        for number in range(1, 13)
    }

"""The derived index of a transcript: every live message, found by itself and its neighbours."""

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
    fuse,
    idf,
    saturation,
    spread,
    whole,
)
from thoughtcycle.memory.index.vectors import MANY, Vectors
from thoughtcycle.memory.model import Cycle, CycleMessage, MessageHit, MessageVector, Role
from thoughtcycle.memory.redaction import NOTHING, Mask
from thoughtcycle.memory.storage import CycleFeed
from thoughtcycle.memory.text import Term, digest, terms
from thoughtcycle.prompts.loader import LANGUAGES, word_lists


class _Kept(NamedTuple):
    """A cycle."""

    id: str
    chat: str
    parent: str | None
    at: datetime
    slots: tuple[int, ...]
    """Of its messages that hold words, in the order in which they were said."""


class _Said(NamedTuple):
    """A message as it may be read: whoever finds it reads nothing more."""

    cycle: str
    chat: str
    id: str
    role: Role
    name: str | None
    at: datetime
    text: str


class MessageIndex:
    """The closed cycles of one user, as of change `number`. CPU-bound, not thread-safe.

    Only messages on the live branch of their chat are found and counted. `mask` blots out what is hidden
    before anything is indexed. Each message is kept by its own words and vector; what its
    neighbours say is added while searching, so that a new message changes nothing but itself.
    """

    def __init__(self, mask: Mask = NOTHING) -> None:
        self.number = 0
        self.mask = mask
        self.pending: dict[int, tuple[str, str]] = {}
        """Slot → cycle and text, of messages that have no vector yet."""
        self._cycles: dict[str, _Kept] = {}
        self._paths: dict[str, list[str]] = {}
        """Chat → its live cycles, oldest first."""
        self._chats: dict[str, str] = {}
        """Chat → the same text, held once for all that is said there."""
        self._said: list[_Said | None] = []
        """By slot; None for a slot that is free."""
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
        """How many messages are kept, live or not."""
        return len(self._said) - len(self._free)

    @property
    def nbytes(self) -> int:
        """Memory used, about."""
        vectors = self._vectors.nbytes if self._vectors is not None else 0
        waiting = sum(len(text) for _, text in self.pending.values())
        return (
            self._own.nbytes
            + self._about.nbytes
            + vectors
            + waiting
            + self._characters
            + 600 * len(self._said)
        )

    def apply(self, feed: CycleFeed) -> None:
        """Brings the index up to `feed.number`: each cycle in the feed replaces what was known of it."""
        changed = {cycle.chat for cycle in feed.cycles if cycle.id in self._cycles}
        vectors = {(vector.cycle, vector.digest): vector for vector in feed.vectors}
        ready: dict[int, MessageVector] = {}
        for cycle in feed.cycles:
            self._remove(cycle.id)
            ready |= self._add(cycle, vectors)
        for chat, tip in feed.tips.items():
            self._settle(chat, tip, anew=chat in changed)
        self.put(ready)
        self.number = feed.number

    def put(self, vectors: Mapping[int, MessageVector]) -> None:
        """Gives slots their vectors."""
        for slot, vector in vectors.items():
            data = np.frombuffer(vector.data, dtype="<f4")
            if self._vectors is None:
                self._vectors = Vectors(data.size, half=True)
            self.pending.pop(slot, None)
            if data.size == self._vectors.dimension:
                (self._rows[slot],) = self._vectors.add(data.reshape(1, -1))

    def latest(self, without: str, most: int) -> list[str]:
        """The `most` chats in which something was said last, the one named `without` aside."""
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
        return [self._hit(slot, value) for slot, value in found if value > 0]

    def _hit(self, slot: int, relevance: float) -> MessageHit:
        said = self._said[slot]
        assert said is not None  # only live slots are found
        return MessageHit(
            cycle=said.cycle,
            chat=said.chat,
            message=said.id,
            role=said.role,
            name=said.name,
            at=said.at,
            text=said.text,
            relevance=relevance,
        )

    def _keywords(self, query: Sequence[Term]) -> Keywords:
        """Keyword evidence for every slot: own words, neighbours' words, speaker and date."""
        size, live = len(self._live), self._live
        own, about = self._own.lengths(size), self._about.lengths(size)
        all_live = np.flatnonzero(live)
        beside: Scores = ABOUT * about * live
        length: Scores = spread(all_live, own[all_live], self._before, self._after, size) + beside
        mean = float(length.sum()) / max(len(self), 1)
        bm25, matched = np.zeros(size, np.float32), np.zeros(size, np.float32)
        weights = []
        for term in list(dict.fromkeys(query))[:MOST_TERMS]:
            slots, counts = self._own.holders(term)
            kept = live[slots]
            frequency = spread(slots[kept], counts[kept], self._before, self._after, size)
            slots, counts = self._about.holders(term)
            frequency[slots] += np.where(live[slots], ABOUT * counts, 0)
            holders = np.flatnonzero(frequency)
            weight = idf(len(self), len(holders))
            weights.append(weight)
            bm25[holders] += weight * saturation(frequency[holders], length[holders], mean)
            matched[holders] += weight
        share = bm25 / max(MOST_SATURATED * sum(weights), 1e-9)
        return Keywords(np.arange(size), share, np.minimum(1.0, matched / max(whole(weights), 1e-9)))

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
        """Keeps a cycle, on no branch yet; slot → vector of the messages that have one."""
        ready, slots = {}, []
        cycle = self.mask.cycle(cycle)
        chat = self._chats.setdefault(cycle.chat, cycle.chat)
        parent = self._cycles[cycle.parent].id if cycle.parent in self._cycles else cycle.parent
        for message in (cycle.message, *cycle.replies):
            text = message.text
            if not text.strip():
                continue
            slot = self._slot()
            slots.append(slot)
            at = _plain(message.at)
            self._said[slot] = _Said(cycle.id, chat, message.id, message.role, message.name, at, text)
            self._characters += len(text)
            self._own.add(slot, (text,))
            self._about.put(slot, _about(message.name, at.date()))
            key = dense_key(message, text)
            if (vector := vectors.get((cycle.id, digest(key)))) is not None:
                ready[slot] = vector
            else:
                self.pending[slot] = (cycle.id, key)
        self._cycles[cycle.id] = _Kept(cycle.id, chat, parent, _plain(cycle.opened_at), tuple(slots))
        return ready

    def _remove(self, cycle: str) -> None:
        kept = self._cycles.pop(cycle, None)
        for slot in kept.slots if kept is not None else ():
            said, self._said[slot] = self._said[slot], None
            self._characters -= len(said.text) if said is not None else 0
            self.pending.pop(slot, None)
            self._own.remove(slot)
            self._about.remove(slot)
            if self._rows[slot] >= 0 and self._vectors is not None:
                self._vectors.remove([int(self._rows[slot])])
            self._live[slot], self._rows[slot] = False, -1
            self._free.append(slot)

    def _settle(self, chat: str, tip: str | None, *, anew: bool) -> None:
        """Makes the cycles that end with `tip` the live ones of the chat, each message after the other."""
        path = self._paths.get(chat, [])
        new, joined = self._since(tip, path[-1] if path and not anew else None)
        if not joined:
            self._live[self._slots(path)] = False
            path = []
        self._paths[chat] = path + new
        chain = self._slots(new)
        last = next((slots[-1] for slots in map(self._of, reversed(path)) if slots), -1)
        for before, slot in zip([last, *chain], chain, strict=False):
            self._before[slot], self._after[slot] = before, -1
            if before >= 0:
                self._after[before] = slot
        self._live[chain] = True

    def _since(self, tip: str | None, known: str | None) -> tuple[list[str], bool]:
        """The cycles after `known` up to `tip`, oldest first, and whether `known` was met on the way."""
        path: list[str] = []
        seen: set[str] = set()
        while tip is not None and tip != known and tip in self._cycles and tip not in seen:
            seen.add(tip)
            kept = self._cycles[tip]
            path.append(kept.id)
            tip = kept.parent
        return path[::-1], known is not None and tip == known

    def _of(self, cycle: str) -> tuple[int, ...]:
        return self._cycles[cycle].slots if cycle in self._cycles else ()

    def _slots(self, cycles: Iterable[str]) -> list[int]:
        return [slot for cycle in cycles for slot in self._of(cycle)]

    def _slot(self) -> int:
        if self._free:
            slot = self._free.pop()
        else:
            slot = len(self._said)
            self._said.append(None)
        self._live = grown(self._live, slot + 1)
        self._before, self._after, self._rows = (
            grown(links, slot + 1) for links in (self._before, self._after, self._rows)
        )
        self._before[slot] = self._after[slot] = self._rows[slot] = -1
        return slot


def dense_key(message: CycleMessage, text: str) -> str:
    """What a message's vector is made from: its text, after the speaker's name where that is known."""
    return f"{message.name}: {text}" if message.name else text


@lru_cache(maxsize=1_024)
def _about(name: str | None, day: date) -> Counted:
    """Words of a message beside its text: the speaker and the day it was said."""
    return counted((name or "", str(day.day), *_months()[day.month], str(day.year)))


def _plain(at: datetime) -> datetime:
    """The same time; UTC as the one object that Python has of it, where each read document brings its own."""
    return at.replace(tzinfo=UTC) if at.utcoffset() == timedelta() else at


@cache
def _months() -> dict[int, tuple[str, ...]]:
    """Month → its name in every language."""
    lists = [word_lists(language, "language/dates")["months"] for language in LANGUAGES]
    return {
        number: tuple(next(name for name, found in names.items() if found == number) for names in lists)
        for number in range(1, 13)
    }

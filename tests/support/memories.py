"""Small makers for tests of the memory: an embedder without a model, a clock that ticks, records, messages."""

import hashlib
from collections.abc import Sequence
from datetime import UTC, datetime, timedelta

import numpy as np

from thoughtcycle.memory.memory import Memory
from thoughtcycle.memory.model import CycleMessage, MemoryRecord, Step, Vector
from thoughtcycle.memory.storage import NOT_DELETED, Entry, Feed
from thoughtcycle.memory.storage.serialization import blocks_of, entry_of, to_document
from thoughtcycle.memory.storage.sqlite.storage import SqliteStorage
from thoughtcycle.memory.text.analyzer import fold

START = datetime(2026, 3, 1, 12, 0, tzinfo=UTC)


class WordEmbedder:
    """Texts that share words point the same way; `same` makes words synonyms. Counts its calls."""

    def __init__(self, name: str = "words", dimension: int = 64, same: Sequence[set[str]] = ()) -> None:
        self.name, self.dimension, self.same = name, dimension, same
        self.calls: list[list[str]] = []

    async def aembed_documents(self, texts: list[str], /) -> list[list[float]]:
        self.calls.append(texts)
        return [self._vector(text) for text in texts]

    async def aembed_query(self, text: str, /) -> list[float]:
        return (await self.aembed_documents([text]))[0]

    def _vector(self, text: str) -> list[float]:
        return list(sum((self._direction(word) for word in fold(text).split()), np.zeros(self.dimension)))

    def _direction(self, word: str) -> np.ndarray:
        word = next((min(group) for group in self.same if word in group), word)
        seed = int.from_bytes(hashlib.sha256(word.encode()).digest()[:8], "big")
        return np.random.default_rng(seed).standard_normal(self.dimension)


class Clock:
    """Starts at `START` and moves one second per look."""

    def __init__(self) -> None:
        self.now = START

    def __call__(self) -> datetime:
        self.now += timedelta(seconds=1)
        return self.now


def record(
    id: str = "m1", space: str = "ana", content: object = "Vegetariano", **fields: object
) -> MemoryRecord:
    """A memory record; everything has a default."""
    values = {
        "revision": 0,
        "type": "text",
        "valid_from": START,
        "created": START,
        "updated": START,
        **fields,
    }
    return MemoryRecord.model_validate({"id": id, "space": space, "content": content, **values})


def vector(memory: MemoryRecord, text: str = "key", model: str = "words") -> Vector:
    """A vector of a memory; its data depend on the text only."""
    data = np.frombuffer(hashlib.sha256(text.encode()).digest(), dtype=np.uint8).astype("<f4") - 127.5
    unit = (data / np.linalg.norm(data)).astype("<f4").tobytes()
    id = f"{memory.id}/{model}/{text}"
    return Vector(id=id, space=memory.space, memory=memory.id, text=text, model=model, data=unit)


def entry(memory: MemoryRecord) -> Entry:
    """What an index needs to know of a memory."""
    return entry_of(to_document(memory))


def feed(number: int, memories: Sequence[MemoryRecord], vectors: Sequence[Vector] = ()) -> Feed:
    """What an index lacks: these memories, with vectors in the order given."""
    places = {}
    for memory in memories:
        own = [one for one in vectors if one.memory == memory.id]
        places.update({one.id: (memory.id, place) for place, one in enumerate(own)})
    blocks = blocks_of(places, ((one.id, one.data) for one in vectors))
    return Feed(number, [entry(memory) for memory in memories], blocks)


def said(text: str, id: str = "1", role: str = "user") -> CycleMessage:
    """A message of a cycle."""
    return CycleMessage.model_validate({"id": id, "role": role, "text": text, "at": START})


def step(action: str = "Finish") -> Step:
    """A step that was done."""
    return Step(action=action, input=None, outcome="ok", status="done")


async def hidden(memory: Memory, user: str) -> list[MemoryRecord]:
    """Memories that the user has hidden; neither abandoned branches nor undone saves."""
    records = await memory.list(user, statuses=("hidden",))
    return [record for record in records if record.reason not in NOT_DELETED]


async def pragma(memory: Memory, text: str) -> None:
    """Runs a PRAGMA on the memory's own connection."""
    storage = memory.core.storage
    assert isinstance(storage, SqliteStorage)
    await storage.database.read(lambda db: db.execute(f"PRAGMA {text}").fetchall())

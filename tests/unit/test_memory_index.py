"""The derived index: it follows the feed, and equals one that was made anew."""

import random
from contextlib import suppress

import numpy as np
import pytest

from support.memories import feed, record, vector
from thoughtcycle.errors import StorageFailed, StorageLocked, StorageUnavailable
from thoughtcycle.memory.index.cache import MemoryIndexes
from thoughtcycle.memory.index.corpus import MemoryQuery
from thoughtcycle.memory.index.filters import Filters
from thoughtcycle.memory.index.memory_index import MemoryIndex
from thoughtcycle.memory.model.records import MemoryRecord, Vector
from thoughtcycle.memory.storage import Feed

WORDS = ("casa", "carro", "viagem", "praia", "livro", "gato", "chuva")


def data(one: Vector) -> np.ndarray:
    return np.frombuffer(one.data, dtype="<f4")


def names(index: MemoryIndex, query: str, vector: np.ndarray | None = None, **options: object) -> list[str]:
    return [found.memory for found in index.search(MemoryQuery(query, vector, **options))]  # type: ignore[arg-type]


def test_words_and_vectors_find_a_memory() -> None:
    one, two = record("m1", content="casa azul"), record("m2", content="carro")
    index = MemoryIndex()
    index.apply(feed(2, (one, two), (vector(one, "x"), vector(two, "y"))))
    assert names(index, "casas") == ["m1"]
    (found,) = index.search(MemoryQuery("", data(vector(two, "y")), floor=0.99))
    assert (found.memory, found.nearest) == ("m2", 0)
    assert index.search(MemoryQuery("")) == []


def test_only_the_wanted_kinds_are_found() -> None:
    one, two = record("m1", kind="bio"), record("m2", kind="pref")
    index = MemoryIndex()
    index.apply(feed(2, (one, two), (vector(one, "x"), vector(two, "x"))))
    assert names(index, "vegetariano", data(vector(one, "x")), filters=Filters(kinds=["pref"])) == ["m2"]
    assert names(index, "vegetariano", data(vector(one, "x")), filters=Filters(kinds=["emo"])) == []
    assert names(index, "vegetariano", data(vector(one, "x")), filters=Filters(kinds=[])) == []


@pytest.mark.spec("HM-9")
@pytest.mark.parametrize("keys", [1, 3, 12, 200])
def test_memories_of_many_keys_are_found_as_well_as_those_of_few(keys: int) -> None:
    memories = [record(f"m{number:02}", content="") for number in range(40)]
    vectors = []
    for number, memory in enumerate(memories):
        for key in range(keys):
            place = np.zeros(32, "<f4")
            place[0], place[1], place[2 + key % 30] = 1.0, 0.02 * number, 0.0001 * (key + 1)
            near = vector(memory, str(key))
            vectors.append(near.model_copy(update={"data": (place / np.linalg.norm(place)).tobytes()}))
    index = MemoryIndex()
    index.apply(feed(40, memories, vectors))
    asked = np.eye(1, 32, dtype=np.float32)[0]
    assert names(index, "", asked, limit=10) == [f"m{number:02}" for number in range(10)]


def test_vectors_of_another_dimension_are_not_compared() -> None:
    one = record("m1")
    index = MemoryIndex()
    index.apply(feed(1, (one,), (vector(one, "x"),)))
    assert names(index, "", np.ones(7, dtype=np.float32)) == []
    assert names(index, "vegetariano", np.ones(7, dtype=np.float32)) == ["m1"]


@pytest.mark.spec("BY-2")
@pytest.mark.parametrize("seed", range(5))
def test_catching_up_equals_making_anew(seed: int) -> None:
    chance = random.Random(seed)
    live = MemoryIndex()
    state: dict[str, tuple[MemoryRecord, tuple[Vector, ...]]] = {}
    for number in range(1, 60):
        status = chance.choice(["active", "active", "hidden", "superseded"])
        memory = record(f"m{chance.randrange(12)}", content=" ".join(chance.sample(WORDS, 2)), status=status)
        keys = tuple(vector(memory, word) for word in chance.sample(WORDS, 2)) if status == "active" else ()
        state[memory.id] = (memory, keys)
        live.apply(feed(number, (memory,), keys))
    fresh = MemoryIndex()
    records = tuple(memory for memory, _ in state.values())
    fresh.apply(feed(59, records, tuple(key for _, keys in state.values() for key in keys)))
    assert live.hidden == fresh.hidden
    assert len(live) == len(fresh)
    for word in WORDS:
        direction = data(vector(record(), word))
        for query, towards in ((word, None), ("", direction), (word, direction)):
            wanted = MemoryQuery(query, towards, limit=99)
            one = {found.memory: pytest.approx(found.relevance) for found in live.search(wanted)}
            other = {found.memory: found.relevance for found in fresh.search(wanted)}
            assert one == other


class Feeds:
    """A storage that only feeds; counts how often from the start."""

    def __init__(self) -> None:
        self.rebuilds = 0.0
        self.memories = self

    def glimpse(self, user: str) -> None:
        return None

    async def feed(self, space: str, after: int, *, model: str | None) -> Feed:
        self.rebuilds += after == 0
        return feed(1, (record("m1", space),) if after == 0 else ())


async def test_only_so_much_memory_is_taken_by_indexes() -> None:
    storage = Feeds()
    alone = MemoryIndexes(storage, None)  # type: ignore[arg-type]
    async with alone.index("a"):
        pass
    storage.rebuilds = 0
    spaces = MemoryIndexes(storage, None, budget=alone.nbytes * 2)  # type: ignore[arg-type]
    for space in ("a", "b", "a", "c", "a", "b"):
        async with spaces.index(space) as index:
            assert len(index) == 1
        assert spaces.nbytes <= alone.nbytes * 2
    assert storage.rebuilds == 4


@pytest.mark.parametrize("away", [False, True])
async def test_an_index_without_anything_in_it_counts_too(away: bool) -> None:
    class Silent(Feeds):
        async def feed(self, space: str, after: int, *, model: str | None) -> Feed:
            if away:
                raise StorageUnavailable("here")
            return feed(0, ())

    spaces = MemoryIndexes(Silent(), None, budget=100_000)  # type: ignore[arg-type]
    for number in range(100):
        with suppress(StorageFailed):
            async with spaces.index(f"user{number}"):
                pass
    assert 1 < len(spaces._slots) < 30


async def test_an_interrupted_use_leaves_the_index_behind() -> None:
    storage = Feeds()
    spaces = MemoryIndexes(storage, None)  # type: ignore[arg-type]
    with pytest.raises(RuntimeError, match="interrupted"):
        async with spaces.index("a"):
            raise RuntimeError("interrupted")
    async with spaces.index("a") as index:
        assert len(index) == 1
    assert storage.rebuilds == 2


async def test_a_database_that_is_away_for_a_moment_costs_no_index() -> None:
    class Away(Feeds):
        async def feed(self, space: str, after: int, *, model: str | None) -> Feed:
            if after and self.rebuilds == 1:
                self.rebuilds += 0.5
                raise StorageLocked("db")
            return await super().feed(space, after, model=model)

    storage = Away()
    spaces = MemoryIndexes(storage, None)  # type: ignore[arg-type]
    async with spaces.index("a"):
        pass
    with pytest.raises(StorageFailed):
        async with spaces.index("a"):
            pass
    async with spaces.index("a") as index:
        assert len(index) == 1
    assert storage.rebuilds == 1.5

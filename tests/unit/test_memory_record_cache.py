"""Documents read lately are read again only when they changed."""

from collections.abc import Sequence

import pytest

from support.memories import record
from thoughtcycle.memory.core.caches import RecordCache
from thoughtcycle.memory.model.records import MemoryRecord
from thoughtcycle.memory.storage.sqlite.memories import SqliteMemories


class Counting(SqliteMemories):
    """Storage of three documents that notes what is read."""

    def __init__(self) -> None:
        contents = {"m1": "um", "m2": "dois", "m3": {"changeable": True}}
        self.documents = {id: record(id, content=content) for id, content in contents.items()}
        self.read: list[str] = []

    async def records(self, space: str, ids: Sequence[str]) -> list[MemoryRecord]:
        self.read += ids
        return [self.documents[id] for id in ids if id in self.documents and space == "ana"]


@pytest.fixture
def storage() -> Counting:
    return Counting()


def present(storage: Counting, *ids: str) -> dict[str, int]:
    return {id: storage.documents[id].revision for id in ids}


@pytest.mark.parametrize(("id", "reads"), [("m1", 1), ("m3", 2)])
async def test_only_what_nobody_can_change_in_place_is_kept(storage: Counting, id: str, reads: int) -> None:
    reading = RecordCache(storage)
    for _ in range(2):
        assert await reading.records("ana", present(storage, id)) == {id: storage.documents[id]}
    assert len(storage.read) == reads


async def test_another_revision_is_read_again(storage: Counting) -> None:
    reading = RecordCache(storage)
    await reading.records("ana", present(storage, "m1"))
    changed = storage.documents["m1"].model_copy(update={"revision": 9, "status": "hidden"})
    storage.documents["m1"] = changed
    assert (await reading.records("ana", {"m1": 9}))["m1"].status == "hidden"


async def test_it_is_nobody_elses(storage: Counting) -> None:
    reading = RecordCache(storage)
    await reading.records("ana", present(storage, "m1"))
    assert await reading.records("bia", present(storage, "m1")) == {}


async def test_the_oldest_goes_first_and_what_changed_at_once(storage: Counting) -> None:
    reading = RecordCache(storage, most=1)
    await reading.records("ana", present(storage, "m1"))
    await reading.records("ana", present(storage, "m2"))
    await reading.records("ana", present(storage, "m1"))
    reading.changed("ana", [storage.documents["m1"].model_copy(update={"status": "hidden"})])
    await reading.records("ana", present(storage, "m1"))
    assert storage.read == ["m1", "m2", "m1", "m1"]


async def test_what_was_just_written_is_not_read(storage: Counting) -> None:
    reading = RecordCache(storage)
    storage.documents["m1"] = storage.documents["m1"].model_copy(update={"revision": 9, "content": "novo"})
    reading.changed("ana", [storage.documents["m1"]])
    assert (await reading.records("ana", {"m1": 9}))["m1"].text == "novo"
    assert storage.read == []

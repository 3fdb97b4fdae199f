"""What every backend must do with items. Mixed into a backend's storage test."""

from datetime import timedelta

from support.memories import START, record
from support.storage_conformance import HOSTILE, change, new
from thoughtcycle.memory.model.records import MemoryRecord
from thoughtcycle.memory.storage import Storage, StoredItem


def stored(memory: MemoryRecord, **fields: object) -> StoredItem:
    """A memory as an item."""
    return StoredItem(memory.id, memory.key, memory.content, memory.created, memory.updated)._replace(
        **fields
    )


async def deleted(storage: Storage, space: str, key: str) -> list[str]:
    found = await storage.memories.listing(space, ("hidden",), key=key)
    return [one.id for one in found if one.current is None]


class ItemConformance:
    """Expects the fixture `storage` of `StorageConformance`."""

    async def test_items_are_the_active_documents_of_a_space(self, storage: Storage) -> None:
        contents = [{"value": {"text": text, text: [1, 2.5, None, True]}} for text in HOSTILE]
        contents += [{"zlib": "not packed"}, "text", 10**400]
        written = [new(record(f"m{n}", content=one, key=f"k{n}")) for n, one in enumerate(contents)]
        memories = await storage.memories.commit("ana", written)
        await storage.memories.commit("bia", [new(record("m9", "bia", key="k0"))])
        ids, keys = [one.id for one in memories], [f"k{n}" for n in range(len(contents))]
        expected = [stored(one) for one in memories]
        assert sorted(await storage.memories.items("ana", ids=[*ids, "m9", "unknown"])) == expected
        assert sorted(await storage.memories.items("ana", keys=[*keys, "unknown"])) == expected
        assert (
            await storage.memories.items("ana")
            == []
            == await storage.memories.items("eva", ids=ids, keys=keys)
        )
        later = START + timedelta(hours=1)
        gone, aside, again, moved, *_ = memories
        await storage.memories.commit(
            "ana",
            [
                change(gone, status="hidden", reason="user"),
                change(aside, status="archived"),
                change(again, reinforced_at=later),
                change(moved, updated=later, content={"value": 1}),
            ],
        )
        found = {item.id: item for item in await storage.memories.items("ana", ids=ids[:4])}
        assert found == {
            again.id: stored(again, changed=later),
            moved.id: stored(moved, changed=later, content={"value": 1}),
        }
        assert {item.id for item in await storage.memories.items("ana", keys=keys[:4])} == found.keys()

    async def test_deleted_items_are_found_by_key(self, storage: Storage) -> None:
        key = "k'\"\x01"
        one, two, other = (
            record(id, content=id, key=name) for id, name in (("1", key), ("2", key), ("3", "o"))
        )
        (first, third) = await storage.memories.commit("ana", [new(one), new(other)])
        assert await deleted(storage, "ana", key) == []
        hidden = {"status": "hidden", "reason": "user"}
        version = record("v", content="v", key=key, current="1", **hidden)
        await storage.memories.commit("ana", [change(first, **hidden), change(third, **hidden), new(version)])
        (second,) = await storage.memories.commit("ana", [new(two)])
        await storage.memories.commit("ana", [change(second, **hidden)])
        assert await deleted(storage, "ana", key) == ["2", "1"]
        assert await deleted(storage, "bia", key) == []

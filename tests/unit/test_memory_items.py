"""Items of apps live beside a user's memories: apart from them, but exported, checked and forgotten with them."""

import json
from datetime import timedelta
from pathlib import Path

import pytest

from support.doctor import problems
from support.engines import memory
from support.left import left_of
from support.memories import START, Clock
from thoughtcycle.errors import InputRefused, NotAllowed
from thoughtcycle.memory.items.service import PASSING, has_expired
from thoughtcycle.memory.memory import Memory
from thoughtcycle.memory.model.namespace import ItemSpace, item_space, owned, owner_of, stored_space
from thoughtcycle.memory.model.records import ITEM, Access, MemoryDraft
from thoughtcycle.memory.storage import StoredItem

__all__ = ["memory"]

ANAS = item_space("ana")


def item(key: str, text: str, **more: object) -> MemoryDraft:
    content = {"namespace": ["ana"], "key": key, "value": {"text": text}, **more}
    tags = (PASSING,) if "ttl" in more else ()
    return MemoryDraft(type=ITEM, content=content, key=key, bindings=(text,), tags=("in", *tags))


@pytest.mark.spec("BY-5")
def test_no_text_from_outside_is_somebodys_space() -> None:
    assert owned("ana") == "ana" and owned(ANAS) is ANAS
    assert owner_of(ANAS) == owner_of("ana") == "ana"
    assert stored_space(str(ANAS)) == ANAS and isinstance(stored_space(str(ANAS)), ItemSpace)
    assert not isinstance(stored_space("ana"), ItemSpace)
    for name in ("", str(ANAS), ANAS):
        with pytest.raises(NotAllowed):
            item_space(name)
    with pytest.raises(NotAllowed):
        owned(str(ANAS))


@pytest.mark.spec("BY-5", "BY-6")
async def test_items_are_no_memories(memory: Memory) -> None:
    await memory.save("ana", [MemoryDraft(content="Gosta de quimeras")])
    await memory.save(ANAS, [item("k", "quimera"), item("other", "quimera")])
    assert [hit.record.type for hit in await memory.search("ana", "quimera")] == ["text"]
    assert [record.type for record in await memory.list("ana")] == ["text"]
    assert {hit.record.key for hit in await memory.search(ANAS, "quimera")} == {"k", "other"}
    assert (await memory.items.keyed(ANAS, ["k", "none"])).keys() == {"k"}
    assert await memory.items.keyed("ana", ["k"]) == {} and await memory.items.keyed(ANAS, []) == {}
    assert len(await memory.items.tagged(ANAS, "in")) == 2 == len(await memory.items.tagged(ANAS, None))
    assert await memory.items.tagged(ANAS, "none") == [] and await memory.items.tags("ana") == []
    assert await memory.upkeep.users() == ["ana"]
    await memory.undo("ana")  # the newest change of the user's: the memory, though the items came later
    assert await memory.list("ana") == [] and len(await memory.list(ANAS)) == 2


@pytest.mark.spec("BY-6")
async def test_an_item_is_found_by_its_bindings_alone(memory: Memory) -> None:
    await memory.save(ANAS, [item("k", "quimera")])
    assert await memory.search(ANAS, "namespace", floor=0.0) == []
    (found,) = await memory.search(ANAS, "quimera")
    assert len(found.record.vector_ids) == (memory.core.model is not None)


@pytest.mark.spec("BY-6", "BY-9")
async def test_what_is_deleted_blots_nothing_out(memory: Memory) -> None:
    cycle = await memory.record_cycle(
        "ana", "chat", "Vi uma quimera em Petrópolis.", "Que bom!", at=START, channel="test"
    )
    await memory.save(ANAS, [item("k", "quimera em Petrópolis"), item("other", "Petrópolis é fria")])
    (gone,) = (await memory.items.keyed(ANAS, ["k"])).values()
    await memory.hide(ANAS, [gone.id])
    assert (await memory.conversation("ana", "chat"))[0].message.text == cycle.message.text
    receipts = await memory.erase_due(timedelta(0))
    assert [(owner_of(one.user), one.memories, one.left) for one in receipts] == [("ana", 1, ())]
    assert await left_of(memory, ANAS, ["quimera"]) == []
    (kept,) = await memory.list(ANAS)
    assert kept.bindings == ("Petrópolis é fria",)
    assert await problems(memory.core.storage, ANAS) == []


@pytest.mark.parametrize(
    ("ttl", "put", "read", "over"),
    [
        (None, 0, None, False),
        (5, 4, None, False),
        (5, 5, None, True),
        (5, 9, 5, True),
        (5, 9, 4, False),
        (0, 0, None, True),
    ],
)
@pytest.mark.spec("BY-6")
def test_an_item_runs_out_after_so_many_minutes(
    ttl: float | None, put: int, read: int | None, over: bool
) -> None:
    content = {"value": {}} if ttl is None else {"value": {}, "ttl": ttl}
    now = START + timedelta(minutes=put)
    access = None if read is None else Access(count=1, last=now - timedelta(minutes=read))
    assert has_expired(StoredItem("i", "k", content, START, START), access, now) is over


@pytest.mark.spec("BY-6")
async def test_what_ran_out_is_swept(memory: Memory) -> None:
    await memory.save(ANAS, [item("short", "um", ttl=1), item("long", "dois", ttl=100), item("ever", "três")])
    clock = memory.core.clock
    assert isinstance(clock, Clock)
    clock.now += timedelta(minutes=2)
    assert await memory.items.sweep_items("ana") == 1 and await memory.items.sweep_items("bia") == 0
    assert {record.key for record in await memory.list(ANAS)} == {"long", "ever"}
    assert len(await memory.erase_due(timedelta(days=1))) == 1
    assert await left_of(memory, ANAS, ["um"]) == []


@pytest.mark.spec("BY-4")
async def test_a_user_is_forgotten_with_all_items(memory: Memory) -> None:
    await memory.save("ana", [MemoryDraft(content="Gosta de quimeras")])
    for space in (ANAS, item_space("bia")):
        await memory.save(space, [item("k", "quimera"), item("k", "outra quimera")])
    assert await memory.doctor("ana") == [] and await memory.upkeep.users() == ["ana", "bia"]
    farewell = await memory.forget_user("ana")
    assert farewell.erased["memories"] == 3 and farewell.left == {}
    assert await memory.list(ANAS) == [] and len(await memory.list(item_space("bia"))) == 1
    assert await memory.upkeep.users() == ["bia"] and await memory.search(ANAS, "quimera") == []


@pytest.mark.spec("BY-4")
async def test_items_are_exported_and_come_back_once(memory: Memory, tmp_path: Path) -> None:
    await memory.save("ana", [MemoryDraft(content="Gosta de quimeras", key="k")])
    await memory.save(ANAS, [item("k", "quimera"), item("gone", "quimera apagada"), item("n", "outro")])
    await memory.save(ANAS, [item("k", "grifo"), item("n", "quimera e grifo")])
    (gone,) = (await memory.items.keyed(ANAS, ["gone"])).values()
    await memory.hide(ANAS, [gone.id])
    lines = [json.dumps(line) async for line in memory.export("ana")]
    assert (
        not any("apagada" in line for line in lines) and sum('"of": "store"' in line for line in lines) == 13
    )
    file = tmp_path / "ana.jsonl"
    file.write_text("\n".join(lines))
    async with Memory.open(f"sqlite:///{tmp_path}/other.db", embeddings=None, clock=Clock()) as other:
        for user, new in (("ana", 3), ("ana", 0), ("bia", 3)):
            done = await other.import_file(user, file)
            found = await other.items.keyed(item_space(user), ["k", "n"])
            mine = await memory.items.keyed(ANAS, ["k", "n"])
            assert {key: one.content for key, one in found.items()} == {
                key: one.content for key, one in mine.items()
            }
            assert (done.memories > 0) is (new > 0)
            assert [one.text for one in await other.list(user)] == ["Gosta de quimeras"]
        undone = await other.undo(ANAS, (await other.items.keyed(ANAS, ["k"]))["k"].id)
        assert undone.record is not None and undone.record.bindings == ("quimera",)
        assert await other.doctor("ana") == [] == await other.doctor("bia")
    file.write_text("\n".join(lines).replace('"of": "store"', '"of": "other"'))
    with pytest.raises(InputRefused):
        await memory.import_file("ana", file)

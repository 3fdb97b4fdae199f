"""Saving, updating, hiding and undoing memories, on embedded storage."""

import pytest

from support.engines import memory
from support.memories import START, hidden
from thoughtcycle.errors import InputRefused, NotAllowed
from thoughtcycle.memory.memory import Memory
from thoughtcycle.memory.model.records import MemoryDraft, MemoryRecord, Source

__all__ = ["memory"]

DIET = ("alimentação", "dieta", "food", "diet")


def draft(content: object = "Vegetariano", cycle: str | None = None, **fields: object) -> MemoryDraft:
    return MemoryDraft.model_validate({"content": content, "source": Source(cycle=cycle), **fields})


async def one(memory: Memory, *args: object, **fields: object) -> MemoryRecord:
    (saved,) = await memory.save("ana", [draft(*args, **fields)])  # type: ignore[arg-type]
    return saved.record


async def contents(memory: Memory, query: str) -> list[object]:
    return [hit.record.content for hit in await memory.search("ana", query)]


@pytest.mark.spec("TC-9", "TC-15")
async def test_a_draft_becomes_a_memory_with_its_vectors(memory: Memory) -> None:
    saved = await memory.save(
        "ana", [draft(bindings=DIET, kind="pref", cycle="c1"), draft({"a": 1}, type="json")]
    )
    assert [item.outcome for item in saved] == ["saved", "saved"]
    record = saved[0].record
    assert (record.layer, record.space, record.source.cycle) == ("semantic", "ana", "c1")
    assert len(record.vector_ids) == (5 if memory.core.embeddings else 0)
    assert await memory.get("ana", record.id) == record
    assert saved[1].record.layer == "long"
    assert [item.op for item in await memory.history("ana", record.id)] == ["save"]


async def test_embeddings_are_asked_once_per_save(memory: Memory) -> None:
    await memory.save("ana", [draft(bindings=DIET), draft("Odeia coentro", bindings=DIET)])
    assert len(getattr(getattr(memory.core.embeddings, "inner", None), "calls", [None])) == 1


async def test_given_vectors_are_used(memory: Memory) -> None:
    vectors = await memory.embed(["Vegetariano", "dieta"])
    calls = len(getattr(getattr(memory.core.embeddings, "inner", None), "calls", []))
    (saved,) = await memory.save("ana", [draft(bindings=("dieta", "food"))], vectors=vectors)
    assert len(saved.record.vector_ids) == len(vectors)
    assert len(getattr(getattr(memory.core.embeddings, "inner", None), "calls", [])) == calls


async def test_a_repeated_run_adds_nothing(memory: Memory) -> None:
    drafts = [draft(cycle="c1", key="diet"), draft("Odeia coentro", "c1")]
    first = await memory.save("ana", drafts)
    again = await memory.save("ana", drafts)
    assert [item.record for item in again] == [item.record for item in first]
    assert [item.outcome for item in again] == ["known", "known"]
    assert len(await memory.list("ana")) == 2


@pytest.mark.spec("HM-6")
async def test_the_same_content_from_another_cycle_reinforces(memory: Memory) -> None:
    record = await one(memory, "Vegetariano", "c1")
    (saved,) = await memory.save("ana", [draft("vegetariano.", "c2")])
    assert (saved.outcome, saved.record.id) == ("known", record.id)
    assert saved.record.reinforced_at is not None
    assert [item.op for item in await memory.history("ana", record.id)] == ["save", "reinforce"]


@pytest.mark.spec("HM-6")
async def test_its_own_cycle_never_reinforces_a_memory(memory: Memory) -> None:
    await one(memory, "Vegetariano", "c1")
    assert (await one(memory, "Vegetariano", "c1")).reinforced_at is None


async def test_the_same_content_twice_in_one_call_is_one_memory(memory: Memory) -> None:
    saved = await memory.save("ana", [draft(), draft("vegetariano"), draft("Outro")])
    assert [item.outcome for item in saved] == ["saved", "known", "saved"]
    assert saved[0].record == saved[1].record
    assert len(await memory.list("ana")) == 2


@pytest.mark.spec("HM-6", "BY-1")
async def test_another_content_under_a_key_supersedes_the_old(memory: Memory) -> None:
    old = await one(memory, "Mora em Recife", "c1", key="city", bindings=("cidade",))
    (saved,) = await memory.save(
        "ana", [draft("Mora em Natal", "c2", key="city", bindings=("cidade", "city"))]
    )
    assert (saved.outcome, saved.record.id, saved.record.content) == ("superseded", old.id, "Mora em Natal")
    assert saved.former is not None
    assert (saved.former.status, saved.former.current, saved.former.content) == (
        "superseded",
        old.id,
        "Mora em Recife",
    )
    assert (saved.former.valid_from, saved.former.valid_to) == (old.valid_from, saved.record.valid_from)
    assert await memory.versions("ana", old.id) == [saved.former]
    assert await contents(memory, "Recife") == []
    assert await contents(memory, "cidade") == ["Mora em Natal"]


async def test_two_contents_under_one_key_in_one_call(memory: Memory) -> None:
    saved = await memory.save("ana", [draft("Recife", key="city"), draft("Natal", key="city")])
    assert [item.record.content for item in saved] == ["Natal", "Natal"]
    assert [record.content for record in await memory.list("ana")] == ["Natal"]
    assert [version.content for version in await memory.versions("ana", saved[0].record.id)] == ["Recife"]


@pytest.mark.spec("TC-10")
async def test_an_update_keeps_the_id_and_the_former_version(memory: Memory) -> None:
    old = await one(memory, "Mora em Recife", "c1", bindings=("cidade",))
    new = await memory.update("ana", old.id, content="Mora em Natal", cycle="c2", words="mudei para Natal")
    assert (new.id, new.content, new.bindings) == (old.id, "Mora em Natal", ("cidade",))
    assert (new.source.cycle, new.source.words) == ("c2", "mudei para Natal")
    assert [version.content for version in await memory.versions("ana", old.id)] == ["Mora em Recife"]
    assert await contents(memory, "cidade") == ["Mora em Natal"]
    assert len(new.vector_ids) == len(old.vector_ids)


async def test_an_update_may_move_a_memory_to_a_free_slot(memory: Memory) -> None:
    old = await one(memory, "Cachorro: Rex", "c1", key="pet:dog:rex")
    new = await memory.update("ana", old.id, content="Cachorro: Loki", key="pet:dog:loki", cycle="c2")
    assert (new.id, new.key) == (old.id, "pet:dog:loki")
    await one(memory, "Cachorro: Max", "c3", key="pet:dog:max")
    kept = await memory.update("ana", old.id, content="Cachorro: Bob", key="pet:dog:max", cycle="c4")
    assert kept.key == "pet:dog:loki", "an active memory stands there"
    await memory.undo("ana", old.id)
    back = await memory.undo("ana", old.id)
    assert back.record is not None
    assert (back.record.key, back.record.content) == ("pet:dog:rex", "Cachorro: Rex")


async def test_an_update_that_says_the_same_changes_nothing(memory: Memory) -> None:
    old = await one(memory, "Mora em Recife")
    assert await memory.update("ana", old.id, content="Mora em Recife") == old
    assert len(await memory.history("ana", old.id)) == 1


async def test_a_correction_leaves_only_the_journal(memory: Memory) -> None:
    old = await one(memory, "Mora em Recifi", "c1")
    new = await memory.update("ana", old.id, content="Mora em Recife", correction=True, cycle="c2")
    assert (new.id, new.valid_from, new.source) == (old.id, old.valid_from, old.source)
    assert await memory.versions("ana", old.id) == []
    assert [(item.op, item.cycle) for item in await memory.history("ana", old.id)] == [
        ("save", "c1"),
        ("correct", "c2"),
    ]


@pytest.mark.spec("TC-11", "BY-9")
async def test_hiding_takes_effect_on_every_path_and_undo_brings_back(memory: Memory) -> None:
    old = await one(memory, "Mora em Recife", key="city", bindings=("cidade",))
    record = await memory.update("ana", old.id, content="Mora em Natal")
    (gone,) = await memory.hide("ana", [record.id], cycle="c3")
    assert (gone.status, gone.reason) == ("hidden", "user")
    assert await contents(memory, "Mora cidade Natal Recife") == []
    assert await memory.list("ana") == []
    assert await memory.list("ana", statuses=("superseded",)) == []
    assert {item.content for item in await hidden(memory, "ana")} == {
        "Mora em Natal",
        "Mora em Recife",
    }
    back = await memory.undo("ana", record.id)
    assert back.record is not None
    assert back.record.model_dump(exclude={"revision"}) == record.model_dump(exclude={"revision"})
    assert [version.status for version in await memory.versions("ana", record.id)] == ["superseded"]
    assert await contents(memory, "cidade") == ["Mora em Natal"]
    assert await hidden(memory, "ana") == []


async def test_hiding_twice_is_hiding_once(memory: Memory) -> None:
    record = await one(memory)
    first = await memory.hide("ana", [record.id, record.id])
    assert await memory.hide("ana", [record.id]) == first
    assert len(await memory.history("ana", record.id)) == 2


@pytest.mark.parametrize("correction", [False, True])
@pytest.mark.spec("BY-1")
async def test_undo_of_an_update_brings_back_exactly(memory: Memory, correction: bool) -> None:
    old = await one(memory, "Mora em Recife", "c1", bindings=("cidade", "city"), key="city", kind="bio")
    await memory.update("ana", old.id, content="Mora em Natal", bindings=["onde"], correction=correction)
    result = await memory.undo("ana")
    assert result.record is not None
    assert result.record.model_dump(exclude={"revision"}) == old.model_dump(exclude={"revision"})
    assert await memory.versions("ana", old.id) == []
    assert await contents(memory, "cidade") == ["Mora em Recife"]
    assert await contents(memory, "onde natal") == []


async def test_undo_of_a_save_takes_it_out_of_sight(memory: Memory) -> None:
    record = await one(memory)
    result = await memory.undo("ana")
    assert result.undone is not None
    assert (result.undone.op, result.undone.memory) == ("save", record.id)
    assert await memory.list("ana") == []
    assert await contents(memory, "vegetariano") == []
    assert await hidden(memory, "ana") == []
    again = await memory.undo("ana")
    assert (again.undone, again.record) == (None, None)


async def test_each_undo_goes_one_change_further_back(memory: Memory) -> None:
    record = await one(memory, "A", "c1")
    other = await one(memory, "B", "c1")
    await memory.update("ana", record.id, content="A2")
    await one(memory, "A2", "c9")
    await memory.hide("ana", [other.id])
    undone = [(await memory.undo("ana")).undone for _ in range(5)]
    assert [entry and (entry.op, entry.memory) for entry in undone] == [
        ("hide", other.id),
        ("update", record.id),
        ("save", other.id),
        ("save", record.id),
        None,
    ]


async def test_undo_of_one_memory_leaves_the_others(memory: Memory) -> None:
    record, other = await one(memory, "A"), await one(memory, "B")
    await memory.update("ana", record.id, content="A2")
    await memory.hide("ana", [other.id])
    assert (await memory.undo("ana", record.id)).record == await memory.get("ana", record.id)
    assert [item.content for item in await memory.list("ana")] == ["A"]


async def test_what_was_replaced_meanwhile_is_not_brought_back(memory: Memory) -> None:
    record = await one(memory, "Mora em Recife", "c1", key="city")
    await memory.hide("ana", [record.id])
    await one(memory, "Mora em Natal", "c2", key="city")
    with pytest.raises(InputRefused, match="'city'"):
        await memory.undo("ana", record.id)
    assert [item.content for item in await memory.list("ana")] == ["Mora em Natal"]


async def test_saving_again_what_was_hidden_makes_a_new_memory(memory: Memory) -> None:
    record = await one(memory)
    await memory.hide("ana", [record.id])
    again = await one(memory)
    assert again.id != record.id
    assert [item.id for item in await memory.list("ana")] == [again.id]


async def test_the_cycle_of_a_hidden_memory_does_not_bring_it_back(memory: Memory) -> None:
    record = await one(memory, "Vegetariano", "c1")
    await memory.hide("ana", [record.id], cycle="c2")
    (saved,) = await memory.save("ana", [draft("Vegetariano", "c1")])
    assert (saved.outcome, saved.record.status) == ("known", "hidden")


@pytest.mark.parametrize("id", ["unknown", "' OR 1=1 --", "\0", ""])
async def test_an_unknown_id_is_refused_before_anything_changes(memory: Memory, id: str) -> None:
    record = await one(memory)
    with pytest.raises(NotAllowed):
        await memory.hide("ana", [record.id, id])
    with pytest.raises(NotAllowed):
        await memory.update("ana", id, content="x")
    with pytest.raises(NotAllowed):
        await memory.undo("ana", id)
    assert await memory.get("ana", id) is None
    assert await memory.history("ana", id) == []
    assert await memory.get("ana", record.id) == record


async def test_a_hidden_memory_is_not_updated(memory: Memory) -> None:
    record = await one(memory)
    await memory.hide("ana", [record.id])
    with pytest.raises(InputRefused, match="not active"):
        await memory.update("ana", record.id, content="x")


async def test_nobody_has_no_memory(memory: Memory) -> None:
    for call in (
        memory.save("", [draft()]),
        memory.search("", "x"),
        memory.list(""),
    ):
        with pytest.raises(NotAllowed):
            await call


async def test_text_that_is_no_unicode_is_refused(memory: Memory) -> None:
    with pytest.raises(InputRefused, match="Unicode"):
        await memory.save("ana", [draft("fine"), draft({"a": "\ud800"}, type="json")])
    with pytest.raises(InputRefused, match="Unicode"):
        await memory.search("\ud800", "x")
    assert await memory.list("ana") == []
    assert await memory.search("ana", "\ud800") == []
    record = await one(memory)
    with pytest.raises(InputRefused, match="Unicode"):
        await memory.update("ana", record.id, content="x", cycle="c", words="\ud800")
    assert await memory.get("ana", record.id) == record


async def test_listing_pages(memory: Memory) -> None:
    for content in "ABC":
        await one(memory, content)
    assert [item.content for item in await memory.list("ana", limit=2, offset=1)] == ["B", "A"]


async def test_times_come_from_the_clock(memory: Memory) -> None:
    record = await one(memory)
    assert record.created == record.valid_from == record.updated > START

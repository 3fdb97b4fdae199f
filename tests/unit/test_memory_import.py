"""What was exported comes back as it was, once; damaged and foreign files are refused in one line."""

import json
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import pytest

from support.databases import new_database
from support.doctor import problems
from support.engines import memory
from support.memories import Clock, WordEmbedder, said, step
from thoughtcycle.errors import InputRefused
from thoughtcycle.memory.memory import Memory
from thoughtcycle.memory.model import Cycle, MemoryDraft, Source
from thoughtcycle.memory.transfer import import_own as reimport
from thoughtcycle.memory.transfer.import_file import kind_of
from thoughtcycle.memory.transfer.import_own import Imported, distinct

__all__ = ["memory"]


@pytest.fixture(params=["sqlite", "mongodb"])
async def other(request: pytest.FixtureRequest, tmp_path: Path) -> AsyncIterator[Memory]:
    """A second, empty memory."""
    url = f"sqlite:///{tmp_path}/other.db"
    if request.param == "mongodb":
        url = new_database(request.getfixturevalue("mongodb_url"))
    async with Memory.open(url, embeddings=WordEmbedder(), clock=Clock()) as opened:
        yield opened
        for user in ("ana", "bia"):
            assert await problems(opened.core.storage, user) == []


async def exchange(memory: Memory, text: str, parent: str | None = None, user: str = "ana") -> Cycle:
    cycle = await memory.transcript.open_cycle(
        user, f"{user}'s", said(text, text), parent=parent, channel="cli"
    )
    reply = said(f"re: {text}", "r", "assistant")
    return await memory.transcript.close_cycle(
        user, cycle.id, execution="e", messages=[reply], steps=[step()]
    )


async def filled(memory: Memory) -> None:
    """Cycles on two branches, a superseded, an archived, a corrected, a pinned and a hidden memory."""
    one = await exchange(memory, "um")
    two = await exchange(memory, "dois", one.id)
    await exchange(memory, "dois de novo", one.id)
    drafts = [
        ("moro em Recife", "city", one),
        ("moro em Natal", "city", two),
        ("gosto de mar", None, one),
        ("odeio coentro", None, one),
        ("sou médica", None, one),
    ]
    ids = []
    for content, key, cycle in drafts:
        draft = MemoryDraft(content=content, key=key, source=Source(cycle=cycle.id, words=content))
        ids.append((await memory.save("ana", [draft]))[0].record.id)
    await memory.archive("ana", [ids[2]])
    await memory.hide("ana", [ids[3]])
    await memory.update("ana", ids[4], content="sou médica em Natal", correction=True)
    await memory.pin("ana", [ids[4]])
    await memory.undo("ana", ids[4])


async def written(memory: Memory, path: Path, user: str = "ana") -> list[dict[str, Any]]:
    found = [line async for line in memory.export(user)]
    path.write_text("".join(f"{json.dumps(line)}\n" for line in found))
    return [json.loads(json.dumps(line)) for line in found]


def kept(found: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """What an import can bring back: all but the header, what is hidden, and the counts."""
    hidden = {line["_id"] for line in found if line["line"] == "hidden"}
    rows = [line for line in found if line["line"] not in ("header", "hidden", "end")]
    return [line for line in rows if line.get("memory") not in hidden]


def plain(found: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """Without the numbers that the journal gives."""
    names = ("number", "revision", "undoes", "before")
    return [{name: value for name, value in line.items() if name not in names} for line in kept(found)]


@pytest.mark.spec("BY-4")
async def test_an_export_comes_back_as_it_was_and_once(
    memory: Memory, other: Memory, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(reimport, "_BATCH", 3)
    await filled(memory)
    before = await written(memory, tmp_path / "a")
    seen: list[tuple[int, int]] = []
    done = await other.import_file(
        "ana", tmp_path / "a", progress=lambda part, whole: seen.append((part, whole))
    )
    lines = before[-1]["lines"]
    assert lines["version"] == 1
    assert (done.chats, done.cycles, done.memories) == (lines["chat"], lines["cycle"], lines["memory"])
    assert seen[-1] == (len(before) - 2, len(before) - 2)
    after = await written(other, tmp_path / "b")
    assert plain(after) == plain(before)
    city = next(
        line["_id"] for line in before if line.get("content") == "moro em Natal" and line["line"] == "memory"
    )
    assert [entry.op for entry in await other.history("ana", city)] == [
        entry.op for entry in await memory.history("ana", city)
    ]
    assert [
        hit.record.content for hit in await other.search("ana", "moro em Natal", limit=1, counted=False)
    ] == ["moro em Natal"]
    assert await other.import_file("ana", tmp_path / "a") == Imported()
    assert (await written(other, tmp_path / "c"))[1:] == after[1:]
    assert (await other.undo("ana", city)).record.content == "moro em Recife"  # type: ignore[union-attr]


@pytest.mark.spec("BY-4", "LM-4")
async def test_what_was_found_often_ranks_as_before(memory: Memory, other: Memory, tmp_path: Path) -> None:
    often, seldom, never = [
        saved.record.id
        for saved in await memory.save("ana", [MemoryDraft(content=f"gosta de {what}") for what in "xyz"])
    ]
    for query, times in (("x", 40), ("y", 2)):
        for _ in range(times):
            await memory.search("ana", query, limit=1)
    before = await written(memory, tmp_path / "a")  # counts that are not written yet are in the file
    counts = {line["_id"]: line.get("access_count") for line in before if line["line"] == "memory"}
    assert counts[often] >= 40 and counts[seldom] >= 2 and counts[never] is None
    (same,) = await other.save("ana", [MemoryDraft(content="gosta de x")])
    assert same.record.id == often or same.record.id not in counts
    for _ in range(2):
        await other.import_file("ana", tmp_path / "a")
        kept = await other.core.accesses.read("ana", [same.record.id, seldom, never])
        assert {id: access.count for id, access in kept.items()} == {
            same.record.id: counts[often],
            seldom: counts[seldom],
        }
    assert kept[seldom] == (await memory.core.accesses.read("ana", [seldom]))[seldom]
    for damage in ({"access_count": 0}, {"access_count": "x"}, {"last_access": "2026-01-01T00:00:00"}):
        place = next(number for number, line in enumerate(before) if line.get("_id") == often)
        broken = [*before[:place], before[place] | damage, *before[place + 1 :]]
        (tmp_path / "b").write_text("".join(f"{json.dumps(line)}\n" for line in broken))
        with pytest.raises(InputRefused) as refused:
            await other.import_file("ana", tmp_path / "b")
        assert refused.value.code == "import_damaged"


@pytest.mark.spec("BY-4")
async def test_an_import_that_was_cut_off_goes_on(memory: Memory, other: Memory, tmp_path: Path) -> None:
    await filled(memory)
    before = await written(memory, tmp_path / "a")
    commit, left = other.core.storage.memories.commit, 3

    async def failing(*args: Any) -> Any:
        nonlocal left
        left -= 1
        if left < 0:
            raise RuntimeError("killed")
        return await commit(*args)

    other.core.storage.memories.commit = failing  # type: ignore[method-assign]
    with pytest.raises(RuntimeError, match="killed"):
        await other.import_file("ana", tmp_path / "a")
    other.core.storage.memories.commit = commit  # type: ignore[method-assign]
    await other.import_file("ana", tmp_path / "a")
    assert plain(await written(other, tmp_path / "b")) == plain(before)


@pytest.mark.spec("BY-4")
@pytest.mark.parametrize("backend", ["sqlite", "mongodb"])
@pytest.mark.parametrize("new_process", [False, True])
async def test_who_was_forgotten_may_come_back_with_an_export(
    request: pytest.FixtureRequest, tmp_path: Path, backend: str, new_process: bool
) -> None:
    url = f"sqlite:///{tmp_path}/m.db"
    if backend == "mongodb":
        url = new_database(request.getfixturevalue("mongodb_url"))
    clock = Clock()
    async with Memory.open(url, embeddings=WordEmbedder(), clock=clock) as memory:
        await filled(memory)
        before = await written(memory, tmp_path / "a")
        await memory.forget_user("ana")
        if not new_process:
            await memory.import_file("ana", tmp_path / "a")
    async with Memory.open(url, embeddings=WordEmbedder(), clock=clock) as again:
        if new_process:
            await again.import_file("ana", tmp_path / "a")
        assert plain(await written(again, tmp_path / "b")) == plain(before)
        assert await again.import_file("ana", tmp_path / "a") == Imported()
        assert await problems(again.core.storage, "ana") == []


@pytest.mark.spec("BY-5")
async def test_into_another_user_everything_gets_ids_of_its_own(memory: Memory, tmp_path: Path) -> None:
    await filled(memory)
    before = await written(memory, tmp_path / "a")
    await memory.import_file("bia", tmp_path / "a")
    assert await memory.import_file("bia", tmp_path / "a") == Imported()
    mine, copy = await written(memory, tmp_path / "b"), await written(memory, tmp_path / "c", "bia")
    assert mine[1:] == before[1:]
    assert [line.get("content") for line in kept(copy)] == [line.get("content") for line in kept(before)]
    ids = [{line.get("_id") or line.get("id") for line in found} - {None} for found in (mine, copy)]
    assert not ids[0] & ids[1]
    (chat,) = [line for line in copy if line["line"] == "chat"]
    texts = [cycle.message.text for cycle in await memory.conversation("bia", chat["id"], limit=9)]
    assert texts == ["um", "dois de novo"]


@pytest.mark.spec("BY-5")
async def test_ids_of_another_user_in_a_file_touch_nothing_of_theirs(memory: Memory, tmp_path: Path) -> None:
    await filled(memory)
    before = await written(memory, tmp_path / "a")
    forged = [json.loads(line) for line in (tmp_path / "a").read_text().splitlines()]
    forged[0]["user"] = "bia"
    (tmp_path / "a").write_text("".join(f"{json.dumps(line)}\n" for line in forged))
    await memory.import_file("bia", tmp_path / "a")
    assert (await written(memory, tmp_path / "b"))[1:] == before[1:]
    assert (await memory.stats("bia")).cycles == 3


async def test_what_is_there_already_stays(memory: Memory, other: Memory, tmp_path: Path) -> None:
    await filled(memory)
    await written(memory, tmp_path / "a")
    mine = [MemoryDraft(content="moro em Olinda", key="city"), MemoryDraft(content="Sou médica.")]
    city, job = [saved.record for saved in await other.save("ana", mine)]
    await other.import_file("ana", tmp_path / "a")
    active = {record.content for record in await other.list("ana")}
    assert {"moro em Olinda", "Sou médica."} <= active
    assert not {"moro em Natal", "sou médica", "moro em Recife"} & active
    assert {version.content for version in await other.versions("ana", city.id)} >= {"moro em Natal"}
    assert await other.history("ana", job.id) == (await other.history("ana", job.id))[:1]
    assert await other.import_file("ana", tmp_path / "a") == Imported()


async def test_a_later_export_goes_on_where_the_first_ended(
    memory: Memory, other: Memory, tmp_path: Path
) -> None:
    one = await exchange(memory, "um")
    draft = MemoryDraft(content="moro em Recife", key="city", source=Source(cycle=one.id))
    (saved,) = await memory.save("ana", [draft])
    await written(memory, tmp_path / "a")
    await other.import_file("ana", tmp_path / "a")
    await exchange(memory, "dois", one.id)
    await memory.update("ana", saved.record.id, content="moro em Natal")
    before = await written(memory, tmp_path / "a")
    done = await other.import_file("ana", tmp_path / "a")
    assert (done.cycles, done.changes) == (1, 2)
    assert plain(await written(other, tmp_path / "b")) == plain(before)


DAMAGES = {
    "half": lambda text: text[: len(text) // 2],
    "no end": lambda text: "\n".join(text.splitlines()[:-1]) + "\n",
    "a line is missing": lambda text: "\n".join([*text.splitlines()[:3], *text.splitlines()[4:]]),
    "no JSON": lambda text: text.replace('{"line": "cycle"', "{line: cycle", 1),
    "a field is missing": lambda text: text.replace('"op"', '"oops"', 1),
    "a cycle of another chat": lambda text: text.replace('"chat": "ana\'s"', '"chat": "x"', 1),
    "an unknown line": lambda text: text.replace('"line": "change"', '"line": "secret"', 1),
    "a newer format": lambda text: text.replace('"version": 1', '"version": 2', 1),
    "another file": lambda text: "# notes\n" + text,
    "nothing": lambda text: "",
    "deep": lambda text: text.replace('"tip": ', '"tip": ' + "[" * 100_000, 1),
    "half a character": lambda text: text.replace("Recife", "\\ud800", 1),
    "binary": lambda text: "PK\x03\x04" + text,
}


@pytest.mark.parametrize("damage", sorted(DAMAGES))
async def test_a_damaged_file_is_refused_before_anything_is_written(damage: str, tmp_path: Path) -> None:
    async with Memory.open(f"sqlite:///{tmp_path}/m.db", embeddings=None, clock=Clock()) as memory:
        await filled(memory)
        await written(memory, tmp_path / "a")
        (tmp_path / "a").write_text(DAMAGES[damage]((tmp_path / "a").read_text()))
        with pytest.raises(InputRefused) as refused:
            await memory.import_file("bia", tmp_path / "a")
        assert refused.value.code.startswith("import_")
        assert (await memory.stats("bia")).cycles == 0


def test_a_file_that_cannot_be_read_is_told(tmp_path: Path) -> None:
    for path in (tmp_path, tmp_path / "nobody"):
        with pytest.raises(InputRefused) as refused:
            kind_of(path)
        assert refused.value.code == "import_unreadable"


def test_a_group_names_each_memory_once() -> None:
    rows = [{"memory": id} for id in "abacca"]
    assert [[row["memory"] for row in group] for group in distinct(rows)] == [
        ["a", "b"],
        ["a", "c"],
        ["c", "a"],
    ]

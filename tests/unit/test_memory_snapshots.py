"""Snapshots of an index: a head start where they belong, nothing where they do not."""

import logging
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from datetime import timedelta
from pathlib import Path

import numpy as np
import pytest

from support.memories import START, Clock, WordEmbedder, feed, record, vector
from thoughtcycle.memory import snapshots, spaces
from thoughtcycle.memory.facets import Filters
from thoughtcycle.memory.index import SpaceIndex
from thoughtcycle.memory.memory import Memory
from thoughtcycle.memory.records import MemoryDraft
from thoughtcycle.memory.snapshots import Snapshots
from thoughtcycle.memory.storage.base import Write

WORDS = ("casa", "carro", "viagem", "praia", "livro")


@pytest.fixture(autouse=True)
def small(monkeypatch: pytest.MonkeyPatch) -> None:
    """Ten changes are worth a snapshot."""
    monkeypatch.setattr(spaces, "WORTH", 10)


@asynccontextmanager
async def opened(tmp_path: Path, file: str = "m.db", model: str = "words") -> AsyncIterator[Memory]:
    url, folder = f"sqlite:///{tmp_path}/{file}", tmp_path / "snapshots"
    embedder = WordEmbedder(model)
    async with Memory.open(url, embeddings=embedder, clock=Clock(), snapshots=folder) as memory:
        yield memory


async def fill(memory: Memory, user: str = "ana") -> None:
    """Twenty memories, and a search that reads them."""
    await memory.save(
        user, [MemoryDraft(content=f"{WORDS[n % 5]} segredo{n}", tags=("t",)) for n in range(20)]
    )
    assert await memory.search(user, "casa")


def files(tmp_path: Path) -> list[Path]:
    return sorted((tmp_path / "snapshots").glob("*"))


async def starts(memory: Memory, monkeypatch: pytest.MonkeyPatch) -> list[int]:
    """From which journal numbers the first search read on."""
    asked: list[int] = []
    feed = memory._storage.feed

    async def counted(space: str, after: int, *, model: str | None) -> object:
        asked.append(after)
        return await feed(space, after, model=model)

    monkeypatch.setattr(memory._storage, "feed", counted)
    hits = await memory.search("ana", "segredo7")
    assert [hit.record.content for hit in hits if hit.record.content.endswith("segredo7")] == [
        "viagem segredo7"
    ]
    return asked[:1]


def test_an_index_is_the_same_after_saving_and_loading() -> None:
    index = SpaceIndex()
    memories = [
        record(
            f"m{n}",
            content=f"{WORDS[n % 5]} {WORDS[n % 3]}",
            kind="pref" if n % 2 else None,
            tags=("t",) * (n % 2),
        )
        for n in range(12)
    ]
    archived = record("old", content="praia velha", status="archived")
    hidden = record("gone", status="hidden", reason="user")
    every = [*memories, archived, hidden]
    index.apply(feed(12, every, [vector(one, one.content) for one in every if one is not hidden]))
    index.apply(feed(13, [record("m3", status="hidden"), record("m4", content="casa nova")]))
    for loaded in (
        SpaceIndex.loaded(index.saved()),
        SpaceIndex.loaded(SpaceIndex.loaded(index.saved()).saved()),
    ):
        assert (loaded.number, loaded.hidden, len(loaded)) == (13, index.hidden, len(index))
        assert loaded.revision("m4") == index.revision("m4")
        for filters in (
            Filters(),
            Filters(kinds=["pref"]),
            Filters(tags=["t"]),
            Filters(until=START),
            Filters(since=START),
        ):
            for word in WORDS:
                for direction in (None, np.frombuffer(vector(record(), f"{word} {word}").data, "<f4")):
                    one = index.search(word, direction, filters=filters, limit=99)
                    assert [
                        (found.memory, pytest.approx(found.relevance), found.nearest) for found in one
                    ] == [
                        (found.memory, found.relevance, found.nearest)
                        for found in loaded.search(word, direction, filters=filters, limit=99)
                    ]
        changed = feed(14, [record("m5", status="hidden"), record("m99", content="casa carro")])
        loaded.apply(changed)
        assert {found.memory for found in loaded.search("casa", None, limit=99)} >= {"m99", "m4"}
        assert "m5" not in {
            found.memory for found in loaded.search("viagem casa carro praia livro", None, limit=99)
        }


@pytest.mark.spec("BY-2")
async def test_the_next_process_starts_where_the_snapshot_ends(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    async with opened(tmp_path) as memory:
        await fill(memory)
    (file,) = files(tmp_path)
    assert file.stat().st_mode & 0o077 == 0
    async with opened(tmp_path) as memory:
        await memory.save("ana", [MemoryDraft(content="praia nova")])
        assert await starts(memory, monkeypatch) == [20]
        assert "praia nova" in [hit.record.content for hit in await memory.search("ana", "nova praia")]
        assert await memory.search("bia", "casa") == []
        assert len(await memory.search("ana", "casa", tags=["t"])) == 4


async def test_nothing_is_written_unless_asked(tmp_path: Path) -> None:
    async with Memory.open(f"sqlite:///{tmp_path}/m.db", embeddings=None) as memory:
        await fill(memory)
    assert [path.name for path in tmp_path.iterdir() if "m.db" not in path.name] == []


@pytest.mark.spec("BY-2")
@pytest.mark.parametrize("damage", ["cut", "flip head", "flip body", "empty", "other", "rules"])
async def test_a_damaged_snapshot_is_ignored_and_made_again(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture, damage: str
) -> None:
    async with opened(tmp_path) as memory:
        await fill(memory)
    (file,) = files(tmp_path)
    content = bytearray(file.read_bytes())
    if damage == "cut":
        content = content[: len(content) // 2]
    elif damage.startswith("flip"):
        content[40 if damage == "flip head" else len(content) // 2] ^= 1
    elif damage != "rules":
        content = bytearray() if damage == "empty" else bytearray(b"something else " * 99)
    file.write_bytes(content)
    with monkeypatch.context() as changed, caplog.at_level(logging.WARNING):
        if damage == "rules":
            changed.setattr(snapshots, "_LAYOUT", 99)
        async with opened(tmp_path) as memory:
            assert await starts(memory, monkeypatch) == [0]
    assert "is ignored" in caplog.text
    assert "ana" not in caplog.text
    assert len(files(tmp_path)) == 1, "it was written again"


@pytest.mark.spec("BY-2", "BY-5")
async def test_the_snapshot_of_another_history_is_ignored(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    async with opened(tmp_path) as memory:
        await fill(memory)
    for path in tmp_path.glob("m.db*"):
        path.unlink()
    async with opened(tmp_path) as memory:
        await memory.save("ana", [MemoryDraft(content=f"viagem segredo{n}") for n in range(30)])
        assert await starts(memory, monkeypatch) == [0]
        assert not [hit for hit in await memory.search("ana", "casa") if "casa" in hit.record.text]
    assert "another story" in caplog.text


async def test_each_database_user_and_model_has_its_own(tmp_path: Path) -> None:
    async with opened(tmp_path) as memory:
        await fill(memory)
        await fill(memory, "bia")
    async with opened(tmp_path, "other.db") as memory:
        await fill(memory)
    async with opened(tmp_path, model="another") as memory:
        assert await memory.search("ana", "casa")
    assert len(files(tmp_path)) == 4


@pytest.mark.spec("BY-9")
async def test_a_snapshot_goes_when_something_is_erased(tmp_path: Path) -> None:
    async with opened(tmp_path) as memory:
        await fill(memory)
    assert len(files(tmp_path)) == 1
    async with opened(tmp_path) as memory:
        await memory.search("ana", "casa")
        (hit,) = [one for one in await memory.list("ana") if one.content.endswith("segredo7")]
        gone = {"status": "erased", "content": None, "bindings": (), "vector_ids": ()}
        erased = Write(hit.model_copy(update=gone), "hide", START + timedelta(days=1), before=hit, vectors=())
        await memory._storage.commit("ana", [erased])
        assert "casa segredo0" in [one.record.content for one in await memory.search("ana", "casa")]
        assert files(tmp_path) == []
        await memory.save("ana", [MemoryDraft(content=f"{WORDS[n % 5]} novo{n}") for n in range(20)])
        await memory.search("ana", "casa")
    (file,) = files(tmp_path)
    assert b"segredo6" in file.read_bytes()
    assert b"segredo7" not in file.read_bytes()
    assert hit.id.encode() not in file.read_bytes()


async def test_only_so_many_are_kept(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(snapshots, "MOST", 2)
    async with opened(tmp_path) as memory:
        for user in ("ana", "bia", "caio"):
            await fill(memory, user)
    assert len(files(tmp_path)) == 2


def test_a_drop_stops_whoever_is_writing_however_many_came_after_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(snapshots, "DROPS", 2)
    kept = Snapshots(tmp_path, "here", None)
    writing = {user: kept.generation(user) for user in ("ana", "bia")}
    assert kept.generation("ana") == writing["ana"]
    for user in ("ana", *(f"user{n}" for n in range(5))):
        kept.drop(user)
        kept.write("ana", SpaceIndex().saved(), [], writing["ana"])
        assert list(tmp_path.iterdir()) == []
    assert len(kept._dropped) == 2
    kept.write("bia", SpaceIndex().saved(), [], kept.generation("bia"))
    assert len(list(tmp_path.iterdir())) == 1


async def test_a_folder_that_cannot_be_written_costs_a_log_line(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    (tmp_path / "snapshots").write_text("a file")
    async with opened(tmp_path) as memory:
        await fill(memory)
    assert "no index snapshot was written" in caplog.text

"""What a person may do with single memories on the command line."""

import asyncio
import json
from pathlib import Path
from typing import Any, get_args

import pytest

from support.command import refused, run
from support.memories import START
from thoughtcycle.memory.memory import Memory
from thoughtcycle.memory.model.records import MemoryDraft, Op, Source
from thoughtcycle.prompts.loader import LANGUAGES, texts


@pytest.fixture(scope="module")
def filled(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, str, str]:
    """A database with two memories of one message of Ana's, and their ids."""
    db = tmp_path_factory.mktemp("memories") / "m.db"

    async def fill() -> list[str]:
        async with Memory.open(f"sqlite:///{db}", embeddings=None) as memory:
            cycle = await memory.record_cycle(
                "ana", "chat", "Moro em Natal e odeio coentro.", "Anotado.", at=START, channel="phone"
            )
            drafts = [
                MemoryDraft(content=content, source=Source(cycle=cycle.id, words=words))
                for content, words in (("Mora em Natal", "Moro em Natal"), ("Odeia coentro", "odeio coentro"))
            ]
            return [saved.record.id for saved in await memory.save("ana", drafts)]

    home, herb = asyncio.run(fill())
    return db, home, herb


def objects(*args: str, db: Path) -> list[dict[str, Any]]:
    done = run("memories", *args, "--json", db=db)
    assert done.returncode == 0, done.stderr
    return [json.loads(line) for line in done.stdout.splitlines()]


@pytest.mark.spec("BY-10")
def test_the_table_of_memories_masks_a_password_and_a_search_gives_it_back(tmp_path: Path) -> None:
    db = tmp_path / "m.db"

    async def fill() -> None:
        async with Memory.open(f"sqlite:///{db}", embeddings=None) as memory:
            await memory.save("ana", [MemoryDraft(content="A senha do wifi é girassol77")])

    asyncio.run(fill())
    listed = run("memories", "list", db=db).stdout
    assert "senha do wifi é ••••" in listed and "girassol77" not in listed
    assert "girassol77" in run("memories", "search", "senha do wifi", db=db).stdout


@pytest.mark.spec("LM-12", "BY-1")
def test_memories_are_pinned_archived_restored_and_listed_by_status(filled: tuple[Path, str, str]) -> None:
    db, home, herb = filled
    assert [one["pinned"] for one in objects("pin", home[:12], db=db)] == [True]
    assert "fixada" in refused(run("memories", "archive", herb, home, db=db))
    assert [one["status"] for one in objects("list", db=db)] == ["active", "active"]
    done = run("memories", "unpin", home, db=db)
    assert (done.returncode, done.stdout) == (0, f"Solta: {home[:8]}.\n")
    assert {one["id"] for one in objects("archive", home, herb, db=db)} == {home, herb}
    assert objects("list", db=db) == []
    assert len(objects("list", "--status", "archived", "--status", "hidden", db=db)) == 2
    done = run("memories", "restore", herb, db=db)
    assert (done.returncode, done.stdout) == (0, f"Ativa de novo: {herb[:8]}.\n")
    assert "arquivada" in run("memories", "undo", home, db=db).stdout
    assert {one["content"] for one in objects("list", db=db)} == {"Mora em Natal", "Odeia coentro"}
    assert "active | archived" in refused(run("memories", "list", "--status", "gone", db=db))


@pytest.mark.spec("BY-1")
def test_a_memory_tells_why_it_is_known_and_what_happened_to_it(filled: tuple[Path, str, str]) -> None:
    db, _, herb = filled
    shown = run("memories", "why", herb, db=db).stdout
    assert "2026-03-01 12:00 (phone, chat) você: Moro em Natal e odeio coentro." in shown
    assert "guardada: Odeia coentro" in shown
    (told,) = objects("why", herb, db=db)
    assert told["record"]["content"] == "Odeia coentro" and told["origin"]["channel"] == "phone"
    assert told["changes"][0]["op"] == "save"
    changes = [entry["op"] for entry in objects("history", herb, db=db)]
    lines = run("memories", "history", herb, db=db).stdout.splitlines()
    assert changes[0] == "save" and len(lines) == len(changes)
    shown = run("memories", "show", herb, "--json", db=db).stdout
    assert json.loads(shown)["access_count"] == 0


@pytest.mark.spec("BY-5")
def test_another_user_changes_and_learns_nothing(filled: tuple[Path, str, str]) -> None:
    db, home, _ = filled
    for command in ("pin", "restore", "why", "history"):
        assert home in refused(run("memories", command, home, "--user", "eve", db=db))


@pytest.mark.parametrize("language", LANGUAGES)
def test_every_change_has_a_name(language: Any) -> None:
    named = texts(language, "cli")
    assert [op for op in get_args(Op) if f"op.{op}" not in named] == []


def test_reembed_shows_the_cost_and_asks(tmp_path: Path) -> None:
    db = tmp_path / "m.db"

    async def fill() -> None:
        async with Memory.open(f"sqlite:///{db}", embeddings=None) as memory:
            await memory.save("ana", [MemoryDraft(content="Mora em Natal")])

    asyncio.run(fill())
    english = {"THOUGHTCYCLE_LANGUAGE": "en"}
    asked = run("reembed", db=db, env=english)
    assert "--yes" in refused(asked) and "text was expected" in refused(
        run("memories", "search", " ", db=db, env=english)
    )
    assert "1 texts, 13 characters" in asked.stdout
    assert "Done" in run("reembed", "--yes", db=db, env=english).stdout
    assert json.loads(run("reembed", "--json", db=db).stdout)["texts"] == 0

"""`thoughtcycle briefing` shows what a model would be given, with scores, sources and tokens."""

import asyncio
import json
from pathlib import Path

import pytest

from support.command import refused, run
from support.memories import START
from thoughtcycle.memory.memory import Memory
from thoughtcycle.memory.model.records import MemoryDraft


@pytest.fixture(scope="module")
def db(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A database with a fact of Ana's and a chat called `casa`."""
    path = tmp_path_factory.mktemp("briefing") / "m.db"

    async def fill() -> None:
        async with Memory.open(f"sqlite:///{path}", embeddings=None) as memory:
            await memory.save("ana", [MemoryDraft(content="Odeia coentro", kind="pref", key="taste:coentro")])
            await memory.record_cycle(
                "ana", "casa", "Comprei abóbora na feira", "Certo.", at=START, channel="cli"
            )
            for text in ("Vou viajar", "Volto logo"):
                await memory.record_cycle("ana", "casa", text, "Boa viagem!", at=START, channel="cli")

    asyncio.run(fill())
    return path


def test_it_is_shown_with_its_account(db: Path) -> None:
    done = run("briefing", "coentro com abóbora", "--smart", "--language", "pt", db=db)
    assert done.returncode == 0, done.stderr
    lines = done.stdout.splitlines()
    assert lines[:2] == ["[MEMÓRIA] Preferências e hábitos:", "- taste: Odeia coentro."]
    assert '- 2026-03-01 Pessoa: "Comprei abóbora na feira"' in lines
    assert "de 1000 tokens, 0 de fora" in done.stdout
    assert any(line.startswith("semantic: ") for line in lines)
    assert [line.split()[1] for line in lines if line.startswith("  ")] == ["memória", "mensagem"]
    english = run("briefing", "coentro", "--language", "en", db=db, env={"THOUGHTCYCLE_LANGUAGE": "en"})
    assert "- taste: Odeia coentro." in english.stdout and "tokens, 0 left out" in english.stdout


@pytest.mark.spec("SM-6")
def test_json_tells_ids_scores_and_sources(db: Path) -> None:
    options = ("--chat", "casa", "--recipe", "layered", "--tokens", "200", "--json")
    done = run("briefing", "abóbora", *options, db=db)
    told = json.loads(done.stdout)
    assert told["session"].startswith("Dito antes") and told["text"] == ""
    assert (told["budget"], told["tokens"] <= 200) == (200, True)
    (section,) = told["sections"]
    assert section["section"] == "here"
    assert [one["source"] for one in section["shown"]] == ["message"]
    assert 0 < section["shown"][0]["score"] <= 1
    other = json.loads(run("briefing", "abóbora", "--json", db=db).stdout)
    assert (other["text"], other["session"]) == ("", "")


@pytest.mark.parametrize(
    "args",
    [
        ("",),
        ("  ",),
        ("oi", "--tokens", "5"),
        ("oi", "--recipe", "secret"),
        ("oi", "--chat", "nenhuma"),
        ("oi", "--language", "fr"),
        ("oi", "--time-zone", "Mars/Base"),
    ],
)
def test_what_cannot_be_used_is_one_line(db: Path, args: tuple[str, ...]) -> None:
    assert refused(run("briefing", *args, db=db))

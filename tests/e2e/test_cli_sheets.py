"""What formation and the garden make, as a person looks at it: conversations, profile, settings, garden."""

import asyncio
import json
from datetime import timedelta
from pathlib import Path

import pytest

from support.command import refused, run
from thoughtcycle.memory.memory import Memory
from thoughtcycle.memory.model import MemoryDraft, utc_now

SAID = {
    "pt": "Quero economizar R$ 5.000 até junho\nPrefiro reuniões de manhã\nEstou ansiosa com o prazo\n",
    "en": "I want to save $5,000 by June\nI prefer meetings in the morning\nI am anxious about the deadline\n",
}


@pytest.mark.spec("CM-10", "LM-3")
@pytest.mark.parametrize(
    ("language", "goal", "heading", "usage"),
    [
        ("pt", "economizar R$ 5.000 até junho", "Objetivos:", "de 2500 palavras"),
        ("en", "save $5,000 by June", "Goals:", "of 2500 words"),
    ],
)
def test_a_conversation_and_a_profile_are_shown(
    tmp_path: Path, language: str, goal: str, heading: str, usage: str
) -> None:
    env = {"THOUGHTCYCLE_LANGUAGE": language, "THOUGHTCYCLE_SPOOL": str(tmp_path / "spool")}
    db = tmp_path / "m.db"
    assert run("chat", "--chat", "work", stdin=SAID[language], db=db, env=env).returncode == 0
    before = json.loads(run("conversations", "list", "--json", db=db, env=env).stdout)
    said = json.loads(run("conversations", "show", "work", "--json", db=db, env=env).stdout)["metadata"]
    assert before["total_word_count"] == said["total_word_count"] > 0 and said["total_cycles"] == 3
    assert run("worker", "--once", db=db, env=env).returncode == 0
    (row,) = run("conversations", "list", db=db, env=env).stdout.splitlines()[1:]
    assert " work " in row and " 3 " in row
    (listed,) = map(json.loads, run("conversations", "list", "--json", db=db, env=env).stdout.splitlines())
    assert (listed["title"], listed["total_cycles"], listed["summaries"]) == ("work", 3, 1)
    shown = run("conversations", "show", "work", db=db, env=env).stdout
    assert goal in shown and heading in shown and usage in shown
    whole = json.loads(run("conversations", "show", "work", "--json", db=db, env=env).stdout)
    assert len(whole["recent_memory"]) == 2 and whole["usage_percent"] == listed["usage_percent"]
    assert goal in whole["critical_data"]["financial_goals"][0]["text"]
    assert set(whole["metadata"]) == {
        "total_cycles",
        "total_word_count",
        "last_compression",
        "compression_count",
        "created_at",
        "updated_at",
    }
    profile = run("profile", db=db, env=env).stdout
    habit = {"pt": "prefere falar", "en": "prefers to talk at"}[language]
    assert habit in profile and {"pt": "de manhã", "en": "morning"}[language] in profile
    assert {"pt": "0,70", "en": "0.70"}[language] in profile
    assert {"pt": "ansios", "en": "anxious"}[language] in profile
    known = json.loads(run("profile", "--json", db=db, env=env).stdout)
    assert known["entries"][0]["confidence"] == 0.7 and known["moods"][0]["name"] == "anxious"
    nobody = run("profile", "--user", "bia", db=db, env=env)
    assert len(nobody.stdout.splitlines()) == 1 and "worker" in nobody.stdout


@pytest.mark.parametrize(("language", "condition"), [("pt", "quando"), ("en", "when")])
def test_an_empty_profile_promises_nothing_that_the_worker_did_already(
    language: str, condition: str, tmp_path: Path
) -> None:
    db = tmp_path / "m.db"
    env = {"THOUGHTCYCLE_LANGUAGE": language, "THOUGHTCYCLE_SPOOL": str(tmp_path / "spool")}
    run("chat", stdin="oi\n", db=db, env=env)
    assert run("worker", "--once", db=db, env=env).returncode == 0
    told = run("profile", db=db, env=env).stdout
    assert f" {condition} " in told and "--once" not in told


@pytest.mark.spec("BY-5")
def test_of_a_chat_that_is_not_ones_own_nothing_is_shown(tmp_path: Path) -> None:
    db, env = tmp_path / "m.db", {"THOUGHTCYCLE_SPOOL": str(tmp_path / "spool")}
    run("chat", "--chat", "work", stdin="oi\n", db=db, env=env)
    assert "'work'" in refused(run("conversations", "show", "work", "--user", "bia", db=db, env=env))
    assert "'nope'" in refused(run("conversations", "show", "nope", db=db, env=env))


@pytest.mark.spec("SM-6")
def test_settings_are_shown_changed_and_taken_back(tmp_path: Path) -> None:
    db = tmp_path / "m.db"
    assert len(run("settings", db=db).stdout.splitlines()) == 4
    for name, value in {"smart_context": "on", "paused": "sim", "language": "EN"}.items():
        assert run("settings", "set", name, value, db=db).returncode == 0
    changed = run("settings", "--json", "set", "time_zone", "America/Recife", db=db)
    assert json.loads(changed.stdout) == {
        "user": "ana",
        "smart_context": True,
        "paused": True,
        "language": "en",
        "time_zone": "America/Recife",
    }
    for name in ("smart_context", "paused", "time_zone"):
        run("settings", "set", name, "default", db=db)
    kept = json.loads(run("settings", "--json", db=db).stdout)
    assert (kept["smart_context"], kept["paused"], kept["time_zone"]) == (None, False, None)


@pytest.mark.parametrize(
    ("name", "value", "told"),
    [
        ("colour", "on", "smart_context, paused, language, time_zone"),
        ("paused", "", "settings set paused"),
        ("", "", "smart_context, paused, language, time_zone"),
        ("paused", "7", "paused"),
        ("time_zone", "Mars/Olympus", "America/Sao_Paulo"),
        ("language", "fr", "pt, en"),
    ],
)
def test_a_setting_of_no_use_is_one_line_and_changes_nothing(
    tmp_path: Path, name: str, value: str, told: str
) -> None:
    db = tmp_path / "m.db"
    given = [word for word in (name, value) if word]
    assert told in refused(run("settings", "set", *given, db=db))
    assert "null" in run("settings", "--json", db=db).stdout


@pytest.mark.spec("HM-6", "HM-7", "LM-11")
@pytest.mark.parametrize(("language", "why"), [("pt", "o sentimento se apagou"), ("en", "has faded")])
def test_the_garden_says_what_it_would_do_then_does_it(tmp_path: Path, language: str, why: str) -> None:
    db, env = tmp_path / "m.db", {"THOUGHTCYCLE_LANGUAGE": language, "COLUMNS": "160"}

    async def fill() -> None:
        async with Memory.open(f"sqlite:///{db}", embeddings=None) as memory:
            felt = MemoryDraft(content="ansiosa com prazos", kind="emo", said=utc_now() - timedelta(days=90))
            await memory.save("ana", [felt, MemoryDraft(content="Mora em Recife", kind="bio")])

    asyncio.run(fill())
    planned = run("garden", "--dry-run", db=db, env=env).stdout
    assert why in planned and "ansiosa com prazos" in planned
    assert len(run("memories", "list", "--json", db=db, env=env).stdout.splitlines()) == 2
    done = json.loads(run("garden", "--json", db=db, env=env).stdout)
    assert done["counts"]["archive"] == 1 and done["chores"][0]["why"] == "faded"
    assert len(run("memories", "list", "--json", db=db, env=env).stdout.splitlines()) == 1
    assert len(run("garden", db=db, env=env).stdout.splitlines()) == 1

"""The short form of `make torture`: kill -9 in the middle, many processes, a server that goes away, erasures."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

from thoughtcycle.checkpoints.sqlite import SqliteSaver
from torture import erasures

ROOT = Path(__file__).parents[2]


def torture(*arguments: str) -> str:
    """Runs it to its end: from a process without threads, because it forks."""
    command = [sys.executable, "-m", "torture", *arguments]
    paths = (ROOT, ROOT / "tests")
    env = {**os.environ, "PYTHONPATH": os.pathsep.join(map(str, paths))}
    done = subprocess.run(command, check=False, env=env, capture_output=True, text=True, timeout=600)
    assert done.returncode == 0, done.stdout + done.stderr[-3_000:]
    return done.stdout


@pytest.mark.spec("BY-2", "TC-15")
def test_sqlite_killed_and_crowded_loses_nothing() -> None:
    told = torture("kills", "crowd", "--url", "sqlite:", "--kills", "12", "--operations", "240")
    assert "12 times kill -9" in told and "240 operations" in told
    assert told.count(" 0 faults") == 2


@pytest.mark.spec("BY-2", "TC-15")
def test_mongodb_killed_and_crowded_loses_nothing(mongodb_url: str) -> None:
    told = torture("kills", "crowd", "--url", mongodb_url, "--kills", "4", "--operations", "48")
    assert "4 times kill -9" in told and "48 operations" in told
    assert told.count(" 0 faults") == 2


@pytest.mark.spec("CM-8", "BY-2")
def test_a_server_away_for_a_moment_costs_nothing() -> None:
    told = torture("outage", "--seconds", "0.5")
    assert "0.5 s silent, 0.5 s gone" in told and " 0 faults" in told


@pytest.mark.spec("TC-6")
def test_no_reply_without_a_word_loses_a_turn() -> None:
    told = torture("forms", "--rows", "reply", "--url", "sqlite:")
    assert "4 turns with a model off its form" in told and " 0 faults" in told


ROW = [
    ("chat", "title"),
    ("page", "profile"),
    ("grace", "attachment"),
    ("middleware", "checkpoint"),
    ("store delete", "former value"),
]
"""Each kind of door once, each with a place of its own; `make torture` tries all with all."""


@pytest.mark.spec("BY-9", "BY-14")
@pytest.mark.parametrize(("door", "place"), ROW)
async def test_a_word_that_went_through_a_door_is_nowhere(tmp_path: Path, door: str, place: str) -> None:
    assert (door, place) in erasures.scenarios()
    assert await erasures.play(f"sqlite:///{tmp_path}/m.db", tmp_path, door, place) == []


@pytest.mark.spec("BY-9", "BY-14")
async def test_a_word_that_an_erasure_leaves_is_found(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    async def redact_nothing(*_: object) -> int:
        return 0

    monkeypatch.setattr(SqliteSaver, "aredact", redact_nothing)
    left = await erasures.play(f"sqlite:///{tmp_path}/m.db", tmp_path, "grace", "reply")
    assert left and all("checkpoint" in line or "write" in line or "m.db" in line for line in left)


def test_an_unknown_case_is_refused() -> None:
    with pytest.raises(AssertionError, match="expected one of kills, crowd, erasure, outage, forms"):
        torture("nonsense")

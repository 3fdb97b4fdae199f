"""`thoughtcycle worker` and `thoughtcycle jobs` as a person meets them."""

import asyncio
import json
import os
import signal
import subprocess
import sys
from datetime import timedelta
from pathlib import Path

import pytest

from support import command
from thoughtcycle.memory.memory import Memory
from thoughtcycle.memory.model import CycleMessage, utc_now
from thoughtcycle.memory.model.job import new_job

PYTHON = [sys.executable, "-c", "from thoughtcycle.cli.main import main; main()"]
CLEAN = {
    name: value
    for name, value in os.environ.items()
    if not name.startswith(("OPENAI", "THOUGHTCYCLE", "LANG", "LC_"))
} | {"THOUGHTCYCLE_USER": "ana", "THOUGHTCYCLE_LANGUAGE": "en"}


def run(path: Path, *args: str, **env: str) -> subprocess.CompletedProcess[str]:
    return command.run(*args, db=path, env={"THOUGHTCYCLE_LANGUAGE": "en", **env})


@pytest.fixture
def path(tmp_path: Path) -> Path:
    """A database with a dead letter of ana's and one of bia's."""
    path = tmp_path / "m.db"

    async def fill() -> None:
        async with Memory.open(f"sqlite:///{path}", embeddings=None) as memory:
            for user in ("ana", "bia"):
                job = new_job("sum", user=user, due=utc_now() - timedelta(hours=1))
                dead = job.model_copy(update={"state": "dead", "attempts": 6, "error": "model_down"})
                await memory.queue.put(dead)

    asyncio.run(fill())
    return path


def test_once_does_what_is_due_and_ends(path: Path) -> None:
    first = run(path, "worker", "--once")
    assert (first.returncode, first.stderr) == (0, "")
    lines = first.stdout.splitlines()
    assert [line[: line.rindex(" ", 0, -6)] for line in sorted(lines)] == [
        "close exchanges that were cut",
        "erase what is due",
        "have all memories tended",
    ]
    assert all(line.endswith(": done") for line in lines)
    second = run(path, "worker", "--once", "--json")
    assert (second.returncode, second.stdout, second.stderr) == (0, "", "")
    listed = [json.loads(line) for line in run(path, "jobs", "list", "--json").stdout.splitlines()]
    assert {(job["kind"], job["state"], job["user"]) for job in listed} == {
        ("sum", "dead", "ana"),
        ("sweep", "waiting", ""),
        ("erase", "waiting", ""),
        ("gardens", "waiting", ""),
    }


@pytest.mark.spec("SM-1")
@pytest.mark.parametrize(
    ("said", "learned"),
    [("Sou alérgica a amendoim.", "amendoim"), ("I am allergic to peanuts.", "peanuts")],
)
def test_once_understands_what_was_said(tmp_path: Path, said: str, learned: str) -> None:
    path = tmp_path / "m.db"
    message = CycleMessage(id="m1", role="user", text=said, at=utc_now())
    reply = CycleMessage(id="m2", role="assistant", text="Ok.", at=utc_now())

    async def fill() -> None:
        async with Memory.open(f"sqlite:///{path}", embeddings=None) as memory:
            cycle = await memory.transcript.open_cycle("ana", "t", message, parent=None, channel="test")
            await memory.transcript.close_cycle("ana", cycle.id, execution="1", messages=[reply], steps=[])

    async def told() -> list[str]:
        async with Memory.open(f"sqlite:///{path}", embeddings=None) as memory:
            assert await memory.conversations.pending_cycles("ana", limit=9) == []
            return [record.text for record in await memory.list("ana")]

    asyncio.run(fill())
    done = run(path, "worker", "--once", "--json")
    assert (done.returncode, done.stderr) == (0, "")
    jobs = [json.loads(line) for line in done.stdout.splitlines()]
    assert {"form", "garden"} <= {job["kind"] for job in jobs if job["outcome"] == "done"}
    assert any(learned in text for text in asyncio.run(told()))


def test_dead_letters_are_shown_and_retried(path: Path) -> None:
    shown = run(path, "jobs", "list", "--state", "dead").stdout
    assert "failed for good" in shown and "The model gave no" in shown and len(shown.splitlines()) == 1
    unknown = run(path, "jobs", "retry", "feed")
    assert unknown.returncode == 1 and len(unknown.stderr.splitlines()) == 1
    assert run(path, "jobs", "retry", shown[:8]).returncode == 0
    assert run(path, "jobs", "list", "--state", "dead").stdout == "No jobs.\n"
    assert "waiting" in run(path, "jobs", "list").stdout
    assert len(run(path, "jobs", "list", "--user", "bia", "--state", "dead").stdout.splitlines()) == 1


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT])
def test_a_signal_ends_it_cleanly(path: Path, number: signal.Signals) -> None:
    worker = [*PYTHON, "worker", "--db", f"sqlite:///{path}"]
    with subprocess.Popen(
        worker, env=CLEAN, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    ) as process:
        assert process.stdout is not None
        assert process.stdout.readline().endswith(": done\n")
        process.send_signal(number)
        _, errors = process.communicate(timeout=60)
    assert (process.returncode, errors) == (0, "")

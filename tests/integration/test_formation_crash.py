"""kill -9 before any write of formation and garden: the next worker completes it, nothing is lost or doubled."""

import os
import subprocess
import sys
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest

from support.child import ENVIRONMENT
from support.databases import new_database
from support.doctor import problems
from support.killed_former import SAID_AT, fill, time_of, work_on
from support.learned import state
from support.memories import WordEmbedder
from thoughtcycle.memory.memory import Memory
from thoughtcycle.memory.storage.mongo import ledger as mongo_ledger

SAMPLE = int(os.environ.get("TORTURE_SAMPLE", "2"))
"""Writes before which a run is killed, of each kind of work and database; 0: each."""
LATER = timedelta(minutes=2)
"""After that the lease of whoever died has run out."""


async def completed(url: str, work: str) -> dict[str, Any]:
    """What the next worker makes of it."""
    now = time_of(work) + LATER
    async with Memory.open(url, embeddings=WordEmbedder(), clock=lambda: now) as memory:
        assert await problems(memory.core.storage, "ana") == [], url
        await work_on(memory, work, now)
        assert await problems(memory.core.storage, "ana") == [], url
        assert await memory.queue.listing(["ana", ""]) == []
        assert await memory.conversations.pending_cycles(limit=9) == []
        return await state(memory, time_of(work))


@pytest.mark.spec("BY-2")
@pytest.mark.parametrize("work", ["form", "garden"])
@pytest.mark.parametrize("backend", ["sqlite", "mongodb"])
async def test_killed_before_any_write_the_next_worker_completes_it(
    request: pytest.FixtureRequest, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, backend: str, work: str
) -> None:
    monkeypatch.setattr(mongo_ledger, "HELP_SECONDS", 0.01)
    url, base = f"sqlite:///{tmp_path}", f"sqlite:///{tmp_path}/base.db"
    if backend == "mongodb":
        url = base = new_database(request.getfixturevalue("mongodb_url"))
    async with Memory.open(base, embeddings=WordEmbedder(), clock=lambda: SAID_AT) as memory:
        await fill(memory, work)
    command = [sys.executable, "-m", "support.killed_former", url, work, str(SAMPLE)]
    done = subprocess.run(command, env=ENVIRONMENT, capture_output=True, text=True, timeout=7200, check=False)
    assert done.returncode == 0, done.stderr
    writes, *victims = map(int, done.stdout.split())
    assert writes >= (60 if work == "form" else 7) and len(victims) == min(SAMPLE or writes, writes)

    def of(victim: int) -> str:
        return f"{url}_{victim}" if backend == "mongodb" else f"{url}/{victim}.db"

    undisturbed = await completed(of(0), work)
    for victim in victims:
        assert await completed(of(victim), work) == undisturbed, victim

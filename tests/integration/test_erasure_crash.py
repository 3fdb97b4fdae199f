"""kill -9 before any step of an erasure: nothing happened, or it is hidden for good and the next start completes it."""

import subprocess
import sys
from datetime import timedelta
from pathlib import Path

import pytest

from support.child import ENVIRONMENT
from support.databases import new_database
from support.doctor import problems
from support.killed_eraser import KEY, fill
from support.left import left_of
from support.memories import Clock, WordEmbedder
from thoughtcycle.memory.memory import Memory
from thoughtcycle.memory.storage.mongo import ledger as mongo_ledger


def runs_of(url: str, stride: int) -> range:
    """The numbers of the runs, the last of which nobody killed."""
    command = [sys.executable, "-m", "support.killed_eraser", url, str(stride)]
    done = subprocess.run(command, env=ENVIRONMENT, capture_output=True, text=True, timeout=300, check=True)
    last, code = map(int, done.stdout.split())
    assert code == 0, done.stderr
    return range(1, last + 1, stride)


async def survived(url: str, victim: int) -> bool:
    """Whether the erasure took place; either way all is whole."""
    async with Memory.open(url, embeddings=WordEmbedder(), clock=Clock()) as memory:
        assert await problems(memory.core.storage, "ana") == [], victim
        names = [record for record in await memory.list("ana") if record.key == KEY]
        said = repr(await memory.conversation("ana", "chat"))
        receipts = await memory.erase_due(timedelta(days=1))
        assert await problems(memory.core.storage, "ana") == [], victim
        assert [record.content for record in await memory.list("ana") if record.key != KEY] == [
            "Mora em Recife"
        ]
        if names:
            assert receipts == []
            return False
        assert "Pedro" not in said, victim
        assert [receipt.left for receipt in receipts] in ([], [()]), victim
        assert await left_of(memory, "ana", ["Pedro", "Paulo"]) == [], victim
        return True


@pytest.mark.spec("BY-9", "BY-2")
async def test_killed_before_any_statement_an_erasure_is_completed(tmp_path: Path) -> None:
    async with Memory.open(
        f"sqlite:///{tmp_path}/base.db", embeddings=WordEmbedder(), clock=Clock()
    ) as memory:
        await fill(memory)
    runs = runs_of(f"sqlite:///{tmp_path}", 5)
    assert len(runs) >= 10
    outcomes = []
    for victim in runs:
        path = tmp_path / f"{victim}.db"
        outcomes.append(await survived(f"sqlite:///{path}", victim))
        if outcomes[-1]:
            assert not [file for file in tmp_path.glob(f"{victim}.db*") if b"edro" in file.read_bytes()], (
                victim
            )
    assert outcomes == sorted(outcomes)
    assert {outcomes[0], outcomes[-1]} == {False, True}


@pytest.mark.spec("BY-9", "BY-2")
async def test_killed_before_any_command_an_erasure_is_completed(
    mongodb_url: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(mongo_ledger, "HELP_SECONDS", 0.01)
    url = new_database(mongodb_url)
    runs = runs_of(url, 3)
    assert len(runs) >= 10
    outcomes = [await survived(f"{url}_{victim}", victim) for victim in runs]
    assert outcomes == sorted(outcomes)
    assert {outcomes[0], outcomes[-1]} == {False, True}

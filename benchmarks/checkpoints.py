"""Cost of checkpoints: bytes written per turn, bytes stored per thread after 200 turns."""

import sqlite3
import tempfile
from contextlib import closing
from pathlib import Path
from typing import Any

from benchmarks.machine import table
from benchmarks.stage import one_turn, stage

TURNS = 200


async def run() -> str:
    """Goals: less than 2 MB stored in all, less than 100 KB in the latest checkpoint."""
    with tempfile.TemporaryDirectory() as folder:
        async with stage(Path(folder), 1_000) as (graph, _, saver):
            written = _counted(saver)
            for number in range(TURNS):
                written.append(0)
                await one_turn(graph, number)
        stored, latest, count = _stored(Path(folder) / "bench.db")
    last = written[-50:]
    return table(
        ("what", "size", "goal"),
        [
            ("written per turn, mean of the last 50", f"{sum(last) / len(last) / 1024:.0f} KB", ""),
            ("written per turn, first turn", f"{written[0] / 1024:.0f} KB", ""),
            (f"stored for the thread, {count} checkpoints and writes", f"{stored / 1024:.0f} KB", "< 2 MB"),
            ("latest checkpoint", f"{latest / 1024:.1f} KB", "< 100 KB"),
        ],
    )


def _counted(saver: Any) -> list[int]:
    """Bytes that each turn hands to the saver; the last entry counts the running turn."""
    written: list[int] = []
    put, put_writes = saver.aput, saver.aput_writes

    async def counted_put(config: Any, checkpoint: Any, metadata: Any, versions: Any) -> Any:
        written[-1] += len(saver.serde.dumps_typed(checkpoint)[1])
        return await put(config, checkpoint, metadata, versions)

    async def counted_writes(config: Any, writes: Any, *args: Any) -> Any:
        written[-1] += sum(len(saver.serde.dumps_typed(value)[1]) for _, value in writes)
        return await put_writes(config, writes, *args)

    saver.aput, saver.aput_writes = counted_put, counted_writes
    return written


def _stored(path: Path) -> tuple[int, int, int]:
    with closing(sqlite3.connect(path)) as db:
        checkpoints = db.execute(
            "SELECT length(checkpoint) + length(metadata) FROM checkpoints ORDER BY checkpoint_id"
        ).fetchall()
        writes = db.execute("SELECT length(value) FROM writes").fetchall()
    sizes = [row[0] for row in checkpoints]
    return sum(sizes) + sum(row[0] for row in writes), sizes[-1], len(sizes) + len(writes)

"""Growth of a turn's cost with the number of memories: the reply path must not walk all of them."""

import statistics
import tempfile
import time
from pathlib import Path

from benchmarks.machine import quantile, table
from benchmarks.stage import one_turn, stage

SIZES, WARM, MEASURED = (100, 1_000, 10_000), 10, 40


async def run() -> str:
    """p50 and p95 of a turn with 100, 1,000 and 10,000 memories of the user."""
    rows = []
    for memories in SIZES:
        times = []
        with tempfile.TemporaryDirectory() as folder:
            async with stage(Path(folder), memories) as (graph, _, _):
                for number in range(WARM + MEASURED):
                    started = time.perf_counter()
                    await one_turn(graph, number)
                    times.append((time.perf_counter() - started) * 1000)
        last = times[WARM:]
        rows.append((f"{memories:,}", f"{statistics.median(last):.1f} ms", f"{quantile(last, 0.95):.1f} ms"))
    return table(("memories", "turn p50", "p95"), rows)

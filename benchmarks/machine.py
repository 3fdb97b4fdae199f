"""Describes the machine and its noise, so that the figures can be read."""

import os
import platform
import statistics
import time
from collections.abc import Sequence


def describe() -> str:
    """One line: cores, Python, and the spread of a fixed piece of work repeated 50 times."""
    times = [_fixed_work() for _ in range(50)]
    p50, p95 = statistics.median(times), quantile(times, 0.95)
    load = os.getloadavg()[0]
    return (
        f"{os.cpu_count()} cores, Python {platform.python_version()}, load {load:.1f}; "
        f"noise: a fixed {p50:.1f} ms of work takes {p95:.1f} ms at p95"
    )


def _fixed_work() -> float:
    started = time.perf_counter()
    sum(number * number for number in range(100_000))
    return (time.perf_counter() - started) * 1000


def quantile(values: Sequence[float], share: float) -> float:
    """The value below which `share` of the values lie (nearest rank)."""
    ordered = sorted(values)
    return ordered[min(int(share * len(ordered)), len(ordered) - 1)]


def table(head: Sequence[str], rows: Sequence[Sequence[object]]) -> str:
    """A Markdown table."""
    lines = [head, ["---"] * len(head), *rows]
    return "\n".join("| " + " | ".join(str(cell) for cell in line) + " |" for line in lines)

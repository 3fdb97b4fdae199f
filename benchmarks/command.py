"""Start time of the command line: `--help`, and the first prompt of `chat` on a terminal."""

import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import pexpect

from benchmarks.machine import quantile, table

COMMAND = str(Path(sys.executable).parent / "thoughtcycle")


def run() -> str:
    """p50 and worst of 10 starts each; goals 1.5 s and 3 s."""
    rows = []
    for name, goal, start in (("--help", 1.5, _help), ("first prompt of chat", 3.0, _prompt)):
        start()
        times = [start() for _ in range(10)]
        rows.append(
            (name, f"{statistics.median(times):.2f} s", f"{quantile(times, 1.0):.2f} s", f"< {goal} s")
        )
    return table(("start", "p50", "worst of 10", "goal"), rows)


def _help() -> float:
    started = time.perf_counter()
    subprocess.run([COMMAND, "--help"], check=True, capture_output=True)
    return time.perf_counter() - started


def _prompt() -> float:
    with tempfile.TemporaryDirectory() as folder:
        started = time.perf_counter()
        chat = pexpect.spawn(COMMAND, ["chat", "--db", f"sqlite:///{folder}/m.db"], encoding="utf-8")
        chat.expect([r"você> ", r"you> "], timeout=30)
        taken = time.perf_counter() - started
        chat.sendline("/quit")
        chat.expect(pexpect.EOF, timeout=30)
        return taken

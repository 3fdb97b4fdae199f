"""Runs the command as a person would, in a process of its own."""

import os
import subprocess
import sys
from pathlib import Path

from support import warm

PYTHON = [sys.executable, "-c", "from thoughtcycle.cli.main import main; main()"]
CLEAN = {
    name: value
    for name, value in os.environ.items()
    if not name.startswith(("OPENAI", "THOUGHTCYCLE", "LANG", "LC_"))
}


def run(
    *args: str,
    stdin: bytes | str = "",
    db: Path | str | None = None,
    env: dict[str, str] | None = None,
    cwd: Path | None = None,
) -> subprocess.CompletedProcess[str]:
    options = [] if db is None else ["--db", db if isinstance(db, str) else f"sqlite:///{db}"]
    done = warm.run(
        [*args, *options],
        stdin=stdin if isinstance(stdin, bytes) else stdin.encode(),
        env=CLEAN | {"THOUGHTCYCLE_USER": "ana"} | (env or {}),
        cwd=cwd,
        timeout=240,
    )
    return subprocess.CompletedProcess(done.args, done.returncode, done.stdout.decode(), done.stderr.decode())


def refused(done: subprocess.CompletedProcess[str]) -> str:
    """The one line on stderr of a command that failed."""
    assert done.returncode == 1, (done.stdout, done.stderr)
    lines = done.stderr.strip().splitlines()
    assert len(lines) == 1 and lines[0].startswith("thoughtcycle: "), done.stderr
    return lines[0]

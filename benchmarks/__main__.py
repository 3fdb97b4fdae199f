"""Runs the benchmarks named on the command line, or all of them."""

import asyncio
import sys
from collections.abc import Callable

from benchmarks import checkpoints, command, databases, first_token, growth, turn
from benchmarks.machine import describe

ALL: dict[str, Callable[[], str]] = {
    "command": command.run,
    "turn": lambda: asyncio.run(turn.run()),
    "growth": lambda: asyncio.run(growth.run()),
    "checkpoints": lambda: asyncio.run(checkpoints.run()),
    "databases": lambda: asyncio.run(databases.run()),
    "first-token": first_token.run,
}


def main() -> None:
    """Prints one Markdown table per benchmark."""
    wanted = sys.argv[1:] or list(ALL)
    unknown = [name for name in wanted if name not in ALL]
    if unknown:
        sys.exit(f"unknown benchmark {unknown[0]!r}; expected one of {', '.join(ALL)}")
    write = sys.stdout.write
    write(f"{describe()}\n")
    for name in wanted:
        write(f"\n### {name}\n\n{ALL[name]()}\n")
        sys.stdout.flush()


main()

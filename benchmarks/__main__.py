"""Runs the benchmarks named on the command line, or all of them."""

import argparse
import asyncio
import sys
from collections.abc import Callable
from functools import partial
from pathlib import Path

from benchmarks import (
    checkpoints,
    command,
    databases,
    disk,
    first_token,
    formation,
    garden,
    growth,
    house,
    memories,
    page,
    peers,
    store,
    turn,
    web,
)
from benchmarks.machine import describe

ALL: dict[str, Callable[[], str]] = {
    "command": command.run,
    "turn": lambda: asyncio.run(turn.run()),
    "growth": lambda: asyncio.run(growth.run()),
    "checkpoints": lambda: asyncio.run(checkpoints.run()),
    "databases": lambda: asyncio.run(databases.run()),
    "first-token": first_token.run,
    "disk": lambda: asyncio.run(disk.run()),
    "formation": lambda: asyncio.run(formation.run()),
    "garden": lambda: asyncio.run(garden.run()),
    "house": house.run,
    "memories": lambda: asyncio.run(memories.run()),
    "page": page.run,
    "peers": peers.run,
    "store": lambda: asyncio.run(store.run()),
    "web": web.run,
}


def main() -> None:
    """Prints one Markdown table per benchmark."""
    parser = argparse.ArgumentParser(prog="make bench", description=__doc__)
    parser.add_argument("names", nargs="*", help=", ".join(ALL))
    parser.add_argument("--plot", type=Path, metavar="FILE.svg", help="draw what `peers` measures")
    parser.add_argument("--root", type=Path, metavar="CHECKOUT", help="which code `house` measures")
    given = parser.parse_args()
    given_to = {"peers": partial(peers.run, given.plot), "house": partial(house.run, given.root)}
    cases: dict[str, Callable[[], str]] = {**ALL, **given_to}
    wanted = given.names or list(ALL)
    unknown = [name for name in wanted if name not in ALL]
    if unknown:
        sys.exit(f"unknown benchmark {unknown[0]!r}; expected one of {', '.join(ALL)}")
    write = sys.stdout.write
    write(f"{describe()}\n")
    for name in wanted:
        write(f"\n### {name}\n\n{cases[name]()}\n")
        sys.stdout.flush()


main()

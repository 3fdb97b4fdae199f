"""Run as a program: repeats one change of a memory, each time killed before another of its SQL statements.

    killed_writer.py FOLDER CHANGE      CHANGE is save, update or hide

FOLDER/base.db is copied for each run. Prints the number of statements that the change takes when nobody
kills it, as its last act; leaves FOLDER/<n>.db, the file of the run killed before statement n.
"""

import asyncio
import os
import shutil
import signal
import sqlite3
import sys
from pathlib import Path

from support.memories import WordEmbedder
from thoughtcycle.memory.memory import Memory
from thoughtcycle.memory.model.records import MemoryDraft
from thoughtcycle.memory.storage.sqlite.storage import SqliteStorage

DRAFTS = [
    MemoryDraft(content="Mora em Natal", key="city", bindings=("cidade", "city")),
    MemoryDraft(content="Odeia coentro", bindings=("dieta", "comida")),
]


async def run(path: Path, change: str, victim: int) -> None:
    """Makes the change; the process dies before statement `victim` of it."""
    async with Memory.open(f"sqlite:///{path}", embeddings=WordEmbedder()) as memory:
        (city,) = [record for record in await memory.list("ana") if record.key == "city"]
        storage = memory.core.storage
        assert isinstance(storage, SqliteStorage)
        await storage.database.read(arm, victim)
        match change:
            case "save":
                await memory.save("ana", DRAFTS)
            case "update":
                await memory.update("ana", city.id, content="Mora em Natal", bindings=["onde"])
            case "hide":
                await memory.hide("ana", [city.id])


def arm(connection: sqlite3.Connection, victim: int) -> None:
    """From now on counts statements, in this connection's own thread."""
    left = victim + 1  # the COMMIT of the transaction that arms is the first to be traced

    def count(statement: str) -> None:
        nonlocal left
        left -= 1
        if left == 0:
            os.kill(os.getpid(), signal.SIGKILL)

    connection.set_trace_callback(count)


def main(folder: Path, change: str) -> None:
    """Forks a fresh victim per statement, from a process that has no threads."""
    for victim in range(1, 200):
        path = folder / f"{victim}.db"
        shutil.copy(folder / "base.db", path)
        if (child := os.fork()) == 0:
            asyncio.run(run(path, change, victim))
            os._exit(0)
        _, status = os.waitpid(child, 0)
        if not os.WIFSIGNALED(status):
            sys.stdout.write(f"{victim - 1} {os.waitstatus_to_exitcode(status)}\n")
            return


if __name__ == "__main__":
    main(Path(sys.argv[1]), sys.argv[2])

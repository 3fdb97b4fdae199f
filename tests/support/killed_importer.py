"""Imports a file and is killed at its n-th write: `python killed_importer.py URL FILE N`."""

import asyncio
import os
import signal
import sys
from pathlib import Path
from typing import Any

from thoughtcycle.memory.memory import Memory


async def main(url: str, file: str, left: int) -> None:
    async with Memory.open(url, embeddings=None) as memory:
        storage = memory.core.storage
        for repository, name in (
            (storage.chats, "claim"),
            (storage.transcript, "add_cycle"),
            (storage.transcript, "append_cycle"),
            (storage.chats, "adopt"),
            (storage.memories, "commit"),
        ):
            write = getattr(repository, name)

            async def dying(*args: Any, write: Any = write, **options: Any) -> Any:
                nonlocal left
                told = await write(*args, **options)
                left -= 1
                if left == 0:
                    os.kill(os.getpid(), signal.SIGKILL)
                return told

            setattr(repository, name, dying)
        await memory.import_file("ana", Path(file))


if __name__ == "__main__":
    asyncio.run(main(sys.argv[1], sys.argv[2], int(sys.argv[3])))

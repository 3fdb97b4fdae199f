"""Run as a program: repeats one change, each time killed before another of the commands that write to MongoDB.

    killed_mongo_writer.py URL CHANGE      CHANGE is save, update, hide or close

Each run has a database of its own, named <database of URL>_<n>, which it fills before it is armed. Prints the
number of writing commands that the change takes when nobody kills it, as its last act.
"""

import asyncio
import os
import signal
import sys

from pymongo import monitoring

from support.memories import WordEmbedder, said, step
from thoughtcycle.memory.memory import Memory
from thoughtcycle.memory.model.records import MemoryDraft
from thoughtcycle.memory.storage.mongo.storage import MongoStorage

OLD = MemoryDraft(content="Mora em Olinda", key="city", bindings=("cidade",))
DRAFTS = [
    MemoryDraft(content="Mora em Natal", key="city", bindings=("cidade", "city")),
    MemoryDraft(content="Odeia coentro", bindings=("dieta", "comida")),
]


class Killer(monitoring.CommandListener):
    """Ends this process, without a last word, before writing command number `victim` is sent."""

    def __init__(self) -> None:
        self.left = 0

    def started(self, event: monitoring.CommandStartedEvent) -> None:
        if self.left and event.command_name in ("insert", "update", "delete"):
            self.left -= 1
            if not self.left:
                os.kill(os.getpid(), signal.SIGKILL)

    def succeeded(self, event: monitoring.CommandSucceededEvent) -> None:
        pass

    def failed(self, event: monitoring.CommandFailedEvent) -> None:
        pass


async def run(url: str, change: str, victim: int, killer: Killer) -> None:
    """Fills the database, then makes the change; the process dies before its writing command `victim`."""
    async with Memory.open(url, embeddings=WordEmbedder()) as memory:
        assert isinstance(memory.core.storage, MongoStorage)
        await memory.save("ana", [OLD])
        (saved,) = await memory.save("ana", [OLD.model_copy(update={"content": "Mora em Recife"})])
        first = await memory.transcript.open_cycle("ana", "chat", said("oi"), parent=None, channel="cli")
        await memory.transcript.close_cycle("ana", first.id, execution="e", messages=[], steps=[step()])
        second = await memory.transcript.open_cycle(
            "ana", "chat", said("e?", "2"), parent=first.id, channel="cli"
        )
        killer.left = victim
        match change:
            case "save":
                await memory.save("ana", DRAFTS)
            case "update":
                await memory.update("ana", saved.record.id, content="Mora em Natal", bindings=["onde"])
            case "hide":
                await memory.hide("ana", [saved.record.id])
            case "close":
                reply = said("olá", "3", "assistant")
                await memory.transcript.close_cycle(
                    "ana", second.id, execution="e", messages=[reply], steps=[step()]
                )
        killer.left = 0


def main(url: str, change: str) -> None:
    """Forks a fresh victim per command, from a process that has no threads and no client."""
    killer = Killer()
    monitoring.register(killer)
    for victim in range(1, 100):
        if (child := os.fork()) == 0:
            asyncio.run(run(f"{url}_{victim}", change, victim, killer))
            os._exit(0)
        _, status = os.waitpid(child, 0)
        if not os.WIFSIGNALED(status):
            sys.stdout.write(f"{victim - 1} {os.waitstatus_to_exitcode(status)}\n")
            return


if __name__ == "__main__":
    main(sys.argv[1], sys.argv[2])

"""Run as a program: repeats one erasure, each time killed before another statement or writing command.

    killed_eraser.py URL STRIDE    URL is sqlite:///folder (base.db in it is copied), or mongodb://host/name

The run killed before step n leaves folder/<n>.db, or the database <name>_<n>; every STRIDEth step has its turn.
Prints the number of the run that nobody killed, as its last act.
"""

import asyncio
import os
import shutil
import sys
from pathlib import Path

from pymongo import monitoring

from support.killed_mongo_writer import Killer
from support.killed_writer import arm
from support.memories import Clock, WordEmbedder, said, step
from support.sheets import judgement, profile, sheet
from thoughtcycle.memory.memory import Memory
from thoughtcycle.memory.model.conversation import Profile
from thoughtcycle.memory.model.records import MemoryDraft, Source
from thoughtcycle.memory.storage.sqlite.storage import SqliteStorage

KEY = "name"


async def fill(memory: Memory) -> None:
    """Somebody says his name, corrects it, and something else with it; formation has taken it in."""
    told = "Meu nome é Pedro e moro em Natal"
    cycle = await memory.transcript.open_cycle("ana", "chat", said(told), parent=None, channel="cli")
    drafts = [
        MemoryDraft(
            content="Nome: Pedro", key=KEY, bindings=("nome",), source=Source(cycle=cycle.id, words=told)
        ),
        MemoryDraft(content="Mora em Natal", key="city", source=Source(cycle=cycle.id, words=told)),
    ]
    name, city = await memory.save("ana", drafts)
    reply = said("Prazer, Pedro!", "2", "assistant")
    closed = await memory.transcript.close_cycle(
        "ana", cycle.id, execution="e", messages=[reply], steps=[step()]
    )
    assert closed is not None
    found = judgement(cycle.id).model_copy(update={"summary": "O usuário se chama Pedro."})
    await memory.conversations.form_cycle(
        "ana", cycle.id, judgement=found, marks=(), formation="done", expected=closed
    )
    made = sheet(closed, closed)
    data = made.critical_data[0].model_copy(update={"text": told})
    await memory.conversations.keep_conversation_memory(
        made.model_copy(update={"working": "Fala com Pedro.", "critical_data": (data,)})
    )
    habit = profile(closed, closed).entries[0].model_copy(update={"key": "nome", "value": "Pedro"})
    await memory.conversations.keep_profile(Profile(user="ana", entries=(habit,)))
    await memory.update("ana", name.record.id, content="Nome: Pedro Paulo")
    await memory.update("ana", city.record.id, content="Mora em Recife")


async def erase(memory: Memory, victim: int, killer: Killer) -> None:
    """Erases the name; the process dies before step `victim` of it."""
    (name,) = [record for record in await memory.list("ana") if record.key == KEY]
    storage = memory.core.storage
    if isinstance(storage, SqliteStorage):
        await storage.database.read(arm, victim)
    else:
        killer.left = victim
    await memory.erase("ana", [name.id])
    killer.left = 0


async def run(url: str, victim: int, killer: Killer) -> None:
    """One victim's life."""
    async with Memory.open(url, embeddings=WordEmbedder(), clock=Clock()) as memory:
        if url.startswith("mongodb"):
            await fill(memory)
        await erase(memory, victim, killer)


def main(url: str, stride: int) -> None:
    """Forks a fresh victim per step, from a process that has no threads and no client."""
    killer = Killer()
    monitoring.register(killer)
    folder = Path(url.removeprefix("sqlite:///")) if url.startswith("sqlite") else None
    for victim in range(1, 400, stride):
        own = f"{url}_{victim}"
        if folder is not None:
            shutil.copy(folder / "base.db", folder / f"{victim}.db")
            own = f"{url}/{victim}.db"
        if (child := os.fork()) == 0:
            asyncio.run(run(own, victim, killer))
            os._exit(0)
        _, status = os.waitpid(child, 0)
        if not os.WIFSIGNALED(status):
            sys.stdout.write(f"{victim} {os.waitstatus_to_exitcode(status)}\n")
            return


if __name__ == "__main__":
    main(sys.argv[1], int(sys.argv[2]))

"""Run as a program: forms a chat, or tends a garden, again and again, each time killed before another write.

    killed_former.py URL WORK SAMPLE   URL is sqlite:///folder (base.db in it is copied), or mongodb://host/name

WORK is form or garden. The run killed before write n leaves folder/<n>.db, or the database <name>_<n>. SAMPLE
writes, chosen by a fixed seed, have their turn; 0: each. Prints the number of writes, then those numbers.
"""

import asyncio
import os
import random
import shutil
import signal
import sqlite3
import sys
from datetime import UTC, datetime, timedelta
from pathlib import Path

from pymongo import MongoClient, monitoring

from support.killed_mongo_writer import Killer
from support.memories import WordEmbedder
from thoughtcycle.memory.core.worker import Worker
from thoughtcycle.memory.erasure.service import GRACE
from thoughtcycle.memory.memory import Memory
from thoughtcycle.memory.model.records import MemoryDraft
from thoughtcycle.memory.storage.sqlite.storage import SqliteStorage
from thoughtcycle.mind.rules import RuleMind
from thoughtcycle.nodes.base.limits import Limits
from thoughtcycle.nodes.base.services import Services
from thoughtcycle.runtime.upkeep import FORM, GARDEN, enqueue_formation, enqueue_gardens, job_kinds

SAID_AT = datetime(2026, 3, 2, 9, tzinfo=UTC)
NOW = datetime(2026, 3, 20, 9, tzinfo=UTC)
YEAR_LATER = datetime(2027, 3, 20, 9, tzinfo=UTC)
MANY = 1_000_000
WRITES = ("INSERT", "UPDATE", "DELETE", "REPLACE")

SAID = (
    "oi, tudo bem?",
    "meu nome é Pedro e moro em Recife, estou ansioso com o prazo",
    "Quero economizar R$ 5.000 até junho",
    "prefiro falar por whatsapp de manhã",
    "gosto de café e não gosto de carne de porco",
    "continuo ansioso com o prazo, e agora moro em Natal",
    "não gosto mais de café e não gosto de carne",
    "fiquei ansioso com o prazo, meu nome é Pedro",
    "decidi que o projeto usa Postgres e o orçamento é de R$ 900",
)
REPLY = "Certo, vou lembrar disso quando a gente falar de novo sobre qualquer coisa assim."
LONG = (
    "Em março de 2024 o Pedro contou com muita calma que a viagem para Natal custou R$ 3.200, que ficaram 12 "
    "dias numa pousada perto da praia, que choveu em 4 deles, que a filha Ana aprendeu a nadar, que comeram "
    "camarão quase todas as noites, que o carro alugado quebrou na volta, que o conserto custou R$ 850, e que "
    "apesar de tudo isso foi a melhor viagem que a família fez até hoje, segundo ele mesmo disse."
)
KEPT = (
    MemoryDraft(content="Não gosta de coentro", kind="pref", bindings=("comida",)),
    MemoryDraft(content="Odeia coentro", kind="pref", bindings=("dieta",)),
    MemoryDraft(content="Nasceu em Olinda", kind="bio"),
    MemoryDraft(content="Ansioso com o prazo", kind="emo", weight=0.9),
    MemoryDraft(content="Quer aprender violão", kind="obj"),
    MemoryDraft(content="Lembrete da festa", expires=SAID_AT + timedelta(days=3)),
    MemoryDraft(content=LONG, importance=90),
    MemoryDraft(content="Promovido a gerente", layer="episodic"),
)


async def fill(memory: Memory, work: str) -> None:
    """What is there before the work begins."""
    if work == "form":
        for place, text in enumerate(SAID):
            at = SAID_AT + timedelta(hours=place)
            await memory.record_cycle("ana", "c", text, REPLY, at=at, channel="test")
    else:
        await memory.save("ana", KEPT)


async def work_on(memory: Memory, work: str, now: datetime) -> None:
    """What a worker does until nothing is left to do; one job at a time, so that each run takes the same way."""
    limits = Limits(memory_words=200, compress_at=0.5, compress_to=0.1)
    services = Services(memory, RuleMind(), limits, clock=lambda: now)
    known = job_kinds(services, GRACE)
    if work == "form":
        worker = Worker(memory.queue, {FORM: known[FORM]}, slots=1, look=lambda: enqueue_formation(memory))
    else:
        await enqueue_gardens(memory)
        worker = Worker(memory.queue, {GARDEN: known[GARDEN]}, slots=1)
    await worker.drain()


def time_of(work: str) -> datetime:
    """When the work is done."""
    return NOW if work == "form" else YEAR_LATER


def arm(connection: sqlite3.Connection, killer: Killer) -> None:
    """From now on counts the commits of transactions that write, in this connection's own thread.

    Whatever was written before it is killed there is rolled back: no other moment leaves anything else.
    """
    wrote = False

    def count(statement: str) -> None:
        nonlocal wrote
        word = statement.split(maxsplit=1)[0].upper()
        if killer.left and wrote and word == "COMMIT":
            killer.left -= 1
            if not killer.left:
                os.kill(os.getpid(), signal.SIGKILL)
        wrote = word in WRITES or (wrote and word not in ("COMMIT", "ROLLBACK", "BEGIN"))

    connection.set_trace_callback(count)


async def run(url: str, work: str, victim: int, killer: Killer) -> int:
    """One victim's life; the number of writes, where nobody killed it."""
    now, own = time_of(work), own_of(url, victim)
    async with Memory.open(own, embeddings=WordEmbedder(), clock=lambda: now) as memory:
        storage = memory.core.storage
        if isinstance(storage, SqliteStorage):
            await storage.database.read(arm, killer)
        else:
            await asyncio.to_thread(fetch, url, own)
        killer.left = victim or MANY
        await work_on(memory, work, now)
        left, killer.left = killer.left, 0
        return (victim or MANY) - left


def own_of(url: str, victim: int) -> str:
    """The URL of one victim's database; for SQLite already a copy of the base."""
    if url.startswith("mongodb"):
        return f"{url}_{victim}"
    folder = Path(url.removeprefix("sqlite:///"))
    shutil.copy(folder / "base.db", folder / f"{victim}.db")
    return f"{url}/{victim}.db"


def fetch(base: str, own: str) -> None:
    """Copies the documents of one MongoDB database into another, whose indexes are there already."""
    with MongoClient[dict[str, object]](base) as client:
        source, copy = client.get_default_database(), client[own.rpartition("/")[2]]
        for name in source.list_collection_names():
            if documents := list(source[name].find()):
                copy[name].delete_many({})
                copy[name].insert_many(documents)


def lived(url: str, work: str, victim: int, killer: Killer) -> int:
    """Forks a victim, from a process without threads; the number of its writes, 0 where it was killed."""
    reading, writing = os.pipe()
    if (child := os.fork()) == 0:
        os.close(reading)
        done = asyncio.run(run(url, work, victim, killer))
        os.write(writing, str(done).encode())
        os._exit(0)
    os.close(writing)
    with os.fdopen(reading) as told:
        answer = told.read()
    _, status = os.waitpid(child, 0)
    if os.WIFSIGNALED(status) and os.WTERMSIG(status) == signal.SIGKILL:
        return 0
    assert status == 0, f"the run to be killed before write {victim} failed"
    return int(answer)


def main(url: str, work: str, sample: int) -> None:
    """First a run that nobody kills (0), then the victims."""
    killer = Killer()
    monitoring.register(killer)
    writes = lived(url, work, 0, killer)
    victims = list(range(1, writes + 1))
    if sample:
        victims = sorted(random.Random(4).sample(victims, min(sample, writes)))
    for victim in victims:
        assert not lived(url, work, victim, killer), "it outlived its death"
    sys.stdout.write(" ".join(map(str, (writes, *victims))) + "\n")


if __name__ == "__main__":
    main(sys.argv[1], sys.argv[2], int(sys.argv[3]))

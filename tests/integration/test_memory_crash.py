"""kill -9 before any statement leaves all or nothing, and loses nothing acknowledged; processes see each other."""

import asyncio
import signal
import subprocess
import sys
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

import pytest

from support.child import ENVIRONMENT
from support.doctor import problems
from support.memories import WordEmbedder, hidden
from thoughtcycle.memory.memory import Memory
from thoughtcycle.memory.model.records import MemoryDraft


@asynccontextmanager
async def opened(database: Path | str) -> AsyncIterator[Memory]:
    url = database if isinstance(database, str) else f"sqlite:///{database}"
    async with Memory.open(url, embeddings=WordEmbedder()) as memory:
        yield memory


async def seen(memory: Memory) -> object:
    """What the user sees: contents by status, and what a search finds."""
    records = await memory.list("ana", statuses=("active", "superseded", "hidden"))
    hits = await memory.search("ana", "cidade dieta", limit=9)
    return (
        sorted((record.status, str(record.content), len(record.vector_ids)) for record in records),
        sorted(str(hit.record.content) for hit in hits),
        len(await hidden(memory, "ana")),
    )


@pytest.mark.spec("TC-15", "BY-2")
@pytest.mark.parametrize("change", ["save", "update", "hide"])
async def test_killed_before_any_statement_a_change_is_whole_or_not_there(
    tmp_path: Path, change: str
) -> None:
    async with opened(tmp_path / "base.db") as memory:
        old = MemoryDraft(content="Mora em Olinda", key="city", bindings=("cidade",))
        await memory.save("ana", [old])
        await memory.save("ana", [old.model_copy(update={"content": "Mora em Recife"})])
        before = await seen(memory)
    command = [sys.executable, "-m", "support.killed_writer", str(tmp_path), change]
    done = subprocess.run(command, env=ENVIRONMENT, capture_output=True, text=True, timeout=300, check=True)
    statements, code = map(int, done.stdout.split())
    assert code == 0, done.stderr
    assert statements >= 8
    async with opened(tmp_path / f"{statements + 1}.db") as memory:
        after = await seen(memory)
    assert after != before
    outcomes = []
    for victim in range(1, statements + 1):
        async with opened(tmp_path / f"{victim}.db") as memory:
            assert await problems(memory.core.storage, "ana") == [], victim
            outcomes.append(await seen(memory))
            assert outcomes[-1] in (before, after), victim
    assert outcomes[0] == before


WRITER = """
import asyncio, sys
from support.memories import WordEmbedder, hidden
from thoughtcycle.memory.memory import Memory
from thoughtcycle.memory.model.records import MemoryDraft

async def main():
    async with Memory.open(sys.argv[1], embeddings=WordEmbedder()) as memory:
        for number in range(100_000):
            draft = MemoryDraft(content=f"fato {number}", bindings=("tema",))
            (saved,) = await memory.save("ana", [draft])
            print(saved.record.id, flush=True)

asyncio.run(main())
"""


@pytest.mark.spec("BY-2")
async def test_nothing_acknowledged_is_lost(database_url: str) -> None:
    command = [sys.executable, "-c", WRITER, database_url]
    with subprocess.Popen(command, env=ENVIRONMENT, stdout=subprocess.PIPE, text=True) as writer:
        assert writer.stdout is not None
        acknowledged = [writer.stdout.readline().strip() for _ in range(50)]
        writer.send_signal(signal.SIGKILL)
        acknowledged += [line.strip() for line in writer.stdout if line.endswith("\n")]
    async with opened(database_url) as memory:
        records = await memory.list("ana")
        assert {record.id for record in records} >= set(acknowledged)
        assert len(records) <= len(acknowledged) + 1
        assert await problems(memory.core.storage, "ana") == []


OTHER = """
import asyncio, sys
from support.memories import WordEmbedder, hidden
from thoughtcycle.memory.memory import Memory
from thoughtcycle.memory.model.records import MemoryDraft

async def main():
    async with Memory.open(sys.argv[1], embeddings=WordEmbedder()) as memory:
        for line in sys.stdin:
            command, text = line.strip().split(" ", 1)
            if command == "save":
                await memory.save("ana", [MemoryDraft(content=text, bindings=("praia",))])
            elif command == "hide":
                hits = await memory.search("ana", text)
                await memory.hide("ana", [hits[0].record.id])
            found = await memory.search("ana", "praia", limit=50)
            print("|".join(sorted(str(hit.record.content) for hit in found)), flush=True)

asyncio.run(main())
"""


class Neighbour:
    """Another process on the same database."""

    def __init__(self, process: asyncio.subprocess.Process) -> None:
        self.process = process

    async def tell(self, line: str) -> list[str]:
        """Does something there; gives what a search then finds there."""
        assert self.process.stdin is not None
        assert self.process.stdout is not None
        self.process.stdin.write(f"{line}\n".encode())
        answer = (await asyncio.wait_for(self.process.stdout.readline(), 120)).decode()
        assert answer, "the other process died"
        return [text for text in answer.strip().split("|") if text]


@pytest.fixture
async def neighbour(database_url: str) -> AsyncIterator[Neighbour]:
    process = await asyncio.create_subprocess_exec(
        sys.executable,
        "-c",
        OTHER,
        database_url,
        env=ENVIRONMENT,
        stdin=asyncio.subprocess.PIPE,
        stdout=asyncio.subprocess.PIPE,
    )
    yield Neighbour(process)
    assert process.stdin is not None
    process.stdin.close()
    assert await process.wait() == 0


@pytest.mark.spec("BY-2")
async def test_two_processes_see_each_other_s_writes(database_url: str, neighbour: Neighbour) -> None:
    async with opened(database_url) as memory:

        async def here() -> list[str]:
            return sorted(str(hit.record.content) for hit in await memory.search("ana", "praia", limit=50))

        assert await neighbour.tell("save areia branca") == ["areia branca"]
        assert await here() == ["areia branca"]
        (saved,) = await memory.save("ana", [MemoryDraft(content="onda alta", bindings=("praia",))])
        assert await neighbour.tell("look now") == ["areia branca", "onda alta"] == await here()
        assert await neighbour.tell("hide onda") == ["areia branca"] == await here()
        assert [record.id for record in await hidden(memory, "ana")] == [saved.record.id]
        await memory.undo("ana")
        assert await neighbour.tell("look now") == ["areia branca", "onda alta"] == await here()


@pytest.mark.spec("BY-2")
async def test_two_processes_writing_at_once_keep_one_journal(
    database_url: str, neighbour: Neighbour
) -> None:
    async with opened(database_url) as memory:
        await neighbour.tell("look now")

        async def write_here() -> None:
            for number in range(30):
                await memory.save(
                    "ana", [MemoryDraft(content=f"aqui {number}", key="city", bindings=("praia",))]
                )

        async def write_there() -> None:
            for number in range(30):
                await neighbour.tell(f"save lá {number}")

        await asyncio.gather(write_here(), write_there())
        assert await problems(memory.core.storage, "ana") == []
        assert len(await memory.list("ana")) == 31
        assert len(await memory.list("ana", statuses=("superseded",))) == 29
        assert len(await memory.search("ana", "praia", limit=50)) == 31

"""An import that is killed between any two of its writes goes on where it stopped."""

import json
import subprocess
import sys
from pathlib import Path

import pytest

from support.memories import Clock, said, step
from thoughtcycle.memory.memory import Memory
from thoughtcycle.memory.model.records import MemoryDraft, Source

SCRIPT = Path(__file__).parents[1] / "support" / "killed_importer.py"


async def exported(memory: Memory) -> list[dict[str, object]]:
    return [json.loads(json.dumps(line)) async for line in memory.export("ana")]


@pytest.mark.spec("BY-4")
async def test_a_killed_import_goes_on(tmp_path: Path, database_url: str) -> None:
    file = tmp_path / "export"
    async with Memory.open(f"sqlite:///{tmp_path}/from.db", embeddings=None, clock=Clock()) as memory:
        parent = None
        for number in range(3):
            said_now = said(f"mensagem {number}", f"{number}")
            cycle = await memory.transcript.open_cycle("ana", "chat", said_now, parent=parent, channel="cli")
            await memory.transcript.close_cycle(
                "ana", cycle.id, execution="e", messages=[said("oi")], steps=[step()]
            )
            parent = cycle.id
            draft = MemoryDraft(content=f"cidade {number}", key="city", source=Source(cycle=cycle.id))
            await memory.save("ana", [draft])
        before = await exported(memory)
    file.write_text("".join(f"{json.dumps(line)}\n" for line in before))
    for n in (1, 2, 3, 2, 1):  # each kill comes later: what is there already is not written again
        command = [sys.executable, str(SCRIPT), database_url, str(file), str(n)]
        done = subprocess.run(command, capture_output=True, timeout=300, check=False)
        assert done.returncode in (0, -9), done.stderr
    async with Memory.open(database_url, embeddings=None) as memory:
        await memory.import_file("ana", file)
        assert await memory.doctor() == []
        assert (await exported(memory))[1:] == before[1:]

"""The files that are imported: exports of databases that were made for it."""

import json
from collections.abc import Mapping, Sequence
from pathlib import Path

from thoughtcycle.memory.memory import Memory
from thoughtcycle.memory.model import MemoryDraft, utc_now

TOLD = 3
"""Of each file's contents so many were also said, in a chat of the file's own."""


async def export(folder: Path, files: Mapping[str, Sequence[str]]) -> None:
    """Writes NAME.jsonl into `folder` for each name: a memory per content."""
    for name, contents in files.items():
        async with Memory.open(f"sqlite:///{folder}/{name}.db", embeddings=None) as memory:
            await memory.save(
                "eva", [MemoryDraft(content=content, bindings=("tema",)) for content in contents]
            )
            for content in contents[:TOLD]:
                await memory.record_cycle("eva", f"old {name}", content, "sim", at=utc_now(), channel="t")
            lines = [json.dumps(line) async for line in memory.export("eva")]
        (folder / f"{name}.jsonl").write_text("\n".join(lines) + "\n")

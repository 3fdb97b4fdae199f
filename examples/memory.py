"""The memory by itself, without graph and model: keep, find, change, explain, erase, export, forget."""

import asyncio
import sys
import tempfile
from datetime import UTC, datetime

from thoughtcycle.memory import Memory, MemoryDraft, Source
from thoughtcycle.mind.lexical import LexicalEmbeddings
from thoughtcycle.proof.evidence import Scene

ANA = "ana"
SAID = datetime(2026, 3, 1, 12, tzinfo=UTC)


async def main(url: str) -> None:
    async with Memory.open(url, embeddings=LexicalEmbeddings()) as memory:
        said = await memory.record_cycle(
            ANA,
            "chat",
            "I moved to Lisbon and I can't stand coriander.",
            "Noted!",
            at=SAID,
            channel="example",
        )
        saved = await memory.save(
            ANA,
            [
                MemoryDraft(
                    content="Lives in Lisbon",
                    kind="bio",
                    bindings=("home", "city"),
                    source=Source(cycle=said.id, words="I moved to Lisbon"),
                ),
                MemoryDraft(
                    content="Hates coriander",
                    kind="pref",
                    bindings=("food", "herbs"),
                    source=Source(cycle=said.id, words="I can't stand coriander"),
                ),
            ],
        )
        home, herb = (one.record for one in saved)
        await memory.pin(ANA, [herb.id])

        for hit in await memory.search(ANA, "which city?", kinds=["bio"], limit=3):
            sys.stdout.write(f"found: {hit.record.content} ({hit.relevance:.2f})\n")
        for message in await memory.search(ANA, "coriander", include=("cycles",)):
            sys.stdout.write(f"said: {message.text}\n")

        lease = await memory.attach(ANA, "lease.txt", b"The rent is due on the fifth.", caption="my lease")
        (hit,) = await memory.search(ANA, "when is the rent due?", limit=1)
        sys.stdout.write(f"in a file: {hit.shown.text} ({len(await memory.file(ANA, lease.id))} bytes)\n")

        before = datetime.now(UTC)
        await memory.update(ANA, home.id, content="Lives in Porto")
        (then,) = await memory.search(ANA, "city", at=before, limit=1)
        sys.stdout.write(f"then: {then.record.content}; now: {(await memory.get(ANA, home.id)).content}\n")
        await memory.undo(ANA, home.id)
        why = await memory.why(ANA, home.id)
        sys.stdout.write(f"why: {why.record.source.words!r}, then {[change.op for change in why.changes]}\n")

        receipt = await memory.erase(ANA, [herb.id])
        sys.stdout.write(f"erased: {receipt}\n")
        found = await Scene.of(url, ANA).search((), ["coriander"])  # by a program of its own
        sys.stdout.write(f"left of it: {[one.place for one in found.there]}\n")

        lines = [line async for line in memory.export(ANA)]
        sys.stdout.write(f"export: {len(lines)} lines; flaws: {await memory.doctor(ANA)}\n")
        sys.stdout.write(f"forgotten: {await memory.forget_user(ANA)}\n")


if __name__ == "__main__":
    with tempfile.TemporaryDirectory() as folder:
        asyncio.run(main(f"sqlite:///{folder}/memory.db"))

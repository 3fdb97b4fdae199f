"""Opens memories for tests: on a file of the test's own, with or without an embedder."""

from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from support.memories import Clock, WordEmbedder
from thoughtcycle.memory.doctor import problems
from thoughtcycle.memory.memory import Memory


@pytest.fixture(params=["vectors", "words"])
async def memory(request: pytest.FixtureRequest, tmp_path: Path) -> AsyncIterator[Memory]:
    """A memory with embeddings, and one without; every invariant holds when the test is over."""
    embeddings = WordEmbedder() if request.param == "vectors" else None
    async with Memory.open(f"sqlite:///{tmp_path}/m.db", embeddings=embeddings, clock=Clock()) as opened:
        yield opened
        for user in ("ana", "bia"):
            assert await problems(opened._storage, user) == []

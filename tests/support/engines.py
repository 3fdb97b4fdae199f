"""Opens memories for tests: on a file of the test's own, with or without an embedder."""

from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from support.databases import new_database
from support.doctor import problems
from support.memories import Clock, WordEmbedder
from thoughtcycle.memory.memory import Memory


@pytest.fixture(params=["vectors", "words", "mongodb"])
async def memory(request: pytest.FixtureRequest, tmp_path: Path) -> AsyncIterator[Memory]:
    """With embeddings, without, and with them on MongoDB; every invariant holds when the test is over."""
    url = f"sqlite:///{tmp_path}/m.db"
    if request.param == "mongodb":
        url = new_database(request.getfixturevalue("mongodb_url"))
    embeddings = WordEmbedder() if request.param != "words" else None
    async with Memory.open(url, embeddings=embeddings, clock=Clock()) as opened:
        yield opened
        for user in ("ana", "bia"):
            assert await problems(opened.core.storage, user) == []

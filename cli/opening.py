"""Opens the memory for a command, alone: without graph and chat models."""

import asyncio
from collections.abc import Awaitable, Callable
from typing import TYPE_CHECKING, TypeVar

from thoughtcycle.cli.options import check_user

if TYPE_CHECKING:
    from thoughtcycle.memory.memory import Memory

T = TypeVar("T")


def with_memory(
    db: str | None,
    user: str | None,
    work: "Callable[[Memory, str], Awaitable[T]]",
    *,
    embeddings: bool = True,
) -> T:
    """What `work` makes of the memory and the user; without `embeddings` nothing new can be embedded."""
    from thoughtcycle.graph.settings import load_settings
    from thoughtcycle.memory.memory import Memory
    from thoughtcycle.mind.embeddings import build_embeddings
    from thoughtcycle.mind.roles import ModelSettings

    settings = load_settings()
    owner = check_user(user, settings.user)

    async def run() -> T:
        model = build_embeddings(ModelSettings()) if embeddings else None
        async with Memory.open(settings.url() if db is None else db, embeddings=model) as memory:
            return await work(memory, owner)

    return asyncio.run(run())

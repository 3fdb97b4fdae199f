"""Opens memory, mind and checkpointer as the settings say."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import AsyncExitStack, asynccontextmanager

from thoughtcycle.checkpoints.erasure import bound
from thoughtcycle.checkpoints.factory import Saver, open_checkpointer
from thoughtcycle.errors import InputRefused
from thoughtcycle.memory.memory import Memory
from thoughtcycle.mind.base import Mind
from thoughtcycle.mind.embeddings import NamedEmbeddings, build_embeddings
from thoughtcycle.mind.llm import LLMMind
from thoughtcycle.mind.model_settings import ROLES, ModelSettings
from thoughtcycle.mind.rules import RuleMind
from thoughtcycle.nodes.base.services import Services
from thoughtcycle.runtime.settings import Settings


@asynccontextmanager
async def open_services(
    settings: Settings, models: ModelSettings, *, spooled: bool = False
) -> AsyncIterator[tuple[Services, Saver]]:
    """Memory, mind and checkpointer, closed on leaving; erasing from the memory also erases checkpoints.

    `spooled`: writes of turns wait on this computer while the database is away. Raises InputRefused,
    StorageFailed.
    """
    async with AsyncExitStack() as stack:
        embeddings = await asyncio.to_thread(build_embeddings, models)
        if isinstance(embeddings, NamedEmbeddings):
            stack.push_async_callback(embeddings.aclose)
        memory = await stack.enter_async_context(
            Memory.open(
                settings.url(),
                embeddings=embeddings,
                index_bytes=settings.index_bytes,
                spool=settings.spool if spooled else None,
                spool_bytes=settings.spool_bytes,
            )
        )
        checkpointer = await stack.enter_async_context(
            open_checkpointer(settings.url(), keep_turns=settings.limits.keep_turns)
        )
        bound(memory, checkpointer)
        mind = await asyncio.to_thread(build_mind, models)
        if isinstance(mind, LLMMind):
            stack.push_async_callback(mind.aclose)
        services = Services(
            memory,
            mind,
            settings.limits,
            None if settings.auth.on else settings.user,
            settings.language or "pt",
            time_zone=settings.time_zone,
            public=settings.auth.on,
        ).connected()
        yield services, checkpointer


def build_mind(models: ModelSettings) -> Mind:
    """A mind over models where any is configured, else over rules.

    Raises InputRefused where a model is named without key and address: rules would answer unnoticed.
    """
    named = models.model or any(getattr(models, role).model for role in ROLES)
    if named and not models.configured:
        raise InputRefused("model_without_server", model=named)
    return LLMMind.from_settings(models) if models.configured else RuleMind()

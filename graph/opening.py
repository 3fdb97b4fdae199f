"""Opens what a process needs to think and remember: memory, mind and checkpointer, as the settings say."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import AbstractAsyncContextManager, AsyncExitStack, asynccontextmanager

from thoughtcycle.graph.checkpoints.factory import Saver, open_checkpointer
from thoughtcycle.graph.erasing import bound
from thoughtcycle.graph.settings import Settings
from thoughtcycle.memory.memory import Memory
from thoughtcycle.memory.outage import open_spooled
from thoughtcycle.mind.base import Mind
from thoughtcycle.mind.embeddings import LexicalEmbeddings, NamedEmbeddings, build_embeddings
from thoughtcycle.mind.llm import LLMMind
from thoughtcycle.mind.roles import ROLES, ModelSettings
from thoughtcycle.mind.rules import RuleMind
from thoughtcycle.nodes.services import Services
from thoughtcycle.prompts.errors import InputRefused


@asynccontextmanager
async def open_services(
    settings: Settings, models: ModelSettings, *, spooled: bool = False
) -> AsyncIterator[tuple[Services, Saver]]:
    """Memory and mind, and the checkpointer from which the memory also erases; closed on leaving.

    `spooled`: writes of turns wait on this computer while the database is away; work that is repeated
    anyway does without. Raises InputRefused, StorageFailed.
    """
    async with AsyncExitStack() as stack:
        embeddings = await asyncio.to_thread(build_embeddings, models)
        if isinstance(embeddings, NamedEmbeddings):
            stack.push_async_callback(embeddings.aclose)
        memory = await stack.enter_async_context(_memory(settings, embeddings, spooled=spooled))
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
        )
        yield services, checkpointer


def _memory(
    settings: Settings, embeddings: NamedEmbeddings | LexicalEmbeddings | None, *, spooled: bool
) -> AbstractAsyncContextManager[Memory]:
    url, snapshots, index_bytes = settings.url(), settings.snapshots, settings.index_bytes
    if not spooled:
        return Memory.open(url, embeddings=embeddings, snapshots=snapshots, index_bytes=index_bytes)
    return open_spooled(
        url,
        embeddings=embeddings,
        folder=settings.spool,
        limit=settings.spool_bytes,
        snapshots=snapshots,
        index_bytes=index_bytes,
    )


def build_mind(models: ModelSettings) -> Mind:
    """A mind over models where any is configured, else over rules.

    InputRefused when a model is named but no key and no address: rules would answer in its place.
    """
    named = models.model or any(getattr(models, role).model for role in ROLES)
    if named and not models.configured:
        raise InputRefused("model_without_server", model=named)
    return LLMMind.from_settings(models) if models.configured else RuleMind()

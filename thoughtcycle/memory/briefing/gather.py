"""Reads the material of a briefing: memories, messages, the memory of the chat, the profile."""

import asyncio
from collections.abc import Callable, Sequence
from dataclasses import replace
from datetime import datetime

import numpy as np

from thoughtcycle.memory.briefing.builder import BriefingOptions
from thoughtcycle.memory.briefing.sections import Material
from thoughtcycle.memory.index import CANDIDATES
from thoughtcycle.memory.memory import Memory
from thoughtcycle.memory.search import CHATS, Recollection

MEMORIES = 24
"""Memories of all layers, found by one search, from which the places of the layers are filled."""
CALLED = 4
"""Memories that a situation adds."""
TOKENS_PER_EXCERPT = 20
"""Fewer than an excerpt takes, so that enough are found to fill the budget."""


async def read_material(
    memory: Memory,
    user: str,
    chat: str,
    query: str,
    plan: BriefingOptions,
    *,
    now: datetime,
    vector: np.ndarray | None = None,
    calls_for: Sequence[str] = (),
    unsaid: Callable[[str], bool],
) -> Material:
    """The material of the briefing of a message, without the recent window (see `Material.with_recent`).

    `query` is searched for; `now` is the message's time in the user's zone. `calls_for`: topics that the
    message touches without naming them; memories of theirs are added behind. `unsaid`: whether a message
    without a judgement yet asks not to be remembered. Raises ModelFailed when embeddings fail.
    """
    reading = asyncio.ensure_future(memory.sheets(user, chat))
    reading.add_done_callback(lambda done: done.cancelled() or done.exception())  # told by `recollect`, too

    async def others() -> int:
        smart = plan.smart if plan.smart is not None else (await reading).settings.smart_context
        return CHATS if smart else 0

    layered = plan.recipe == "layered"
    try:
        found = await memory.recall.recollect(
            user,
            query,
            chat,
            memories=(MEMORIES if layered else CANDIDATES) if plan.facts else 0,
            messages=plan.tokens // TOKENS_PER_EXCERPT if layered and plan.facts else 0,
            others=others,
            vector=vector,
            patience=plan.patience,
            unsaid=unsaid,
        )
        if calls_for and plan.facts:
            found = await _add_called(memory, user, found, calls_for)
        sheets = await reading
    finally:
        reading.cancel()
    return Material(
        query=query,
        chat=chat,
        now=now,
        found=found,
        conversation=sheets.conversation if plan.facts else None,
        profile=sheets.profile if plan.facts else None,
        smart=bool(await others()),
        paused=sheets.settings.paused,
    )


async def _add_called(memory: Memory, user: str, found: Recollection, topics: Sequence[str]) -> Recollection:
    """`found` with memories of these topics behind those that answer the message itself."""
    words = np.empty(0, dtype=np.float32)  # topics are search contexts: no vector is needed to find them
    called = await memory.search(user, " ".join(topics), vector=words, limit=CALLED, counted=False)
    known = {hit.record.id for hit in found.hits}
    least = min((hit.relevance for hit in found.hits), default=1.0)
    more = [
        hit.model_copy(update={"relevance": least * hit.relevance})
        for hit in called
        if hit.record.id not in known
    ]
    return replace(found, hits=[*found.hits, *more])

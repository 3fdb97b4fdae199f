"""Reads what a briefing may show: memories, what was said, the memory of the chat, the profile."""

import asyncio
from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass, replace
from datetime import datetime

import numpy as np

from thoughtcycle.memory.briefing.builder import Brief, Recipe, briefed
from thoughtcycle.memory.briefing.sections import Material
from thoughtcycle.memory.index import CANDIDATES
from thoughtcycle.memory.memory import Memory
from thoughtcycle.memory.model import Cycle, MemoryHit
from thoughtcycle.memory.search import CHATS, Recollection
from thoughtcycle.prompts.loader import Language

MEMORIES = 24
"""Memories of all layers from which the places of the layers are filled: one search serves them all."""
CALLED = 4
"""Memories that a situation brings to mind."""
TOKENS_PER_EXCERPT = 20
"""Fewer than an excerpt takes: so many are looked for that the budget is filled."""
EXCERPT_FLOOR = 0.25
"""Evidence below which nothing that was said is shown unasked."""


@dataclass(frozen=True)
class Plan:
    """What kind of briefing is wanted."""

    tokens: int = 1_000
    recipe: Recipe = "layered"
    facts: int = 5
    """Of the compact recipe."""
    smart: bool | None = None
    """Show other chats; None: as the user has set it, off by default (SM-6)."""
    floor: float = EXCERPT_FLOOR
    patience: float | None = None
    """See `PassiveRecall.recollect`."""

    @property
    def layered(self) -> bool:
        """Whether what was said is looked through."""
        return self.recipe == "layered"


async def gathered(
    memory: Memory,
    user: str,
    chat: str,
    query: str,
    plan: Plan,
    *,
    now: datetime,
    vector: np.ndarray | None = None,
    calls_for: Sequence[str] = (),
    unsaid: Callable[[str], bool],
) -> Material:
    """All that the briefing of a message may show, the recent window aside (see `beside`).

    `calls_for`: topics that the message does not name but touches; memories of theirs come behind.
    `unsaid`: whether a message that nobody has judged yet asks not to be remembered.

    `query` is what is looked for, `now` the message's time in the user's zone. Raises ModelFailed when
    embeddings fail.
    """
    reading = asyncio.ensure_future(memory.sheets(user, chat))
    reading.add_done_callback(lambda done: done.cancelled() or done.exception())  # told by `recollect`, too

    async def others() -> int:
        smart = plan.smart if plan.smart is not None else (await reading).settings.smart_context
        return CHATS if smart else 0

    try:
        found = await memory.recall.recollect(
            user,
            query,
            chat,
            memories=(MEMORIES if plan.layered else CANDIDATES) if plan.facts else 0,
            messages=plan.tokens // TOKENS_PER_EXCERPT if plan.layered and plan.facts else 0,
            others=others,
            vector=vector,
            floor=plan.floor,
            patience=plan.patience,
            unsaid=unsaid,
        )
        if calls_for and plan.facts:
            found = _behind(found, await _called(memory, user, calls_for))
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


async def _called(memory: Memory, user: str, topics: Sequence[str]) -> list[MemoryHit]:
    words = np.empty(0, dtype=np.float32)  # topics are search contexts: no vector is needed to find them
    return await memory.search(user, " ".join(topics), vector=words, limit=CALLED, counted=False)


def _behind(found: Recollection, called: Sequence[MemoryHit]) -> Recollection:
    """`found` with memories that the situation calls for behind what the message itself speaks of."""
    known = {hit.record.id for hit in found.hits}
    least = min((hit.relevance for hit in found.hits), default=1.0)
    more = [
        hit.model_copy(update={"relevance": least * hit.relevance})
        for hit in called
        if hit.record.id not in known
    ]
    return replace(found, hits=[*found.hits, *more])


def beside(material: Material, recent: Sequence[Cycle]) -> Material:
    """The material of a turn whose recent history shows these cycles."""
    moods = [
        (cycle.message.at, cycle.judgement.mood)
        for cycle in recent
        if cycle.judgement is not None and cycle.judgement.mood is not None
    ]
    return replace(material, window=frozenset(cycle.id for cycle in recent), moods=moods)


def on_branch(material: Material, left: Collection[str]) -> Material:
    """The material without what was said in these cycles, and without a memory of the chat made of them."""
    if not left:
        return material
    said = [hit for hit in material.found.messages if hit.cycle not in left]
    return replace(material, found=replace(material.found, messages=said), conversation=None)


def without(material: Material, gone: Collection[str]) -> Material:
    """The material without these memories."""
    found = material.found
    hits = [hit for hit in found.hits if hit.record.id not in gone]
    former = {id: record for id, record in found.former.items() if id not in gone}
    return replace(material, found=replace(found, hits=hits, former=former))


def made(material: Material, plan: Plan, language: Language) -> Brief:
    """The briefing of this material."""
    return briefed(material, tokens=plan.tokens, language=language, recipe=plan.recipe, facts=plan.facts)

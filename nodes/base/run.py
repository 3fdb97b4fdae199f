"""The base class of a step's run, and a search that works without the embedding model."""

import logging
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from thoughtcycle.errors import ModelFailed
from thoughtcycle.memory.index import FLOOR
from thoughtcycle.memory.memory import Memory
from thoughtcycle.memory.model import MemoryHit
from thoughtcycle.mind.base import Mind
from thoughtcycle.nodes.base.context import Context
from thoughtcycle.nodes.base.services import Services
from thoughtcycle.prompts.loader import LANGUAGES, Language

log = logging.getLogger(__name__)

WORDS_ONLY = np.empty(0, dtype=np.float32)
"""The query vector of a search without vectors."""


@dataclass(frozen=True)
class Run:
    """The context and the services of one run of a step, in any graph."""

    context: Context
    services: Services

    @property
    def memory(self) -> Memory:
        """The open memory."""
        return self.services.memory

    @property
    def mind(self) -> Mind:
        """The mind that answers questions."""
        return self.services.mind

    @property
    def user(self) -> str:
        """The user's id."""
        return self.context.user_id

    def language_of(self, state: Mapping[str, Any]) -> Language:
        """The language that the run's first step chose; before that, the deployment's."""
        chosen = state.get("language")
        known: Language | None = next((language for language in LANGUAGES if language == chosen), None)
        return known or self.services.language


async def search_or_words(
    memory: Memory,
    user: str,
    query: str,
    limit: int,
    *,
    vector: np.ndarray | None = None,
    floor: float = FLOOR,
    counted: bool = False,
) -> list[MemoryHit]:
    """See Memory.search; by words alone while the embedding model is out of reach."""
    try:
        return await memory.search(user, query, vector=vector, limit=limit, floor=floor, counted=counted)
    except ModelFailed as failure:
        log.warning("searching by words alone: %s", failure.code)
        return await memory.search(user, query, vector=WORDS_ONLY, limit=limit, floor=floor, counted=counted)

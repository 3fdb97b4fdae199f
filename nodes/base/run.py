"""The base of a step's view, in every graph: user, services, and a search that works without the model."""

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
    """The user's context and the services of one run."""

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
        known = state.get("language")
        settled: Language | None = next((language for language in LANGUAGES if language == known), None)
        return settled or self.services.language

    async def search(
        self,
        query: str,
        limit: int,
        *,
        vector: np.ndarray | None = None,
        floor: float = FLOOR,
        counted: bool = False,
    ) -> list[MemoryHit]:
        """See Memory.search; by words alone while the embedding model is out of reach."""
        return await search_or_words(
            self.memory, self.user, query, limit, vector=vector, floor=floor, counted=counted
        )


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

"""What every step of every graph may use: the run's user, services, and searches that outlive the model."""

import logging
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from thoughtcycle.memory.memory import Memory
from thoughtcycle.memory.ranking import FLOOR
from thoughtcycle.memory.records import MemoryHit
from thoughtcycle.mind.base import Mind
from thoughtcycle.nodes.context import Context
from thoughtcycle.nodes.services import Services
from thoughtcycle.prompts.errors import ModelFailed
from thoughtcycle.prompts.loader import LANGUAGES, Language

log = logging.getLogger(__name__)

WORDS_ONLY = np.empty(0, dtype=np.float32)
"""The query vector of a search without vectors."""


@dataclass(frozen=True)
class Run:
    """Who runs, and on what."""

    context: Context
    services: Services

    @property
    def memory(self) -> Memory:
        """The engine."""
        return self.services.memory

    @property
    def mind(self) -> Mind:
        """Who is asked."""
        return self.services.mind

    @property
    def user(self) -> str:
        """Whose memory this is."""
        return self.context.user_id

    def settled(self, state: Mapping[str, Any]) -> Language:
        """The language that the run's first step settled; before that, the deployment's."""
        known = state.get("language")
        return next((language for language in LANGUAGES if language == known), self.services.language)

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
        return await found(self.memory, self.user, query, limit, vector=vector, floor=floor, counted=counted)


async def found(
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

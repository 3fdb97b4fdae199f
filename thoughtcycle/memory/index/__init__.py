"""The derived search index of each user: vectors, postings, ranking."""

from thoughtcycle.memory.index.cache import BUDGET, MemoryIndexes, MessageIndexes
from thoughtcycle.memory.index.circuit_breaker import CircuitBreaker
from thoughtcycle.memory.index.corpus import CANDIDATES, Candidate, MemoryQuery
from thoughtcycle.memory.index.embedder import LONGEST, Embedder, embed, packed, unit, units
from thoughtcycle.memory.index.filters import ALL, BELIEVED, Filters, aware, valid_at
from thoughtcycle.memory.index.memory_index import ACTIVE
from thoughtcycle.memory.index.postings import Postings
from thoughtcycle.memory.index.ranking import FLOOR, best_key, checked_recipe, layer_score, rerank

__all__ = [
    "ACTIVE",
    "ALL",
    "BELIEVED",
    "BUDGET",
    "CANDIDATES",
    "FLOOR",
    "LONGEST",
    "Candidate",
    "CircuitBreaker",
    "Embedder",
    "Filters",
    "MemoryIndexes",
    "MemoryQuery",
    "MessageIndexes",
    "Postings",
    "aware",
    "best_key",
    "checked_recipe",
    "embed",
    "layer_score",
    "packed",
    "rerank",
    "unit",
    "units",
    "valid_at",
]

"""The derived search index of each user: vectors, postings, ranking."""

from thoughtcycle.memory.index.cache import BUDGET
from thoughtcycle.memory.index.corpus import Found
from thoughtcycle.memory.index.embedder import LONGEST, Embedder, embed, packed, unit, units
from thoughtcycle.memory.index.filters import ALL, BELIEVED, Filters, aware, valid_at
from thoughtcycle.memory.index.memory_index import ACTIVE, SpaceIndex
from thoughtcycle.memory.index.memory_indexes import Spaces
from thoughtcycle.memory.index.message_indexes import MessageShelf
from thoughtcycle.memory.index.postings import Postings
from thoughtcycle.memory.index.ranking import FLOOR, best_key, layered, rerank
from thoughtcycle.memory.index.recipes import DEFAULT, Recipe, recipe_of, words

__all__ = [
    "ACTIVE",
    "ALL",
    "BELIEVED",
    "BUDGET",
    "DEFAULT",
    "FLOOR",
    "LONGEST",
    "Embedder",
    "Filters",
    "Found",
    "MessageShelf",
    "Postings",
    "Recipe",
    "SpaceIndex",
    "Spaces",
    "aware",
    "best_key",
    "embed",
    "layered",
    "packed",
    "recipe_of",
    "rerank",
    "unit",
    "units",
    "valid_at",
    "words",
]

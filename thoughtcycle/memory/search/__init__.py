"""Search over memories and transcript, passive recall, provenance."""

from thoughtcycle.memory.search.explain import Explainer, Provenance, Quote
from thoughtcycle.memory.search.passive_recall import CHATS, WAIT_SECONDS, PassiveRecall, Recollection
from thoughtcycle.memory.search.service import FACTS, Part, Search, as_found, plain_query

__all__ = [
    "CHATS",
    "FACTS",
    "WAIT_SECONDS",
    "Explainer",
    "Part",
    "PassiveRecall",
    "Provenance",
    "Quote",
    "Recollection",
    "Search",
    "as_found",
    "plain_query",
]

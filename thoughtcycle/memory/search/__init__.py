"""Search over memories and transcript, passive recall, provenance."""

from thoughtcycle.memory.search.explain import Explainer, Provenance, Said
from thoughtcycle.memory.search.passive_recall import CHATS, WAIT_SECONDS, PassiveRecall, Recollection
from thoughtcycle.memory.search.service import (
    CANDIDATES,
    FACTS,
    Look,
    Part,
    Search,
    as_found,
    plain_query,
)

__all__ = [
    "CANDIDATES",
    "CHATS",
    "FACTS",
    "WAIT_SECONDS",
    "Explainer",
    "Look",
    "Part",
    "PassiveRecall",
    "Provenance",
    "Recollection",
    "Said",
    "Search",
    "as_found",
    "plain_query",
]

"""Intents of a message: remember, recall, forget, choose, greet; and how much it matters."""

from thoughtcycle.language.intents.choice import offered_fact, offers, parse_choice, parse_consent
from thoughtcycle.language.intents.forgetting import Target, is_final
from thoughtcycle.language.intents.importance import (
    CONTEXT,
    CRITICAL,
    TEMPORARY,
    count_features,
    score_importance,
    sum_points,
)
from thoughtcycle.language.intents.requests import (
    asks_not_to_keep,
    asks_not_to_keep_last,
    asks_to_bring_back,
    asks_to_keep,
    asks_to_undo_last,
    speaks_of_self,
)
from thoughtcycle.language.intents.understanding import (
    Understanding,
    disclosure,
    forgets_everything,
    understand,
)

__all__ = [
    "CONTEXT",
    "CRITICAL",
    "TEMPORARY",
    "Target",
    "Understanding",
    "asks_not_to_keep",
    "asks_not_to_keep_last",
    "asks_to_bring_back",
    "asks_to_keep",
    "asks_to_undo_last",
    "count_features",
    "disclosure",
    "forgets_everything",
    "is_final",
    "offered_fact",
    "offers",
    "parse_choice",
    "parse_consent",
    "score_importance",
    "speaks_of_self",
    "sum_points",
    "understand",
]

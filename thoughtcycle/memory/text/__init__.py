"""Text as data: search terms, spans, likeness, secrets (pure)."""

from thoughtcycle.memory.text.analyzer import (
    LONGEST_WORD,
    WORD,
    Term,
    digest,
    fold,
    forms_of,
    identity,
    stop_words,
    terms,
    word_forms,
)
from thoughtcycle.memory.text.characters import readable
from thoughtcycle.memory.text.habit_labels import habit_label
from thoughtcycle.memory.text.mood_labels import mood_label
from thoughtcycle.memory.text.secrets import MARK, holds_secret, masked, masks_away, unasked, values_in
from thoughtcycle.memory.text.similarity import Told, likeness
from thoughtcycle.memory.text.spans import (
    HIDDEN,
    Span,
    Tokens,
    clauses,
    key,
    literal,
    replaced,
    sentences,
    tokens,
)

__all__ = [
    "HIDDEN",
    "LONGEST_WORD",
    "MARK",
    "WORD",
    "Span",
    "Term",
    "Tokens",
    "Told",
    "clauses",
    "digest",
    "fold",
    "forms_of",
    "habit_label",
    "holds_secret",
    "identity",
    "key",
    "likeness",
    "literal",
    "masked",
    "masks_away",
    "mood_label",
    "readable",
    "replaced",
    "sentences",
    "stop_words",
    "terms",
    "tokens",
    "unasked",
    "values_in",
    "word_forms",
]

"""Text analysis: search terms, spans, overlap, secrets, labels (pure)."""

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
from thoughtcycle.memory.text.labels import label_of
from thoughtcycle.memory.text.secrets import (
    MARK,
    holds_secret,
    masked,
    secret_values,
    without_secrets,
    writes_mask_over,
)
from thoughtcycle.memory.text.similarity import Deduplicator, word_overlap
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
    "Deduplicator",
    "Span",
    "Term",
    "Tokens",
    "clauses",
    "digest",
    "fold",
    "forms_of",
    "holds_secret",
    "identity",
    "key",
    "label_of",
    "literal",
    "masked",
    "replaced",
    "secret_values",
    "sentences",
    "stop_words",
    "terms",
    "tokens",
    "without_secrets",
    "word_forms",
    "word_overlap",
    "writes_mask_over",
]

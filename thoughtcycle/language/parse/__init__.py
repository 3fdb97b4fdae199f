"""Parses text into clauses, words, dates, quantities, names and topics."""

from thoughtcycle.language.parse import phrases
from thoughtcycle.language.parse.clauses import Clause, Message, Sentence, parse, strip_lead
from thoughtcycle.language.parse.dates import amounts_in, annotate, begins_with_date, dates_in, undated
from thoughtcycle.language.parse.ellipsis import resolve_ellipsis
from thoughtcycle.language.parse.folding import LIMIT, Folded, detect_language, fold, fold_word
from thoughtcycle.language.parse.lexicons import Entry, Lexicon, Phrase, lexicon, stem, tokens
from thoughtcycle.language.parse.names import names_in
from thoughtcycle.language.parse.patterns import compiled, neutral_name, vocabulary
from thoughtcycle.language.parse.phrases import phrase, slug, trim, without_article
from thoughtcycle.language.parse.quantities import MOST_QUANTITIES, Quantity, quantities_in
from thoughtcycle.language.parse.rulebook import MemoryKind, Rule, rule_batches
from thoughtcycle.language.parse.topics import (
    EVERYTHING,
    LAST,
    TopicMatch,
    TopicMention,
    additional_topics,
    answering_keys,
    is_food,
    match_topics,
    message_contexts,
    situation_contexts,
    topic_bindings,
    topic_context,
    topic_to_forget,
    unknown_topic,
)

__all__ = [
    "EVERYTHING",
    "LAST",
    "LIMIT",
    "MOST_QUANTITIES",
    "Clause",
    "Entry",
    "Folded",
    "Lexicon",
    "MemoryKind",
    "Message",
    "Phrase",
    "Quantity",
    "Rule",
    "Sentence",
    "TopicMatch",
    "TopicMention",
    "additional_topics",
    "amounts_in",
    "annotate",
    "answering_keys",
    "begins_with_date",
    "compiled",
    "dates_in",
    "detect_language",
    "fold",
    "fold_word",
    "is_food",
    "lexicon",
    "match_topics",
    "message_contexts",
    "names_in",
    "neutral_name",
    "parse",
    "phrase",
    "phrases",
    "quantities_in",
    "resolve_ellipsis",
    "rule_batches",
    "situation_contexts",
    "slug",
    "stem",
    "strip_lead",
    "tokens",
    "topic_bindings",
    "topic_context",
    "topic_to_forget",
    "trim",
    "undated",
    "unknown_topic",
    "vocabulary",
    "without_article",
]

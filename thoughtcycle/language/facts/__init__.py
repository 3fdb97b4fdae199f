"""Extracts facts, feelings, goals and limits from a text, compares two facts, shortens texts."""

from thoughtcycle.language.facts.corrections import Denial, Retraction, corrects, denials_in, says_wrong
from thoughtcycle.language.facts.critical import critical_in, preserved_in
from thoughtcycle.language.facts.extraction import Fact, facts_in, facts_of
from thoughtcycle.language.facts.neutral import fact_behind, tells_past
from thoughtcycle.language.facts.reconciliation import Claim, Relation, reconcile
from thoughtcycle.language.facts.statements import parse_statement
from thoughtcycle.language.facts.summaries import (
    SUMMARY_WORDS,
    best_sentence,
    shorten,
    shorten_all,
    summarize,
)

__all__ = [
    "SUMMARY_WORDS",
    "Claim",
    "Denial",
    "Fact",
    "Relation",
    "Retraction",
    "best_sentence",
    "corrects",
    "critical_in",
    "denials_in",
    "fact_behind",
    "facts_in",
    "facts_of",
    "parse_statement",
    "preserved_in",
    "reconcile",
    "says_wrong",
    "shorten",
    "shorten_all",
    "summarize",
    "tells_past",
]

"""Finds the words of hidden and erased memories in texts, and takes them out."""

from thoughtcycle.memory.redaction.chat_words import Verbatim, verbatim
from thoughtcycle.memory.redaction.derived import legible_conversation, legible_profile, without_blanks
from thoughtcycle.memory.redaction.documents import masked, suspects, unmasked
from thoughtcycle.memory.redaction.fingerprint import Spared, Trace, common_words, trace
from thoughtcycle.memory.redaction.redactor import (
    NOTHING,
    Mask,
    deleted_in,
    listed,
    listed_history,
    listed_undo,
    shown_in,
    source_spans,
    ties,
)
from thoughtcycle.memory.redaction.redactors import ERASING, Masks
from thoughtcycle.memory.redaction.tombstones import KEY_BYTES, buried, tombstone

__all__ = [
    "ERASING",
    "KEY_BYTES",
    "NOTHING",
    "Mask",
    "Masks",
    "Spared",
    "Trace",
    "Verbatim",
    "buried",
    "common_words",
    "deleted_in",
    "legible_conversation",
    "legible_profile",
    "listed",
    "listed_history",
    "listed_undo",
    "masked",
    "shown_in",
    "source_spans",
    "suspects",
    "ties",
    "tombstone",
    "trace",
    "unmasked",
    "verbatim",
    "without_blanks",
]

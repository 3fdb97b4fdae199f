"""Findings of an integrity check of the stored data."""

from collections.abc import Mapping
from dataclasses import dataclass

from thoughtcycle.prompts.loader import Language, texts

REPAIRABLE = frozenset(
    {"vector_missing", "vector_stray", "tip_missing", "chat_missing", "cycle_number", "file_stray"}
)
DOCUMENT_ISSUES = frozenset({"sheet_broken", "sheet_lost", "sheet_cycle", "sheet_revision", "sheet_counts"})
"""All of them can be put right too."""


@dataclass(frozen=True)
class IntegrityIssue:
    """One finding; `code` is a section of prompts/<language>/doctor.md."""

    code: str
    values: Mapping[str, object]

    @property
    def repairable(self) -> bool:
        """Whether `repair` can put it right."""
        return self.code in REPAIRABLE | DOCUMENT_ISSUES

    def text(self, language: Language = "en") -> str:
        """One line for a person."""
        return texts(language, "doctor").fill(self.code, **self.values)

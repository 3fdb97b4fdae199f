"""The port of documents beside cycles: conversation memory with its entries, profile; and settings."""

import json
from abc import ABC, abstractmethod
from collections.abc import Collection, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import Any, Literal

DocumentKind = Literal["conversation", "profile"]
DocumentName = tuple[DocumentKind, str]
"""Kind and id: of a conversation the chat's, else ''."""
Entries = Mapping[str, Sequence[str]]
"""Part of a conversation's memory → its entries in order, each as JSON."""
SETTINGS = ("revision", "smart_context", "paused", "language", "time_zone")
_LONG_AGO = datetime(1970, 1, 1, tzinfo=UTC)


@dataclass(frozen=True)
class StoredDocument:
    """A document of a user's, one of each kind and id."""

    user: str
    kind: DocumentKind
    id: str
    revision: int
    """Number of writes; goes on where the document was dropped."""
    updated: datetime
    document: str | None
    """JSON; None where it was dropped."""
    flaw: str | None = None
    """What of it cannot be read beside the document, as after an edit by hand; its revision is 0 then."""
    entries: Entries = field(default_factory=dict)
    partial: bool = False
    """Whether not all parts were asked for."""


class Documents(ABC):
    """Documents with their entries, behind an optimistic lock: the revision; and settings."""

    @abstractmethod
    async def find(
        self, user: str, names: Sequence[DocumentName], *, parts: Collection[str] | None = None
    ) -> list[StoredDocument]:
        """The documents with these names, in any order, dropped ones too; in one go.

        With the entries of these parts (None: of all).
        """

    @abstractmethod
    async def put(
        self,
        user: str,
        name: DocumentName,
        document: str,
        *,
        before: int,
        at: datetime,
        entries: Entries | None = None,
    ) -> bool:
        """Stores a document as revision `before` + 1; False, and nothing changed, when it is not at `before`.

        Document and `entries` change together; parts that are not given stay as they are. A document that
        was never stored is at 0. That of a conversation is of one user only: another's is False, but for one
        that stands, moved by hand, in the place of the chat's owner.
        """

    @abstractmethod
    async def drop(self, user: str, name: DocumentName, *, at: datetime) -> None:
        """Empties a document, stored or not, as its next revision, and deletes its entries.

        Who read it before writes nothing back.
        """

    @abstractmethod
    async def page(self, user: str, kind: DocumentKind, *, limit: int, offset: int) -> list[StoredDocument]:
        """The user's documents of a kind with all entries, the last updated first; without dropped ones."""

    @abstractmethod
    async def settings(self, user: str) -> Mapping[str, Any] | None:
        """The user's settings and their revision, by name; None where nothing was ever set."""

    @abstractmethod
    async def change_settings(self, user: str, fields: Mapping[str, Any]) -> Mapping[str, Any]:
        """Sets these fields, the others stay; the settings with their next revision."""


def as_document(
    user: str, name: DocumentName, stored: Sequence[Any], entries: Mapping[str, Any], partial: bool
) -> StoredDocument:
    """A document of whatever is stored as revision, time and document.

    A revision that is none is told, a time that is none is long ago.
    """
    revision, updated, document = stored
    known, at, flaw = revision_of(revision), _LONG_AGO, None
    with suppress(TypeError, ValueError):
        told = datetime.fromisoformat(updated)
        at = told if told.tzinfo else at
    try:
        rows = {part: [_text(one) or "" for one in found] for part, found in entries.items()}
    except TypeError:
        rows, flaw = {}, "entries"
    flaw = flaw if known else "revision"
    return StoredDocument(user, *name, known, at, _text(document), flaw, rows, partial)


def revision_of(stored: Any) -> int:
    """The number of writes; 0 for what is none, as after an edit by hand."""
    whole = isinstance(stored, int) or (isinstance(stored, float) and stored.is_integer())
    return int(stored) if whole and stored > 0 else 0


def _text(stored: Any) -> str | None:
    """What is stored as JSON, also where somebody stored the object in place of its text."""
    if isinstance(stored, bytes):
        return stored.decode(errors="replace")
    return stored if stored is None or isinstance(stored, str) else json.dumps(stored, default=str)


def stored_time(at: datetime) -> str:
    """In UTC and always equally long, so that texts sort as times do."""
    return at.astimezone(UTC).isoformat(timespec="microseconds")

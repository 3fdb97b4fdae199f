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
    """Number of writes; dropping is a write too."""
    updated: datetime
    document: str | None
    """JSON; None where it was dropped."""
    flaw: str | None = None
    """`revision` or `entries` where that cannot be read, as after an edit by hand."""
    entries: Entries = field(default_factory=dict)
    partial: bool = False
    """Whether only some parts were read."""


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
        was never stored is at 0. A conversation has one document: while another user holds it this is False,
        except that a document moved by hand gives way to that of the chat's owner.
        """

    @abstractmethod
    async def drop(self, user: str, name: DocumentName, *, at: datetime) -> None:
        """Empties a document, stored or not, as its next revision, and deletes its entries."""

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
    """The document of a stored revision, time and document, whatever their types after an edit by hand.

    An invalid revision is a flaw; an invalid time becomes 1970.
    """
    revision, at, flaw = revision_of(stored[0]), _LONG_AGO, None
    with suppress(TypeError, ValueError):
        updated = datetime.fromisoformat(stored[1])
        at = updated if updated.tzinfo else at
    try:
        rows = {part: [_text(one) or "" for one in found] for part, found in entries.items()}
    except TypeError:
        rows, flaw = {}, "entries"
    flaw = flaw if revision else "revision"
    return StoredDocument(user, *name, revision, at, _text(stored[2]), flaw, rows, partial)


def revision_of(stored: Any) -> int:
    """The number of writes; 0 for an invalid one, as after an edit by hand."""
    whole = isinstance(stored, int) or (isinstance(stored, float) and stored.is_integer())
    return int(stored) if whole and stored > 0 else 0


def _text(stored: Any) -> str | None:
    """The stored JSON text, also where somebody stored the object in place of its text."""
    if isinstance(stored, bytes):
        return stored.decode(errors="replace")
    return stored if stored is None or isinstance(stored, str) else json.dumps(stored, default=str)


def stored_time(at: datetime) -> str:
    """The time in UTC as text of constant length, so that texts sort as times do."""
    return at.astimezone(UTC).isoformat(timespec="microseconds")

"""The part of the port that keeps what formation makes beside cycles: sheets, and what still waits for it."""

import json
from abc import ABC, abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any, Literal

from thoughtcycle.memory.records import Cycle

SheetKind = Literal["conversation", "profile", "settings"]
SheetName = tuple[SheetKind, str]
"""Kind and id: of a conversation the chat's, else ''."""
_LONG_AGO = datetime(1970, 1, 1, tzinfo=UTC)


@dataclass(frozen=True)
class Sheet:
    """A document of a user's, one of each kind and id."""

    user: str
    kind: SheetKind
    id: str
    revision: int
    """Number of writes; goes on where the sheet was dropped."""
    updated: datetime
    document: str | None
    """JSON; None where it was dropped."""
    flaw: str | None = None
    """What of it cannot be read beside the document, as after an edit by hand; its revision is 0 then."""
    annex: str | None = None
    """The part of it that few ask for, JSON; None where there is none, or it was not asked for."""


class SheetStorage(ABC):
    """Keeps sheets; which of several writers gets its way is decided by the revision."""

    @abstractmethod
    async def sheets(self, user: str, names: Sequence[SheetName], *, annexes: bool = True) -> list[Sheet]:
        """The sheets with these names, in any order, dropped ones too; in one go."""

    @abstractmethod
    async def put_sheet(
        self,
        user: str,
        name: SheetName,
        document: str,
        *,
        before: int,
        at: datetime,
        annex: str | None = None,
    ) -> bool:
        """Stores a sheet as revision `before` + 1; False, and nothing changed, when it is not at `before`.

        Document and `annex` change together; None leaves the annex as it is, "" takes it away. A sheet that
        was never stored is at 0. A conversation sheet is of one user only: another's is False, but for one
        that stands, moved by hand, in the place of the chat's owner.
        """

    @abstractmethod
    async def drop_sheet(self, user: str, name: SheetName, *, at: datetime) -> None:
        """Empties a sheet and its annex, stored or not, as its next revision.

        Who read it before writes nothing back.
        """

    @abstractmethod
    async def sheet_page(self, user: str, kind: SheetKind, *, limit: int, offset: int) -> list[Sheet]:
        """The user's sheets of a kind, the last updated first; dropped ones are left out."""

    @abstractmethod
    async def pending_cycles(self, user: str | None, *, limit: int) -> list[Cycle]:
        """Cycles whose formation is pending, of a user or (None) of all, the one opened first first.

        None of all users is for those who look after the database, never for a user.
        """

    @abstractmethod
    async def pending_users(self, *, limit: int) -> list[str]:
        """Users who have such cycles, the one whose oldest waits longest first."""


def as_sheet(
    user: str, kind: SheetKind, id: str, *, revision: Any, updated: Any, document: Any, annex: Any = None
) -> Sheet:
    """A sheet of whatever is stored: a revision that is none is told, a time that is none is long ago."""
    whole = isinstance(revision, int) or (isinstance(revision, float) and revision.is_integer())
    known = int(revision) if whole and revision > 0 else 0
    try:
        at = datetime.fromisoformat(updated)
    except (TypeError, ValueError):
        at = _LONG_AGO
    return Sheet(
        user,
        kind,
        id,
        known,
        at if at.tzinfo else _LONG_AGO,
        _text(document),
        None if known else "revision",
        _text(annex) or None,
    )


def _text(stored: Any) -> str | None:
    """What is stored as JSON, also where somebody stored the object in place of its text."""
    if isinstance(stored, bytes):
        return stored.decode(errors="replace")
    return stored if stored is None or isinstance(stored, str) else json.dumps(stored, default=str)


def stored_time(at: datetime) -> str:
    """In UTC and always equally long, so that texts sort as times do."""
    return at.astimezone(UTC).isoformat(timespec="microseconds")

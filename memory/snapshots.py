"""Snapshots of indexes in a folder: a head start for the next process, never a source of truth."""

import logging
import os
import threading
from collections import OrderedDict
from contextlib import suppress
from pathlib import Path
from typing import Any

import Stemmer

from thoughtcycle.memory.index import SpaceIndex
from thoughtcycle.memory.records import JournalEntry
from thoughtcycle.memory.snapshot_file import Damaged, read, write
from thoughtcycle.memory.words import digest, stop_words

log = logging.getLogger(__name__)

MOST = 64
"""Snapshots kept in a folder; those not used for longest go."""
DROPS = 1_000
"""Users' last drops that are remembered."""
_SUFFIX = ".index"
_LAYOUT = 1
"""Of what an index saves; raise it with every change of that."""


def rules() -> str:
    """Changes with the layout and with how text becomes terms: other rules' snapshots are of no use."""
    return digest(f"{_LAYOUT}\x1f{Stemmer.version()}\x1f{' '.join(sorted(stop_words()))}")


def mark(row: JournalEntry) -> list[Any]:
    """By which a journal row is recognised: no other history has the same one at the same number."""
    return [row.number, row.memory, row.at.isoformat(), row.op]


class Snapshots:
    """The snapshots of one database's users in `folder`. Every method blocks: call it in a thread."""

    def __init__(self, folder: Path, place: str, model: str | None) -> None:
        """`place` names the database; `model` the embedding model whose vectors the indexes hold."""
        self._folder, self._place, self._model = folder, place, model
        self._lock = threading.Lock()
        self._dropped: OrderedDict[str, int] = OrderedDict()
        """The numbers of users' last drops, of the newest `DROPS`."""
        self._drops = self._before = 0
        """How many drops there were, and the last of those that are not known any more."""

    def load(self, user: str) -> tuple[SpaceIndex, list[Any]] | None:
        """The user's index as it was, and the mark of its last journal row; None when there is none of use.

        The caller checks the mark. One that is damaged, or made by other rules, is removed with a log line.
        """
        path = self._path(user)
        try:
            saved = read(path)
            if (saved["user"], saved["model"], saved["rules"]) != (user, self._model, rules()):
                raise Damaged("it was made for something else, or by other rules")
            index = SpaceIndex.loaded(saved["index"])
        except FileNotFoundError:
            return None
        except (OSError, Damaged, ValueError, KeyError, TypeError) as error:
            self.ignore(user, str(error))
            return None
        with suppress(OSError):
            os.utime(path)
        return index, saved["mark"]

    def ignore(self, user: str, why: str) -> None:
        """Removes a snapshot that cannot be used, with a log line that names no user."""
        log.warning("the index snapshot %s is ignored: %s", self._path(user).name, why)
        self.drop(user)

    def drop(self, user: str) -> None:
        """Removes the user's snapshots, of whatever model, and makes whoever is just writing one give up."""
        with self._lock, suppress(OSError):
            self._drops += 1
            self._dropped[user] = self._drops
            self._dropped.move_to_end(user)
            if len(self._dropped) > DROPS:
                _, self._before = self._dropped.popitem(last=False)
            for made in self._folder.glob(f"{self._owner(user)}-*"):
                made.unlink(missing_ok=True)

    def generation(self, user: str) -> int:
        """Changes whenever the user's snapshot is dropped; at times without that, too."""
        return self._dropped.get(user, self._before)

    def write(self, user: str, saved: dict[str, Any], mark: list[Any], generation: int) -> None:
        """Keeps what `SpaceIndex.saved` gave, unless there was a drop since `generation`.

        A disk that refuses costs a log line and nothing else.
        """
        head = {"user": user, "model": self._model, "rules": rules(), "mark": mark}
        path = self._path(user)
        try:
            self._folder.mkdir(mode=0o700, parents=True, exist_ok=True)
            made = write(path, {**head, "index": saved})
            with self._lock:
                if self.generation(user) == generation:
                    made.replace(path)
                else:
                    made.unlink(missing_ok=True)
            self._tidy()
        except OSError as error:
            log.warning("no index snapshot was written: %s", error)

    def _tidy(self) -> None:
        """Removes the snapshots that are too many."""
        aged = sorted(self._folder.glob(f"*{_SUFFIX}"), key=lambda path: -path.stat().st_mtime)
        for path in aged[MOST:]:
            path.unlink(missing_ok=True)

    def _path(self, user: str) -> Path:
        return self._folder / f"{self._owner(user)}-{digest(self._model or '')[:16]}{_SUFFIX}"

    def _owner(self, user: str) -> str:
        return digest("\x1f".join((self._place, user)))[:40]

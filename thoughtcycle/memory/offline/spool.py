"""The local spool of one database: a queue of waiting writes within a size limit."""

import asyncio
import hashlib
from contextlib import suppress
from pathlib import Path

from thoughtcycle.errors import InputRefused, StorageUnusable
from thoughtcycle.memory.offline.intents import Intent, is_readable, loads
from thoughtcycle.memory.offline.spool_file import SpoolFile
from thoughtcycle.memory.storage import parse_url

SPOOL_BYTES = 64_000_000
"""Default size limit, in bytes."""


def database_name(url: str) -> str:
    """A name for the database of `url` that reveals neither address nor password."""
    return hashlib.sha256(parse_url(url).place.encode()).hexdigest()[:24]


class Spool:
    """The files of one process in `folder`; on opening it takes over those of dead processes."""

    def __init__(self, folder: Path, name: str, limit: int = SPOOL_BYTES) -> None:
        """`limit`: bytes on disk; from three quarters on new turns are refused, so that open ones can end."""
        self.folder, self._name, self._limit = folder, name, limit
        self._files: list[SpoolFile] = []
        self._own: SpoolFile | None = None
        self._lock = asyncio.Lock()
        self.pending = False
        """Whether anything waits: then everything new has to wait behind it."""

    @property
    def _all(self) -> list[SpoolFile]:
        return [*self._files, self._own] if self._own is not None else self._files

    async def open(self) -> None:
        """Takes over the files of dead processes; sets aside writes that it cannot read.

        Raises StorageUnusable('spool_unusable').
        """
        try:
            self._files = await asyncio.to_thread(SpoolFile.take_over, self.folder, self._name)
            for file in self._files:
                await asyncio.to_thread(file.set_aside, is_readable)
            await self._close_empty()
        except OSError as error:
            raise StorageUnusable("spool_unusable", place=str(self.folder)) from error

    async def put(self, intent: Intent, *, begins: bool = False) -> None:
        """Stores a write durably; `begins`: it opens a new turn.

        Raises StorageUnusable: 'spool_full' at the limit, 'spool_unusable' on a disk error.
        """
        try:
            text = intent.model_dump_json()
            length = len(text.encode())
        except (UnicodeEncodeError, ValueError) as error:
            raise InputRefused("text_not_unicode") from error
        limit = self._limit * 3 // 4 if begins else self._limit
        await asyncio.shield(asyncio.ensure_future(self._put(text, length, limit)))

    async def _put(self, text: str, length: int, limit: int) -> None:
        async with self._lock:
            if sum(file.size for file in self._all) + length > limit:
                raise StorageUnusable("spool_full", place=str(self.folder), size=self._limit // 1_000_000)
            try:
                if self._own is None:
                    self._own = await asyncio.to_thread(SpoolFile.create, self.folder, self._name)
                self.pending = True
                await asyncio.to_thread(self._own.append, text)
            except OSError as error:
                self.pending = bool(self._files or (self._own and self._own.waiting))
                raise StorageUnusable("spool_unusable", place=str(self.folder)) from error

    def oldest(self) -> Intent | None:
        """The write to be replayed next."""
        file = next((file for file in self._all if file.waiting), None)
        return loads(file.waiting[0][1]) if file is not None else None

    async def remove_oldest(self) -> None:
        """Removes `oldest` from the spool."""
        async with self._lock:
            for file in [file for file in self._all if file.waiting][:1]:
                with suppress(OSError):  # a full disk: it is replayed again, which changes nothing
                    await asyncio.to_thread(file.remove_oldest)
            await self._close_empty()

    async def close(self) -> None:
        """Closes the files; writes that wait are left to the next process."""
        async with self._lock:
            for file in self._all:
                await asyncio.to_thread(file.close)
            self._files, self._own = [], None

    async def _close_empty(self) -> None:
        empty = [file for file in self._all if not file.waiting]
        self._files = [file for file in self._files if file.waiting]
        if self._own in empty:
            self._own = None
        for file in empty:
            await asyncio.to_thread(file.close)
        self.pending = bool(self._all)

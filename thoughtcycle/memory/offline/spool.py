"""The local spool of one database: writes that wait for it, in order, within a size limit."""

import asyncio
import hashlib
from pathlib import Path

from thoughtcycle.errors import InputRefused, StorageUnusable
from thoughtcycle.memory.offline.intents import Intent, dumps, known, loads
from thoughtcycle.memory.offline.spool_file import SpoolFile
from thoughtcycle.memory.storage import parse_url

SPOOL_BYTES = 64_000_000
"""Default size limit, in bytes."""


def database_name(url: str) -> str:
    """A name for the database of `url` that shows neither address nor password."""
    return hashlib.sha256(parse_url(url).place.encode()).hexdigest()[:24]


class Spool:
    """Files of one process, in `folder`; those of processes that died are taken over when it is opened."""

    def __init__(self, folder: Path, name: str, limit: int = SPOOL_BYTES) -> None:
        """`limit`: bytes on disk; at three quarters new turns are refused, so that open ones can end."""
        self.folder, self._name, self._limit = folder, name, limit
        self._files: list[SpoolFile] = []
        self._own: SpoolFile | None = None
        self._turn = asyncio.Lock()
        self.pending = False
        """Whether anything waits: then everything new has to wait behind it."""

    async def open(self) -> None:
        """Takes over what processes that are gone left behind; sets aside what it cannot read.

        Raises StorageUnusable('spool_unusable').
        """
        try:
            self._files = await asyncio.to_thread(SpoolFile.left, self.folder, self._name)
            for file in self._files:
                await asyncio.to_thread(file.set_aside, known)
            await self._drop_empty()
        except OSError as error:
            raise StorageUnusable("spool_unusable", place=str(self.folder)) from error

    async def put(self, intent: Intent, *, begins: bool = False) -> None:
        """Keeps a write durably; `begins`: it opens a new turn.

        Raises StorageUnusable: 'spool_full' at the limit, 'spool_unusable' when the disk refuses.
        """
        try:
            text = dumps(intent)
            length = len(text.encode())
        except (UnicodeEncodeError, ValueError) as error:
            raise InputRefused("text_not_unicode") from error
        room = self._limit * 3 // 4 if begins else self._limit
        task = asyncio.ensure_future(self._put(text, length, room))
        await asyncio.shield(task)

    async def _put(self, text: str, length: int, room: int) -> None:
        async with self._turn:
            files = [*self._files, *([self._own] if self._own else [])]
            if sum(file.size for file in files) + length > room:
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
        """The write that has to arrive next."""
        file = self._first()
        return loads(file.waiting[0][1]) if file is not None else None

    async def arrived(self) -> None:
        """`oldest` has arrived."""
        async with self._turn:
            file = self._first()
            if file is not None:
                try:
                    await asyncio.to_thread(file.arrived)
                except OSError:
                    pass  # a full disk: it will arrive a second time and change nothing
            await self._drop_empty()

    async def close(self) -> None:
        """Lets go of the files; what waits is the next process's."""
        async with self._turn:
            for file in [*self._files, *([self._own] if self._own else [])]:
                await asyncio.to_thread(file.close)
            self._files, self._own = [], None

    def _first(self) -> SpoolFile | None:
        files = [*self._files, *([self._own] if self._own else [])]
        return next((file for file in files if file.waiting), None)

    async def _drop_empty(self) -> None:
        for file in [file for file in self._files if not file.waiting]:
            self._files.remove(file)
            await asyncio.to_thread(file.close)
        if self._own is not None and not self._own.waiting:
            own, self._own = self._own, None
            await asyncio.to_thread(own.close)
        self.pending = bool(self._files or self._own)

"""A spool file: numbered lines with length and checksum, appended and synced; owned by one process at a time.

    <crc32, 8 hex digits> <bytes of the rest> <number> <JSON>        a write that waits
    <crc32, 8 hex digits> <bytes of the rest> <number> <blanks>      a write that was replayed, overwritten

A last line without its end was never acknowledged and is ignored. Replayed lines are overwritten, and the
whole file before it is removed. The owner holds a lock on the file (flock) that ends with its process; the
next owner carries on. All functions block.
"""

import errno
import logging
import os
import sys
from collections import deque
from collections.abc import Callable
from functools import partial
from pathlib import Path
from uuid import uuid4
from zlib import crc32

from thoughtcycle.memory.storage import lock

log = logging.getLogger(__name__)

SUFFIX = ".spool"
ASIDE = ".aside"


class SpoolFile:
    """An open spool file that this process has locked."""

    def __init__(self, path: Path, handle: int) -> None:
        """`handle` is an open, locked descriptor; the file is read and its torn end cut off."""
        self.path, self._handle = path, handle
        self.waiting: deque[tuple[int, str]] = deque()
        """Number and text of the lines that wait, the oldest first."""
        self._places: deque[int] = deque()
        """Where each of them begins."""
        self._last = 0
        self.size = self._read()

    @classmethod
    def create(cls, folder: Path, name: str) -> "SpoolFile":
        """A new file in `folder`, readable by this user alone. Raises OSError."""
        folder.mkdir(parents=True, exist_ok=True, mode=0o700)
        path = folder / f"{name}-{uuid4().hex}{SUFFIX}"
        handle = os.open(path, os.O_RDWR | os.O_CREAT | os.O_EXCL, 0o600)
        lock(handle)
        _sync_folder(folder)
        return cls(path, handle)

    @classmethod
    def take_over(cls, folder: Path, name: str) -> "list[SpoolFile]":
        """Locks and returns the files of dead processes, the oldest first."""
        found = []
        paths = [path for path in folder.glob(f"{name}-*{SUFFIX}") if path.is_file()]
        for path in sorted(paths, key=lambda path: path.stat().st_mtime):
            handle = os.open(path, os.O_RDWR)
            if lock(handle) and os.fstat(handle).st_nlink:
                found.append(cls(path, handle))
            else:
                os.close(handle)
        return found

    def append(self, text: str) -> None:
        """Adds a line that survives kill -9 and loss of power; on OSError the file is as it was before."""
        number, place = self._last + 1, self.size
        line = _line(f"{number} {text}")
        try:
            self._write(line, place)
            os.fsync(self._handle)
        except OSError:
            os.ftruncate(self._handle, place)
            raise
        self.size += len(line)
        self._last = number
        self.waiting.append((number, text))
        self._places.append(place)

    def remove_oldest(self) -> None:
        """Overwrites the oldest line that waits. Not synced: replaying it again changes nothing."""
        self._blank(*self.waiting.popleft(), self._places.popleft())

    def set_aside(self, usable: Callable[[str], bool]) -> None:
        """Moves waiting lines that are not `usable` to another file, which is not read again."""
        strange = {text for _, text in self.waiting if not usable(text)}
        if not strange:
            return
        other = self.path.with_suffix(ASIDE)
        opener = partial(os.open, mode=0o600)
        with open(other, "a", encoding="utf-8", opener=opener) as file:
            file.writelines(f"{text}\n" for _, text in self.waiting if text in strange)
            file.flush()
            os.fsync(file.fileno())
        _sync_folder(other.parent)
        log.warning(
            "%d changes of another version wait in the spool and are not made; %s keeps them, "
            "out of reach of any erasure: read it and delete it",
            len(strange),
            other,
        )
        for _ in range(len(self.waiting)):
            (number, text), place = self.waiting.popleft(), self._places.popleft()
            if text in strange:
                self._blank(number, text, place)
            else:
                self.waiting.append((number, text))
                self._places.append(place)

    def close(self) -> None:
        """Closes the file; overwrites and removes it if nothing waits."""
        if not self.waiting:
            self._write(bytes(self.size), 0)
            os.fsync(self._handle)
            self.path.unlink(missing_ok=True)
        os.close(self._handle)

    def _blank(self, number: int, text: str, place: int) -> None:
        self._write(_line(f"{number} " + " " * len(text.encode())), place)

    def _write(self, data: bytes, place: int) -> None:
        os.lseek(self._handle, place, os.SEEK_SET)
        if os.write(self._handle, data) != len(data):
            raise OSError(errno.ENOSPC, "short write")

    def _read(self) -> int:
        data = self.path.read_bytes()
        end = data.rfind(b"\n") + 1
        if end != len(data):
            log.warning("the last line of the spool %s is torn and was never acknowledged", self.path.name)
            os.ftruncate(self._handle, end)
        place = 0
        for line in data[:end].splitlines(keepends=True):
            if (text := _text(line[:-1])) is None:
                log.error("a line of the spool %s is damaged and is left out", self.path.name)
            else:
                number, _, rest = text.partition(" ")
                self._last = max(self._last, int(number))
                if rest.strip():
                    self.waiting.append((int(number), rest))
                    self._places.append(place)
            place += len(line)
        return end


def _line(text: str) -> bytes:
    data = text.encode()
    return b"%08x %d %s\n" % (crc32(data), len(data), data)


def _text(line: bytes) -> str | None:
    """The text of a line; None if it is damaged."""
    checksum, _, rest = line.partition(b" ")
    length, _, data = rest.partition(b" ")
    whole = (b"%08x" % crc32(data), b"%d" % len(data)) == (checksum, length)
    return data.decode() if whole else None


def _sync_folder(folder: Path) -> None:
    """Makes the name of a new file durable."""
    if sys.platform != "win32":
        handle = os.open(folder, os.O_RDONLY)
        try:
            os.fsync(handle)
        finally:
            os.close(handle)

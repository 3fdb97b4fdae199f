"""Files that are written beside their place and moved there when they are whole.

A file being written is named in a list: a folder with one entry per file, locked (flock) by the process that
writes. The lock ends with its process, so the next start finds what a killed one left, and removes it.
"""

import logging
import os
import sys
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from tempfile import gettempdir
from uuid import uuid4

from platformdirs import user_data_path

from thoughtcycle.errors import InputRefused

if sys.platform != "win32":
    import fcntl

log = logging.getLogger(__name__)

PART = ".part"
_COMPANIONS = ("", "-journal", "-wal", "-shm")
"""Suffixes of the files that SQLite puts beside a database that it writes."""


@contextmanager
def part_file(path: Path, *, replace: bool) -> Iterator[Path]:
    """An empty file (0600) beside `path`, which takes the place of `path` once it is written.

    Raises InputRefused('file_exists') when there is one already, unless `replace`, and
    InputRefused('file_unwritable') when it cannot be written. After a failure nothing is left of it; what
    kill -9 leaves is removed by `remove_left_parts`.
    """
    check_new(path, replace=replace)
    part = path.with_name(f"{path.name}.{uuid4().hex[:12]}{PART}")
    with _listed(part):
        try:
            part.touch(mode=0o600, exist_ok=False)
        except OSError as error:
            raise InputRefused("file_unwritable", path=repr(str(path)), cause=error) from error
        try:
            yield part
            part.replace(path)
        except OSError as error:
            raise InputRefused("file_unwritable", path=repr(str(path)), cause=error) from error
        finally:
            _remove(part)


@contextmanager
def scratch_file() -> Iterator[Path]:
    """An empty file (0600) in the folder for temporary files, removed afterwards as a part would be."""
    part = Path(gettempdir()) / f"thoughtcycle-{uuid4().hex}{PART}"
    with _listed(part):
        part.touch(mode=0o600, exist_ok=False)
        try:
            yield part
        finally:
            _remove(part)


def check_new(path: Path, *, replace: bool) -> None:
    """Raises InputRefused('file_exists') when there is a file already, unless `replace`."""
    if not replace and path.exists():
        raise InputRefused("file_exists", path=repr(str(path)))


def remove_left_parts() -> int:
    """Removes the unfinished files of processes that died; how many there were. Blocks."""
    removed = 0
    try:
        entries = list(_folder().glob(f"*{PART}"))
    except PermissionError as error:
        log.warning("%s cannot be read (%s): unfinished files stay", _folder(), error.strerror)
        return 0
    for entry in entries:
        try:
            handle = os.open(entry, os.O_RDWR)
        except OSError:  # its owner is done with it
            continue
        try:
            if lock(handle) and os.fstat(handle).st_nlink:
                part = Path(os.fsdecode(entry.read_bytes()))
                if part.suffix == PART:  # else its process died before it named one
                    removed += _remove(part)
                entry.unlink(missing_ok=True)
        except OSError as error:
            log.warning("an unfinished file could not be removed (%s); %s names it", error.strerror, entry)
        finally:
            os.close(handle)
    return removed


def lock(handle: int) -> bool:
    """Whether this process could lock the open file, which it holds until it closes it or ends."""
    if sys.platform != "win32":
        try:
            fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            return False
    return True


def _folder() -> Path:
    """The list of unfinished files: in the spool, which outlives a container."""
    spool = os.environ.get("THOUGHTCYCLE_SPOOL")
    return (Path(spool) if spool else user_data_path("thoughtcycle") / "spool") / "parts"


@contextmanager
def _listed(part: Path) -> Iterator[None]:
    """Has `part` in the list meanwhile; a list that cannot be written is said in the log."""
    folder = _folder()
    entry = folder / f"{uuid4().hex}{PART}"
    handle = None
    try:
        folder.mkdir(mode=0o700, parents=True, exist_ok=True)
        handle = _locked_file(entry)
        os.write(handle, os.fsencode(part.absolute()))
        os.fsync(handle)
    except OSError as error:
        log.warning("%s cannot be written (%s): a killed process leaves its file", folder, error.strerror)
    try:
        yield
    finally:
        if handle is not None:
            with suppress(OSError):
                entry.unlink(missing_ok=True)
            os.close(handle)


def _locked_file(path: Path) -> int:
    """A new file that this process has locked; made again where another process took it for a left one."""
    while True:
        handle = os.open(path, os.O_RDWR | os.O_CREAT | os.O_EXCL, 0o600)
        try:
            if lock(handle) and os.fstat(handle).st_nlink:
                return handle
        except OSError:
            os.close(handle)
            raise
        os.close(handle)
        path.unlink(missing_ok=True)


def _remove(part: Path) -> bool:
    """Whether there was something to remove."""
    there = part.exists()
    for companion in _COMPANIONS:
        part.with_name(part.name + companion).unlink(missing_ok=True)
    return there

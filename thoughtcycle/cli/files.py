"""Output files of commands: written atomically, readable by the user only."""

import errno
import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import BinaryIO

from thoughtcycle.errors import InputRefused


@contextmanager
def new_file(path: Path, *, replace: bool) -> Iterator[BinaryIO]:
    """A file to be written, which is at `path` once it is whole; only its owner may read it.

    Raises InputRefused('file_exists') when there is one already, unless `replace`, and
    InputRefused('file_unwritable') when it cannot be written.
    """
    _check_new(path, replace)
    part = path.with_name(f"{path.name}.{os.getpid()}.part")
    try:
        part.touch(mode=0o600, exist_ok=False)
    except OSError as error:
        raise InputRefused("file_unwritable", path=repr(str(path)), cause=error) from error
    try:
        with part.open("wb") as file:
            yield file
            file.flush()
            os.fsync(file.fileno())
        part.replace(path)
    except OSError as error:
        raise InputRefused("file_unwritable", path=repr(str(path)), cause=error) from error
    finally:
        part.unlink(missing_ok=True)


def check_writable(path: Path, *, replace: bool) -> None:
    """Raises InputRefused as `new_file` would: asked before long work."""
    _check_new(path, replace)
    cause = errno.EISDIR if path.is_dir() else errno.ENOENT if not path.absolute().parent.is_dir() else None
    if cause is None and not os.access(path.absolute().parent, os.W_OK):
        cause = errno.EACCES
    if cause is not None:
        raise InputRefused("file_unwritable", path=repr(str(path)), cause=OSError(cause, ""))


def _check_new(path: Path, replace: bool) -> None:
    if not replace and path.exists():
        raise InputRefused("file_exists", path=repr(str(path)))

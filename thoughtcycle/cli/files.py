"""Output files of commands: written atomically, readable by the user only."""

import errno
import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import BinaryIO

from thoughtcycle.errors import InputRefused
from thoughtcycle.memory.storage import check_new, part_file


@contextmanager
def new_file(path: Path, *, replace: bool) -> Iterator[BinaryIO]:
    """A file to be written, which is at `path` once it is whole; raises as `part_file` does."""
    with part_file(path, replace=replace) as part, part.open("wb") as file:
        yield file
        file.flush()
        os.fsync(file.fileno())


def check_writable(path: Path, *, replace: bool) -> None:
    """Raises InputRefused as `new_file` would: asked before long work."""
    check_new(path, replace=replace)
    cause = errno.EISDIR if path.is_dir() else errno.ENOENT if not path.absolute().parent.is_dir() else None
    if cause is None and not os.access(path.absolute().parent, os.W_OK):
        cause = errno.EACCES
    if cause is not None:
        raise InputRefused("file_unwritable", path=repr(str(path)), cause=OSError(cause, ""))

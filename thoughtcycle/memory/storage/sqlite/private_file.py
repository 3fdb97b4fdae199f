"""Makes the file of a SQLite database, which is for its owner's eyes only."""

import os
from contextlib import suppress
from pathlib import Path


def make_private(path: Path) -> None:
    """Makes an empty file (0600) and its folders (0700) where they are missing; leaves alone what exists.

    SQLite gives the files that it puts beside this one the same mode.
    """
    _make_folder(path.parent)
    # Never open a file that exists: closing it would take away the locks that this process holds on it.
    with suppress(OSError):  # what else is wrong SQLite says
        os.close(os.open(os.path.realpath(path), os.O_CREAT | os.O_EXCL | os.O_WRONLY, 0o600))


def _make_folder(folder: Path) -> None:
    """With those above it, to which `Path.mkdir` would give the usual mode."""
    if not folder.is_dir():
        _make_folder(folder.parent)
        folder.mkdir(mode=0o700, exist_ok=True)

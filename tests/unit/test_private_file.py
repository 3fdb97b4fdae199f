"""Nobody but its owner reads a database that we make."""

import os
from collections.abc import Callable, Iterator
from contextlib import AbstractAsyncContextManager
from pathlib import Path
from typing import Any

import pytest

from thoughtcycle.checkpoints.factory import open_checkpointer
from thoughtcycle.memory.storage import open_storage
from thoughtcycle.memory.transfer.backup import backup, restore

Opener = Callable[[str], AbstractAsyncContextManager[Any]]
either_first = pytest.mark.parametrize(
    ("first", "second"),
    [(open_storage, open_checkpointer), (open_checkpointer, open_storage)],
    ids=["memory first", "checkpoints first"],
)


@pytest.fixture(autouse=True)
def others_may_read() -> Iterator[None]:
    """What a process makes, as on most systems."""
    former = os.umask(0o022)
    yield
    os.umask(former)


def modes(folder: Path) -> dict[str, int]:
    return {path.name: path.stat().st_mode & 0o777 for path in (folder, *folder.iterdir())}


@either_first
async def test_a_new_database_is_its_owners(first: Opener, second: Opener, tmp_path: Path) -> None:
    made = tmp_path / "new" / "deep"
    url = f"sqlite:///{made}/m.db"
    private = {"deep": 0o700, "m.db": 0o600, "m.db-wal": 0o600, "m.db-shm": 0o600}
    async with first(url), second(url):
        assert modes(made) == private and modes(made.parent) == {"new": 0o700, "deep": 0o700}
    await backup(url, tmp_path / "copy.db")
    await restore(f"sqlite:///{tmp_path}/other/m.db", tmp_path / "copy.db", replace=False)
    assert modes(tmp_path / "other") == {"other": 0o700, "m.db": 0o600}


@either_first
async def test_one_that_exists_keeps_its_mode(first: Opener, second: Opener, tmp_path: Path) -> None:
    (folder := tmp_path / "shared").mkdir(mode=0o755)
    (folder / "m.db").touch(mode=0o640)
    url = f"sqlite:///{folder}/m.db"
    async with first(url), second(url):
        assert modes(folder) == {"shared": 0o755, "m.db": 0o640, "m.db-wal": 0o640, "m.db-shm": 0o640}


async def test_one_that_a_link_names_is_its_owners_too(tmp_path: Path) -> None:
    (tmp_path / "link.db").symlink_to(tmp_path / "m.db")
    async with open_storage(f"sqlite:///{tmp_path}/link.db"):
        assert (tmp_path / "m.db").stat().st_mode & 0o777 == 0o600

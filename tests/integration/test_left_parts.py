"""A kill -9 during a backup or an export leaves no file with everything in it for ever (BY-9)."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

from support.child import ENVIRONMENT
from support.command import run
from thoughtcycle.memory.memory import Memory
from thoughtcycle.memory.model import MemoryDraft
from thoughtcycle.memory.storage import part_file, remove_left_parts, scratch_file
from thoughtcycle.memory.transfer import backup

WORD = "Zoroastro"
STOPPED = """
import sys, time
from pathlib import Path
from thoughtcycle.cli.main import main

def wait(part, target):
    print("whole", flush=True)
    time.sleep(600)

Path.replace = wait
main()
"""
"""The command, which waits when its file is whole but not yet in its place."""


@pytest.fixture
def spool(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("THOUGHTCYCLE_SPOOL", str(tmp_path / "spool"))
    return tmp_path / "spool"


async def fill(db: Path) -> None:
    async with Memory.open(f"sqlite:///{db}", embeddings=None) as memory:
        await memory.save("ana", [MemoryDraft(content=f"Nome: {WORD}")])


def killed(command: str, out: Path, db: Path, spool: Path) -> list[Path]:
    """What a command killed by -9 leaves beside `out`."""
    environment = {**ENVIRONMENT, "THOUGHTCYCLE_USER": "ana", "THOUGHTCYCLE_SPOOL": str(spool)}
    arguments = [sys.executable, "-c", STOPPED, command, str(out), "--db", f"sqlite:///{db}"]
    with subprocess.Popen(arguments, env=environment, stdout=subprocess.PIPE) as child:
        assert child.stdout is not None and child.stdout.readline() == b"whole\n"
        child.kill()
    return [path for path in out.parent.iterdir() if path.name.startswith(out.name)]


@pytest.mark.spec("BY-9", "BY-4")
@pytest.mark.parametrize("command", ["backup", "export"])
async def test_the_next_command_removes_what_a_killed_one_left(
    command: str, tmp_path: Path, spool: Path
) -> None:
    await fill(tmp_path / "m.db")
    (tmp_path / "out").mkdir()
    left = killed(command, tmp_path / "out" / "all", tmp_path / "m.db", spool)
    assert any(WORD.encode() in path.read_bytes() for path in left)
    assert {path.stat().st_mode & 0o777 for path in left} == {0o600}
    listed = run("memories", "list", db=tmp_path / "m.db", env={"THOUGHTCYCLE_SPOOL": str(spool)})
    assert listed.returncode == 0 and WORD in listed.stdout
    assert list((tmp_path / "out").iterdir()) == list((spool / "parts").iterdir()) == []


@pytest.mark.spec("BY-9", "BY-4")
async def test_forgetting_a_user_removes_it_while_the_server_runs(tmp_path: Path, spool: Path) -> None:
    await fill(tmp_path / "m.db")
    (tmp_path / "out").mkdir()
    async with Memory.open(f"sqlite:///{tmp_path}/m.db", embeddings=None) as memory:
        assert killed("export", tmp_path / "out" / "all", tmp_path / "m.db", spool)
        await memory.forget_user("ana")
    assert list((tmp_path / "out").iterdir()) == []


def test_what_a_living_process_writes_stays(tmp_path: Path, spool: Path) -> None:
    with part_file(tmp_path / "f", replace=False) as part:
        part.write_text(WORD)
        assert remove_left_parts() == 0 and part.exists()
        assert (part.parent, part.stat().st_mode & 0o777) == (tmp_path, 0o600)
    assert (tmp_path / "f").read_text() == WORD
    assert list((spool / "parts").iterdir()) == []


def test_an_upload_is_removed_when_it_is_read(tmp_path: Path, spool: Path) -> None:
    with scratch_file() as upload:
        upload.write_text(WORD)
        (entry,) = (spool / "parts").iterdir()
        assert (upload.stat().st_mode & 0o777, entry.read_text()) == (0o600, str(upload))
    assert not upload.exists() and not entry.exists()


def test_an_entry_removes_nothing_but_a_part(tmp_path: Path, spool: Path) -> None:
    (folder := spool / "parts").mkdir(parents=True)
    (mine := tmp_path / "diary.txt").write_text("mine")
    (folder / "a.part").write_bytes(os.fsencode(mine))
    (folder / "b.part").touch()  # its process died before it named one
    assert remove_left_parts() == 0
    assert mine.exists() and list(folder.iterdir()) == []


async def test_a_list_that_cannot_be_written_stops_no_backup(tmp_path: Path, spool: Path) -> None:
    await fill(tmp_path / "m.db")
    spool.touch()
    assert await backup(f"sqlite:///{tmp_path}/m.db", tmp_path / "copy.db")
    assert not list(tmp_path.glob("copy.db?*"))

"""The spool: what was kept is there after kill -9, a torn end is not, and each file has one owner."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

from support.memories import START, step
from thoughtcycle.errors import StorageFailed
from thoughtcycle.memory.offline.intents import Append, Intent
from thoughtcycle.memory.offline.spool import Spool, database_name
from thoughtcycle.memory.offline.spool_file import SpoolFile


def intent(number: int, size: int = 0) -> Intent:
    return Append(user="ana", at=START, cycle=f"c{number}{'x' * size}", execution="e", step=step(), text=None)


async def opened(folder: Path, limit: int = 1_000_000) -> Spool:
    spool = Spool(folder, "db", limit)
    await spool.open()
    return spool


async def drained(spool: Spool) -> list[str]:
    cycles = []
    while (oldest := spool.oldest()) is not None:
        assert isinstance(oldest, Append)
        cycles.append(oldest.cycle)
        await spool.remove_oldest()
    return cycles


def only_file(folder: Path) -> Path:
    (path,) = folder.iterdir()
    return path


async def test_what_waits_comes_out_in_order_and_leaves_nothing(tmp_path: Path) -> None:
    spool = await opened(tmp_path / "deep" / "spool")
    assert not spool.pending and not (tmp_path / "deep").exists()
    for number in range(3):
        await spool.put(intent(number))
    assert spool.pending
    assert only_file(spool.folder).stat().st_mode & 0o777 == 0o600
    assert await drained(spool) == ["c0", "c1", "c2"]
    assert not spool.pending and list(spool.folder.iterdir()) == []


async def test_the_next_process_takes_over_what_did_not_arrive(tmp_path: Path) -> None:
    spool = await opened(tmp_path)
    for number in range(3):
        await spool.put(intent(number))
    await spool.remove_oldest()
    beside = await opened(tmp_path)
    assert not beside.pending  # it has an owner
    await spool.close()
    after = await opened(tmp_path)
    await after.put(intent(3))
    assert await drained(after) == ["c1", "c2", "c3"]
    assert list(tmp_path.iterdir()) == []


async def test_files_of_another_database_are_left_alone(tmp_path: Path) -> None:
    spool = await opened(tmp_path)
    await spool.put(intent(0))
    await spool.close()
    other = Spool(tmp_path, "other")
    await other.open()
    assert not other.pending
    names = {database_name(url) for url in ("sqlite:///a.db", "sqlite:///b.db", "mongodb://u:secret@h/x")}
    assert len(names) == 3 and "secret" not in str(names)
    assert database_name("mongodb://u:old@h/x") == database_name("mongodb://u:new@h/x")


@pytest.mark.spec("BY-9")
async def test_what_has_arrived_stays_in_no_file(tmp_path: Path) -> None:
    spool = await opened(tmp_path)
    for number in range(3):
        await spool.put(intent(number))
    path = only_file(tmp_path)
    size = path.stat().st_size
    await spool.remove_oldest()
    assert b"c0" not in path.read_bytes() and b"c1" in path.read_bytes()
    assert path.stat().st_size == size
    await spool.close()
    after = await opened(tmp_path)
    with path.open("rb") as still:
        assert await drained(after) == ["c1", "c2"]
        assert not path.exists() and still.read() == bytes(size)


@pytest.mark.parametrize("torn", [b"0", b"00000000 12 4 {", b'deadbeef 9 3 {"ca"'])
async def test_a_torn_end_was_never_acknowledged(tmp_path: Path, torn: bytes) -> None:
    spool = await opened(tmp_path)
    await spool.put(intent(0))
    await spool.close()
    with only_file(tmp_path).open("ab") as file:
        file.write(torn)
    after = await opened(tmp_path)
    await after.put(intent(1))
    assert await drained(after) == ["c0", "c1"]


async def test_a_damaged_line_costs_that_line_only(tmp_path: Path) -> None:
    spool = await opened(tmp_path)
    for number in range(3):
        await spool.put(intent(number))
    await spool.close()
    path = only_file(tmp_path)
    path.write_bytes(path.read_bytes().replace(b'"c1"', b'"c9"'))
    assert await drained(await opened(tmp_path)) == ["c0", "c2"]


async def test_a_full_spool_refuses_new_turns_first_and_keeps_what_it_has(tmp_path: Path) -> None:
    spool = await opened(tmp_path, limit=8_000)
    kept = []
    with pytest.raises(StorageFailed) as full:
        for number in range(1_000):
            await spool.put(intent(number, 500), begins=True)
            kept.append(number)
    assert full.value.code == "spool_full" and kept
    await spool.put(intent(77, 500))  # what has begun may end
    with pytest.raises(StorageFailed):
        for _ in range(1_000):
            await spool.put(intent(78, 500))
    assert only_file(tmp_path).stat().st_size <= 8_000
    names = [cycle.strip("x") for cycle in await drained(spool)]
    assert names[: len(kept) + 1] == [*(f"c{number}" for number in kept), "c77"]
    await spool.put(intent(5, 500), begins=True)


async def test_a_disk_that_refuses_is_told_and_leaves_no_half_line(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    spool = await opened(tmp_path)
    await spool.put(intent(0))
    write = os.write

    def half(handle: int, data: bytes) -> int:
        return write(handle, data[:10])

    monkeypatch.setattr(os, "write", half)
    with pytest.raises(StorageFailed) as refused:
        await spool.put(intent(1))
    assert refused.value.code == "spool_unusable"
    monkeypatch.undo()
    await spool.put(intent(2))
    await spool.close()
    assert await drained(await opened(tmp_path)) == ["c0", "c2"]


async def test_a_folder_that_cannot_be_made_is_told(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    spool = await opened(tmp_path / "file")
    with pytest.raises(StorageFailed) as refused:
        await spool.put(intent(0))
    assert refused.value.code == "spool_unusable" and not spool.pending


FORMER = (
    '{"user":"ana","at":"2026-03-01T12:00:00Z","call":"save","drafts":[{"content":"Odeia coentro"}],'
    '"vectors":{"Odeia coentro":"AACAPwAAgD8="},"model":"words"}',
    '{"user":"ana","at":"2026-03-01T12:00:00Z","call":"update","id":"m1","content":"Mora em Natal",'
    '"bindings":null,"key":null,"correction":false,"cycle":"c","words":"x","said":null}',
    '{"user":"ana","at":"2026-03-01T12:00:00Z","call":"hide","ids":["m2"],"reason":"user","cycle":null}',
)
"""Lines that the version before let wait beside the cycles."""


async def test_what_another_version_let_wait_is_set_aside_and_told(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    file = SpoolFile.create(tmp_path, "db")
    for line in (FORMER[0], intent(0).model_dump_json(), FORMER[1], intent(1).model_dump_json(), FORMER[2]):
        file.append(line)
    file.close()
    spool = await opened(tmp_path)
    beside = file.path.with_suffix(".aside")
    (told,) = caplog.messages
    assert told.startswith("3 changes of another version") and str(beside) in told
    assert "coentro" not in told and "\n" not in told
    assert tuple(beside.read_text().splitlines()) == FORMER
    assert beside.stat().st_mode & 0o777 == 0o600
    assert b"coentro" not in file.path.read_bytes()
    assert await drained(spool) == ["c0", "c1"]
    assert list(tmp_path.iterdir()) == [beside]
    assert not (await opened(tmp_path)).pending


async def test_a_file_of_nothing_else_is_set_aside_whole(tmp_path: Path) -> None:
    for line in FORMER[:2]:
        file = SpoolFile.create(tmp_path, "db")
        file.append(line)
        file.close()
    assert not (await opened(tmp_path)).pending
    assert sorted(path.read_text() for path in tmp_path.iterdir()) == [f"{line}\n" for line in FORMER[:2]]


OWNER = """
import os, signal, sys
from pathlib import Path
from thoughtcycle.memory.offline.spool_file import SpoolFile
file = SpoolFile.create(Path(sys.argv[1]), "db")
file.append("{}")
print("kept", flush=True)
os.kill(os.getpid(), signal.SIGSTOP)
"""


def test_a_living_owner_keeps_its_file_and_a_killed_one_does_not(tmp_path: Path) -> None:
    with subprocess.Popen([sys.executable, "-c", OWNER, str(tmp_path)], stdout=subprocess.PIPE) as owner:
        assert owner.stdout is not None and owner.stdout.readline() == b"kept\n"
        assert SpoolFile.take_over(tmp_path, "db") == []
        owner.kill()
    (left,) = SpoolFile.take_over(tmp_path, "db")
    assert list(left.waiting) == [(1, "{}")]
    assert SpoolFile.take_over(tmp_path, "db") == []
    left.close()

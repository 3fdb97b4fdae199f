"""The examples run as they stand."""

import subprocess
import sys
from pathlib import Path

import pytest

from support.dev_server import dev_server

EXAMPLES = Path(__file__).parents[2] / "examples"


def run(name: str, *args: str) -> str:
    done = subprocess.run(
        [sys.executable, EXAMPLES / name, *args], capture_output=True, text=True, timeout=60, check=False
    )
    assert done.returncode == 0, done.stderr
    return done.stdout


@pytest.mark.spec("BY-3")
def test_embedded() -> None:
    assert "Peter" in run("embedded.py").splitlines()[-1]


@pytest.mark.spec("BY-6")
def test_subgraph() -> None:
    assert "Recife" in run("subgraph.py").splitlines()[-1]


@pytest.mark.spec("BY-6")
def test_an_app_written_for_a_store() -> None:
    found, latest, undone, left = run("store.py").splitlines()
    assert "violin" in found and "Coriander" in latest and "violin" in undone
    assert "erased: 2" in left and "violin" not in left and "Lisbon" in left


@pytest.mark.spec("BY-1", "BY-4", "BY-9")
def test_the_memory_by_itself() -> None:
    found, said, _, then, why, erased, left, *_ = run("memory.py").splitlines()
    assert "Lives in Lisbon" in found and "coriander" in said
    assert "then: Lives in Lisbon; now: Lives in Porto" in then
    assert "'I moved to Lisbon', then ['save', 'update', 'undo']" in why
    assert "memories=1" in erased and left == "left of it: []"


@pytest.mark.spec("BY-3", "TC-13")
def test_client_of_a_dev_server_without_a_key(tmp_path: Path) -> None:
    with dev_server(tmp_path, {"THOUGHTCYCLE_DB": f"sqlite:///{tmp_path}/m.db"}) as url:
        said = run("client.py", url)
    assert "[text-for-replace] Pensando…" in said and "[memory] Nome: Pedro" in said


def test_every_example_is_tested() -> None:
    here = Path(__file__).read_text()
    assert all(path.name in here for path in EXAMPLES.glob("*.py"))

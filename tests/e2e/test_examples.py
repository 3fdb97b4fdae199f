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


@pytest.mark.spec("BY-3", "TC-13")
def test_client_of_a_dev_server_without_a_key(tmp_path: Path) -> None:
    with dev_server(tmp_path, {"THOUGHTCYCLE_DB": f"sqlite:///{tmp_path}/m.db"}) as url:
        said = run("client.py", url)
    assert "[text-for-replace] Pensando…" in said and "[memory] Nome: Pedro" in said


def test_every_example_is_tested() -> None:
    here = Path(__file__).read_text()
    assert all(path.name in here for path in EXAMPLES.glob("*.py"))

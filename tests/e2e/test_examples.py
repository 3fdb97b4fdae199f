"""The examples run as they stand."""

import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
from mcp import Client

from support.dev_server import dev_server

EXAMPLES = Path(__file__).parents[2] / "examples"


def run(name: str, *args: str) -> str:
    done = subprocess.run(
        [sys.executable, EXAMPLES / name, *args],
        capture_output=True,
        text=True,
        timeout=300,
        check=False,
        env={name: value for name, value in os.environ.items() if not name.startswith("OPENAI")},
    )
    assert done.returncode == 0, done.stderr
    return done.stdout


@pytest.mark.spec("BY-3")
def test_embedded() -> None:
    assert "Peter" in run("embedded.py").splitlines()[-1]


@pytest.mark.spec("BY-3")
def test_without_an_event_loop() -> None:
    assert "Peter" in run("blocking.py")


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
    found, said, _, file, then, why, erased, left, *_ = run("memory.py").splitlines()
    assert "Lives in Lisbon" in found and "coriander" in said
    assert "lease.txt: The rent is due on the fifth. (29 bytes)" in file
    assert "then: Lives in Lisbon; now: Lives in Porto" in then
    assert "'I moved to Lisbon', then ['save', 'update', 'undo']" in why
    assert "memories=1" in erased and left == "left of it: []"


@pytest.mark.spec("BY-5", "BY-6")
def test_an_agent_with_the_middleware() -> None:
    told = run("agent.py")
    ana, rest = told.split("ana> How could I")[1].split("bia> How could I")
    bia, blocking = rest.split("without an event loop: ")
    assert "Lives in Lisbon" in ana and "Lives in Lisbon" in blocking and "Lisbon" not in bia


@pytest.mark.spec("BY-6")
def test_memory_tools() -> None:
    assert "Hates coriander" in run("tools.py")


@pytest.mark.spec("BY-6")
def test_chat_history() -> None:
    *said, learned = run("chat_history.py").splitlines()
    assert [line.split(":")[0] for line in said] == ["human", "ai", "human", "ai"] and "Lisbon" in learned


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """A dev server without a key."""
    folder = tmp_path_factory.mktemp("dev")
    environment = {"THOUGHTCYCLE_DB": f"sqlite:///{folder}/m.db", "THOUGHTCYCLE_USER": "rita"}
    with dev_server(folder, environment) as url:
        yield url


@pytest.mark.spec("BY-3", "TC-13")
def test_client_of_a_dev_server_without_a_key(server: str) -> None:
    said = run("client.py", server)
    assert "[text-for-replace] Pensando…" in said and "[memory] Nome: Pedro" in said


@pytest.mark.spec("BY-6")
def test_remote_graph_on_a_dev_server(server: str) -> None:
    assert "Peter" in run("remote.py", server).splitlines()[-1]


@pytest.mark.spec("BY-6")
async def test_a_graph_as_a_tool_of_the_servers_own_mcp_endpoint(server: str) -> None:
    async with Client(f"{server}/mcp/") as asking:
        tools = {one.name: one for one in (await asking.list_tools()).tools}
        assert tools.keys() == {"thought_cycle", "formation", "garden"}
        assert all(one.description for one in tools.values())
        assert tools["thought_cycle"].input_schema["properties"]["messages"]["type"] == "string"
        await asking.call_tool("thought_cycle", {"messages": "Meu nome é Rita."})
        told = await asking.call_tool("thought_cycle", {"messages": "O que você sabe de mim?"})
    assert not told.is_error and "Nome: Rita" in str(told.content)


def test_every_example_is_tested() -> None:
    here = Path(__file__).read_text()
    assert all(path.name in here for path in EXAMPLES.glob("*.py") if path.name != "model.py")

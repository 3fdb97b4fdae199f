"""A first start without a model names the model servers of this computer, and uses none."""

import re
import socket
import subprocess
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pexpect
import pytest

from support.command import CLEAN, PYTHON, run
from support.fake_openai import FakeOpenAI
from thoughtcycle.runtime.local_servers import LOOK_SECONDS, LocalServer, find_local_servers

LISTED = ("nomic-embed-text:latest", "qwen3:8b", "\x1b[2J evil", "llama3.2:3b")


@contextmanager
def saying(answer: bytes) -> Iterator[int]:
    """A port that takes connections and says `answer` to each, or nothing at all."""
    with socket.create_server(("127.0.0.1", 0)) as server:
        server.settimeout(5)
        kept: list[socket.socket] = []

        def serve() -> None:
            try:
                while True:
                    client, _ = server.accept()
                    kept.append(client)
                    if answer:
                        client.recv(1_000)
                        client.sendall(answer)
                        client.close()
            except OSError:
                pass

        threading.Thread(target=serve, daemon=True).start()
        yield server.getsockname()[1]
        for client in kept:
            client.close()


def free_port() -> int:
    with socket.create_server(("127.0.0.1", 0)) as server:
        return int(server.getsockname()[1])


async def test_servers_are_found_with_their_models(fake_openai: FakeOpenAI) -> None:
    fake_openai.models = LISTED
    names = ("nomic-embed-text:latest", "qwen3:8b", "llama3.2:3b")
    found = await find_local_servers((free_port(), fake_openai.port))
    assert found == [LocalServer(fake_openai.port, names)], "a name that a terminal would obey is left out"
    address = f"OPENAI_BASE_URL=http://127.0.0.1:{fake_openai.port}/v1"
    assert found[0].settings == (address, "THOUGHTCYCLE_MODEL=qwen3:8b")
    assert LocalServer(11434, names).name == "Ollama:11434"
    assert await find_local_servers(()) == []


@pytest.mark.parametrize(
    "answer",
    [
        b"",
        b"SSH-2.0-OpenSSH_9.9\r\n",
        b"HTTP/1.1 404 Not Found\r\n\r\n{}",
        b"HTTP/1.1 200 OK\r\n\r\n<html>",
        b'HTTP/1.1 200 OK\r\n\r\n{"data": [{"name": 1}]}',
        b'HTTP/1.1 200 OK\r\n\r\n{"data": {"id": "x"}}',
        b"HTTP/1.1 200 OK\r\n\r\n" + b"[" * 100_000,
    ],
    ids=["silent", "no http", "not there", "a page", "no id", "no list", "nested"],
)
async def test_other_servers_are_passed_over_in_time(answer: bytes) -> None:
    with saying(answer) as port:
        began = time.monotonic()
        assert await find_local_servers((port, port, port)) == []
        assert time.monotonic() - began < LOOK_SECONDS + 0.3


def chat(db: Path, port: int) -> str:
    """What a chat on a terminal says before it asks for the first message."""
    env = CLEAN | {"THOUGHTCYCLE_USER": "ana", "THOUGHTCYCLE_LOCAL_PORTS": str(port), "TERM": "xterm"}
    command = [*PYTHON[1:], "chat", "--language", "en", "--db", f"sqlite:///{db}"]
    child = pexpect.spawn(
        PYTHON[0],
        command,
        env=env,  # type: ignore[arg-type]
        encoding="utf-8",
        timeout=60,
        dimensions=(40, 200),
    )
    child.expect("you> ")
    said = re.sub(r"\x1b\[[\d;]*m", "", str(child.before))
    child.sendline("/quit")
    child.expect(pexpect.EOF)
    return said


@pytest.mark.spec("BY-3")
def test_a_first_chat_names_them_once_and_uses_none(tmp_path: Path, fake_openai: FakeOpenAI) -> None:
    fake_openai.models = LISTED
    said = chat(tmp_path / "m.db", fake_openai.port)
    assert "qwen3:8b" in said and "(rules, no model)" in said
    assert re.search(rf"^OPENAI_BASE_URL=http://127.0.0.1:{fake_openai.port}/v1\s*$", said, re.MULTILINE)
    assert re.search(r"^THOUGHTCYCLE_MODEL=qwen3:8b\s*$", said, re.MULTILINE)
    assert fake_openai.requests == [], "nothing is used unasked"
    assert "qwen3" not in chat(tmp_path / "m.db", fake_openai.port), "the second start is quiet"


def test_a_first_web_server_names_them(tmp_path: Path, fake_openai: FakeOpenAI) -> None:
    fake_openai.models = LISTED
    env = CLEAN | {"THOUGHTCYCLE_LANGUAGE": "pt", "THOUGHTCYCLE_LOCAL_PORTS": str(fake_openai.port)}
    command = [*PYTHON, "web", "--port", "0", "--user", "ana", "--db", f"sqlite:///{tmp_path}/m.db"]
    with subprocess.Popen(command, env=env, stdout=subprocess.PIPE, text=True) as server:
        assert server.stdout is not None
        lines = [server.stdout.readline().strip() for _ in range(4)]
        server.terminate()
    assert "qwen3:8b" in lines[1] and lines[3] == "THOUGHTCYCLE_MODEL=qwen3:8b"
    assert fake_openai.requests == []


def test_a_pipe_and_a_refused_setting(tmp_path: Path, fake_openai: FakeOpenAI) -> None:
    fake_openai.models = LISTED
    ports = {"THOUGHTCYCLE_LOCAL_PORTS": str(fake_openai.port)}
    done = run("chat", stdin="oi\n", db=tmp_path / "m.db", env=ports)
    assert done.returncode == 0 and "qwen3" not in done.stdout + done.stderr
    done = run("config", env={"THOUGHTCYCLE_LOCAL_PORTS": "many"})
    assert done.returncode == 1 and "THOUGHTCYCLE_LOCAL_PORTS" in done.stderr

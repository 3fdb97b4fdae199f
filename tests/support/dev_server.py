"""A real `langgraph dev`, started as `make dev` does, on a free port and a throw-away folder."""

import os
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

import httpx

ROOT = Path(__file__).parents[2]
START_SECONDS = 300
"""A server that dies is seen at once; one that is slow on a busy machine is waited for."""
STOP_SECONDS = 60


def free_port() -> int:
    """A port that nobody listens on now."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port: int = probe.getsockname()[1]
        return port


@dataclass(frozen=True)
class Running:
    """A dev server that answers."""

    url: str
    process: subprocess.Popen[bytes]


@contextmanager
def dev_server(folder: Path, environment: dict[str, str]) -> Iterator[str]:
    """The server's URL; see running_dev_server."""
    with running_dev_server(folder, environment) as running:
        yield running.url


@contextmanager
def running_dev_server(folder: Path, environment: dict[str, str]) -> Iterator[Running]:
    """The server; its log is `folder/dev.log`. Stopped by SIGTERM, as a person's Ctrl-C would."""
    port = free_port()
    clean = {
        name: value
        for name, value in os.environ.items()
        if not name.startswith(("OPENAI", "THOUGHTCYCLE", "LANGSMITH", "LANGCHAIN"))
    }
    quiet = {"LANGGRAPH_CLI_NO_ANALYTICS": "1", "LANGGRAPH_NO_VERSION_CHECK": "1"}
    langgraph = Path(sys.executable).parent / "langgraph"
    command = [langgraph, "dev", "--host", "127.0.0.1", "--port", str(port), "--no-browser", "--no-reload"]
    config = ["--n-jobs-per-worker", "10", "--config", ROOT / "langgraph.json"]
    with (folder / "dev.log").open("ab") as log:
        process = subprocess.Popen(
            [*command, *config],
            cwd=folder,
            env={**clean, **quiet, **environment},
            stdout=log,
            stderr=subprocess.STDOUT,
        )
        try:
            url = f"http://127.0.0.1:{port}"
            _wait(url, process, folder / "dev.log")
            yield Running(url, process)
        finally:
            process.send_signal(signal.SIGTERM)
            process.wait(STOP_SECONDS)


def _wait(url: str, process: subprocess.Popen[bytes], log: Path) -> None:
    deadline = time.monotonic() + START_SECONDS
    while time.monotonic() < deadline:
        if process.poll() is not None:
            raise RuntimeError(f"langgraph dev ended with {process.returncode}:\n{log.read_text()[-3000:]}")
        try:
            if httpx.get(f"{url}/ok", timeout=2).status_code == 200:
                return
        except httpx.TransportError:
            time.sleep(0.1)
    raise RuntimeError(f"langgraph dev did not answer:\n{log.read_text()[-3000:]}")

"""A stand-in for LangSmith's server: takes what the real client sends, and keeps it for the test."""

import json
import re
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any
from urllib.parse import parse_qs, urlsplit
from uuid import uuid4

import langsmith
import pytest
from langsmith import utils

from thoughtcycle.runtime import tracing

_RUN = re.compile(rb'name="(?:post|patch)\.[0-9a-f-]+"\r\n.*?\r\n\r\n(.*?)\r\n--', re.DOTALL)
AT = "2026-11-22T00:00:00+00:00"
_INGEST = {
    "use_multipart_endpoint": True,
    "size_limit": 100,
    "size_limit_bytes": 20_000_000,
    "scale_up_nthreads_limit": 1,
    "scale_up_qsize_trigger": 1_000,
}
_INFO = {"version": "0.15.0", "batch_ingest_config": _INGEST}
VARIABLES = [
    f"{prefix}_{name}"
    for prefix in ("LANGSMITH", "LANGCHAIN")
    for name in ("TRACING", "TRACING_V2", "API_KEY")
]


@dataclass
class FakeLangSmith:
    """What arrived."""

    url: str
    requests: list[tuple[str, str, bytes]] = field(default_factory=list)
    """(method, path, body)."""
    datasets: dict[str, str] = field(default_factory=dict)
    """Name → id."""
    examples: dict[str, dict[str, Any]] = field(default_factory=dict)
    """Id → example."""
    sessions: dict[str, dict[str, Any]] = field(default_factory=dict)
    """Id → experiment."""

    @property
    def bodies(self) -> bytes:
        """All that was sent, as one."""
        return b"\n".join(body for _, _, body in self.requests)

    status: int = 200
    """Of every answer."""

    def answer(self, method: str, path: str, asked: dict[str, str], body: bytes) -> Any:
        """What the server says: enough for tracing, datasets and experiments."""
        place = (method, path)
        if path == "/info":
            return _INFO
        if place == ("GET", "/datasets"):
            found = self.datasets.get(asked["name"])
            return [_dataset(asked["name"], found)] if found else []
        if place == ("POST", "/datasets"):
            name = json.loads(body)["name"]
            return _dataset(name, self.datasets.setdefault(name, str(uuid4())))
        if place == ("POST", "/examples/bulk"):
            given = json.loads(body)
            self.examples.update({one["id"]: {**one, "created_at": AT} for one in given})
            return list(self.examples.values())
        if place == ("GET", "/examples"):
            mine = [one for one in self.examples.values() if one["dataset_id"] == asked["dataset"]]
            return mine[int(asked.get("offset", 0)) :][: int(asked.get("limit", 100))]
        if place == ("POST", "/sessions"):
            given = json.loads(body)
            return self.sessions.setdefault(given["id"], {**given, "tenant_id": str(uuid4())})
        if method == "PATCH" and path.startswith("/sessions/"):
            return self.sessions[path.rpartition("/")[2]]
        return {}

    def runs(self) -> dict[str, set[str]]:
        """Name of each run → its tags."""
        found: dict[str, set[str]] = {}
        for _, path, body in self.requests:
            if path.startswith("/runs"):
                for part in _RUN.findall(body):
                    run = json.loads(part)
                    found.setdefault(run["name"], set()).update(run.get("tags") or ())
        return found


def _dataset(name: str, id: str) -> dict[str, Any]:
    return {"name": name, "id": id, "created_at": AT, "tenant_id": str(uuid4())}


@contextmanager
def fake_langsmith(monkeypatch: pytest.MonkeyPatch, **variables: str) -> Iterator[FakeLangSmith]:
    """The server, and the environment that names it; what the client keeps for the process is forgotten."""
    server = ThreadingHTTPServer(("127.0.0.1", 0), _Handler)
    server.daemon_threads = True
    server.fake = FakeLangSmith(f"http://127.0.0.1:{server.server_port}")  # type: ignore[attr-defined]
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.02}, daemon=True)
    thread.start()
    for name in VARIABLES:
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("LANGSMITH_ENDPOINT", server.fake.url)  # type: ignore[attr-defined]
    monkeypatch.setenv("LANGSMITH_DISABLE_RUN_COMPRESSION", "true")  # so that bodies can be read here
    for name, value in variables.items():
        monkeypatch.setenv(name, value)
    monkeypatch.setattr(tracing, "_client", None)
    _forget()
    try:
        yield server.fake  # type: ignore[attr-defined]
    finally:
        if tracing._client is not None:
            tracing._client.close()
        _forget()
        server.shutdown()
        server.server_close()
        thread.join()


def _forget() -> None:
    utils.get_env_var.cache_clear()
    langsmith.configure(client=None, enabled=None)


class _Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"

    def log_message(self, format: str, *args: Any) -> None:
        pass

    def _answer(self) -> None:
        fake: FakeLangSmith = self.server.fake  # type: ignore[attr-defined]
        body = self.rfile.read(int(self.headers.get("content-length") or 0))
        url = urlsplit(self.path)
        fake.requests.append((self.command, url.path, body))
        asked = {name: values[0] for name, values in parse_qs(url.query).items()}
        refused = {"detail": "Forbidden"}
        answer = fake.answer(self.command, url.path, asked, body) if fake.status == 200 else refused
        told = json.dumps(answer).encode()
        self.send_response(fake.status)
        self.send_header("content-type", "application/json")
        self.send_header("content-length", str(len(told)))
        self.end_headers()
        self.wfile.write(told)

    do_GET = do_POST = do_PATCH = _answer

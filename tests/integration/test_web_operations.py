"""What the server tells those who run it, and what it keeps to itself."""

import asyncio
import gc
import io
import json
import logging
import warnings
from contextlib import ExitStack
from pathlib import Path

from pydantic import SecretStr

from support.mongo import mongodb_server, with_database
from support.web import web
from thoughtcycle.web.server.metrics import JsonFormatter


async def test_health_and_counts(tmp_path: Path) -> None:
    async with web(tmp_path) as client:
        assert (await client.get("/-/health")).json() == {"status": "alive"}
        assert (await client.get("/-/ready")).json() == {"status": "ready"}
        await client.post("/api/chats/segredo/messages", json={"message": "Meu nome é Pedro"})
        await client.get("/segredo")
        await client.request("SEGREDO", "/api/settings")
        counted = (await client.get("/-/metrics")).text
    assert (
        'thoughtcycle_requests_total{method="POST",route="/api/chats/{chat}/messages",status="200"} 1.0'
        in counted
    )
    assert 'method="GET",route="none",status="404"' in counted and "segredo" not in counted.casefold()
    assert 'method="other",route="/api/settings",status="405"' in counted
    assert "thoughtcycle_turns_running 0.0" in counted


async def test_a_database_that_is_away_is_told(tmp_path: Path) -> None:
    with ExitStack() as running:
        address = running.enter_context(mongodb_server(tmp_path))
        db = SecretStr(with_database(address, "web"))
        async with web(tmp_path, db=db) as client:
            assert (await client.get("/-/ready")).status_code == 200
            await asyncio.to_thread(running.close)
            away = await client.get("/-/ready")
            assert (away.status_code, away.json()) == (503, {"status": "database away"})
            assert (await client.get("/-/health")).status_code == 200
    with warnings.catch_warnings():  # pymongo leaves the socket of the try under way to the collector
        warnings.simplefilter("ignore", ResourceWarning)
        gc.collect()


async def test_logs_hold_no_word_of_what_was_said(tmp_path: Path) -> None:
    written = io.StringIO()
    handler = logging.StreamHandler(written)
    handler.setFormatter(JsonFormatter())
    root = logging.getLogger()
    before = root.level
    root.addHandler(handler)
    root.setLevel(logging.DEBUG)
    try:
        async with web(tmp_path) as client:
            await client.post("/api/chats/conversa-secreta/messages", json={"message": "Meu nome é Pedro"})
            await client.get("/api/memories/search", params={"query": "Pedro"})
        try:
            raise ValueError("Pedro")
        except ValueError:
            logging.getLogger("thoughtcycle").exception("it failed")
    finally:
        root.removeHandler(handler)
        root.setLevel(before)
    lines = [json.loads(line) for line in written.getvalue().splitlines()]
    ours = [line for line in lines if line["logger"].startswith("thoughtcycle")]
    assert {"POST", "GET"} <= {line.get("method") for line in ours}
    assert [line["error"] for line in ours if "error" in line] == ["ValueError"]
    for secret in ("Pedro", "conversa-secreta", '"ana"'):
        assert secret not in str(ours), secret

"""The web app in this process, with a client that talks to it without a port."""

import json
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import httpx
from fastapi import FastAPI
from pydantic import SecretStr

from thoughtcycle.mind.model_settings import ModelSettings
from thoughtcycle.runtime.settings import Settings
from thoughtcycle.web.app import create_app

RULES = ModelSettings(openai_api_key=None, openai_base_url=None)


def settings(folder: Path, **given: Any) -> Settings:
    """The settings of a server whose files all lie in `folder`."""
    db = SecretStr(f"sqlite:///{folder}/memory.db")
    return Settings(**{"db": db, "spool": folder / "spool", "user": "ana", **given})


@asynccontextmanager
async def serving(app: FastAPI, **headers: str) -> AsyncIterator[httpx.AsyncClient]:
    """A client of the app while it runs."""
    transport = httpx.ASGITransport(app=app, raise_app_exceptions=False)
    async with (
        app.router.lifespan_context(app),
        httpx.AsyncClient(transport=transport, base_url="http://localhost", headers=headers) as client,
    ):
        yield client


@asynccontextmanager
async def web(
    folder: Path, models: ModelSettings = RULES, headers: dict[str, str] | None = None, **given: Any
) -> AsyncIterator[httpx.AsyncClient]:
    """A client of an app over a database in `folder`."""
    async with serving(create_app(settings(folder, **given), models), **(headers or {})) as client:
        yield client


def events(answer: httpx.Response) -> list[tuple[str, Any]]:
    """The server-sent events of an answer: name and data."""
    found = []
    for block in answer.text.strip().split("\n\n"):
        lines = dict(line.split(": ", 1) for line in block.splitlines() if not line.startswith(":"))
        if lines:
            found.append((lines["event"], json.loads(lines["data"])))
    return found


def said(answer: httpx.Response) -> list[str]:
    """The whole texts of a turn."""
    return [
        data["content"]
        for name, data in events(answer)
        if name == "message" and data["modal"] == "text" and not data.get("delta")
    ]

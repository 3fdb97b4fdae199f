"""Puts the pages, their files and the headers of every answer into the app."""

from fastapi import FastAPI

from thoughtcycle.web.pages import account as own
from thoughtcycle.web.pages import chat, conversations, login, memories, memory
from thoughtcycle.web.pages.rendering import STATIC
from thoughtcycle.web.server.headers import SecurityHeaders, StaticPageFiles

ROUTERS = (
    login.router,
    chat.router,
    memories.router,
    memory.router,
    conversations.router,
    own.router,
)


def install(app: FastAPI) -> None:
    """Adds the page to `app`."""
    app.add_middleware(SecurityHeaders)
    for router in ROUTERS:
        app.include_router(router)
    app.mount("/static", StaticPageFiles(directory=STATIC), name="static")

"""Lets an app answer at its own addresses only, beside another server's routes."""

from starlette.applications import Starlette
from starlette.routing import BaseRoute, Match
from starlette.types import Receive, Scope, Send


class Beside(BaseRoute):
    """All routes of an app as one, with its middleware, headers and failures around them and nothing else.

    A server that takes over an app's routes one by one would put these around its own answers, too.
    """

    def __init__(self, app: Starlette) -> None:
        self.app = app

    def matches(self, scope: Scope) -> tuple[Match, Scope]:
        """Whether the path is one of the app's, with whatever method."""
        known = any(route.matches(scope)[0] is not Match.NONE for route in self.app.routes)
        return (Match.FULL if known else Match.NONE), {}

    async def handle(self, scope: Scope, receive: Receive, send: Send) -> None:
        """The app's answer."""
        await self.app({name: scope[name] for name in scope if not _of_server(name)}, receive, send)


def _of_server(name: str) -> bool:
    """Whether a part of the scope tells of the server around: its routes, and its own limit of bodies."""
    return name in ("router", "route", "endpoint") or name.startswith("starlette.")

"""Mounts an app beside another server's routes, at the app's own paths only."""

from starlette.applications import Starlette
from starlette.routing import BaseRoute, Match
from starlette.types import Receive, Scope, Send


class MountedApp(BaseRoute):
    """All routes of an app as one route, with its middleware, headers and failures around them only.

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
    """Whether a key of the scope belongs to the outer server: its routes, its body limit."""
    return name in ("router", "route", "endpoint") or name.startswith("starlette.")

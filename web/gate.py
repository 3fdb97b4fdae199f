"""What stands before a route: who is calling, and whether they may call so often. Nothing is read before."""

from collections.abc import Callable, Coroutine, Mapping
from dataclasses import dataclass
from typing import Any

from fastapi import Request, Response
from fastapi.routing import APIRoute

from thoughtcycle.graph.settings import Settings
from thoughtcycle.prompts.errors import NotAuthenticated
from thoughtcycle.web.auth import Authenticator, Caller, nobody_else, status_of
from thoughtcycle.web.limits import Buckets, Budget, place_of

Handler = Callable[[Request], Coroutine[Any, Any, Response]]


@dataclass(frozen=True)
class Gate:
    """The authenticator and the limits of one server."""

    authenticator: Authenticator
    requests: Buckets
    attempts: Buckets
    budget: Budget

    @classmethod
    def of(cls, settings: Settings) -> "Gate":
        """The gate of these settings."""
        web = settings.web
        return cls(
            Authenticator.of(settings),
            Buckets(web.requests_per_minute, web.burst),
            Buckets(web.attempts_per_minute, web.attempts_per_minute),
            Budget(web.tokens_per_day),
        )

    async def admit(
        self,
        headers: Mapping[str, str],
        peer: str | None,
        *,
        friendly: Callable[[str], bool] = nobody_else,
    ) -> Caller:
        """Who is calling (see Authenticator.caller); TooMuch for one who calls or guesses too often.

        Failures are counted by address; a good proof from there is good all the same, because behind a proxy
        many share one. The user of a server without authentication is alone, and not counted.
        """
        try:
            caller = await self.authenticator.caller(headers, peer, friendly=friendly)
        except NotAuthenticated as refusal:
            if status_of(refusal) == 401:
                self.attempts.take(place_of(peer))
            raise
        if caller.kind != "local":
            self.requests.take(caller.user)
        return caller


async def admitted(request: Request) -> Caller:
    """The caller of the request; see Gate.admit."""
    gate: Gate = request.app.state.serving.gate
    return await gate.admit(request.headers, request.client.host if request.client else None)


class Gated(APIRoute):
    """A route for callers who proved who they are: `request.state.caller`. The rule for every router."""

    def get_route_handler(self) -> Handler:
        """The handler behind the gate."""
        handler = super().get_route_handler()

        async def enter(request: Request) -> Response:
            request.state.caller = await admitted(request)
            return await handler(request)

        return enter

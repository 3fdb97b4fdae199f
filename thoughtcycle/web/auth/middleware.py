"""Authentication and rate limits in front of a route, before the body is read."""

from collections.abc import Callable, Coroutine, Mapping
from dataclasses import dataclass
from typing import Any

from fastapi import Request, Response
from fastapi.routing import APIRoute

from thoughtcycle.errors import NotAuthenticated
from thoughtcycle.runtime.settings import Settings
from thoughtcycle.web.auth.callers import Authenticator, Caller
from thoughtcycle.web.auth.limits import RateLimiter, TokenBudget, address_key
from thoughtcycle.web.server.failures import status_of

Handler = Callable[[Request], Coroutine[Any, Any, Response]]


@dataclass(frozen=True)
class AccessControl:
    """The authenticator and the limits of one server."""

    authenticator: Authenticator
    requests: RateLimiter
    attempts: RateLimiter
    budget: TokenBudget

    @classmethod
    def of(cls, settings: Settings) -> "AccessControl":
        """The access control of these settings."""
        web = settings.web
        return cls(
            Authenticator.of(settings),
            RateLimiter(web.requests_per_minute, web.burst),
            RateLimiter(web.attempts_per_minute, web.attempts_per_minute),
            TokenBudget(web.tokens_per_day),
        )

    async def admit(
        self, headers: Mapping[str, str], peer: str | None, *, allow_studio: bool = False
    ) -> Caller:
        """Authenticates a request (see Authenticator.caller); TooMuch beyond the limits of calls and guesses.

        Failures are counted by address; a good proof from there is good all the same, because behind a proxy
        many share one. The user of a server without authentication is alone, and not counted.
        """
        try:
            caller = await self.authenticator.caller(headers, peer, allow_studio=allow_studio)
        except NotAuthenticated as refusal:
            if status_of(refusal) == 401:
                self.attempts.take(address_key(peer))
            raise
        if caller.kind != "local":
            self.requests.take(caller.user)
        return caller


class AuthenticatedRoute(APIRoute):
    """A route for authenticated callers (`request.state.caller`). The rule for every router."""

    def get_route_handler(self) -> Handler:
        """The handler behind authentication."""
        handler = super().get_route_handler()

        async def enter(request: Request) -> Response:
            access: AccessControl = request.app.state.server.access
            peer = request.client.host if request.client else None
            request.state.caller = await access.admit(request.headers, peer)
            return await handler(request)

        return enter

"""Coming in with a key or token, and going out: the browser keeps it in a cookie that no script can read."""

from typing import Annotated

from fastapi import APIRouter, Form, Query, Request, Response
from fastapi.responses import RedirectResponse

from thoughtcycle.prompts.errors import NotAuthenticated, TooMuch
from thoughtcycle.web.auth import COOKIE
from thoughtcycle.web.dependencies import Server
from thoughtcycle.web.failures import failure, status_of
from thoughtcycle.web.limits import place_of
from thoughtcycle.web.origins import foreign_origin
from thoughtcycle.web.pages.rendering import page_of

router = APIRouter(include_in_schema=False)

Next = Annotated[str, Query(max_length=500)]


@router.get("/login")
async def form(request: Request, server: Server, next: Next = "/") -> Response:
    """Asks for a key or token; a server without authentication asks for nothing."""
    if not server.gate.authenticator.on:
        return RedirectResponse("/", status_code=303)
    return page_of(request).html("login.html", next=_inside(next), message="")


@router.post("/login")
async def login(
    request: Request,
    server: Server,
    credential: Annotated[str, Form(max_length=10_000)] = "",
    next: Annotated[str, Form(max_length=500)] = "/",
) -> Response:
    """Sets the cookie where the key or token is good. Who guesses too often waits, as at every door."""
    gate, peer = server.gate, place_of(request.client.host if request.client else None)
    try:
        if foreign_origin(request.headers) is not None:
            raise NotAuthenticated("auth_other_site", origin=request.headers["origin"][:100])
        gate.attempts.check(peer)
        await gate.authenticator.owner_of(credential.strip())
    except (NotAuthenticated, TooMuch) as refusal:
        if status_of(refusal) == 401:
            gate.attempts.take(peer)
        message = failure(refusal, request).message
        return page_of(request).html(
            "login.html", status=status_of(refusal), next=_inside(next), message=message
        )
    answer = RedirectResponse(_inside(next), status_code=303)
    answer.set_cookie(
        COOKIE,
        credential.strip(),
        httponly=True,
        samesite="strict",
        secure=request.url.scheme == "https",
    )
    return answer


@router.post("/logout")
async def logout(request: Request) -> Response:
    """Takes the cookie away. Another site's page cannot: its requests come without the cookie's effect."""
    answer = RedirectResponse("/login", status_code=303)
    if foreign_origin(request.headers) is None:
        answer.delete_cookie(COOKIE, httponly=True, samesite="strict")
    return answer


def _inside(next: str) -> str:
    """A path of this server: a link to the login page must not lead to somebody else's."""
    safe = next.startswith("/") and not next.startswith(("//", "/\\")) and next.isprintable()
    return next if safe else "/"

"""Login with a key or token, and logout: the browser stores it in a cookie that no script can read."""

from typing import Annotated

from fastapi import APIRouter, Form, Query, Request, Response
from fastapi.responses import RedirectResponse

from thoughtcycle.errors import NotAuthenticated, OriginRefused, TooMuch
from thoughtcycle.web.auth.callers import COOKIE
from thoughtcycle.web.auth.csrf import foreign_origin
from thoughtcycle.web.auth.limits import address_key
from thoughtcycle.web.pages.rendering import page_of
from thoughtcycle.web.server.dependencies import ServerDep
from thoughtcycle.web.server.failures import failure, status_of

router = APIRouter(include_in_schema=False)

Next = Annotated[str, Query(max_length=500)]


@router.get("/login")
async def form(request: Request, server: ServerDep, next: Next = "/") -> Response:
    """The login form; a server without authentication needs none."""
    if not server.access.authenticator.on:
        return RedirectResponse("/", status_code=303)
    return page_of(request).html("login.html", next=_inside(next), message="")


@router.post("/login")
async def login(
    request: Request,
    server: ServerDep,
    credential: Annotated[str, Form(max_length=10_000)] = "",
    next: Annotated[str, Form(max_length=500)] = "/",
) -> Response:
    """Sets the cookie for a valid key or token; failed attempts are limited by address."""
    access, peer = server.access, address_key(request.client.host if request.client else None)
    credential = credential.strip()
    try:
        if foreign_origin(request.headers) is not None:
            raise OriginRefused("auth_other_site", origin=request.headers["origin"][:100])
        access.attempts.check(peer)
        await access.authenticator.caller_of(credential)
    except (NotAuthenticated, TooMuch) as refusal:
        if status_of(refusal) == 401:
            access.attempts.take(peer)
        status, message = status_of(refusal), failure(refusal, request).message
        return page_of(request).html("login.html", status=status, next=_inside(next), message=message)
    answer = RedirectResponse(_inside(next), status_code=303)
    https = request.url.scheme == "https"
    answer.set_cookie(COOKIE, credential, httponly=True, samesite="strict", secure=https)
    return answer


@router.post("/logout")
async def logout(request: Request) -> Response:
    """Deletes the cookie; a request from another site's page does not."""
    answer = RedirectResponse("/login", status_code=303)
    if foreign_origin(request.headers) is None:
        answer.delete_cookie(COOKIE, httponly=True, samesite="strict")
    return answer


def _inside(next: str) -> str:
    """`next` where it is a path of this server, else "/": the login must not redirect to another site."""
    safe = next.startswith("/") and not next.startswith(("//", "/\\")) and next.isprintable()
    return next if safe else "/"

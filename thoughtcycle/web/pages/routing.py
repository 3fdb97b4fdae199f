"""Routes with HTML failures: a line for htmx, else a page; anonymous visitors are sent to the login."""

from typing import Any
from urllib.parse import quote

from fastapi import APIRouter, Request, Response
from fastapi.exceptions import RequestValidationError
from fastapi.responses import RedirectResponse

from thoughtcycle.errors import FieldRefused, NotAuthenticated, ThoughtcycleError
from thoughtcycle.web.auth.middleware import AuthenticatedRoute, Handler
from thoughtcycle.web.pages.rendering import page_of
from thoughtcycle.web.server.failures import Failure, failure, status_of


class PageRoute(AuthenticatedRoute):
    """A route that answers with HTML, failures included."""

    def get_route_handler(self) -> Handler:
        """See AuthenticatedRoute."""
        answer = super().get_route_handler()

        async def told(request: Request) -> Response:
            try:
                return await answer(request)
            except NotAuthenticated as refusal:
                return redirect_to_login(request, refusal)
            except ThoughtcycleError as known:
                return failure_response(request, known)
            except RequestValidationError as malformed:
                return failure_response(request, FieldRefused(malformed.errors()[0], above=1))

        return told


def pages(**given: Any) -> APIRouter:
    """A router of pages; they are no part of the API's description."""
    return APIRouter(route_class=PageRoute, include_in_schema=False, **given)


def failure_response(request: Request, error: ThoughtcycleError) -> Response:
    """One clear line: beside the page that is there, or as a page of its own."""
    reader = page_of(request)
    told = failure(error, request)
    if reader.part:  # htmx swaps in good answers only: this one goes to the line of failures
        aside = {"HX-Retarget": "#toast", "HX-Reswap": "innerHTML"}
        return reader.html("parts/failure.html", headers=aside, message=told.message)
    return failure_page(request, told, status_of(error))


def failure_page(request: Request, told: Failure, status: int) -> Response:
    """A failure as a page of its own, with the way back to where a form was sent from."""
    place = request.url.path if request.method == "POST" else "/"
    back = {"/settings": "/settings", "/account/forget": "/account"}.get(place, "/")
    again = (
        str(request.url.replace(scheme="", netloc="")) if request.method == "GET" and status >= 429 else ""
    )
    return page_of(request).html("failure.html", status=status, message=told.message, back=back, again=again)


def redirect_to_login(request: Request, refusal: NotAuthenticated) -> Response:
    """The way to the login page; from there back to where it was asked for."""
    if status_of(refusal) != 401:  # another proof would not help
        return failure_response(request, refusal)
    if "hx-request" in request.headers:
        return Response(headers={"HX-Redirect": "/login"})
    place = request.url.path if request.method == "GET" else "/"
    return RedirectResponse(f"/login?next={quote(place)}", status_code=303)

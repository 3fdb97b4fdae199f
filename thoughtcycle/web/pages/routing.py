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
        handler = super().get_route_handler()

        async def handle(request: Request) -> Response:
            try:
                return await handler(request)
            except NotAuthenticated as refusal:
                return redirect_to_login(request, refusal)
            except ThoughtcycleError as known:
                return failure_response(request, known)
            except RequestValidationError as malformed:
                return failure_response(request, FieldRefused(malformed.errors()[0], above=1))

        return handle


def pages(**given: Any) -> APIRouter:
    """A router of pages, which are not in the API's description."""
    return APIRouter(route_class=PageRoute, include_in_schema=False, **given)


def failure_response(request: Request, error: ThoughtcycleError) -> Response:
    """The failure as one line for htmx, else as a page."""
    reader = page_of(request)
    shown = failure(error, request)
    if reader.part:  # htmx swaps in successful answers only: this one goes to the line of failures
        target = {"HX-Retarget": "#toast", "HX-Reswap": "innerHTML"}
        return reader.html("parts/failure.html", headers=target, message=shown.message)
    return failure_page(request, shown, status_of(error))


def failure_page(request: Request, shown: Failure, status: int) -> Response:
    """A failure as a page, with a link back to the form, or to try a page again that may come later."""
    path = request.url.path if request.method == "POST" else "/"
    back = {"/settings": "/settings", "/account/forget": "/account"}.get(path, "/")
    retried = request.method == "GET" and status >= 429
    again = str(request.url.replace(scheme="", netloc="")) if retried else ""
    return page_of(request).html("failure.html", status=status, message=shown.message, back=back, again=again)


def redirect_to_login(request: Request, refusal: NotAuthenticated) -> Response:
    """A redirect to the login page, which leads back to the page that was asked for."""
    if status_of(refusal) != 401:  # another credential would not help
        return failure_response(request, refusal)
    if "hx-request" in request.headers:
        return Response(headers={"HX-Redirect": "/login"})
    path = request.url.path if request.method == "GET" else "/"
    return RedirectResponse(f"/login?next={quote(path)}", status_code=303)

"""Turns failures into responses: one line in the caller's language, without internals."""

import logging
from collections.abc import Callable
from http import HTTPStatus
from typing import Any

from fastapi import FastAPI, Request, Response
from fastapi.exceptions import RequestValidationError
from fastapi.responses import JSONResponse
from pydantic import BaseModel
from starlette.exceptions import HTTPException

from thoughtcycle.errors import (
    AuthUnavailable,
    ChatBusy,
    ChatOver,
    FieldRefused,
    InputRefused,
    ModelFailed,
    NotAllowed,
    NotAuthenticated,
    OriginRefused,
    StorageFailed,
    ThoughtcycleError,
    TooMuch,
    for_strangers,
)
from thoughtcycle.prompts.loader import LANGUAGES, Language, texts

log = logging.getLogger(__name__)

STATUS: dict[type[ThoughtcycleError], int] = {
    ChatBusy: 429,
    ChatOver: 503,
    InputRefused: 422,
    OriginRefused: 403,
    AuthUnavailable: 503,
    NotAuthenticated: 401,
    TooMuch: 429,
    NotAllowed: 404,
    StorageFailed: 503,
    ModelFailed: 502,
}
"""HTTP status by the first matching type. Another user's and unknown objects are both 404."""


class Failure(BaseModel):
    """The body of every failure."""

    code: str
    message: str


def language_of(request: Request) -> Language:
    """The user's language where a page has set it, else the first supported one that the client accepts."""
    chosen: Language | None = getattr(request.state, "language", None)
    if chosen is not None:
        return chosen
    wanted = request.headers.get("accept-language", "").casefold()
    accepted: list[Language] = [one for one in LANGUAGES if one in wanted]
    return min(accepted, key=wanted.find) if accepted else "en"


def status_of(error: ThoughtcycleError) -> int:
    """The HTTP status of a known failure."""
    return next((status for known, status in STATUS.items() if isinstance(error, known)), 400)


def headers_of(error: ThoughtcycleError) -> dict[str, str]:
    """The headers of a known failure: the kind of credential, or when to try again."""
    if isinstance(error, TooMuch):
        return {"retry-after": str(error.values["seconds"])}
    return {"www-authenticate": "Bearer"} if status_of(error) == 401 else {}


def failure(error: BaseException, request: Request) -> Failure:
    """The body for `error`: its text, or a general line for an unknown one; no internals for strangers."""
    language = language_of(request)
    if isinstance(error, ThoughtcycleError):
        shown = for_strangers(error) if request.app.state.public else error
        return Failure(code=shown.code, message=shown.text(language))
    return Failure(code="internal", message=texts(language, "errors")["internal"])


Shown = Callable[[Request, Failure, int], Response]


def install(app: FastAPI, page: Shown) -> None:
    """Registers the handlers: every failure of `app` becomes JSON, or a `page` for a browser."""

    def answer(request: Request, shown: Failure, status: int, headers: Any = None) -> Response:
        if "text/html" in request.headers.get("accept", ""):
            response = page(request, shown, status)
            response.headers.update(headers or {})
            return response
        return JSONResponse(shown.model_dump(), status_code=status, headers=headers)

    @app.exception_handler(ThoughtcycleError)
    async def known(request: Request, error: ThoughtcycleError) -> Response:
        return answer(request, failure(error, request), status_of(error), headers_of(error))

    @app.exception_handler(RequestValidationError)
    async def malformed(request: Request, error: RequestValidationError) -> Response:
        return answer(request, failure(FieldRefused(error.errors()[0], above=1), request), 422)

    @app.exception_handler(HTTPException)
    async def other(request: Request, error: HTTPException) -> Response:
        if not _ours(request) and error.detail != HTTPStatus(error.status_code).phrase:
            return JSONResponse({"detail": error.detail}, error.status_code, headers=error.headers)
        section = f"http.{error.status_code}"
        words = texts(language_of(request), "errors")
        message = words[section] if section in words else words["internal"]
        return answer(request, Failure(code=section, message=message), error.status_code, error.headers)

    @app.exception_handler(Exception)
    async def unknown(request: Request, error: Exception) -> Response:
        log.error("%s %s failed: %s", request.method, request.url.path, type(error).__name__)
        return answer(request, failure(error, request), 500)


def _ours(request: Request) -> bool:
    """Whether a route of ours answers; LangGraph's routes report their own failures."""
    endpoint = request.scope.get("endpoint")
    return endpoint is None or str(getattr(endpoint, "__module__", "")).startswith("thoughtcycle.")

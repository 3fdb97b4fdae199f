"""Failures as answers: one clear line in the caller's language, and nothing of what lies behind it."""

import logging
from collections.abc import Callable
from http import HTTPStatus
from typing import Any

from fastapi import FastAPI, Request, Response
from fastapi.exceptions import RequestValidationError
from fastapi.responses import JSONResponse
from pydantic import BaseModel
from starlette.exceptions import HTTPException

from thoughtcycle.prompts.errors import (
    InputRefused,
    ModelFailed,
    NotAllowed,
    NotAuthenticated,
    StorageFailed,
    ThoughtcycleError,
    TooMuch,
    for_strangers,
)
from thoughtcycle.prompts.fields import FieldRefused
from thoughtcycle.prompts.loader import LANGUAGES, Language, texts
from thoughtcycle.web import auth

log = logging.getLogger(__name__)

STATUS: dict[type[ThoughtcycleError], int] = {
    InputRefused: 422,
    TooMuch: 429,
    NotAllowed: 404,
    StorageFailed: 503,
    ModelFailed: 502,
}
"""Somebody else's and what does not exist are told apart by nobody: both are 404."""
CODES = {"chat_busy": 429, "chat_over": 503}
"""The codes with a status of their own."""


class Failure(BaseModel):
    """How every failure reads."""

    code: str
    message: str


def language_of(request: Request) -> Language:
    """The user's, where the page knows it; else the first of ours that the client accepts, or English."""
    known: Language | None = getattr(request.state, "language", None)
    if known is not None:
        return known
    wanted = request.headers.get("accept-language", "").casefold()
    places = {wanted.find(language): language for language in LANGUAGES if language in wanted}
    return places[min(places)] if places else "en"


def status_of(error: ThoughtcycleError) -> int:
    """The HTTP status of a known failure."""
    if isinstance(error, NotAuthenticated):
        return auth.status_of(error)
    kind = next((status for known, status in STATUS.items() if isinstance(error, known)), 400)
    return CODES.get(error.code, kind)


def headers_of(error: ThoughtcycleError) -> dict[str, str]:
    """The headers that belong to a known failure: what proof is wanted, when to come again."""
    if isinstance(error, TooMuch):
        return {"retry-after": str(error.values["seconds"])}
    return {"www-authenticate": "Bearer"} if status_of(error) == 401 else {}


def failure(error: BaseException, request: Request) -> Failure:
    """What is told of `error`: the line of a known one, nothing of any other, no internals to strangers."""
    language = language_of(request)
    if isinstance(error, ThoughtcycleError):
        told = for_strangers(error) if request.app.state.public else error
        return Failure(code=told.code, message=told.text(language))
    return Failure(code="internal", message=texts(language, "errors")["internal"])


Shown = Callable[[Request, Failure, int], Response]


def install(app: FastAPI, page: Shown) -> None:
    """Makes every failure of `app` an answer of this form, and a `page` where a browser asked for one."""

    def answer(request: Request, told: Failure, status: int, headers: Any = None) -> Response:
        if "text/html" in request.headers.get("accept", ""):
            shown = page(request, told, status)
            shown.headers.update(headers or {})
            return shown
        return JSONResponse(told.model_dump(), status_code=status, headers=headers)

    @app.exception_handler(ThoughtcycleError)
    async def known(request: Request, error: ThoughtcycleError) -> Response:
        return answer(request, failure(error, request), status_of(error), headers_of(error))

    @app.exception_handler(RequestValidationError)
    async def malformed(request: Request, error: RequestValidationError) -> Response:
        return answer(request, failure(FieldRefused(error.errors()[0], above=1), request), 422)

    @app.exception_handler(HTTPException)
    async def other(request: Request, error: HTTPException) -> Response:
        if not _ours(request) and error.detail != HTTPStatus(error.status_code).phrase:
            told = {"detail": error.detail}
            return JSONResponse(told, status_code=error.status_code, headers=error.headers)
        section = f"http.{error.status_code}"
        words = texts(language_of(request), "errors")
        message = words[section] if section in words else words["internal"]
        return answer(request, Failure(code=section, message=message), error.status_code, error.headers)

    @app.exception_handler(Exception)
    async def unknown(request: Request, error: Exception) -> Response:
        log.error("%s %s failed: %s", request.method, request.url.path, type(error).__name__)
        return answer(request, failure(error, request), 500)


def _ours(request: Request) -> bool:
    """Whether a route of ours answers: LangGraph's, if they are beside them, say themselves what is wrong."""
    endpoint = request.scope.get("endpoint")
    return endpoint is None or str(getattr(endpoint, "__module__", "")).startswith("thoughtcycle.")

"""Translates errors of model clients into ModelFailed by cause, and retries transient ones."""

import asyncio
import re
import socket
from collections.abc import Awaitable, Callable, Set
from functools import partial
from types import TracebackType
from typing import TypeVar

from langchain_core.exceptions import ContextOverflowError, ModelConnectionError, ModelTimeoutError

from thoughtcycle.errors import ModelFailed, ModelRefused, ModelTimeout, ModelTransient, ModelWithoutTools
from thoughtcycle.mind.model_settings import Endpoint

T = TypeVar("T")

PAUSE = 0.2
"""Seconds before a retry when the server named none."""
LONGEST_WAIT = 5.0
"""Longest `Retry-After`, in seconds, that is waited for; the call fails at once for a longer one."""

Failure = Callable[..., ModelFailed]
"""Makes the error of a failure, given the values of its text."""
_KEY, _ADDRESS = partial(ModelRefused, "model_key"), partial(ModelRefused, "model_address")
_DOWN, _UNKNOWN = partial(ModelTransient, "model_down"), partial(ModelFailed, "model_unknown")

_STATUS: dict[int, Failure] = {
    401: _KEY,
    403: _KEY,
    404: _ADDRESS,
    405: _ADDRESS,
    501: _ADDRESS,
    429: partial(ModelTransient, "model_limit"),
}

_TOOLLESS = frozenset({400, 404, 422, 500, 501})
"""How servers refuse a request with tools: no two of them agree."""
_REFUSED = frozenset({400, 422})
_TOOLS = re.compile(r"tools?\b|tool_|function[ _-]?call", re.IGNORECASE)

# Classes of the openai and httpx packages, by name: neither is imported before it is used.
_TIMEOUTS = frozenset({"APITimeoutError", "TimeoutException"})
_CONNECTIONS = frozenset({"APIConnectionError", "TransportError"})
_NEVER_CONNECTED = frozenset({"ConnectError", "ConnectTimeout"})


def to_model_failed(error: Exception, endpoint: Endpoint) -> ModelFailed:
    """The error as ModelFailed, by its cause, without the server's own words: they may echo the key.

    Only an error that no rule knows keeps `error` as its cause.
    """
    if isinstance(error, ModelFailed):
        return error
    status = getattr(error, "status_code", None)
    status = status if isinstance(status, int) else None
    kind = _kind(error, status)
    failure = kind(
        **endpoint.named,
        status=status,
        seconds=f"{endpoint.timeout:g}",
        cause=type(error).__name__,
        retry_after=_retry_after(error),
    )
    failure.__cause__ = error if kind is _UNKNOWN else None
    return failure


class translating_errors:
    """Context manager that turns the errors of a model's client into ModelFailed."""

    def __init__(self, endpoint: Endpoint) -> None:
        self._endpoint = endpoint

    def __enter__(self) -> None:
        return None

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if isinstance(error, Exception):
            failure = to_model_failed(error, self._endpoint)
            raise failure from failure.__cause__  # the server's words stay out of tracebacks


async def call_with_retries(endpoint: Endpoint, call: Callable[[], Awaitable[T]]) -> T:
    """Awaits `call`, each attempt within `endpoint.timeout` seconds; retries transient failures.

    Raises ModelFailed.
    """
    for attempt in range(endpoint.max_retries + 1):
        try:
            with translating_errors(endpoint):
                async with asyncio.timeout(endpoint.timeout):
                    return await call()
        except ModelFailed as failure:
            if attempt == endpoint.max_retries or (pause := retry_delay(failure)) is None:
                raise
        await asyncio.sleep(pause)
    raise AssertionError("the last attempt returns or raises")


def retry_delay(failure: ModelFailed) -> float | None:
    """Seconds to wait before trying again; None when trying again is of no use."""
    if not isinstance(failure, ModelTransient):
        return None
    wait = failure.values.get("retry_after")
    if isinstance(wait, float):
        return wait if wait <= LONGEST_WAIT else None
    return 0.0 if isinstance(failure, ModelTimeout) else PAUSE


def tools_refused(error: Exception, endpoint: Endpoint) -> ModelWithoutTools | None:
    """The error of a server that refused a request because it had tools, or may have; else None."""
    status, named = getattr(error, "status_code", None), bool(_TOOLS.search(str(error)))
    if isinstance(error, ContextOverflowError) or status not in (_TOOLLESS if named else _REFUSED):
        return None
    return ModelWithoutTools(named=named, **endpoint.named)


def _kind(error: Exception, status: int | None) -> Failure:
    if isinstance(error, ContextOverflowError):
        return partial(ModelFailed, "model_overflow")
    if isinstance(error, TimeoutError | ModelTimeoutError) or _is_a(error, _TIMEOUTS) or status == 408:
        return ModelTimeout
    if status is not None:
        return _STATUS.get(status) or (_DOWN if status >= 500 else partial(ModelFailed, "model_request"))
    if isinstance(error, ModelConnectionError | OSError) or _is_a(error, _CONNECTIONS):
        return partial(ModelTransient, "model_unreachable" if _never_connected(error) else "model_cut")
    if isinstance(error, ValueError):
        return partial(ModelFailed, "model_protocol")  # e.g. a web page, or an error with status 200
    if _is_a(error, {"APIError"}):
        return _DOWN  # an error event inside the stream
    return _UNKNOWN


def _retry_after(error: Exception) -> float | None:
    headers = getattr(getattr(error, "response", None), "headers", {})
    try:
        return max(0.0, float(headers.get("retry-after", "")))
    except ValueError:
        return None  # absent, or a date: such waits are long


def _never_connected(error: BaseException) -> bool:
    cause: BaseException | None = error
    while cause is not None:
        if isinstance(cause, ConnectionRefusedError | socket.gaierror) or _is_a(cause, _NEVER_CONNECTED):
            return True
        cause = cause.__cause__ or cause.__context__
    return False


def _is_a(error: BaseException, names: Set[str]) -> bool:
    return any(base.__name__ in names for base in type(error).__mro__)

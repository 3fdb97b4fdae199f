"""What went wrong when a model was called, told by cause; and trying a transient failure again."""

import asyncio
import socket
from collections.abc import Awaitable, Callable, Iterator, Set
from types import TracebackType
from typing import TypeVar

from langchain_core.exceptions import ContextOverflowError, ModelConnectionError, ModelTimeoutError

from thoughtcycle.mind.roles import Endpoint
from thoughtcycle.prompts.errors import ModelFailed

T = TypeVar("T")

TRANSIENT = frozenset({"model_limit", "model_down", "model_timeout", "model_unreachable", "model_cut"})
"""Codes of failures that may pass by themselves."""
PAUSE = 0.2
"""Seconds before a retry when the server named none."""
LONGEST_WAIT = 5.0
"""Seconds of `Retry-After` that are waited for; told to wait longer, the call fails at once."""

_STATUS_CODES = {
    401: "model_key",
    403: "model_key",
    404: "model_address",
    405: "model_address",
    429: "model_limit",
}

# Classes of the openai and httpx packages, by name: neither is imported before it is used.
_TIMEOUTS = frozenset({"APITimeoutError", "TimeoutException"})
_CONNECTIONS = frozenset({"APIConnectionError", "TransportError"})
_NEVER_CONNECTED = frozenset({"ConnectError", "ConnectTimeout"})


def translated(error: Exception, endpoint: Endpoint) -> ModelFailed:
    """The failure by its cause. Nothing of the server's own words gets in: they may echo the key."""
    if isinstance(error, ModelFailed):
        return error
    status = _status(error)
    code = _code(error, status)
    return ModelFailed(
        code,
        **endpoint.named,
        status=status,
        seconds=f"{endpoint.timeout:g}",
        cause=type(error).__name__,
        retry_after=_retry_after(error),
    )


class telling:
    """The one boundary where what a model's client raises becomes ModelFailed."""

    def __init__(self, endpoint: Endpoint) -> None:
        self._endpoint = endpoint

    def __enter__(self) -> None:
        return None

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if not isinstance(error, Exception):
            return
        failure = translated(error, self._endpoint)
        if failure.code == "model_unknown":
            raise failure from error
        raise failure from None  # the server's words stay out of tracebacks


async def persist(endpoint: Endpoint, call: Callable[[], Awaitable[T]]) -> T:
    """What `call` returns, each attempt within `endpoint.timeout` seconds, transient failures tried again.

    Raises ModelFailed.
    """
    for attempt in range(endpoint.max_retries + 1):
        try:
            with telling(endpoint):
                async with asyncio.timeout(endpoint.timeout):
                    return await call()
        except ModelFailed as failure:
            if attempt == endpoint.max_retries or (pause := pause_after(failure)) is None:
                raise
        await asyncio.sleep(pause)
    raise AssertionError("the last attempt returns or raises")


def pause_after(failure: ModelFailed) -> float | None:
    """Seconds to wait before trying again; None when trying again is of no use."""
    if failure.code not in TRANSIENT:
        return None
    wait = failure.values.get("retry_after")
    if isinstance(wait, float):
        return wait if wait <= LONGEST_WAIT else None
    return 0.0 if failure.code == "model_timeout" else PAUSE


def _code(error: Exception, status: int | None) -> str:
    if isinstance(error, ContextOverflowError):
        return "model_overflow"
    if isinstance(error, TimeoutError | ModelTimeoutError) or _is_a(error, _TIMEOUTS) or status == 408:
        return "model_timeout"
    if status is not None:
        return _code_of_status(status)
    if isinstance(error, ModelConnectionError | OSError) or _is_a(error, _CONNECTIONS):
        return "model_unreachable" if _never_connected(error) else "model_cut"
    if isinstance(error, ValueError):
        return "model_protocol"  # e.g. a web page, or an error with status 200
    if _is_a(error, {"APIError"}):
        return "model_down"  # an error event inside the stream
    return "model_unknown"


def _code_of_status(status: int) -> str:
    return _STATUS_CODES.get(status) or ("model_down" if status >= 500 else "model_request")


def _status(error: Exception) -> int | None:
    status = getattr(error, "status_code", None)
    return status if isinstance(status, int) else None


def _retry_after(error: Exception) -> float | None:
    headers = getattr(getattr(error, "response", None), "headers", {})
    try:
        return max(0.0, float(headers.get("retry-after", "")))
    except ValueError:
        return None  # absent, or a date: such waits are long


def _never_connected(error: BaseException) -> bool:
    return any(
        isinstance(cause, ConnectionRefusedError | socket.gaierror) or _is_a(cause, _NEVER_CONNECTED)
        for cause in _causes(error)
    )


def _is_a(error: BaseException, names: Set[str]) -> bool:
    return any(base.__name__ in names for base in type(error).__mro__)


def _causes(error: BaseException) -> Iterator[BaseException]:
    cause: BaseException | None = error
    while cause is not None:
        yield cause
        cause = cause.__cause__ or cause.__context__

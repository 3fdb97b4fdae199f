"""Metrics and log of requests: counts, times and one line each, never a user's words."""

import json
import logging
import traceback
from collections.abc import Callable
from datetime import UTC, datetime
from time import perf_counter
from typing import Any

from prometheus_client import CollectorRegistry, Counter, Gauge, Histogram, generate_latest
from starlette.routing import Route
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from thoughtcycle.memory.text.analyzer import digest

log = logging.getLogger("thoughtcycle.requests")

NO_ROUTE, NO_METHOD = "none", "other"
"""Labels for unknown paths and methods, which are a stranger's words."""
METHODS = frozenset({"GET", "HEAD", "POST", "PUT", "DELETE", "CONNECT", "OPTIONS", "TRACE", "PATCH"})
"""Methods of HTTP (RFC 9110, section 9; RFC 5789)."""
SECONDS = (0.005, 0.02, 0.05, 0.1, 0.15, 0.25, 0.5, 1.0, 2.5, 5.0, 10.0, 60.0)


class ServerMetrics:
    """The metrics of one server, for Prometheus."""

    def __init__(self) -> None:
        self.registry = CollectorRegistry()
        labels = ("method", "route", "status")
        self.requests = Counter("thoughtcycle_requests", "Requests answered", labels, registry=self.registry)
        self.seconds = Histogram(
            "thoughtcycle_request_seconds",
            "Time to the last byte of an answer; of a reply it is that of the turn",
            ("route",),
            buckets=SECONDS,
            registry=self.registry,
        )

    def add_gauge(self, name: str, meaning: str, value: Callable[[], float]) -> None:
        """Adds a gauge that is read on each scrape."""
        Gauge(name, meaning, registry=self.registry).set_function(value)

    def text(self) -> bytes:
        """All metrics in Prometheus' text format."""
        return generate_latest(self.registry)


class MetricsMiddleware:
    """Counts, times and logs each request."""

    def __init__(self, app: ASGIApp, metrics: ServerMetrics) -> None:
        self._app = app
        self._metrics = metrics

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return
        begun, status = perf_counter(), 500

        async def send_and_note(message: Message) -> None:
            nonlocal status
            if message["type"] == "http.response.start":
                status = message["status"]
            await send(message)

        try:
            await self._app(scope, receive, send_and_note)
        finally:
            self._record(scope, status, perf_counter() - begun)

    def _record(self, scope: Scope, status: int, seconds: float) -> None:
        route = scope.get("route")
        path = route.path if isinstance(route, Route) else NO_ROUTE
        method = scope["method"] if scope["method"] in METHODS else NO_METHOD
        self._metrics.requests.labels(method, path, status).inc()
        self._metrics.seconds.labels(path).observe(seconds)
        caller = scope.get("state", {}).get("caller")
        fields = {
            "method": method,
            "route": path,
            "status": status,
            "ms": round(1_000 * seconds, 1),
            "user": digest(caller.user)[:12] if caller is not None else None,
        }
        log.info("request", extra={"fields": fields})


class JsonFormatter(logging.Formatter):
    """Formats log records as JSON lines. Of an exception only type and place: its words may be a user's."""

    def format(self, record: logging.LogRecord) -> str:
        """The line of `record`; `extra={"fields": {...}}` adds to it."""
        line: dict[str, Any] = {
            "at": datetime.fromtimestamp(record.created, UTC).isoformat(timespec="milliseconds"),
            "level": record.levelname.lower(),
            "logger": record.name,
            "message": record.getMessage(),
            **getattr(record, "fields", {}),
        }
        if record.exc_info and (error := record.exc_info[1]) is not None:
            line["error"] = type(error).__name__
            line["trace"] = [
                f"{frame.filename}:{frame.lineno} {frame.name}"
                for frame in traceback.extract_tb(error.__traceback__)
            ]
        return json.dumps(line, ensure_ascii=False)

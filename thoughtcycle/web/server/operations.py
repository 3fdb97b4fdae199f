"""Health, readiness and metrics for operators."""

import asyncio

from fastapi import APIRouter, Request, Response
from fastapi.responses import JSONResponse

from thoughtcycle.errors import StorageFailed
from thoughtcycle.web.auth.middleware import AuthenticatedRoute
from thoughtcycle.web.server.dependencies import MemoryDep
from thoughtcycle.web.server.metrics import ServerMetrics

READY_SECONDS = 2.0
"""Time limit of the readiness check."""
PROBE_USER = "-"
"""A user that does not exist: reading their settings tests the database."""

router = APIRouter(prefix="/-", tags=["operations"])
authenticated = APIRouter(prefix="/-", tags=["operations"], route_class=AuthenticatedRoute)


@router.get("/health")
async def health() -> dict[str, str]:
    """The process answers."""
    return {"status": "alive"}


@router.get("/ready")
async def ready(memory: MemoryDep) -> JSONResponse:
    """Whether the database answers; 503 while it does not. Turns go on from the spool meanwhile."""
    try:
        async with asyncio.timeout(READY_SECONDS):
            await memory.settings(PROBE_USER)
    except (StorageFailed, TimeoutError):
        return JSONResponse({"status": "database away"}, status_code=503)
    return JSONResponse({"status": "ready"})


@authenticated.get("/metrics")
async def metrics(request: Request) -> Response:
    """Counts and times in Prometheus' text format, for callers who prove who they are."""
    counted: ServerMetrics = request.app.state.metrics
    return Response(counted.text(), media_type="text/plain; version=0.0.4; charset=utf-8")

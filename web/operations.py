"""What those who run the server ask of it: is it alive, is it ready, how is it doing."""

import asyncio

from fastapi import APIRouter, Request, Response
from fastapi.responses import JSONResponse

from thoughtcycle.prompts.errors import StorageFailed
from thoughtcycle.web.dependencies import Engine
from thoughtcycle.web.gate import Gated
from thoughtcycle.web.observing import Figures

READY_SECONDS = 2.0
"""How long the database may take to answer a server that is ready."""
PROBE = "-"
"""A user that nobody is: a database that can look for nobody's settings can look for anybody's."""

router = APIRouter(prefix="/-", tags=["operations"])
closed = APIRouter(prefix="/-", tags=["operations"], route_class=Gated)


@router.get("/health")
async def health() -> dict[str, str]:
    """The process answers."""
    return {"status": "alive"}


@router.get("/ready")
async def ready(memory: Engine) -> JSONResponse:
    """Whether the database answers; 503 while it does not. Turns go on from the spool meanwhile."""
    try:
        async with asyncio.timeout(READY_SECONDS):
            await memory.settings(PROBE)
    except (StorageFailed, TimeoutError):
        return JSONResponse({"status": "database away"}, status_code=503)
    return JSONResponse({"status": "ready"})


@closed.get("/metrics")
async def metrics(request: Request) -> Response:
    """Counts and times in Prometheus' text format, for callers who prove who they are."""
    figures: Figures = request.app.state.figures
    return Response(figures.text(), media_type="text/plain; version=0.0.4; charset=utf-8")

"""Routers behind the gate, whose records are named as in Python and in `--json`, not as in the database."""

from collections.abc import Callable
from typing import Any

from fastapi import APIRouter

from thoughtcycle.web.gate import Gated


class _Route(Gated):
    """A route behind the gate that answers with field names."""

    def __init__(self, path: str, endpoint: Callable[..., Any], **options: Any) -> None:
        super().__init__(path, endpoint, **{**options, "response_model_by_alias": False})


def api(prefix: str, tag: str) -> APIRouter:
    """The routes under `prefix`, shown under `tag`."""
    return APIRouter(prefix=prefix, tags=[tag], route_class=_Route)

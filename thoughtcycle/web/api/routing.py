"""Authenticated routers; records have the field names of Python and `--json`, not of the database."""

from collections.abc import Callable
from typing import Any

from fastapi import APIRouter

from thoughtcycle.web.auth.middleware import AuthenticatedRoute


class _Route(AuthenticatedRoute):
    """An authenticated route that answers with field names."""

    def __init__(self, path: str, endpoint: Callable[..., Any], **options: Any) -> None:
        super().__init__(path, endpoint, **{**options, "response_model_by_alias": False})


def api(prefix: str, tag: str) -> APIRouter:
    """The routes under `prefix`, shown under `tag`."""
    return APIRouter(prefix=prefix, tags=[tag], route_class=_Route)

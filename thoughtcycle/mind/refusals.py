"""Remembers what a model at an endpoint refuses, so that it is asked for once (TC-14)."""

import logging
from datetime import UTC, datetime, timedelta
from typing import Literal, Protocol

from thoughtcycle.errors import StorageFailed
from thoughtcycle.mind.model_settings import Endpoint

_log = logging.getLogger(__name__)

LIFE = timedelta(days=7)
"""How long a refusal holds: servers and models are replaced."""

Parameter = Literal["temperature", "reasoning_effort", "max_tokens", "response_format"]
Refused = Literal["tools"] | Parameter


class RefusalStore(Protocol):
    """The part of the database that keeps refusals."""

    async def put(self, name: str, now: datetime, until: datetime) -> None:
        """Stores a name until it expires."""
        ...

    async def names(self, now: datetime) -> dict[str, datetime]:
        """The names that have not expired."""
        ...


class Refusals:
    """What models refuse, in this process and, once a store is attached, in the database."""

    def __init__(self) -> None:
        self._until: dict[str, datetime] = {}
        self._store: RefusalStore | None = None
        self._read = False

    def attach(self, store: RefusalStore) -> None:
        """Sets the store, which is read when first asked."""
        if store is not self._store:
            self._store, self._read = store, False

    async def holds(self, what: Refused, endpoint: Endpoint) -> bool:
        """Whether the model refuses it."""
        if self._store is not None and not self._read:
            self._read = True
            try:
                self._until |= await self._store.names(_now())
            except StorageFailed:
                self._read = False
        until = self._until.get(_name(what, endpoint))
        return until is not None and until > _now()

    async def learn(self, what: Refused, endpoint: Endpoint) -> None:
        """Remembers a refusal for a week, with one line of the log."""
        name, until = _name(what, endpoint), _now() + LIFE
        _log.warning("%s at %s goes without %s for %d days", endpoint.model, endpoint.host, what, LIFE.days)
        self._until[name] = until
        if self._store is not None:
            try:
                await self._store.put(name, _now(), until)
            except StorageFailed as failure:
                _log.warning("it is not kept: %s", failure.code)


def _name(what: Refused, endpoint: Endpoint) -> str:
    return f"{what} {endpoint.host} {endpoint.model}"


def _now() -> datetime:
    return datetime.now(UTC)

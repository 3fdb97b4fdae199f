"""Published keys that check tokens: cached, and renewed in the background."""

import asyncio
import json
import logging
import time
from collections.abc import Callable

import httpx
from jwt import PyJWK, PyJWKSet, PyJWTError

from thoughtcycle.errors import AuthUnavailable

log = logging.getLogger(__name__)

FRESH_SECONDS = 600.0
"""Age after which the keys are fetched again, in the background of a request that uses the cached ones."""
STALE_SECONDS = 86_400.0
"""Age up to which keys serve that could not be renewed."""
PAUSE_SECONDS = 30.0
"""Least time between two fetches: tokens with unknown key ids must not make this server send requests."""
MOST_BYTES = 1_000_000
KEY_TYPES = ("RSA", "EC")
"""A published shared secret ("oct") would be no secret."""


class PublishedKeys:
    """The key set at an address (RFC 7517)."""

    def __init__(
        self,
        url: str,
        *,
        transport: httpx.AsyncBaseTransport | None = None,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self._url = url
        self._transport = transport
        self._clock = clock
        self._keys: tuple[PyJWK, ...] = ()
        self._fetched = self._tried = -float("inf")
        self._fetching: asyncio.Task[None] | None = None

    async def find(self, key_id: str | None) -> PyJWK | None:
        """The key of that id, or the only one when a token names none.

        Raises AuthUnavailable when there are no keys that may still be trusted.
        """
        age = self._clock() - self._fetched
        found = self._cached(key_id)
        if age > FRESH_SECONDS or found is None:
            renewal = self._renewal()
            if renewal is not None and (found is None or age > STALE_SECONDS):
                await asyncio.shield(renewal)
                found = self._cached(key_id)
        if self._clock() - self._fetched > STALE_SECONDS:
            raise AuthUnavailable()
        return found

    def _cached(self, key_id: str | None) -> PyJWK | None:
        if key_id is None:
            return self._keys[0] if len(self._keys) == 1 else None
        return next((key for key in self._keys if key.key_id == key_id), None)

    def _renewal(self) -> "asyncio.Task[None] | None":
        """The fetch under way, or a new one unless the last was just now."""
        if self._fetching is not None and not self._fetching.done():
            return self._fetching
        if self._clock() - self._tried < PAUSE_SECONDS:
            return None
        self._tried = self._clock()
        self._fetching = asyncio.create_task(self._renew())
        return self._fetching

    async def _renew(self) -> None:
        try:
            keys = PyJWKSet.from_dict(json.loads(await self._fetch())).keys
        except (httpx.HTTPError, ValueError, TypeError, AttributeError, RecursionError, PyJWTError) as error:
            log.warning("the published keys could not be fetched: %s", type(error).__name__)
            return
        self._keys = tuple(key for key in keys if key.key_type in KEY_TYPES and key.public_key_use != "enc")
        self._fetched = self._clock()

    async def _fetch(self) -> bytes:
        """The document; httpx.HTTPError or ValueError when it is none or too large."""
        client = await asyncio.to_thread(httpx.AsyncClient, timeout=5.0, transport=self._transport)
        async with client, client.stream("GET", self._url) as response:
            response.raise_for_status()
            parts = []
            async for part in response.aiter_bytes():
                parts.append(part)
                if sum(map(len, parts)) > MOST_BYTES:
                    raise ValueError("too large")
            return b"".join(parts)

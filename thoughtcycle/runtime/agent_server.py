"""The records that LangGraph's own server keeps beside the checkpoints: values of threads, inputs of runs."""

import asyncio
import json
import logging
import os
from collections.abc import Iterable, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from datetime import datetime
from pathlib import Path
from typing import Any
from uuid import UUID

import httpx
from langgraph_sdk import get_client
from langgraph_sdk.client import LangGraphClient
from langgraph_sdk.errors import APIError, NotFoundError
from langgraph_sdk.schema import Run

from thoughtcycle.checkpoints.factory import Saver
from thoughtcycle.checkpoints.retention import keeping_states
from thoughtcycle.memory.memory import Memory
from thoughtcycle.memory.redaction import Mask
from thoughtcycle.memory.text.spans import HIDDEN
from thoughtcycle.nodes.base.redaction import redacted

log = logging.getLogger(__name__)

FILES = Path(".langgraph_api")
"""Where `langgraph dev` keeps its records, in the folder it was started in."""
WAIT_SECONDS = 10.0
"""How long an erasure waits for a run that asked for it: its last step is done."""
_PAGE = 100


@dataclass(frozen=True)
class ServerRecords:
    """The server's records as a place to erase from, by the server's own API; within its process only."""

    memory: Memory = field(compare=False)
    saver: Saver

    async def __call__(self, user: str, chats: Sequence[str], mask: Mask) -> int:
        """Deletes ended runs whose input has words of `mask`, and renews the values of redacted threads.

        A thread in which a run is under way gets its values from that run.
        """
        final = (await self.memory.erasure.final_mask(user)).memories
        count = 0
        async with get_client() as client:
            for thread in _thread_ids((*chats, *await self.saver.athreads_of(user))):
                try:
                    count += await _delete_runs(client, thread, mask, wait=mask.memories <= final)
                    count += await _renew_values(client, thread)
                except NotFoundError:
                    continue
                except (APIError, httpx.HTTPError) as failure:
                    log.warning("the server's records of a thread keep what was deleted: %s", failure)
                    count += 1
        return count

    async def delete(self, threads: Iterable[str]) -> int:
        """Deletes these threads with their runs; how many could not be deleted."""
        left = 0
        async with get_client() as client:
            for thread in _thread_ids(threads):
                try:
                    await client.threads.delete(thread)
                except NotFoundError:
                    continue
                except (APIError, httpx.HTTPError) as failure:
                    log.warning("the server's records of a thread could not be deleted: %s", failure)
                    left += 1
        return left


def make_files_private() -> None:
    """Has files that this process makes readable by its user only, and those of the server that exist."""
    os.umask(0o077)
    if FILES.is_dir():
        FILES.chmod(0o700)
        for file in FILES.iterdir():
            with suppress(FileNotFoundError):  # it is being replaced
                file.chmod(0o600)


async def _delete_runs(client: LangGraphClient, thread: str, mask: Mask, *, wait: bool) -> int:
    """`wait`: for runs that began before the deletion and have not ended."""
    until = max((one.until for one in mask.traces), default=None) if wait else None
    count = offset = 0
    while runs := await client.runs.list(thread, limit=_PAGE, offset=offset):
        for run in runs:
            if not await _told(run, mask) or not await _ended(client, run, until):
                offset += 1
                continue
            with keeping_states():
                await client.runs.delete(thread, run["run_id"])
            count += 1
    return count


async def _ended(client: LangGraphClient, run: Run, until: datetime | None) -> bool:
    """Whether a run has ended; one that began before `until` is waited for."""
    if run["status"] not in ("pending", "running"):
        return True
    if until is None or datetime.fromisoformat(str(run["created_at"])) > until:
        return False
    with suppress(TimeoutError):
        async with asyncio.timeout(WAIT_SECONDS):
            await client.runs.join(run["thread_id"], run["run_id"])
            return True
    return False


async def _renew_values(client: LangGraphClient, thread: str) -> int:
    """Has a thread show its last state, if words were taken out of that; whether they were."""
    known = await client.threads.get(thread)
    if known["status"] == "busy":
        return 0
    state = await client.threads.get_state(thread)
    if _blanks(state["values"]) <= _blanks(known.get("values")):
        return 0
    await client.threads.update_state(thread, None)
    return 1


def _blanks(values: Any) -> int:
    return json.dumps(values, default=str, ensure_ascii=False).count(HIDDEN)


async def _told(run: Run, mask: Mask) -> bool:
    """Whether a run's input has words of `mask`."""
    given = dict(run).get("kwargs") or {}
    return bool(await asyncio.to_thread(redacted, given, mask) != given)


def _thread_ids(names: Iterable[str]) -> list[str]:
    """The `names` that may be threads of the server."""
    found = set()
    for name in names:
        with suppress(ValueError):
            found.add(str(UUID(name)))
    return sorted(found)

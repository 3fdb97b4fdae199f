"""Checks that memories and files name each other, and removes files that no memory names."""

import hashlib
from collections.abc import AsyncIterator, Mapping

from thoughtcycle.memory.model import IntegrityIssue
from thoughtcycle.memory.storage import Storage


async def file_flaws(storage: Storage, user: str, named: Mapping[str, str]) -> AsyncIterator[IntegrityIssue]:
    """What is wrong with the user's files; `named`: hash → a memory, not erased, that names it.

    Reads every file: its bytes must have the hash under which they are kept.
    """
    there = await storage.files.listing(user)
    for sha256, memory in named.items():
        if sha256 not in there:
            yield IntegrityIssue("file_missing", {"memory": memory, "file": sha256})
    for sha256 in there:
        if sha256 not in named:
            yield IntegrityIssue("file_stray", {"file": sha256})
            continue
        data = await storage.files.get(user, sha256)
        if data is not None and hashlib.sha256(data).hexdigest() != sha256:
            yield IntegrityIssue("file_damaged", {"memory": named[sha256], "file": sha256})

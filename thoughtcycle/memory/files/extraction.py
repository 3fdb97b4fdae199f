"""Checks a file to be stored and extracts its text; PDF and DOCX in a child process."""

import asyncio
import hashlib
import json
import os
import re
import subprocess
import sys
from collections.abc import Mapping
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from thoughtcycle.errors import InputRefused
from thoughtcycle.extras import extra_missing
from thoughtcycle.memory.files import extraction_child
from thoughtcycle.memory.files.file_types import DOCX, PDF, checked_name, checked_type, image_size
from thoughtcycle.memory.model import Attachment, FileContent

_KINDS = {PDF: "pdf", DOCX: "docx"}
_KEPT = ("PATH", "SYSTEMROOT", "LD_LIBRARY_PATH")
"""Environment variables that a process needs to start; a hostile file reaches no key."""
LONGEST_CAPTION = 300
_CONTROLS = re.compile(r"[\x00-\x08\x0b-\x1f\x7f-\x9f]")
_BINARY = re.compile(r"[\x00-\x08\x0e-\x1a\x1c-\x1f]")
"""Control characters that no text file has: all but white space and escape."""
_READERS = ThreadPoolExecutor(2, thread_name_prefix="file")
"""Own threads, so that a few slow files do not use up those of the event loop."""


@dataclass(frozen=True)
class FileLimits:
    """Limits for reading one file."""

    bytes: int = 10_000_000
    characters: int = 100_000
    """Of its text that is kept."""
    pages: int = 2_000
    seconds: float = 20.0
    memory: int = 1_000_000_000
    """Bytes that the process which reads it may take."""


DEFAULT = FileLimits()


async def look_at(
    name: str, data: bytes, *, caption: str = "", claimed: str | None = None, limits: FileLimits = DEFAULT
) -> Attachment:
    """The file with its text, checked; nothing is stored yet.

    `claimed` is the media type that came with it. Raises InputRefused: 'file_name', 'file_empty',
    'file_too_large', 'file_type', 'file_mismatch', 'file_unsafe', 'file_encrypted', 'file_unreadable',
    'file_slow', 'extra_missing'.
    """
    name = checked_name(name)
    if not data:
        raise InputRefused("file_empty", name=repr(name))
    if len(data) > limits.bytes:
        raise InputRefused("file_too_large", name=repr(name), size=len(data), largest=limits.bytes)
    child, loop = _Child(), asyncio.get_running_loop()
    try:
        return await loop.run_in_executor(_READERS, _extract, name, data, caption, claimed, limits, child)
    except asyncio.CancelledError:
        child.kill()
        raise


class _Child:
    """The process that reads a file, killed when its caller is cancelled."""

    def __init__(self) -> None:
        self._process: subprocess.Popen[bytes] | None = None
        self._killed = False

    def started(self, process: "subprocess.Popen[bytes]") -> None:
        """Registers the process; the caller on the other thread may be cancelled already."""
        self._process = process
        if self._killed:
            process.kill()

    def kill(self) -> None:
        """Kills the process, now or as soon as it starts."""
        self._killed = True
        if self._process is not None:
            self._process.kill()


def _extract(
    name: str, data: bytes, caption: str, claimed: str | None, limits: FileLimits, child: _Child
) -> Attachment:
    media_type, text = checked_type(name, data, claimed), ""
    facts: Mapping[str, Any]
    if media_type.startswith("image/"):
        facts = image_size(name, media_type, data)._asdict()
    else:
        parsed = media_type in _KINDS
        found = _parse_in_child(name, media_type, data, limits, child) if parsed else _decoded(name, data)
        text = _printable(str(found["text"]))
        complete = bool(found["complete"]) and len(text) <= limits.characters
        text = text[: limits.characters].strip()
        facts = {"characters": len(text), "complete": complete, "pages": found.get("pages")}
    content = FileContent(
        sha256=hashlib.sha256(data).hexdigest(),
        name=name,
        media_type=media_type,
        size=len(data),
        caption=" ".join(_printable(caption).split())[:LONGEST_CAPTION],
        **facts,
    )
    return Attachment(content=content, text=text, data=data)


def _decoded(name: str, data: bytes) -> Mapping[str, Any]:
    """A text file: UTF-8, UTF-16 with its mark, else the Windows code page of Western Europe."""
    codes = ("utf-16",) if data.startswith((b"\xff\xfe", b"\xfe\xff")) else ("utf-8-sig", "cp1252")
    for code in codes:
        try:
            text = data.decode(code)
        except UnicodeDecodeError:
            continue
        if _BINARY.search(text) is None:
            return {"text": text, "complete": True}
    raise InputRefused("file_unreadable", name=repr(name))


def _printable(text: str) -> str:
    """`text` without control characters and lone surrogates, which databases and terminals refuse."""
    return _CONTROLS.sub("", text).encode(errors="ignore").decode()


def _parse_in_child(
    name: str, media_type: str, data: bytes, limits: FileLimits, child: _Child
) -> Mapping[str, Any]:
    """The JSON output of the child process, which has no access to the loop, the database or the keys."""
    numbers = (limits.characters, limits.pages, max(1, round(limits.seconds)), limits.memory)
    command = [sys.executable, "-I", str(Path(extraction_child.__file__)), _KINDS[media_type]]
    environment = {name: os.environ[name] for name in _KEPT if name in os.environ}
    pipe, slow = subprocess.PIPE, InputRefused("file_slow", name=repr(name), seconds=limits.seconds)
    with subprocess.Popen(
        [*command, *map(str, numbers)], stdin=pipe, stdout=pipe, stderr=subprocess.DEVNULL, env=environment
    ) as process:
        child.started(process)
        try:
            output, _ = process.communicate(data, timeout=limits.seconds + 5)
        except subprocess.TimeoutExpired as error:
            process.kill()
            raise slow from error
    if process.returncode != 0:  # killed by its limits
        raise slow
    found: dict[str, Any] = json.loads(output)
    if "missing" in found:
        raise extra_missing("documents", repr(name))
    if code := found.get("refused"):
        raise InputRefused(code, name=repr(name))
    return found

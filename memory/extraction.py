"""Looks at a file that shall be kept: checks it, and reads its text in a process of its own."""

import asyncio
import hashlib
import json
import os
import subprocess
import sys
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from thoughtcycle.memory import extraction_child
from thoughtcycle.memory.file_types import DOCX, PDF, checked_name, checked_type, image_size
from thoughtcycle.memory.media import Attachment, FileContent
from thoughtcycle.prompts.errors import InputRefused

_KINDS = {PDF: "pdf", DOCX: "docx"}
_KEPT = ("PATH", "SYSTEMROOT", "LD_LIBRARY_PATH")
"""Of the environment what a process needs to start; no key is in the reach of a hostile file."""
LONGEST_CAPTION = 300


@dataclass(frozen=True)
class FileLimits:
    """How far the reading of one file may go."""

    bytes: int = 10_000_000
    characters: int = 100_000
    """Of its text that is kept."""
    pages: int = 2_000
    seconds: float = 20.0
    memory: int = 1_000_000_000
    """Bytes that the process which reads it may take."""


DEFAULT = FileLimits()


async def look_at(
    name: str,
    data: bytes,
    *,
    caption: str = "",
    claimed: str | None = None,
    limits: FileLimits = DEFAULT,
) -> Attachment:
    """The file with its text, checked; nothing is kept of it yet.

    `claimed` is the media type that came with it. Raises InputRefused: 'file_name', 'file_empty',
    'file_too_large', 'file_type', 'file_mismatch', 'file_unsafe', 'file_encrypted', 'file_unreadable',
    'file_slow', 'documents_missing'.
    """
    name = checked_name(name)
    if not data:
        raise InputRefused("file_empty", name=repr(name))
    if len(data) > limits.bytes:
        raise InputRefused("file_too_large", name=repr(name), size=len(data), largest=limits.bytes)
    return await asyncio.to_thread(_look_at, name, data, caption, claimed, limits)


def _look_at(name: str, data: bytes, caption: str, claimed: str | None, limits: FileLimits) -> Attachment:
    media_type = checked_type(name, data, claimed)
    told: Mapping[str, Any] = {}
    text = ""
    if media_type.startswith("image/"):
        told = image_size(name, media_type, data)._asdict()
    else:
        found = _read_apart(name, media_type, data, limits) if media_type in _KINDS else _decoded(name, data)
        text = _printable(str(found["text"]))
        complete = bool(found["complete"]) and len(text) <= limits.characters
        text = text[: limits.characters].strip()
        told = {"characters": len(text), "complete": complete, "pages": found.get("pages")}
    content = FileContent(
        sha256=hashlib.sha256(data).hexdigest(),
        name=name,
        media_type=media_type,
        size=len(data),
        caption=" ".join(_printable(caption).split())[:LONGEST_CAPTION],
        **told,
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
        if not any(ord(one) < 32 and one not in "\t\n\r\f\v\x1b" for one in text):
            return {"text": text, "complete": True}
    raise InputRefused("file_unreadable", name=repr(name))


def _printable(text: str) -> str:
    """`text` without what no database and no terminal takes."""
    return (
        "".join(one for one in text if one in "\n\t" or (ord(one) >= 32 and not 0x7F <= ord(one) < 0xA0))
        .encode(errors="ignore")
        .decode()
    )


def _read_apart(name: str, media_type: str, data: bytes, limits: FileLimits) -> Mapping[str, Any]:
    """What the child process tells of the file; it has no way to the loop, the database or the keys."""
    numbers = (limits.characters, limits.pages, max(1, round(limits.seconds)), limits.memory)
    command = [sys.executable, "-I", str(Path(extraction_child.__file__)), _KINDS[media_type]]
    environment = {name: os.environ[name] for name in _KEPT if name in os.environ}
    try:
        done = subprocess.run(
            [*command, *map(str, numbers)],
            input=data,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            timeout=limits.seconds + 5,
            env=environment,
            check=False,
        )
    except subprocess.TimeoutExpired as error:
        raise InputRefused("file_slow", name=repr(name), seconds=limits.seconds) from error
    if done.returncode != 0:  # killed by its limits
        raise InputRefused("file_slow", name=repr(name), seconds=limits.seconds)
    found: dict[str, Any] = json.loads(done.stdout)
    if code := found.get("refused"):
        raise InputRefused(code, name=repr(name))
    return found

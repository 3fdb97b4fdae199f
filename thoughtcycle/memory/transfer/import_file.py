"""A file that is to be imported: what it is, and whether it is whole (pure but for reading it)."""

import json
import re
import zipfile
import zlib
from collections.abc import Callable, Generator, Iterator
from contextlib import closing, contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import IO, Any, Literal

from thoughtcycle.errors import InputRefused
from thoughtcycle.memory.model import without_null
from thoughtcycle.memory.transfer.format import (
    FORMAT,
    OF,
    STORE,
    VERSION,
    Line,
    to_access,
    to_change,
    to_chat,
    to_cycle,
    to_memory,
)
from thoughtcycle.memory.transfer.format_documents import to_sheet
from thoughtcycle.memory.transfer.format_files import Parts
from thoughtcycle.memory.transfer.import_foreign import ForeignChat, chat_of
from thoughtcycle.memory.transfer.json_list import LONGEST, objects

_CONVERSATIONS = re.compile(r"(.*/)?conversations(-\d+)?\.json")
"""Large exports of ChatGPT come in several numbered files."""
_HARMLESS, _DENSEST = 50_000_000, 50
"""Bytes beyond which conversations may not unpack to more than so many times the zip: theirs are 5 to 15."""
_CHECKS: dict[str, Callable[[Line, str], Any]] = {
    "chat": to_chat,
    "cycle": to_cycle,
    "memory": lambda line, user: (to_memory(line, user), to_access(line)),
    "version": lambda line, user: (to_memory(line, user), to_access(line)),
    "change": to_change,
    "sheet": to_sheet,
}


@dataclass
class Contents:
    """What a file of our own holds, without what was said."""

    user: str
    counted: dict[str, int] = field(default_factory=dict)
    places: dict[str, int] = field(default_factory=dict)
    """Memory → where its last line begins."""


def kind_of(path: Path) -> Literal["own", "foreign"]:
    """Whose format the file has; raises InputRefused where it has none, or cannot be read."""
    with _reading(path):
        if zipfile.is_zipfile(path):
            return "foreign"
        with path.open("rb") as file:
            start = file.read(4096).lstrip(b"\xef\xbb\xbf \t\r\n")
    if start.startswith(b"["):
        return "foreign"
    if start.startswith(b"{") and FORMAT.encode() in start.split(b"\n", 1)[0]:
        return "own"
    raise InputRefused("import_unknown", path=repr(str(path)))


def chats(path: Path) -> Generator[ForeignChat, None, None]:
    """The conversations of an export of ChatGPT or Claude: conversations.json, or the zip that holds it.

    Raises InputRefused('import_damaged') where one cannot be read, 'import_unknown' where there are none.
    """
    with _reading(path):
        for name, file in _files(path):
            with closing(file):
                for number, conversation in enumerate(_checked(objects(file), path, name), 1):
                    if conversation.get("mapping", conversation.get("chat_messages")) is None:
                        continue  # ChatGPT's files hold shells of conversations that are gone
                    try:
                        yield chat_of(conversation)
                    except ValueError as error:
                        raise InputRefused(
                            "import_damaged", path=repr(str(path)), place=f"{name}: {number}"
                        ) from error


def _checked(found: Iterator[Line], path: Path, name: str) -> Iterator[Line]:
    number = 1
    try:
        for one in found:
            yield one
            number += 1
    except (ValueError, zipfile.BadZipFile, zlib.error, EOFError) as error:
        raise InputRefused("import_damaged", path=repr(str(path)), place=f"{name}: {number}") from error


def _files(path: Path) -> Iterator[tuple[str, IO[bytes]]]:
    if not zipfile.is_zipfile(path):
        yield path.name, path.open("rb")
        return
    with zipfile.ZipFile(path) as archive:
        found = [one for one in archive.infolist() if _CONVERSATIONS.fullmatch(one.filename)]
        if not found:
            raise InputRefused("import_unknown", path=repr(str(path)))
        if sum(one.file_size for one in found) > max(_HARMLESS, _DENSEST * path.stat().st_size):
            raise InputRefused("file_unsafe", name=repr(str(path)))
        for one in sorted(found, key=lambda one: one.filename):
            yield one.filename, archive.open(one)


def lines(path: Path, start: int = 0) -> Iterator[tuple[int, Line]]:
    """Where each line of a file of our own begins, and the line; raises InputRefused('import_damaged')."""
    with _reading(path), path.open("rb") as file:
        number, at = 0, file.seek(start)
        while text := file.readline(LONGEST):
            number += 1
            try:
                line = json.loads(text)
                if b"\\ud" in text or b"\\uD" in text:
                    json.dumps(line, ensure_ascii=False).encode()  # half a character is no text
                if b"\\u0000" in text:
                    line = without_null(line)
                if not isinstance(line, dict) or not isinstance(line.get("line"), str):
                    raise ValueError("a line of another form")
            except (ValueError, RecursionError) as error:
                raise InputRefused("import_damaged", path=repr(str(path)), place=number) from error
            yield at, line
            at += len(text)


def line_at(path: Path, place: int) -> Line:
    """The line that begins at `place`."""
    return next(lines(path, place))[1]


def checked(path: Path) -> Iterator[tuple[Line, Contents]]:
    """Each line of a file of our own, once it was found to be right; the contents grow along.

    Raises InputRefused: 'import_version' for a newer format, 'import_damaged' for a line that is not right
    or out of order, and for a file that is not whole.
    """
    contents, chat, ended, number, parts = Contents(""), "", False, 0, Parts()
    for number, (at, line) in enumerate(lines(path), 1):
        kind = line["line"]
        try:
            if parts.begun and kind != "file":
                raise ValueError("a file that is not whole")
            if number == 1:
                contents.user = _header(line)
            elif kind == "end":
                ended = line["lines"] == contents.counted
                break
            elif kind in _CHECKS:
                _CHECKS[kind](line, contents.user)
            elif kind == "file":
                parts.add(line)
            elif kind not in ("hidden", "link"):  # who is who on a channel is proved anew
                raise ValueError(f"unknown line {kind!r}")
            if line.get(OF, STORE) != STORE:
                raise ValueError(f"lines of {line[OF]!r}")
            if kind == "chat":
                chat = line["id"]
            if kind == "cycle" and line["chat"] != chat:
                raise ValueError("a cycle of another chat")
        except (ValueError, TypeError, KeyError, AttributeError) as error:
            raise InputRefused("import_damaged", path=repr(str(path)), place=number) from error
        if number > 1:
            contents.counted[kind] = contents.counted.get(kind, 0) + 1
        if kind in ("memory", "version"):
            contents.places[line["_id"]] = at
        yield line, contents
    if not ended:
        raise InputRefused("import_damaged", path=repr(str(path)), place=number)


def _header(line: Line) -> str:
    if line["line"] != "header" or line["format"] != FORMAT or not isinstance(line["user"], str):
        raise ValueError("another header")
    if line["version"] != VERSION:
        raise InputRefused("import_version", found=repr(line["version"]), known=VERSION)
    return line["user"]


@contextmanager
def _reading(path: Path) -> Iterator[None]:
    """Raises InputRefused('import_unreadable') where the file cannot be read."""
    try:
        yield
    except OSError as error:
        raise InputRefused("import_unreadable", path=repr(str(path)), cause=error) from error

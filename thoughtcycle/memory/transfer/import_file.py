"""Reads a file to be imported: detects its format and checks every line."""

import asyncio
import codecs
import json
import re
import zipfile
import zlib
from collections.abc import AsyncIterator, Callable, Generator, Iterator
from contextlib import closing, contextmanager
from dataclasses import dataclass, field
from itertools import islice
from pathlib import Path
from typing import IO, Literal, TypeVar

from thoughtcycle.errors import InputRefused
from thoughtcycle.memory.model import without_null
from thoughtcycle.memory.transfer.format import (
    FORMAT,
    OF,
    STORE,
    VERSION,
    FileParts,
    Line,
    to_access,
    to_change,
    to_chat,
    to_cycle,
    to_memory,
)
from thoughtcycle.memory.transfer.format_documents import to_document
from thoughtcycle.memory.transfer.import_foreign import ForeignChat, chat_of

_CONVERSATIONS = re.compile(r"(.*/)?conversations(-\d+)?\.json")
"""Large exports of ChatGPT come in several numbered files."""
_HARMLESS, _DENSEST = 50_000_000, 50
"""Bytes beyond which conversations may unpack to at most so many times the zip: genuine ones to 5 to 15."""
_PIECE = 1 << 20
_WORD = re.compile(r"\S")
LONGEST = 1 << 26
"""Characters of one object; a longer one is taken for a damaged file."""
T = TypeVar("T")


def _to_memory(line: Line, user: str) -> object:
    return to_memory(line, user), to_access(line)


_CHECKS: dict[str, Callable[[Line, str], object]] = {
    "chat": to_chat,
    "cycle": to_cycle,
    "memory": _to_memory,
    "version": _to_memory,
    "change": to_change,
    "sheet": to_document,
}


@dataclass
class Contents:
    """Counts and places of the lines of an own export."""

    user: str
    counted: dict[str, int] = field(default_factory=dict)
    places: dict[str, int] = field(default_factory=dict)
    """Memory → byte offset of its last line."""


def kind_of(path: Path) -> Literal["own", "foreign"]:
    """The format of the file; raises InputRefused where it is unknown or the file cannot be read."""
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
            number = 1
            with closing(file):
                try:
                    for conversation in objects(file):
                        # ChatGPT's files hold shells of conversations that are gone
                        if conversation.get("mapping", conversation.get("chat_messages")) is not None:
                            yield chat_of(conversation)
                        number += 1
                except (ValueError, zipfile.BadZipFile, zlib.error, EOFError) as error:
                    place = f"{name}: {number}"
                    raise InputRefused("import_damaged", path=repr(str(path)), place=place) from error


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
    """The byte offset of each line of an own export, and the line; raises InputRefused('import_damaged')."""
    with _reading(path), path.open("rb") as file:
        number, at = 0, file.seek(start)
        while text := file.readline(LONGEST):
            number += 1
            try:
                line = json.loads(text)
                if b"\\ud" in text or b"\\uD" in text:
                    json.dumps(line, ensure_ascii=False).encode()  # a lone surrogate raises ValueError
                if b"\\u0000" in text:
                    line = without_null(line)
                if not isinstance(line, dict) or not isinstance(line.get("line"), str):
                    raise ValueError("a line of another form")
            except (ValueError, RecursionError) as error:
                raise InputRefused("import_damaged", path=repr(str(path)), place=number) from error
            yield at, line
            at += len(text)


def checked(path: Path) -> Iterator[tuple[Line, Contents]]:
    """Each valid line of an own export, with the contents up to it.

    Raises InputRefused: 'import_version' for a newer format, 'import_damaged' for a line that is invalid
    or out of order, and for a file that is incomplete.
    """
    contents, chat, ended, number, parts = Contents(""), "", False, 0, FileParts()
    for number, (at, line) in enumerate(lines(path), 1):
        kind = line["line"]
        try:
            if parts.begun and kind != "file":
                raise ValueError("an incomplete file")
            if number == 1:
                contents.user = _header(line)
            elif kind == "end":
                ended = line["lines"] == contents.counted
                break
            elif kind in _CHECKS:
                _CHECKS[kind](line, contents.user)
            elif kind == "file":
                parts.add(line)
            elif kind not in ("hidden", "link"):  # a channel has to be linked again
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


async def batches(found: Iterator[T], size: int) -> AsyncIterator[list[T]]:
    """`found` in lists of at most `size`, read off the event loop."""
    while batch := await asyncio.to_thread(lambda: list(islice(found, size))):
        yield batch


def objects(file: IO[bytes]) -> Iterator[Line]:
    """The objects of the list that `file` holds as UTF-8.

    Raises ValueError where it is no list of objects, ends too early, or holds an object that is too long.
    """
    text = _JsonReader(file)
    text.expect("[")
    if text.skip() == "]":
        return
    while True:
        if text.skip() != "{":
            raise ValueError("an object was expected")
        yield text.value()
        if text.skip() == "]":
            return
        text.expect(",")


class _JsonReader:
    """Parses JSON in a sliding window over a file."""

    def __init__(self, file: IO[bytes]) -> None:
        self._file = file
        self._decoder = codecs.getincrementaldecoder("utf-8-sig")()
        self._parser = json.JSONDecoder()
        self._window, self._at, self._ended = "", 0, False

    def skip(self) -> str:
        """The next character that is not white space; '' at the end."""
        while True:
            if (found := _WORD.search(self._window, self._at)) is not None:
                self._at = found.start()
                return found[0]
            self._at = len(self._window)
            if not self._more():
                return ""

    def expect(self, character: str) -> None:
        """Goes past `character`."""
        if self.skip() != character:
            raise ValueError(f"{character} was expected")
        self._at += 1

    def value(self) -> Line:
        """The object that begins here."""
        while True:
            try:
                value, self._at = self._parser.raw_decode(self._window, self._at)
            except RecursionError as error:
                raise ValueError("too deep") from error
            except json.JSONDecodeError:
                if len(self._window) - self._at > LONGEST or not self._more():
                    raise
            else:
                return dict(value)

    def _more(self) -> bool:
        """At least doubles the rest of the window, so that a long object is parsed a few times only."""
        if self._ended:
            return False
        data = self._file.read(max(_PIECE, len(self._window) - self._at))
        self._ended = not data
        self._window = self._window[self._at :] + self._decoder.decode(data, final=self._ended)
        self._at = 0
        return not self._ended

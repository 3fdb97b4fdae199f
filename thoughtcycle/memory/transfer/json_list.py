"""Reads the objects of a JSON list one by one, however long the list is."""

import codecs
import json
import re
from collections.abc import Iterator
from typing import IO, Any

_PIECE = 1 << 20
_WORD = re.compile(r"\S")
LONGEST = 1 << 26
"""Characters of one object; a longer one is taken for a damaged file."""


def objects(file: IO[bytes]) -> Iterator[dict[str, Any]]:
    """The objects of the list that `file` holds as UTF-8.

    Raises ValueError where it is no list of objects, ends too early, or holds an object that is too long.
    """
    text = _Text(file)
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


class _Text:
    """A sliding window over the file."""

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

    def value(self) -> dict[str, Any]:
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

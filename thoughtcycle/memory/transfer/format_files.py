"""Files in an export: the lines of each, and what puts them together again (pure)."""

import base64
import binascii
import hashlib
from collections.abc import Iterator

from thoughtcycle.memory.transfer.format import Line

_PART = 3_000_000
"""Bytes of a file in one line."""


def file_lines(sha256: str, data: bytes) -> Iterator[Line]:
    """A file in as many lines as it takes."""
    for start in range(0, len(data), _PART):
        part = base64.b64encode(data[start : start + _PART]).decode()
        yield {"line": "file", "sha256": sha256, "size": len(data), "start": start, "data": part}


class Parts:
    """Puts the lines of files together, in the order of the export."""

    def __init__(self) -> None:
        self._sha256, self._size = "", 0
        self._data = bytearray()

    @property
    def begun(self) -> bool:
        """Whether a file is not whole yet."""
        return bool(self._data)

    def add(self, line: Line) -> bytes | None:
        """The file that ends with this line; None when it goes on. Raises ValueError where it is not next."""
        try:
            part = base64.b64decode(line["data"], validate=True)
        except (binascii.Error, TypeError) as error:
            raise ValueError("a part of a file that is no base64") from error
        if not self._data:
            self._sha256, self._size = line["sha256"], line["size"]
        fits = (line["sha256"], line["size"], line["start"]) == (self._sha256, self._size, len(self._data))
        self._data += part
        if not fits or not part or len(self._data) > self._size:
            raise ValueError("a part of another file")
        if len(self._data) < self._size:
            return None
        data, self._data = bytes(self._data), bytearray()
        if hashlib.sha256(data).hexdigest() != self._sha256:
            raise ValueError("a file that is not the one its hash names")
        return data

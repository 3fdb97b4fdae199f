"""Which files may be attached: their names, claimed and true types, and the size of an image (pure)."""

import re
import struct
import unicodedata
import zipfile
from collections.abc import Callable, Mapping
from io import BytesIO
from pathlib import PurePath
from typing import NamedTuple

from thoughtcycle.errors import InputRefused

DOCX = "application/vnd.openxmlformats-officedocument.wordprocessingml.document"
PDF, PLAIN, MARKDOWN = "application/pdf", "text/plain", "text/markdown"
SUFFIXES: Mapping[str, str] = {
    ".pdf": PDF,
    ".docx": DOCX,
    ".txt": PLAIN,
    ".text": PLAIN,
    ".md": MARKDOWN,
    ".markdown": MARKDOWN,
    ".png": "image/png",
    ".jpg": "image/jpeg",
    ".jpeg": "image/jpeg",
    ".webp": "image/webp",
    ".gif": "image/gif",
}
LONGEST_NAME = 200
MOST_PIXELS = 100_000_000
"""Pixels of an image; showing a larger one takes more memory than any photograph needs."""
_SIGNATURES = {
    b"%PDF-": PDF,
    b"\x89PNG\r\n\x1a\n": "image/png",
    b"\xff\xd8\xff": "image/jpeg",
    b"GIF87a": "image/gif",
    b"GIF89a": "image/gif",
}
_DEVICES = re.compile(r"(?:con|prn|aux|nul|com\d|lpt\d|conin\$|conout\$)(?:\..*)?", re.IGNORECASE)
"""Names that Windows takes for devices, whatever follows the dot."""
_FORBIDDEN = frozenset('/\\:*?"<>|')
# Start of frame markers of JPEG (ITU-T T.81, table B.1): all of C0–CF but DHT, JPG and DAC.
_FRAMES = frozenset(range(0xC0, 0xD0)) - {0xC4, 0xC8, 0xCC}


class Size(NamedTuple):
    """Of an image, in pixels."""

    width: int
    height: int


def checked_name(name: str) -> str:
    """`name`, if it can be a file's on every system; raises InputRefused('file_name') otherwise."""
    bad = (
        not name.strip()
        or len(name) > LONGEST_NAME
        or not _FORBIDDEN.isdisjoint(name)
        or any(unicodedata.category(one) in ("Cc", "Cf", "Cs", "Zl", "Zp") for one in name)
        or name != name.strip(" ")
        or name.endswith(".")
        or _DEVICES.fullmatch(name) is not None
    )
    if bad or PurePath(name).name != name:
        raise InputRefused("file_name", name=repr(name[:LONGEST_NAME]))
    return unicodedata.normalize("NFC", name)


def checked_type(name: str, data: bytes, claimed: str | None = None) -> str:
    """The media type that name, claim and content agree on.

    Raises InputRefused: 'file_type' for an unsupported one, 'file_mismatch' where the three differ.
    """
    suffix = PurePath(name).suffix.casefold()
    named = SUFFIXES.get(suffix)
    if named is None:
        raise InputRefused("file_type", name=repr(name), types=" ".join(SUFFIXES))
    true = _true_type(data)
    asked = (claimed or "").split(";")[0].strip().casefold()
    text = named in (PLAIN, MARKDOWN)
    same = true == named or (true == PLAIN and text)
    # "any bytes" and "any text" claim nothing
    loose = ("", "application/octet-stream", "image/jpg" if named == "image/jpeg" else "")
    agreed = asked in (*loose, named) or (text and asked.startswith("text/"))
    if not same or not agreed:
        raise InputRefused("file_mismatch", name=repr(name), claimed=asked or named, true=true)
    return named


def check_described(name: str, media_type: str) -> None:
    """Raises ValueError for a name or a type that no attached file has: both become HTTP headers again."""
    try:
        valid = checked_name(name) == name and media_type in SUFFIXES.values()
    except InputRefused as refusal:
        raise ValueError(refusal.code) from refusal
    if not valid:
        raise ValueError("no file that could be attached")


def _true_type(data: bytes) -> str:
    for start, media_type in _SIGNATURES.items():
        if data.startswith(start):
            return media_type
    if data.startswith(b"RIFF") and data[8:12] == b"WEBP":
        return "image/webp"
    if data.startswith(b"PK"):
        return DOCX if _holds_document(data) else "application/zip"
    if b"\0" in data and not data.startswith((b"\xff\xfe", b"\xfe\xff")):
        return "application/octet-stream"
    return PLAIN


def _holds_document(data: bytes) -> bool:
    try:
        with zipfile.ZipFile(BytesIO(data)) as archive:
            return "word/document.xml" in archive.namelist()
    except (zipfile.BadZipFile, ValueError, OSError, NotImplementedError):
        return False


def image_size(name: str, media_type: str, data: bytes) -> Size:
    """The size in an image's header, in pixels; nothing is decoded.

    Raises InputRefused: 'file_unreadable' without a header, 'file_unsafe' beyond MOST_PIXELS.
    """
    try:
        size = _SIZES[media_type](data)
    except (struct.error, IndexError):
        size = Size(0, 0)
    if not size.width or not size.height:
        raise InputRefused("file_unreadable", name=repr(name))
    if size.width * size.height > MOST_PIXELS:
        raise InputRefused("file_unsafe", name=repr(name))
    return size


def _webp(data: bytes) -> Size:
    form = data[12:16]
    if form == b"VP8X":  # canvas, 24 bits each, minus one
        width, height = data[24:27], data[27:30].ljust(3, b"\0")
        return Size(1 + int.from_bytes(width, "little"), 1 + int.from_bytes(height, "little"))
    if form == b"VP8L":  # 14 bits each, minus one
        bits = struct.unpack_from("<I", data, 21)[0]
        return Size(1 + (bits & 0x3FFF), 1 + (bits >> 14 & 0x3FFF))
    if form != b"VP8 ":
        return Size(0, 0)
    width, height = struct.unpack_from("<HH", data, 26)
    return Size(width & 0x3FFF, height & 0x3FFF)


def _jpeg(data: bytes) -> Size:
    at = 2
    while True:
        if data[at] != 0xFF:
            return Size(0, 0)
        marker = data[at + 1]
        if marker == 0xFF:  # filling
            at += 1
            continue
        if marker in _FRAMES:
            height, width = struct.unpack_from(">HH", data, at + 5)
            return Size(width, height)
        if marker == 0x01 or 0xD0 <= marker <= 0xD8:  # markers without a segment
            at += 2
            continue
        at += 2 + max(2, struct.unpack_from(">H", data, at + 2)[0])


_SIZES: Mapping[str, Callable[[bytes], Size]] = {
    "image/png": lambda data: Size(*struct.unpack_from(">II", data, 16)),
    "image/gif": lambda data: Size(*struct.unpack_from("<HH", data, 6)),
    "image/jpeg": _jpeg,
    "image/webp": _webp,
}

"""A memory that is a file: how its content is written, reads as a line, and is found by its text (pure)."""

import re
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, Literal

from pydantic import Field

from thoughtcycle.errors import InputRefused
from thoughtcycle.memory.model.base import Frozen

MediaKind = Literal["image", "document"]
"""Types of such memories (LM-15)."""
CHUNK = 320
"""Characters of one piece of a file's text: with the file's name it is shown whole wherever it was found."""
NAME = 60
"""Characters of a file's name in front of such a piece."""
_HASH = re.compile(r"[0-9a-f]{64}")


class FileContent(Frozen):
    """What the content of such a memory says; the bytes stand beside it, under the hash."""

    sha256: str
    name: str
    media_type: str
    size: int
    """Bytes."""
    caption: str = ""
    characters: int = 0
    """Of the text that is kept, and found."""
    complete: bool = True
    """Whether that is all of its text."""
    pages: int | None = None
    width: int | None = None
    height: int | None = None


class Attachment(Frozen):
    """A file that was looked at and may be kept."""

    content: FileContent
    text: str = ""
    """What was read out of it."""
    data: bytes = Field(repr=False)

    @property
    def kind(self) -> MediaKind:
        """The type of its memory."""
        return "image" if self.content.media_type.startswith("image/") else "document"


def file_of(content: Any) -> str | None:
    """The hash of the file that a content names; None for any other content."""
    if not isinstance(content, Mapping) or not {"name", "media_type", "size"} <= content.keys():
        return None
    found = content.get("sha256")
    return found if isinstance(found, str) and _HASH.fullmatch(found) else None


def key_of(sha256: str) -> str:
    """The key of a file's memory: a user has one active memory of it."""
    return f"file:{sha256}"


def line_of(content: Mapping[str, Any]) -> str:
    """A file as a person reads of it: its name, and what was said about it."""
    name, caption = str(content["name"]), str(content.get("caption") or "")
    return f"{name}: {caption}" if caption else name


def with_piece(content: Mapping[str, Any], piece: str) -> str:
    """A file with the piece of its text that was found."""
    name = str(content["name"])
    return f"{name if len(name) <= NAME else name[: NAME - 1] + '…'}: {piece}"


def plain(content: FileContent) -> dict[str, Any]:
    """The content as it is kept."""
    return content.model_dump(exclude_none=True)


def revised(
    content: Any, bindings: Sequence[str], new: Any, new_bindings: Sequence[str] | None
) -> tuple[Any, Sequence[str]]:
    """Content and search contexts after a change; of a file only what is said about it changes.

    Raises InputRefused('file_content') for a change that would make a file, or another one, of it.
    """
    sha256 = file_of(content)
    if sha256 is not None and isinstance(new, str):
        return {**content, "caption": " ".join(new.split())}, bindings
    if file_of(new) != sha256:
        named = content if sha256 is not None else new
        raise InputRefused("file_content", name=repr(named["name"] if isinstance(named, Mapping) else named))
    return new, bindings if new_bindings is None else new_bindings


def pieces(text: str) -> Iterator[str]:
    """`text` in pieces of at most CHUNK characters, cut behind lines and sentences where there are any."""
    piece = ""
    for part in _parts(text):
        if piece and len(piece) + 1 + len(part) > CHUNK:
            yield piece
            piece = ""
        piece = f"{piece} {part}" if piece else part
    if piece:
        yield piece


def _parts(text: str) -> Iterator[str]:
    for line in text.splitlines():
        for sentence in re.split(r"(?<=[.!?…])\s+", " ".join(line.split())):
            yield from _short(sentence)


def _short(text: str) -> Iterator[str]:
    """A sentence, in parts where it is longer than a piece may be."""
    while len(text) > CHUNK:
        head = text[:CHUNK].rpartition(" ")[0] or text[:CHUNK]
        yield head
        text = text[len(head) :].lstrip()
    if text:
        yield text

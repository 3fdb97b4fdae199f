"""Files as memories: their content, the line that a person reads, and the pieces they are found by (pure)."""

import re
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, Literal

from pydantic import Field

from thoughtcycle.errors import InputRefused
from thoughtcycle.memory.model.base import Frozen

MediaKind = Literal["image", "document"]
"""Types of such memories (LM-15)."""
CHUNK = 320
"""Characters of a piece of a file's text; a search result shows it whole, behind the file's name."""
NAME = 60
"""Characters of a file's name in front of such a piece."""
_HASH = re.compile(r"[0-9a-f]{64}")


class FileContent(Frozen):
    """The content of such a memory; the bytes are stored beside it, under the hash."""

    sha256: str
    name: str
    media_type: str
    size: int
    """Bytes."""
    caption: str = ""
    characters: int = 0
    """Of the text that is stored and searched."""
    complete: bool = True
    """Whether that is the whole text of the file."""
    pages: int | None = None
    width: int | None = None
    height: int | None = None


class Attachment(Frozen):
    """A checked file, ready to be stored."""

    content: FileContent
    text: str = ""
    """The text that was extracted."""
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
    """A file as one line: its name and its caption."""
    name, caption = str(content["name"]), str(content.get("caption") or "")
    return f"{name}: {caption}" if caption else name


def with_piece(content: Mapping[str, Any], piece: str) -> str:
    """A file as one line: its name and the piece of its text that a search matched."""
    name = str(content["name"])
    return f"{name if len(name) <= NAME else name[: NAME - 1] + '…'}: {piece}"


def revised(
    content: Any, bindings: Sequence[str], new: Any, new_bindings: Sequence[str] | None
) -> tuple[Any, Sequence[str]]:
    """Content and search contexts after a change; of a file only the caption can change.

    Raises InputRefused('file_content') for a change to a file, or to another one.
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
    """Sentences, and parts of those that are longer than a piece."""
    for line in text.splitlines():
        for sentence in re.split(r"(?<=[.!?…])\s+", " ".join(line.split())):
            while len(sentence) > CHUNK:
                head = sentence[:CHUNK].rpartition(" ")[0] or sentence[:CHUNK]
                yield head
                sentence = sentence[len(head) :].lstrip()
            if sentence:
                yield sentence

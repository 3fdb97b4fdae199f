"""Reads the text out of one PDF or DOCX, as a process of its own: a hostile file harms nothing else.

Run as a file, never imported: standard input is the document, the arguments its kind and the limits, standard
output one JSON object, `{"text", "complete", "pages"}` or `{"refused": code}`.
"""

import json
import logging
import sys
import zipfile
from collections.abc import Iterable, Iterator
from io import BytesIO
from typing import Any

_MOST_PARTS = 5_000
_MOST_UNPACKED = 100_000_000
"""Bytes of all parts of a DOCX together."""
_ENTITIES = tuple(
    word.encode(code) for word in ("<!DOCTYPE", "<!ENTITY") for code in ("ascii", "utf-16-le", "utf-16-be")
)


class Refused(Exception):
    """The document is not read; the argument says why."""


def confine(seconds: int, memory: int) -> None:
    """Limits processor time (seconds) and memory (bytes) of this process and forbids it to write files."""
    try:
        import resource
    except ImportError:  # Windows: only the caller's timeout is left
        return
    resource.setrlimit(resource.RLIMIT_CPU, (seconds, seconds))
    resource.setrlimit(resource.RLIMIT_AS, (memory, memory))
    resource.setrlimit(resource.RLIMIT_FSIZE, (0, 0))


def pdf_pages(data: bytes, most_pages: int) -> tuple[Iterator[str | None], int]:
    """The texts of the pages, and their number; actions, scripts and attachments are ignored."""
    from pypdf import PdfReader

    reader = PdfReader(BytesIO(data))
    if reader.is_encrypted:
        raise Refused("file_encrypted")
    pages = reader.pages
    if len(pages) > most_pages:
        raise Refused("file_unsafe")
    return map(page_text, pages), len(pages)


def page_text(page: Any) -> str | None:
    """The text of a page; None for one that is damaged: the others are still read."""
    try:
        return str(page.extract_text())
    except Exception:  # noqa: BLE001  (whatever a damaged page makes the library raise)
        return None


def docx_blocks(data: bytes) -> Iterator[str]:
    """The texts of the paragraphs and tables, in their order.

    Refuses an archive that unpacks to too much, is encrypted, or declares entities.
    """
    with zipfile.ZipFile(BytesIO(data)) as archive:
        parts = archive.infolist()
        if len(parts) > _MOST_PARTS or sum(part.file_size for part in parts) > _MOST_UNPACKED:
            raise Refused("file_unsafe")
        if any(part.flag_bits & 1 for part in parts):
            raise Refused("file_encrypted")
        for part in parts:
            if part.filename.casefold().endswith((".xml", ".rels")):
                text = archive.read(part)
                if any(word in text for word in _ENTITIES):
                    raise Refused("file_unsafe")
    from docx import Document

    return blocks(Document(BytesIO(data)))


def blocks(container: Any) -> Iterator[str]:
    """The texts in a document or a cell; merged cells count once."""
    for block in container.iter_inner_content():
        if not hasattr(block, "rows"):
            yield block.text
            continue
        for row in block.rows:
            cells = {id(cell._tc): cell for cell in row.cells}
            yield " | ".join(" ".join(blocks(cell)) for cell in cells.values())


def joined(parts: Iterable[str | None], most: int) -> tuple[str, bool]:
    """The parts as lines up to `most` characters, and whether that is all."""
    found: list[str] = []
    size, lost = 0, False
    for part in parts:
        if part is None:
            lost = True
            continue
        found.append(part)
        size += len(part) + 1
        if size > most + 1:
            return "\n".join(found)[:most], False
    if lost and not found:
        raise Refused("file_unreadable")
    return "\n".join(found), not lost


def main() -> None:
    """Reads the document from standard input, within the limits of the arguments."""
    kind, most, most_pages, seconds, memory = sys.argv[1], *map(int, sys.argv[2:6])
    logging.disable()
    sys.setrecursionlimit(2_000)
    data = sys.stdin.buffer.read()
    confine(seconds, memory)
    try:
        parts, pages = pdf_pages(data, most_pages) if kind == "pdf" else (docx_blocks(data), None)
        text, complete = joined(parts, most)
        output: dict[str, Any] = {"text": text, "complete": complete, "pages": pages}
    except Refused as refusal:
        output = {"refused": str(refusal)}
    except ModuleNotFoundError as error:
        output = {"missing": error.name}
    except Exception as error:  # noqa: BLE001  (whatever a damaged file makes the libraries raise)
        output = {"refused": "file_unreadable", "cause": type(error).__name__}
    sys.stdout.write(json.dumps(output))


if __name__ == "__main__":
    main()

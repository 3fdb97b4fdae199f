"""The files in the user's messages: content blocks of any form that LangChain knows, as names and bytes."""

import base64
import binascii
import mimetypes
from collections.abc import Mapping, Sequence
from pathlib import PurePath
from typing import Any, NamedTuple

from langchain_core.messages import BaseMessage

from thoughtcycle.errors import InputRefused
from thoughtcycle.memory.files import SUFFIXES

MOST = 10
"""Files of one turn."""
_DATA = "data:"


class Upload(NamedTuple):
    """A file as it came."""

    name: str
    data: bytes
    media_type: str | None


def uploads_in(messages: Sequence[BaseMessage], *, largest: int) -> list[Upload]:
    """The files of these messages, in their order; texts are left to `merge_messages`.

    Nothing is fetched: a file has to be in the message. Raises InputRefused: 'block_unknown' for anything
    else, 'block_remote' for a link or an id of elsewhere, 'files_too_many', 'file_too_large',
    'file_unreadable'.
    """
    found = []
    for message in messages:
        for block in _blocks(message):
            if block["type"] != "text":
                found.append(_upload(block, largest))
    if len(found) > MOST:
        raise InputRefused("files_too_many", count=len(found), most=MOST)
    return found


def _blocks(message: BaseMessage) -> Sequence[Mapping[str, Any]]:
    if isinstance(message.content, str):
        return ()
    try:
        return message.content_blocks
    except (KeyError, TypeError, ValueError, AttributeError) as error:  # a block that only looks like one
        raise InputRefused("block_unknown", type=repr("?")) from error


def _upload(block: Mapping[str, Any], largest: int) -> Upload:
    kind = block["type"]
    if kind == "text-plain" and isinstance(block.get("text"), str):
        plain = str(block.get("mime_type") or "text/plain")
        return Upload(_name(block, plain), block["text"].encode(errors="ignore"), plain)
    if kind not in ("image", "file", "text-plain"):
        value = block.get("value")
        told = value.get("type", "?") if isinstance(value, Mapping) else kind
        raise InputRefused("block_unknown", type=repr(str(told)[:40]))
    media_type: Any = block.get("mime_type")
    text: Any = block.get("base64")
    url = block.get("url")
    if text is None and isinstance(url, str) and url[: len(_DATA)].lower() == _DATA:
        head, _, inline = url[len(_DATA) :].partition(",")
        media_type, text = media_type or head.split(";")[0], inline
    if not isinstance(text, str):
        raise InputRefused("block_remote")
    media_type = str(media_type).split(";")[0].strip().lower() if media_type else None
    name = _name(block, media_type)
    if len(text) > largest * 4 // 3 + 4:
        raise InputRefused("file_too_large", name=repr(name), size=len(text) * 3 // 4, largest=largest)
    try:
        return Upload(name, base64.b64decode(text, validate=True), media_type)
    except (binascii.Error, ValueError) as error:
        raise InputRefused("file_unreadable", name=repr(name)) from error


def _name(block: Mapping[str, Any], media_type: str | None) -> str:
    """The name that came with the file; without one, that of its kind and type."""
    extras = block.get("extras")
    extras = extras if isinstance(extras, Mapping) else {}
    metadata = extras.get("metadata")
    for place in (block, extras, metadata if isinstance(metadata, Mapping) else {}):
        for field in ("filename", "name", "title"):
            if isinstance(place.get(field), str) and place[field]:
                return _suffixed(place[field], media_type) if field == "title" else str(place[field])
    return _suffixed("image" if block["type"] == "image" else "file", media_type)


def _suffixed(name: str, media_type: str | None) -> str:
    if PurePath(name).suffix.lower() in SUFFIXES or media_type is None:
        return name
    known = next((suffix for suffix, type in SUFFIXES.items() if type == media_type), None)
    return name + (known or mimetypes.guess_extension(media_type) or "")

"""The files of a message: reads them, stores them as memories, shows them to the model."""

import base64
import binascii
import mimetypes
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import PurePath
from typing import Any, NamedTuple, cast

from langchain_core.messages import BaseMessage, HumanMessage

from thoughtcycle.errors import InputRefused, MemoryAway
from thoughtcycle.language.intents import asks_not_to_keep
from thoughtcycle.memory.files import SUFFIXES, look_at
from thoughtcycle.memory.model import Attachment, MemoryRecord, Source, Step, pieces
from thoughtcycle.memory.text.secrets import masked, without_secrets
from thoughtcycle.mind.streaming import speak
from thoughtcycle.nodes.base.cycle import open_cycle
from thoughtcycle.nodes.base.state import Attached, Briefing, State, StateUpdate
from thoughtcycle.nodes.base.turn import Turn
from thoughtcycle.prompts.loader import Texts

ACTION = "Attach"
"""Name of the step that stores files; no mind chooses it."""
MOST = 10
"""Files of one turn."""


class Upload(NamedTuple):
    """A file in a message."""

    name: str
    data: bytes
    media_type: str | None


def uploads_in(messages: Sequence[BaseMessage], *, largest: int) -> list[Upload]:
    """The files of these messages, in order, from any content block that LangChain knows.

    A file must be in the message; nothing is fetched. Raises InputRefused: 'block_unknown', 'block_remote'
    (a link or an id), 'files_too_many', 'file_too_large', 'file_unreadable'.
    """
    blocks = [block for message in messages for block in _blocks(message) if block["type"] != "text"]
    uploads = [_upload(block, largest) for block in blocks]
    if len(uploads) > MOST:
        raise InputRefused("files_too_many", count=len(uploads), most=MOST)
    return uploads


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
        unknown = value.get("type", "?") if isinstance(value, Mapping) else kind
        raise InputRefused("block_unknown", type=repr(str(unknown)[:40]))
    media_type: Any = block.get("mime_type")
    text: Any = block.get("base64")
    url = block.get("url")
    if text is None and isinstance(url, str) and url[:5].lower() == "data:":
        head, _, text = url[5:].partition(",")
        media_type = media_type or head.split(";")[0]
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
    """The name that came with the file, else one of its kind and type."""
    extras = block.get("extras")
    extras = extras if isinstance(extras, Mapping) else {}
    metadata = extras.get("metadata")
    for fields in (block, extras, metadata if isinstance(metadata, Mapping) else {}):
        for field in ("filename", "name", "title"):
            if isinstance(fields.get(field), str) and fields[field]:
                name = str(fields[field])
                return _with_suffix(name, media_type) if field == "title" else name
    return _with_suffix("image" if block["type"] == "image" else "file", media_type)


def _with_suffix(name: str, media_type: str | None) -> str:
    if PurePath(name).suffix.lower() in SUFFIXES or media_type is None:
        return name
    known = next((suffix for suffix, type in SUFFIXES.items() if type == media_type), None)
    return name + (known or mimetypes.guess_extension(media_type) or "")


async def attach(turn: Turn, message: HumanMessage, uploads: Sequence[Upload]) -> StateUpdate:
    """Stores the files of the user's `message` as memories, unless nothing may be kept, and shows them.

    All are read before any is stored; raises InputRefused for the first unusable one. Where the database is
    away none is stored, a line of the reply says so, and the turn goes on.
    """
    words, limits = turn.texts("cycle"), turn.services.limits
    caption = masked(message.text)  # a secret in it is not one of the file
    files = [
        await look_at(one.name, one.data, caption=caption, claimed=one.media_type, limits=limits.files)
        for one in uploads
    ]
    lines = filter(None, (message.text, *(_mark(one, words) for one in files)))
    marked = message.model_copy(update={"content": "\n".join(lines)})
    turn.status(words["status.attaching"])
    turn = replace(turn, state=cast(State, {**turn.state, "messages": [marked]}))
    attached = [
        Attached(id=None, name=file.content.name, text=text, cut=len(text) < len(file.text))
        for file, text in zip(files, _excerpts(files, limits.file_excerpt), strict=True)
    ]
    if turn.context.incognito or asks_not_to_keep(message.text):
        return {"messages": [marked], "attached": attached}
    cycle = await open_cycle(turn)
    stored: list[MemoryRecord] = []
    messages: list[BaseMessage] = [marked]
    try:
        for file, seen in zip(files, attached, strict=True):
            source = Source(cycle=cycle.id if cycle else None, words=_mark(file, words))
            record = await turn.memory.files.keep_file(turn.user, file, source=source, said=turn.now())
            seen["id"] = record.id
            stored.append(record)
    except MemoryAway:
        messages.append(await speak(words["attached.away"], chat_history=False))
    for record in stored:
        turn.show(without_secrets(record.model_copy(update={"content": record.text})))
    step = Step(
        action=ACTION,
        input=[one.content.name for one in files],
        outcome=words.fill("attached.outcome", count=len(stored)),
        status="done" if stored else "refused",
        found=[record.id for record in stored],
    )
    if stored and turn.explain == "on":
        names = ", ".join(record.content["name"] for record in stored)
        messages.append(await speak(words.fill("attached.kept", names=names), chat_history=False))
    recalled = turn.with_recalled(map(without_secrets, stored))
    return {"messages": messages, "steps": [step], "recalled": recalled, "attached": attached}


def _mark(file: Attachment, words: Texts) -> str:
    return words.fill("attached.mark", name=file.content.name)


def _excerpts(files: Sequence[Attachment], most: int) -> list[str]:
    """The beginning of each file's text, in whole pieces, all together at most `most` characters."""
    excerpts = []
    for number, file in enumerate(files):
        share = most // (len(files) - number)
        text = ""
        for piece in pieces(file.text):
            if len(text) + len(piece) + 1 > share:
                break
            text = f"{text}\n{piece}" if text else piece
        most -= len(text)
        excerpts.append(text)
    return excerpts


def with_attachments(briefing: Briefing, attached: Sequence[Attached], words: Texts) -> Briefing:
    """Adds the files of a turn's message to its briefing, as data."""
    if not attached:
        return briefing
    lines = [words["attached.files"]]
    for one in attached:
        section = (
            "attached.nothing" if not one["text"] else "attached.cut" if one["cut"] else "attached.whole"
        )
        lines.append(words.fill(section, name=one["name"], text=one["text"]))
    session = "\n\n".join(filter(None, ("\n\n".join(lines), briefing.get("session", ""))))
    return {**briefing, "session": session}

"""Redacts the state of a thread: removes the words of hidden or erased memories (pure)."""

import base64
import binascii
import hashlib
from collections.abc import Awaitable, Callable, Mapping, Sequence
from copy import copy
from datetime import datetime
from typing import Any, TypeVar

from langchain_core.messages import AIMessage, BaseMessage, HumanMessage
from langgraph.checkpoint.base import Checkpoint, CheckpointTuple
from langgraph.types import Send

from thoughtcycle.memory.redaction import Mask
from thoughtcycle.memory.text.spans import HIDDEN

MaskOf = Callable[[str], Awaitable[Mask]]
"""User → mask of their hidden memories."""
START = "__start__"
"""Channel of an input that no step has read yet: it is newer than the rest of the state."""
_IDS = ("id", "user_id", "chat_id", "cycle_id", "thread_id", "parent", "at", "language", "type")
_MARKS = ("next_action", "failure", "action", "status", "kind", "role", "modal", "shown", "found")
_PLAIN = frozenset((*_IDS, *_MARKS))
"""Names whose values hold no text of a person or a model."""

MARK = "thoughtcycle"
"""Key under which the state of another package's agent names the user and the time of its turn."""
_ENCODED = ("base64", "data")
"""Names under which a part of a message holds a file, as base64."""
_NAMES = ("title", "filename", "name")
"""Names under which such a part holds the file's name, not always as the memory has it."""
_SHORTEST = 60
"""Characters below which a value may be a word rather than a file."""
_TEXTS = ("window", "steps", "recalled", "briefing", "attached", "calls")
"""Keys of our state that hold texts, beside the messages."""

Message = TypeVar("Message", bound=BaseMessage)


def redacted_state(values: Mapping[str, Any], mask: Mask) -> dict[str, Any]:
    """The state update that redacts a state; it holds only messages that change."""
    now = _since(values, mask)
    changed: dict[str, Any] = {}
    for name, value in values.items():
        if name == "messages":
            pairs = zip(_redact_messages(value, mask, now), value, strict=True)
            changed[name] = [after for after, before in pairs if after is not before]
        elif name in _TEXTS and (after := redacted(value, now, name)) != value:
            changed[name] = after
    return changed


def turn_of(values: Mapping[str, Any]) -> tuple[str | None, datetime | None]:
    """The user and the start of the newest turn of a state, where the state says so."""
    mark = values.get(MARK)
    source = mark if isinstance(mark, Mapping) and "user_id" not in values else values
    user, at = source.get("user_id"), source.get("at")
    return (
        user if isinstance(user, str) and user else None,
        datetime.fromisoformat(at) if isinstance(at, str) and at else None,
    )


async def masked_tuple(found: CheckpointTuple | None, masks: MaskOf | None) -> CheckpointTuple | None:
    """A checkpoint, redacted by the mask of the user whom its state names."""
    if found is None or masks is None:
        return found
    values = found.checkpoint["channel_values"]
    user, _ = turn_of(values)
    mask = await masks(user) if user else None
    if not mask:
        return found
    now = _since(values, mask)
    writes = [
        (task, channel, value if channel == START else redacted(value, now, channel))
        for task, channel, value in found.pending_writes or ()
    ]
    checkpoint = redacted_checkpoint(found.checkpoint, mask, start=False)
    return found._replace(checkpoint=checkpoint, pending_writes=writes)


def redacted_checkpoint(checkpoint: Checkpoint, mask: Mask, *, start: bool = True) -> Checkpoint:
    """`checkpoint` without the words of `mask`; with `start` also in an input that no step has read yet.

    The newest turn loses only words that were deleted after it began.
    """
    values = checkpoint["channel_values"]
    now = _since(values, mask)
    changed = {
        name: _redact_messages(value, mask, now)
        if name == "messages" and isinstance(value, list)
        else value
        if name == START and not start
        else redacted(value, mask if name == START else now, name)
        for name, value in values.items()
    }
    return checkpoint if changed == values else {**checkpoint, "channel_values": changed}


def redacted(value: Any, mask: Mask, name: str = "") -> Any:
    """`value`, held under `name`, without the words of `mask` in any text of it."""
    if name in _PLAIN or name == MARK or not mask:
        return value
    if isinstance(value, str):
        data = _file_bytes(value, name)
        if data is None:
            return mask.text(value)
        return HIDDEN if mask.files and hashlib.sha256(data).hexdigest() in mask.files else value
    if isinstance(value, BaseMessage):
        return _redact_message(value, mask)
    if isinstance(value, Mapping):
        return _redact_mapping(value, mask)
    if type(value) in (list, tuple):
        return type(value)(redacted(item, mask, name) for item in value)
    if isinstance(value, Send):  # what a step passes on to the next one, such as a tool's call
        sent = copy(value)
        sent.arg = redacted(value.arg, mask)
        return sent
    return value


def _file_bytes(value: str, name: str) -> bytes | None:
    """The file in a content block of a message that no step has read yet; None for a text."""
    text = value.partition(",")[2] if value.startswith("data:") else value if name in _ENCODED else ""
    if len(text) < _SHORTEST:
        return None
    try:
        return base64.b64decode(text, validate=True)
    except (binascii.Error, ValueError):
        return None


def _redact_mapping(value: Mapping[str, Any], mask: Mask) -> dict[str, Any]:
    if "revision" in value and "id" in value:  # a recalled memory goes by its id, whatever it says
        hidden = value["id"] in mask.memories
        return {**value, "content": HIDDEN, "key": None} if hidden else dict(value)
    if value.get("type") == "tool_call" and "args" in value:
        return {**value, "args": _redact_strings(value["args"], mask.reply)}
    values = dict(value)
    if value.get("role") == "assistant" and isinstance(values.get("content"), str):
        values["content"] = mask.reply(values["content"])
    if mask.files and any(_is_hidden_file(item, name, mask) for name, item in value.items()):
        values |= dict.fromkeys(value.keys() & _NAMES, HIDDEN)
    return {name: redacted(item, mask, name) for name, item in values.items()}


def _is_hidden_file(value: Any, name: str, mask: Mask) -> bool:
    if not isinstance(value, str):
        return False
    data = value.encode(errors="ignore") if name == "text" else _file_bytes(value, name)
    return data is not None and hashlib.sha256(data).hexdigest() in mask.files


def _redact_messages(messages: Sequence[Any], mask: Mask, now: Mask) -> list[Any]:
    """Applies `now` to messages of the newest turn, `mask` to older ones."""
    people = [place for place, message in enumerate(messages) if isinstance(message, HumanMessage)]
    newest = people[-1] if people else 0
    return [redacted(message, now if place >= newest else mask) for place, message in enumerate(messages)]


def _redact_message(message: Message, mask: Mask) -> Message:
    if mask.takes(message.id):
        return message.model_copy(update={"content": HIDDEN})
    redact = mask.reply if isinstance(message, AIMessage) else mask.text
    content: Any = message.content
    if isinstance(content, str):
        content = redact(content)
    else:
        content = [redact(part) if isinstance(part, str) else redacted(part, mask) for part in content]
    changed: dict[str, Any] = {"content": content}
    if isinstance(message, AIMessage) and message.tool_calls:
        calls = [{**call, "args": _redact_strings(call["args"], redact)} for call in message.tool_calls]
        changed |= {
            "tool_calls": calls,
            "additional_kwargs": _redact_strings(message.additional_kwargs, redact),
        }
    same = all(getattr(message, name) == value for name, value in changed.items())
    return message if same else message.model_copy(update=changed)


def _redact_strings(value: Any, redact: Callable[[str], str]) -> Any:
    """Applies `redact` to all strings in the arguments of a tool call."""
    if isinstance(value, str):
        return redact(value)
    if isinstance(value, Mapping):
        return {name: _redact_strings(item, redact) for name, item in value.items()}
    return [_redact_strings(item, redact) for item in value] if isinstance(value, list) else value


def _since(values: Mapping[str, Any], mask: Mask) -> Mask:
    """The part of `mask` that was deleted after the newest turn of this state began."""
    _, at = turn_of(values)
    return mask.since(at) if at is not None else mask

"""Parses conversations in export files of ChatGPT and Claude (pure).

Neither format is published by its maker: this follows known converters (convoviz, chatgpt-export-parser,
polylogue, Cherry Studio, osaurus), and leaves out unknown elements.
"""

import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any, Literal

Source = Literal["chatgpt", "claude"]

_LATEST = 4_102_444_800.0
"""1 January 2100, in seconds; a later time is invalid."""
_START = datetime(1970, 1, 1, tzinfo=UTC)
_SHOWN = ("text", "multimodal_text")
"""Types of ChatGPT's contents that a person sees: no thoughts, tool calls or results."""
_WORDS_IN = ("text", "audio_transcription")
"""Types of the parts of such a content that are words; others point to images, audio and video."""
_ANSWERS = (None, "final")
"""Channels of ChatGPT's messages that are the answer; `analysis` and `commentary` come before it."""
_CITATION = re.compile("\ue200[^\ue201]*\ue201|\u3010[^\u3010\u3011]*\u2020[^\u3010\u3011]*\u3011")
"""Markers in ChatGPT's texts for links that the file holds elsewhere."""
_UNSUPPORTED = re.compile(r"```\s*This block is not supported on your current device yet\.\s*```")
"""The placeholder in Claude's flat texts where a tool was used."""


@dataclass(frozen=True)
class Exchange:
    """A message and its reply; either may be empty."""

    said: str
    replied: str
    at: datetime


@dataclass(frozen=True)
class ForeignChat:
    """A conversation with another assistant."""

    source: Source
    id: str
    title: str | None
    created: datetime
    exchanges: tuple[Exchange, ...]


@dataclass(frozen=True)
class _Message:
    user: bool
    text: str
    at: datetime | None


def chat_of(conversation: Mapping[str, Any]) -> ForeignChat:
    """The chat of one element of conversations.json; raises ValueError where it is in neither format."""
    get = conversation.get
    try:
        if isinstance(get("mapping"), dict):
            id, title, created = get("conversation_id") or get("id"), get("title"), get("create_time")
            return _chat("chatgpt", id, title, _time(created), _chatgpt_messages(conversation))
        if isinstance(get("chat_messages"), list):
            messages = _claude_messages(conversation)
            return _chat("claude", get("uuid"), get("name"), _time(get("created_at")), messages)
    except (TypeError, AttributeError, KeyError) as error:
        raise ValueError("a conversation of another form") from error
    raise ValueError("neither a conversation of ChatGPT nor of Claude")


def _chat(
    source: Source, id: Any, title: Any, created: datetime | None, messages: Iterable[_Message]
) -> ForeignChat:
    if not isinstance(id, str) or not id:
        raise ValueError("a conversation without an id")
    title = _unicode(title.strip())[:200] or None if isinstance(title, str) else None
    created = created or _START
    return ForeignChat(source, _unicode(id), title, created, _exchanges(messages, created))


def _chatgpt_messages(conversation: Mapping[str, Any]) -> Iterator[_Message]:
    """The visible messages of the branch that was last open."""
    mapping = conversation["mapping"]
    path, at = [], conversation.get("current_node")
    if at not in mapping:  # then the newest message
        nodes = [((node.get("message") or {}).get("create_time"), id) for id, node in mapping.items()]
        at = max(((_time(time) or _START, id) for time, id in nodes), default=(_START, None))[1]
    seen: set[str] = set()
    while at is not None and at in mapping and at not in seen:
        seen.add(at)
        path.append(mapping[at].get("message") or {})
        at = mapping[at].get("parent")
    for message in reversed(path):
        role = (message.get("author") or {}).get("role")
        hidden = (message.get("metadata") or {}).get("is_visually_hidden_from_conversation")
        content = message.get("content") or {}
        if role not in ("user", "assistant") or hidden or message.get("weight") == 0:
            continue
        if message.get("recipient") not in (None, "all") or message.get("channel") not in _ANSWERS:
            continue
        if content.get("content_type") in _SHOWN:
            text = "\n\n".join(filter(None, map(_part, content.get("parts") or ())))
            yield _Message(role == "user", text, _time(message.get("create_time")))


def _part(part: Any) -> str:
    """A text or a transcription of speech; images and files are left out."""
    if isinstance(part, dict):
        part = part.get("text") if part.get("content_type") in _WORDS_IN else ""
    return _CITATION.sub("", part).strip() if isinstance(part, str) else ""


def _claude_messages(conversation: Mapping[str, Any]) -> list[_Message]:
    return [
        _Message(message.get("sender") == "human", _claude_text(message), _time(message.get("created_at")))
        for message in _branch(conversation)
        if message.get("sender") in ("human", "assistant")
    ]


def _branch(conversation: Mapping[str, Any]) -> list[Mapping[str, Any]]:
    """The messages of the branch that was last open; of older files, which have no branches, all.

    The list also holds abandoned branches. Files made by the vendor do not name the branch's end: it is
    the newest message that nothing follows.
    """
    messages = conversation["chat_messages"]
    known = {message["uuid"]: message for message in messages if message.get("uuid")}
    parents = {message.get("parent_message_uuid") for message in messages} & known.keys()
    if not parents:
        return list(messages)
    at: Any = conversation.get("current_leaf_message_uuid")
    if at not in known:
        ends = [id for id in reversed(known) if id not in parents]
        at = max(ends, key=lambda id: _time(known[id].get("created_at")) or _START, default="")
    path: dict[str, Mapping[str, Any]] = {}
    while at in known and at not in path:
        path[at] = known[at]
        at = known[at].get("parent_message_uuid")
    return [*path.values()][::-1]


def _claude_text(message: Mapping[str, Any]) -> str:
    """The texts of a message, its attached files and long pasted texts.

    The flat `text` of a message includes its thoughts; it counts only where there are no blocks.
    """
    blocks = [block for block in message.get("content") or () if isinstance(block, dict)]
    texts = [block.get("text") for block in blocks if block.get("type") == "text"]
    if not blocks:
        texts = [_UNSUPPORTED.sub("", message.get("text") or "")]
    texts += [file.get("extracted_content") for file in message.get("attachments") or ()]
    return "\n\n".join(text.strip() for text in texts if isinstance(text, str) and text.strip())


def _exchanges(messages: Iterable[_Message], created: datetime) -> tuple[Exchange, ...]:
    """Pairs of message and reply; several messages of one side in a row are one."""
    pairs: list[tuple[list[str], list[str], datetime]] = []
    now = created
    for one in messages:
        now = one.at or now
        if not one.text:
            continue
        if not pairs or (one.user and pairs[-1][1]):
            pairs.append(([], [], now))
        user, reply, _ = pairs[-1]
        (user if one.user else reply).append(_unicode(one.text))
    return tuple(Exchange("\n\n".join(user), "\n\n".join(reply), at) for user, reply, at in pairs)


def _time(value: Any) -> datetime | None:
    """A time from seconds since 1970 or ISO 8601; None where it is neither."""
    if isinstance(value, str):
        try:
            at = datetime.fromisoformat(value)
        except ValueError:
            return None
        return at if at.tzinfo else at.replace(tzinfo=UTC)
    if isinstance(value, bool) or not isinstance(value, (int, float)) or not 0 < value < _LATEST:
        return None
    return datetime.fromtimestamp(value, UTC)


def _unicode(text: str) -> str:
    """`text` without lone surrogates and U+0000, which some files hold."""
    return text.replace("\0", "").encode("utf-16", "surrogatepass").decode("utf-16", "replace")

"""The user's message of this turn: found in the state, cleaned, refused when it cannot be used."""

import unicodedata
from collections.abc import Sequence

from langchain_core.messages import BaseMessage, HumanMessage

from thoughtcycle.errors import InputRefused
from thoughtcycle.mind.streaming import envelope
from thoughtcycle.nodes.base.envelope import enveloped

_KEPT_CONTROLS = "\n\t"
_MOSTLY = 0.1
"""Share of control characters above which a text is taken for binary data."""


def user_message(messages: Sequence[BaseMessage]) -> HumanMessage:
    """The newest message of the user; InputRefused when the input has none."""
    for message in reversed(messages):
        if isinstance(message, HumanMessage):
            return message
    raise InputRefused("no_message")


def new_messages(messages: Sequence[BaseMessage]) -> list[HumanMessage]:
    """The user's messages of this turn: the newest and those before it that no turn has taken in.

    InputRefused when there is none, or the newest was answered already.
    """
    newest = user_message(messages)
    place = messages.index(newest)
    if any(enveloped(message) for message in messages[place + 1 :]):
        raise InputRefused("no_message")
    found = [newest]
    for message in reversed(messages[:place]):
        if not isinstance(message, HumanMessage) or enveloped(message):
            break
        found.insert(0, message)
    return found


def merge_messages(messages: Sequence[HumanMessage], *, longest: int, empty: bool = False) -> HumanMessage:
    """The user's messages of this turn as one, cleaned (see `clean`) and in their envelope (TC-2).

    `empty`: it may say nothing, because files came with it.
    """
    text = "\n\n".join(message.text for message in messages)
    text = "" if empty and not text.strip() else clean(text, longest=longest)
    wrapped = envelope(chat_history=True, modal="text")
    return HumanMessage(text, id=messages[-1].id, name=messages[-1].name, additional_kwargs=wrapped)


def clean(text: str, *, longest: int) -> str:
    """`text` without control characters and surrounding space.

    Raises InputRefused when it is empty, longer than `longest` characters, or binary.
    """
    if len(text) > longest:
        raise InputRefused("message_too_long", length=len(text), longest=longest)
    kept = "".join(character for character in text if _is_text(character))
    if len(text) - len(kept) > _MOSTLY * len(text):
        raise InputRefused("message_binary")
    stripped = kept.strip()
    if not stripped:
        raise InputRefused("message_empty")
    return stripped


def _is_text(character: str) -> bool:
    if character in _KEPT_CONTROLS:
        return True
    return character != "\ufffd" and unicodedata.category(character) not in ("Cc", "Cs")

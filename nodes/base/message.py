"""Finds the user's message of the turn in the state, cleans it, refuses unusable ones."""

import re
import unicodedata
from collections.abc import Sequence
from functools import lru_cache

from langchain_core.messages import BaseMessage, HumanMessage

from thoughtcycle.errors import InputRefused
from thoughtcycle.language.intents import asks_to_keep
from thoughtcycle.memory.text.secrets import has_value, secret_values
from thoughtcycle.mind.streaming import envelope
from thoughtcycle.nodes.base.envelope import enveloped

_SIGN = re.compile(r"(?<=\w)\W")
_BINARY = 0.1
"""Share of control characters above which a text counts as binary data."""


def user_message(messages: Sequence[BaseMessage]) -> HumanMessage:
    """The newest message of the user; InputRefused when the input has none."""
    for message in reversed(messages):
        if isinstance(message, HumanMessage):
            return message
    raise InputRefused("no_message")


def new_messages(messages: Sequence[BaseMessage]) -> list[HumanMessage]:
    """The user's messages of this turn: the newest and those before it that no turn has read.

    Raises InputRefused where there is none, or the newest has been answered.
    """
    newest = user_message(messages)
    place = messages.index(newest)
    if any(enveloped(message) for message in messages[place + 1 :]):
        raise InputRefused("no_message")
    new = [newest]
    for message in reversed(messages[:place]):
        if not isinstance(message, HumanMessage) or enveloped(message):
            break
        new.insert(0, message)
    return new


def merge_messages(messages: Sequence[HumanMessage], *, longest: int, empty: bool = False) -> HumanMessage:
    """The user's messages of this turn as one, cleaned (see `clean`) and in their envelope (TC-2).

    `empty`: it may be empty, because files came with it.
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
    if len(text) - len(kept) > _BINARY * len(text):
        raise InputRefused("message_binary")
    stripped = kept.strip()
    if not stripped:
        raise InputRefused("message_empty")
    return stripped


@lru_cache(maxsize=256)  # a turn reads its message several times
def unasked_secrets(message: str) -> tuple[str, ...]:
    """The secrets of a message that it does not ask to keep: told in passing, they are not kept (BY-10)."""
    return tuple(value for value in secret_values(message) if not asks_to_keep(message, value))


def tells_in_passing(content: str, message: str, known: str = "") -> bool:
    """Whether `content`, made of a message, has a secret that the user does not ask to keep.

    Those of `known`, which it shall replace, are kept already.
    """
    told = {value for value in secret_values(message) if has_value(content, value)}
    values = (value for value in {*told, *secret_values(content)} if value not in known)
    return any(not asks_to_keep(message, value if value in message else "") for value in values)


def with_whole_secrets(text: str, message: str) -> str:
    """A piece of a message with whole secrets: a rule may take a sign in one for the end of a sentence."""
    for value in secret_values(message):
        cuts = [value[: sign.start()] for sign in _SIGN.finditer(value, 3)]
        cut = next((one for one in reversed(cuts) if has_value(text, one)), None)
        if cut is not None and value not in text:
            text = text.replace(cut, value)
    return text


def _is_text(character: str) -> bool:
    category = unicodedata.category(character)
    return character in "\n\t" or (character != "\ufffd" and category not in ("Cc", "Cs"))

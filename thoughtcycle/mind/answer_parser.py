"""Parses a model's output: removes its thoughts, decodes JSON, validates by the schema."""

import json
import re
from typing import Any

from pydantic import TypeAdapter, ValidationError

from thoughtcycle.memory.model import without_null

OPEN, CLOSE = "<think>", "</think>"

_FENCED = re.compile(r"\A```[\w-]*\s*\n(.*?)\n?\s*```\Z", re.DOTALL)
_START = re.compile(r"[\[{]")


class UnusableAnswer(Exception):
    """The answer does not fit the schema; the text says why, for the model."""


class ThoughtFilter:
    """Takes `<think>…</think>` out of a text that arrives in pieces.

    A block that opens the text and never closes is a thought to its end; one that is opened later
    and never closes was text that talks about the tag, and is given back by `finish`.
    """

    def __init__(self) -> None:
        self._held = ""
        self._thinking = False
        self._said = False

    def feed(self, piece: str) -> str:
        """The part of all pieces so far that may be shown now and was not yet."""
        self._held += piece
        shown = ""
        while step := self._advance():
            shown += step[0]
        return self._showing(shown)

    def finish(self) -> str:
        """The text that was held back and turned out to be no thought."""
        rest = self._held
        if self._thinking:
            rest = OPEN + rest if self._said else ""
        self._held, self._thinking = "", False
        return self._showing(rest)

    def _advance(self) -> tuple[str] | None:
        """Moves past one tag, or to the last character that cannot begin one; None when stuck."""
        tag = CLOSE if self._thinking else OPEN
        at = self._held.find(tag)
        if at >= 0:
            before, self._held = self._held[:at], self._held[at + len(tag) :]
            shown = "" if self._thinking else self._showing(before)
            self._thinking = not self._thinking
            return (shown,)
        if self._thinking or not self._held:
            return None
        keep = _beginning_of(tag, self._held)
        free, self._held = self._held[: len(self._held) - keep], self._held[len(self._held) - keep :]
        return (self._showing(free),) if free else None

    def _showing(self, text: str) -> str:
        """`text` without the blank space that a thought leaves at the start."""
        shown = text if self._said else text.lstrip()
        self._said = self._said or bool(shown)
        return shown


def _beginning_of(tag: str, text: str) -> int:
    """How many characters at the end of `text` may be the beginning of `tag`."""
    return next((n for n in range(min(len(tag) - 1, len(text)), 0, -1) if text.endswith(tag[:n])), 0)


def without_thoughts(text: str) -> str:
    """`text` without what the model thought before answering, stripped.

    Some servers keep the opening tag in their template: then only the closing one arrives.
    """
    if CLOSE in text and OPEN not in text:
        text = text.partition(CLOSE)[2]
    sieve = ThoughtFilter()
    return (sieve.feed(text) + sieve.finish()).strip()


def _after_thoughts(text: str) -> str:
    """`text` without the thoughts that open it; inside of data the tag is data."""
    text = text.strip()
    if CLOSE in text and not text.startswith(("[", "{", OPEN)) and OPEN not in text.partition(CLOSE)[0]:
        text = text.partition(CLOSE)[2].strip()
    while text.startswith(OPEN):
        text = text.partition(CLOSE)[2].strip()
    return text


def unfenced(text: str) -> str:
    """`text` without a code fence around the whole of it."""
    fenced = _FENCED.match(text)
    return fenced[1].strip() if fenced else text


def parse(answer: str, schema: Any) -> Any:
    """Parses `answer` and validates it by `schema`; for `str` the stripped text.

    Raises UnusableAnswer; never returns half of an answer.
    """
    text = unfenced(without_thoughts(answer) if schema is str else _after_thoughts(answer))
    if not text:
        raise UnusableAnswer("the answer is empty")
    if schema is str:
        return without_null(text)
    try:
        return TypeAdapter(schema).validate_python(_json(text))
    except ValidationError as error:
        raise UnusableAnswer(_describe(error)) from None


def _json(text: str) -> Any:
    """The one JSON value of `text`; words around it are passed over, a second value is not."""
    start = _START.search(text)
    try:
        if start is None:
            return without_null(json.loads(text))
        value, end = json.JSONDecoder().raw_decode(text, start.start())
        value = without_null(value)
    except json.JSONDecodeError as error:
        raise UnusableAnswer(f"not valid JSON: {error.msg} at character {error.pos}") from None
    except ValueError:  # an integer of thousands of digits
        raise UnusableAnswer("a number has too many digits") from None
    except RecursionError:
        raise UnusableAnswer("the JSON is nested too deeply") from None
    if _START.search(text, end):
        raise UnusableAnswer("there is more than one JSON value")
    return value


def _describe(error: ValidationError) -> str:
    problems = error.errors(include_url=False, include_input=False, include_context=False)[:5]
    return "; ".join(f"{'.'.join(map(str, each['loc'])) or 'answer'}: {each['msg']}" for each in problems)

"""Parses a model's output: removes its thoughts, reads its values, fits them to the schema."""

import re
from typing import Any

from thoughtcycle.memory.model import without_null
from thoughtcycle.mind.coercion import UnusableAnswer, fit, value_of, wants_list
from thoughtcycle.mind.surrogates import SurrogateJoiner

OPEN, CLOSE = "<think>", "</think>"

_FENCED = re.compile(r"\A```[\w-]*\s*\n(.*?)\n?\s*```\Z", re.DOTALL)


class ThoughtFilter:
    """Removes `<think>…</think>` from a text that arrives in pieces.

    A block at the start that never closes is a thought to its end; a later one that never closes is text
    about the tag, which `finish` returns.
    """

    def __init__(self) -> None:
        self._held = ""
        self._thinking = False
        self._said = False
        self._joiner = SurrogateJoiner()

    def feed(self, piece: str) -> str:
        """The text that can be shown now and was not shown before."""
        self._held += self._joiner.feed(piece)
        shown = ""
        while step := self._advance():
            shown += step[0]
        return self._showing(shown)

    def finish(self) -> str:
        """The rest of the text that is no thought."""
        rest = self._held + self._joiner.finish()
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
        lengths = range(min(len(tag) - 1, len(self._held)), -1, -1)
        end = len(self._held) - next(n for n in lengths if self._held.endswith(tag[:n]))
        free, self._held = self._held[:end], self._held[end:]
        return (self._showing(free),) if free else None

    def _showing(self, text: str) -> str:
        """`text` without blanks at the start of the answer."""
        shown = text if self._said else text.lstrip()
        self._said = self._said or bool(shown)
        return shown


def without_thoughts(text: str) -> str:
    """`text` without the thoughts before the answer, stripped.

    Some servers keep the opening tag in their template: then only the closing one arrives.
    """
    if CLOSE in text and OPEN not in text:
        text = text.partition(CLOSE)[2]
    sieve = ThoughtFilter()
    return (sieve.feed(text) + sieve.finish()).strip()


def _after_thoughts(text: str) -> str:
    """`text` without the thoughts at its start; a tag inside the data belongs to the data."""
    text = text.strip()
    if CLOSE in text and not text.startswith(("[", "{", OPEN)) and OPEN not in text.partition(CLOSE)[0]:
        text = text.partition(CLOSE)[2].strip()
    while text.startswith(OPEN):
        text = text.partition(CLOSE)[2].strip()
    return text


def parse(answer: str, schema: Any, left_out: list[str] | None = None) -> Any:
    """Reads `answer` as a value of `schema`; for `str` the stripped text.

    For a list: one item alone, wrappers (`{"memories": […]}`, a call with its arguments), lists on several
    lines, and short bare texts where texts are wanted. Items that do not fit are left out; the reasons,
    without a word of the answer, go to `left_out`. Raises UnusableAnswer where nothing is left.
    """
    text = without_thoughts(answer) if schema is str else _after_thoughts(answer)
    if schema is str and (fenced := _FENCED.match(text)):
        text = fenced[1].strip()
    if not text:
        raise UnusableAnswer("the answer is empty")
    if schema is str:
        return without_null(text)
    value, cut = value_of(text)
    reasons = ["it ends in the middle"] if cut else []
    if cut and not wants_list(schema):
        raise UnusableAnswer("the JSON ends in the middle")
    found = fit(value, schema, reasons)
    if cut and found in ([], ()):
        raise UnusableAnswer("the JSON ends in the middle")
    if left_out is not None:
        left_out += reasons
    return found

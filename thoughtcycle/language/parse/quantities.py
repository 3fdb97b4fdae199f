"""Every number and date of a text, as said and normalised (CM-3)."""

import re
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import datetime
from decimal import Decimal
from functools import cache
from typing import Any

from thoughtcycle.language.parse.dates import DateMention, amounts_in, dates_in, number_value
from thoughtcycle.language.parse.folding import Folded, fold
from thoughtcycle.memory.model import Preserved
from thoughtcycle.prompts.loader import Language, word_lists

MOST_QUANTITIES = 1_000
"""Numbers, and dates, that are looked for in one text; the transcript has what lies beyond."""

_TOKEN = re.compile(r"\S+")
_PIECE = re.compile(r"\d+(?:[.,]\d+){0,4}")
LONG = 60
"""Characters of a run without a space from which on each number in it stands alone, as in a pasted table."""

_EDGES = " \n.,;:!?…\"'()[]{}<>*~#|\x01"
_NUMBER = re.compile(r"[-+]?\d+(?:[.,]\d+)*")
_UNIT = re.compile(r"([-+]?\d+(?:[.,]\d+)*)(?:[ºª°o]|st|nd|rd|th|%|[a-z]{1,4})?")
_CLOCK = re.compile(r"(\d{1,2})(?:(?::|h)(\d{2}))?")
_WORD = re.compile(r"[a-z]+")


@dataclass(frozen=True)
class Quantity:
    """A number or a date and where it stands, as folded offsets."""

    start: int
    end: int
    preserved: Preserved
    date: bool


@cache
def _data(language: Language) -> dict[str, Any]:
    return dict(word_lists(language, "language/quantities"))


def quantities_in(text: str | Folded, language: Language, now: datetime) -> tuple[Quantity, ...]:
    """Every number and date in order, never overlapping; relative dates are resolved against `now` (BY-11).

    Telephone numbers, addresses and identifiers stay as they are, also where they are normalised.
    Numbers in words count where they measure something ("cinco mil", "ten percent").
    Linear in the length of the text.
    """
    folded = text if isinstance(text, Folded) else fold(text, language, len(text))
    found = list(_addresses(folded))
    for part in (_dates(folded, language, now), _amounts(folded, language), _spelled(folded, language)):
        taken = _Taken(folded, found)
        found += [one for one in part if taken.free(one.start, one.end)]
    found += _rest(folded, _Taken(folded, found), language)
    return tuple(sorted(found, key=lambda one: one.start))


def as_number(value: float) -> str:
    """A number in plain digits: 5000, 12.5."""
    return str(int(value)) if value == int(value) else format(Decimal(repr(value)), "f")


class _Taken:
    """Which characters of a text are already understood."""

    def __init__(self, folded: Folded, found: list[Quantity]) -> None:
        self._covered = bytearray(len(folded.text))
        for one in found:
            self._covered[one.start : one.end] = b"\1" * (one.end - one.start)

    def free(self, start: int, end: int) -> bool:
        return not any(self._covered[start:end])

    def blanked(self, text: str) -> str:
        return "".join(" " if taken else char for char, taken in zip(text, self._covered, strict=True))


def _addresses(folded: Folded) -> Iterator[Quantity]:
    for start, end in folded.atoms:
        said = folded.original(start, end)
        if any(char.isdigit() for char in said):
            yield Quantity(start, end, Preserved(said=said, normalised=said), date=False)


def _dates(folded: Folded, language: Language, now: datetime) -> Iterator[Quantity]:
    for mention in dates_in(folded, language, now):
        value = mention.value or _clock(mention, folded)
        if value and not _doubtful(mention, folded, language):
            preserved = Preserved(said=mention.words, normalised=value)
            yield Quantity(mention.start, mention.end, preserved, date=True)


def _clock(mention: DateMention, folded: Folded) -> str:
    """A time of day in ISO 8601 ("15:00"); nothing where no digits say it."""
    text = folded.text[mention.start : mention.end]
    match = _CLOCK.search(text)
    if match is None:
        return ""
    hour, minute = int(match[1]), int(match[2] or 0)
    after = text[match.end() :].strip()
    if hour <= 12 and after[:1] in ("a", "p"):
        hour = hour % 12 + (12 if after[0] == "p" else 0)
    return f"{hour:02}:{minute:02}" if hour < 25 and minute < 60 else ""


def _doubtful(mention: DateMention, folded: Folded, language: Language) -> bool:
    """Whether a month is likely another word: "I may", "we march", "Marco"."""
    months = _data(language)["months"]
    word = folded.text[mention.start : mention.end]
    if word not in months["doubtful"]:
        return False
    before = folded.text[max(0, mention.start - 20) : mention.start]
    marked = re.search(rf"\b(?:{months['before']}) $", before)
    typed = folded.original(mention.start, mention.end)
    return marked is None and (typed.isascii() if language == "pt" else not typed[:1].isupper())


def _amounts(folded: Folded, language: Language) -> Iterator[Quantity]:
    for amount in amounts_in(folded, language):
        said = Preserved(said=amount.words, normalised=as_number(amount.value))
        end = amount.end - (len(folded.text[amount.start : amount.end]) - len(amount.words))
        yield Quantity(amount.start, max(end, amount.start + 1), said, date=False)


def _spelled(folded: Folded, language: Language) -> Iterator[Quantity]:
    """Numbers in words that measure something."""
    data = _data(language)
    tokens = [(match[0], match.start(), match.end()) for match in _WORD.finditer(folded.text)]
    at = 0
    while at < len(tokens):
        end, value, scaled = _number_words(tokens, at, folded.text, data)
        if end == at:
            at += 1
            continue
        start, stop = tokens[at][1], tokens[end - 1][2]
        rest = folded.text[stop : stop + 20]
        share = re.match(rf" (?:{data['percent']})\b", rest)
        unit = _WORD.match(rest, 1) if rest[:1] == " " else None
        if scaled or share or (value != 1 and unit and unit[0] in _units(language)):
            stop += share.end() if share else 0
            said = folded.original(start, stop)
            yield Quantity(start, stop, Preserved(said=said, normalised=as_number(value)), date=False)
        at = end


@cache
def _units(language: Language) -> frozenset[str]:
    return frozenset(_data(language)["units"]["words"].split())


def _number_words(
    tokens: list[tuple[str, int, int]], at: int, text: str, data: dict[str, Any]
) -> tuple[int, int, bool]:
    """(end, value, whether a scale was named) of the number words from token `at` on; `at` for none."""
    total, group, end, scaled = 0, 0, at, False
    place = at
    while place < len(tokens):
        word, start, _ = tokens[place]
        if place > at and text[tokens[place - 1][2] : start] not in (" ", "-"):
            break
        if word in data["words"]:
            group += data["words"][word]
        elif word in data["scales"] and (end > at or data["scales"][word] == 1000):
            scale, scaled = data["scales"][word], True
            total, group = (total, (group or 1) * 100) if scale == 100 else (total + (group or 1) * scale, 0)
        elif word != data["and"] or end == at:
            break
        else:
            place += 1
            continue
        place += 1
        end = place
    return end, total + group, scaled


def _rest(folded: Folded, taken: _Taken, language: Language) -> Iterator[Quantity]:
    """Every digit that nothing else has understood."""
    for start, end in _digits(taken.blanked(folded.text)):
        while start < end and folded.text[start] in _EDGES:
            start += 1
        while end > start and folded.text[end - 1] in _EDGES:
            end -= 1
        said = folded.original(start, end)
        text = folded.text[start:end]
        if folded.text[end : end + 2] == " %":
            end, said = end + 2, said + " %"
        plain = _UNIT.fullmatch(text)
        normalised = said
        if plain and _is_number(plain[1]):
            sign = "-" if text[0] == "-" else ""
            normalised = sign + as_number(number_value(plain[1].lstrip("+-"), language))
        yield Quantity(start, end, Preserved(said=said, normalised=normalised), date=False)


def _digits(text: str) -> Iterator[tuple[int, int]]:
    """The spans that hold digits: between spaces, or each number of a longer run."""
    for match in _TOKEN.finditer(text):
        if len(match[0]) > LONG:
            yield from (piece.span() for piece in _PIECE.finditer(text, *match.span()))
        elif any(map(str.isdigit, match[0])):
            yield match.span()


def _is_number(text: str) -> bool:
    """Whether digits with separators are one number, and no version or other identifier ("1.2.3")."""
    digits = text.lstrip("+-")
    if digits.isdigit():
        return len(digits) < 10 and (digits == "0" or digits[0] != "0")
    return bool(re.fullmatch(r"\d{1,3}(?:\.\d{3})+(?:,\d+)?|\d{1,3}(?:,\d{3})+(?:\.\d+)?|\d+[.,]\d+", digits))

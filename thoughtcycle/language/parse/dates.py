"""Finds dates and amounts in a message and resolves relative ones against the message's own time (BY-11)."""

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from datetime import date, datetime, timedelta
from functools import cache
from typing import Any

from thoughtcycle.language.parse.folding import Folded, fold
from thoughtcycle.prompts.loader import Language, word_lists


@dataclass(frozen=True)
class DateMention:
    """A date, time or span in a message, as folded offsets."""

    start: int
    end: int
    words: str
    value: str
    """ISO 8601 as far as it is known: day, week (`2026-W48`), month, year; empty for a mere time of day."""
    relative: bool
    """Whether the words mean another day when read at another time ("amanhã")."""


@dataclass(frozen=True)
class Amount:
    """A number of money or a scaled number ("5 mil"), as said and normalised."""

    start: int
    end: int
    words: str
    value: float
    currency: str | None


@dataclass(frozen=True)
class _Patterns:
    data: Mapping[str, Any]
    days: re.Pattern[str]
    spans: Mapping[str, re.Pattern[str]]
    weekday: re.Pattern[str]
    date: re.Pattern[str]
    time: re.Pattern[str]
    amount: re.Pattern[str]
    recurring: re.Pattern[str]
    not_weekday: re.Pattern[str]
    not_relative: re.Pattern[str]


@cache
def _patterns(language: Language) -> _Patterns:
    data = word_lists(language, "language/dates")

    def build(pattern: str) -> re.Pattern[str]:
        for name, table in (("number", "numbers"), ("weekdays", "weekdays"), ("months", "months")):
            pattern = pattern.replace("{" + name + "}", "(?:" + "|".join(data[table]) + ")")
        return re.compile(rf"(?<!\w)(?:{pattern})")

    days = sorted(data["days"], key=len, reverse=True)
    return _Patterns(
        data=data,
        days=re.compile(rf"\b(?:{'|'.join(days)})\b"),
        spans={name: build(data[name]) for name in ("next", "last", "this", "ahead", "ago")},
        weekday=build(data["weekday"]),
        date=build(rf"(?:{data['date']})(?!\w)"),
        time=build(data["time"]),
        amount=build(data["amount"]),
        recurring=re.compile(data["recurring"]),
        not_weekday=re.compile(data["not_weekday"]),
        not_relative=re.compile(data["not_relative"]),
    )


def _span_value(unit: str, steps: int, today: date) -> str:
    if unit == "day":
        return (today + timedelta(days=steps)).isoformat()
    if unit == "week":
        year, week, _ = (today + timedelta(weeks=steps)).isocalendar()
        return f"{year:04}-W{week:02}"
    if unit == "month":
        year, month = divmod(today.year * 12 + today.month - 1 + steps, 12)
        return f"{year:04}-{month + 1:02}"
    return f"{today.year + steps:04}"


def _group(match: re.Match[str], *names: str) -> str | None:
    known = match.groupdict()
    return next((known[name] for name in names if known.get(name)), None)


def _relative(
    text: str, language: Language, today: date, *, past: bool = False
) -> Iterator[tuple[int, int, str]]:
    patterns = _patterns(language)
    data = patterns.data
    for match in patterns.days.finditer(text):
        yield match.start(), match.end(), _span_value("day", data["days"][match[0]], today)
    for name, sign in (("next", 1), ("last", -1), ("this", 0), ("ahead", 1), ("ago", -1)):
        for match in patterns.spans[name].finditer(text):
            count = _group(match, "n", "n2")
            steps = sign if count is None else sign * _number(count, data)
            unit = data["units"][_group(match, "u", "u1", "u2")]
            yield match.start(), match.end(), _span_value(unit, steps, today)
    for match in patterns.weekday.finditer(text):
        if not (wanted := _weekday(match, text, patterns)):
            continue
        ahead = (data["weekdays"][match["day"]] - today.weekday()) % 7 or 7
        if wanted == "past" or (past and not match.groupdict().get("next")):
            ahead -= 7
            ahead = ahead or -7
        yield match.start("day"), match.end(), _span_value("day", ahead, today)


def _weekday(match: re.Match[str], text: str, patterns: _Patterns) -> str | None:
    """`next` or `past` for one certain day; None for every such day and for words that only look like one."""
    if patterns.recurring.search(text, max(0, match.start("day") - 12), match.start("day")):
        return None
    if patterns.not_weekday.match(text, match.end()):
        return None
    if match["past"]:
        return "past"
    marked = _group(match, "next", "feira", "after") or match.start() < match.start("day")
    return "next" if marked or match["day"] in patterns.data["bare_weekday"] else None


def _number(word: str, data: Mapping[str, Any]) -> int:
    return int(word) if word.isdigit() else int(data["numbers"][word])


def _absolute(text: str, language: Language, today: date) -> Iterator[tuple[int, int, str]]:
    patterns = _patterns(language)
    for match in patterns.date.finditer(text):
        value = _calendar(match, patterns.data, today)
        if value:
            yield match.start(), match.end(), value
    for match in patterns.time.finditer(text):
        yield match.start(), match.end(), ""


def _calendar(match: re.Match[str], data: Mapping[str, Any], today: date) -> str:
    """The date meant; without a year the next one to come, without a month the next such day."""
    named = _group(match, "m", "m2", "mb")
    month = _group(match, "m3", "m4")
    day = _group(match, "d", "d3", "d4", "d5", "db")
    year = _group(match, "y", "y2", "y3", "y4", "yb")
    number = int(data["months"][named]) if named else int(month) if month else 0
    day_number = 0 if day is None else int(day) if day.isdigit() else 1
    if not number:
        return _next_day(day_number, today)
    if not 1 <= number <= 12:
        return ""
    coming = today.year + ((number, day_number or 31) < (today.month, today.day))
    full = int(year) + (2000 if len(year) == 2 else 0) if year else coming
    if not day_number:
        return f"{full:04}-{number:02}"
    try:
        return date(full, number, day_number).isoformat()
    except ValueError:
        return ""


def _next_day(day: int, today: date) -> str:
    for ahead in range(62):
        if (candidate := today + timedelta(days=ahead)).day == day:
            return candidate.isoformat()
    return ""


def dates_in(
    text: str | Folded, language: Language, now: datetime, *, past: bool = False
) -> tuple[DateMention, ...]:
    """Every date, time and span, in order, never overlapping (the longer one wins).

    `past`: what is told is over, so that a weekday is the last one and not the next.
    """
    folded = text if isinstance(text, Folded) else fold(text, language)
    blocked = [match.span() for match in _patterns(language).not_relative.finditer(folded.text)]
    found = [(a, b, value, True) for a, b, value in _relative(folded.text, language, now.date(), past=past)]
    found = [item for item in found if not any(a <= item[0] < b for a, b in blocked)]
    found += [(a, b, value, False) for a, b, value in _absolute(folded.text, language, now.date())]
    kept: list[DateMention] = []
    for a, b, value, relative in sorted(found, key=lambda item: (item[0], -item[1])):
        if not kept or a >= kept[-1].end:
            kept.append(DateMention(a, b, folded.original(a, b), value, relative))
    return tuple(kept)


def _readable(value: str, language: Language) -> str:
    """A date as people read it: a week by its Monday ("week of 2026-11-23")."""
    if "-W" not in value:
        return value
    year, week = value.split("-W")
    monday = date.fromisocalendar(int(year), int(week), 1)
    return f"{_patterns(language).data['week_of']} {monday.isoformat()}"


def annotate(text: str, language: Language, now: datetime, *, past: bool = False) -> str:
    """`text` with each relative date followed by what it resolves to: "amanhã (2026-11-22)".

    `past`: see `dates_in`.
    """
    folded = fold(text, language)
    parts: list[str] = []
    done = 0
    for mention in dates_in(folded, language, now, past=past):
        end = folded.ends[mention.end - 1]
        if mention.relative and not text[end:].startswith(" ("):
            parts.append(f"{text[done:end]} ({_readable(mention.value, language)})")
            done = end
    return "".join(parts) + text[done:]


def undated(text: str, language: Language, now: datetime, *, times_only: bool = False) -> str:
    """`text` without its dates, or without its times of day alone, and without what they leave hanging."""
    folded = fold(text, language)
    for mention in reversed(dates_in(folded, language, now)):
        if not (times_only and mention.value):
            start, end = folded.starts[mention.start], folded.ends[mention.end - 1]
            text = text[:start] + " " + text[end:]
    data = _patterns(language).data
    text = re.sub(rf"\( *(?:{data['week_of']} *)?\)", " ", text)
    return re.sub(rf"(?:[ ,.:;]+(?:{data['hanging']})\b)*[ ,.:;]*$", "", " ".join(text.split()))


def begins_with_date(text: str, language: Language, now: datetime) -> bool:
    """Whether a phrase is a day or time ("sábado", "às 15h", "Friday") and so no place."""
    folded = fold(text, language)
    found = dates_in(folded, language, now)
    if not found or found[0].start > 3:
        return False
    rest = folded.original(found[0].end, len(folded.text)).split()
    return not any(word[:1].isupper() for word in rest)


def amounts_in(text: str | Folded, language: Language) -> tuple[Amount, ...]:
    """Every amount with its normalised value: "R$ 5.000" is 5000 BRL, "4 mil" is 4000."""
    folded = text if isinstance(text, Folded) else fold(text, language)
    data = _patterns(language).data
    found = []
    for match in _patterns(language).amount.finditer(folded.text):
        number = _group(match, "v", "v2", "v3")
        if number is None:
            continue
        scale = data["scales"].get(_group(match, "s", "s2", "s3") or "", 1)
        currency = data["currencies"].get(_group(match, "c", "c2") or "")
        words = folded.original(match.start(), match.end()).rstrip(".,")
        value = _value(number, data["decimal"]) * scale
        found.append(Amount(match.start(), match.end(), words, value, currency))
    return tuple(found)


def number_value(number: str, language: Language) -> float:
    """The number behind digits as the language writes them: "5.000" is 5000 in Portuguese, 5 in English."""
    return _value(number, _patterns(language).data["decimal"])


def _value(number: str, decimal: str) -> float:
    """The number behind digits with separators; three digits after the last one are thousands.

    People write amounts as another language does: the last separator of "1,234.56" and of "1.234,56" is the
    decimal one in both.
    """
    number = number.rstrip(".,")
    place = max(number.rfind("."), number.rfind(","))
    digits = re.sub(r"\D", "", number)
    if place < 0:
        return float(digits)
    part = number[place + 1 :]
    fraction = len(part) != 3 if number[place] == decimal else len(part) in (1, 2)
    return float(f"0{digits[: -len(part)]}.{part}") if fraction else float(digits)

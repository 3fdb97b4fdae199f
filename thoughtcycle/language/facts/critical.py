"""Goals, limits, preferences and decisions that the user declares: critical data, found by rules (CM-7)."""

import re
from bisect import bisect_left
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from functools import cache
from typing import Any

from thoughtcycle.language.parse import (
    LIMIT,
    MOST_QUANTITIES,
    Clause,
    Message,
    Quantity,
    Sentence,
    compiled,
    detect_language,
    fold,
    names_in,
    parse,
    quantities_in,
    trim,
)
from thoughtcycle.memory.model import CriticalDatum, CriticalKind, Preserved, PreservedData
from thoughtcycle.prompts.loader import Language, word_lists

NEAR = 24
"""Folded characters behind "até" or "by" within which its date begins."""
REACH = 600
"""Folded characters that one datum takes in at most, from the beginning of its clause."""
MOST = 200
"""Data of one message; nobody declares more."""
LONGEST_VALUE = 200
"""Characters of a number or date as said: a longer run without a space is no number."""

_NOT_SAID = ("reported", "hypothetical")
_MARKS = frozenset('"“”«»„')
_MACRO = re.compile(r"\{([a-z_]+)\}")


@dataclass(frozen=True)
class _Trigger:
    kind: CriticalKind
    patterns: tuple[re.Pattern[str], ...]
    never: re.Pattern[str] | None
    opens: bool
    asked: bool
    dated: bool


@dataclass(frozen=True)
class _Found:
    kind: CriticalKind
    start: int
    end: int


class _Measured:
    """The amounts and dates of a message, by place: a pasted book has thousands."""

    def __init__(self, found: tuple[Quantity, ...]) -> None:
        self._found = sorted(found, key=lambda one: one.start)
        self._starts = [one.start for one in self._found]

    def within(self, start: int, end: int) -> list[Quantity]:
        """The quantities that begin at or after `start` and before `end`."""
        return self._found[bisect_left(self._starts, start) : bisect_left(self._starts, end)]


@cache
def _data(language: Language) -> Mapping[str, Any]:
    return word_lists(language, "language/critical")


@cache
def _compiled(pattern: str, language: Language) -> re.Pattern[str]:
    macros = _data(language)["macros"]
    while (grown := _MACRO.sub(lambda match: macros.get(match[1], match[0]), pattern)) != pattern:
        pattern = grown
    return compiled(pattern, language)


@cache
def _triggers(language: Language) -> tuple[_Trigger, ...]:
    return tuple(
        _Trigger(
            kind=entry["kind"],
            patterns=tuple(_compiled(pattern, language) for pattern in entry["patterns"]),
            never=_compiled(entry["never"], language) if "never" in entry else None,
            opens=entry.get("opens", False),
            asked=entry.get("asked", False),
            dated=entry.get("dated", False),
        )
        for entry in _data(language)["trigger"]
    )


def critical_in(text: str, *, language: Language, now: datetime, cycle: str) -> tuple[CriticalDatum, ...]:
    """The critical data that the user declares in a message, in order: clauses as said, amounts and dates.

    `language` decides where the words do not; `now` is the message's own time in the user's
    time zone (without one: UTC).
    What is negated, supposed, quoted, asked, said of somebody else, or taken back as a joke is none.
    Pure and linear in the length of `text`, of which the first 20,000 characters are read.
    """
    spoken = detect_language(text, language)
    message = parse(text, spoken)
    if message.unsaid:
        return ()
    measured = _Measured(quantities_in(message.folded, spoken, now))
    data: dict[tuple[CriticalKind, str], CriticalDatum] = {}
    for sentence in message.sentences:
        for found in _merged(_in_sentence(message, sentence, measured, spoken)):
            datum = _datum(message, found, measured, cycle, now, spoken)
            data.setdefault((datum.kind, datum.text), datum)
    return tuple(data.values())[:MOST]


def _datum(
    message: Message, found: _Found, measured: _Measured, cycle: str, at: datetime, language: Language
) -> CriticalDatum:
    start, end = trim(message.folded, found.start, found.end)
    tag = compiled(word_lists(language, "language/clauses")["tag"], language)
    if match := tag.search(message.folded.text, start, end):
        end = match.start()
    inside = [one.preserved.normalised for one in measured.within(start, end)]
    return CriticalDatum(
        kind=found.kind,
        text=" ".join(message.folded.original(start, end).split()),
        cycle=cycle,
        at=at if at.tzinfo else at.replace(tzinfo=UTC),
        values=tuple(dict.fromkeys(inside)),
    )


def _merged(found: Iterator[_Found]) -> list[_Found]:
    """One of several with the same kind that overlap, as long as it is no longer than `REACH`.

    They come in the order of their beginnings, so that only the last few of those kept can overlap the next.
    """
    kept: list[_Found] = []
    for one in found:
        same = None
        for place in range(len(kept) - 1, -1, -1):
            if kept[place].start + REACH < one.start:
                break
            same = place if _overlap(kept[place], one) else same
        if same is None:
            kept.append(one)
        else:
            kept[same] = _Found(one.kind, min(kept[same].start, one.start), max(kept[same].end, one.end))
    return kept


def _overlap(one: _Found, other: _Found) -> bool:
    together = max(one.end, other.end) - min(one.start, other.start)
    return one.kind == other.kind and one.start < other.end and other.start < one.end and together <= REACH


def _in_sentence(
    message: Message, sentence: Sentence, measured: _Measured, language: Language
) -> Iterator[_Found]:
    text = message.folded.text
    if _compiled(_data(language)["unsure"], language).search(text, sentence.start, sentence.end):
        return
    if conditional := _conditional(message, sentence, language):
        yield conditional
        return
    for place, clause in enumerate(sentence.clauses):
        if clause.mood in _NOT_SAID or clause.other_subject or _quoted(message, clause, language):
            continue
        reach = _reach(sentence, place)
        for kind, opens in _kinds(text, clause, reach, measured, language):
            end = reach if opens else _end(message, sentence, place, measured, language)
            yield _Found(kind, _start(clause, measured), end)


def _conditional(message: Message, sentence: Sentence, language: Language) -> _Found | None:
    """A limit that begins with its condition: "se eu passar de 800, me avisa"."""
    text, data = message.folded.text, _data(language)
    first = sentence.clauses[0] if sentence.clauses else None
    if first is None or not _compiled(data["condition"], language).match(text, first.start, first.end):
        return None
    end = min(sentence.end, first.start + REACH)
    told = _compiled(rf"(?<!\w){data['told']}", language).search(text, first.start, end)
    if told is None or not any(map(str.isdigit, text[first.start : told.start()])):
        return None
    return _Found("configured_limits", first.start, end)


def _quoted(message: Message, clause: Clause, language: Language) -> bool:
    """Whether a quotation mark opens the clause, or what is before its colon says whose words follow."""
    folded = message.folded
    begin = folded.starts[clause.start] if clause.start < len(folded.starts) else 0
    if folded.source[max(0, begin - 1) : begin] in _MARKS:
        return True
    before = folded.text[max(0, clause.start - 40) : clause.start].rstrip()
    return before.endswith(":") and bool(_compiled(_data(language)["quoting"], language).search(before))


def _reach(sentence: Sentence, place: int) -> int:
    """The end of the clauses from this one on that are the user's own."""
    clause = sentence.clauses[place]
    return max([clause.end, *(later.end for later in _following(sentence, place))])


def _following(sentence: Sentence, place: int) -> Iterator[Clause]:
    """The clauses behind one, as long as they are the user's own and near."""
    limit = sentence.clauses[place].start + REACH
    for later in sentence.clauses[place + 1 :]:
        if later.mood in _NOT_SAID or later.other_subject or later.end > limit:
            return
        yield later


def _kinds(
    text: str, clause: Clause, reach: int, measured: _Measured, language: Language
) -> Iterator[tuple[CriticalKind, bool]]:
    """The kinds whose pattern the clause begins with, and whether what is meant may lie behind it."""
    for trigger in _triggers(language):
        if clause.mood == "question" and not trigger.asked:
            continue
        if trigger.never and trigger.never.match(text, clause.start, reach):
            continue
        for pattern in trigger.patterns:
            end = reach if trigger.opens else clause.end
            match = pattern.match(text, clause.start, end)
            if match and not (trigger.dated and not _dated(match.end(), measured)):
                yield trigger.kind, trigger.opens
                break


def _dated(end: int, measured: _Measured) -> bool:
    return any(one.date for one in measured.within(end - 1, end + NEAR))


def _start(clause: Clause, measured: _Measured) -> int:
    """The beginning of the clause, or of the words before it where they hold a date."""
    lead = clause.start - len(clause.lead)
    return lead if any(one.date for one in measured.within(lead, clause.start)) else clause.start


def _end(message: Message, sentence: Sentence, place: int, measured: _Measured, language: Language) -> int:
    """The end of the clauses that continue this one or give the amount that it lacks."""
    text = message.folded.text
    continues = compiled(word_lists(language, "language/clauses")["continues"], language)
    clause = sentence.clauses[place]
    end = clause.end
    for later in _following(sentence, place):
        goes_on = continues.match(text, later.start - len(later.lead), later.end)
        lacks = not measured.within(clause.start, end)
        gives = bool(measured.within(later.start, later.end))
        own = next(_kinds(text, later, later.end, measured, language), None)
        if own is not None or not (goes_on or (lacks and gives)):
            break
        end = later.end
    return end


def preserved_in(text: str, *, language: Language, now: datetime) -> PreservedData:
    """Every number and date of `text` as said and normalised, its decisions, and whom or what it names.

    `language` decides where the words do not; `now` is the text's own time in the user's time zone (BY-11).
    At most 1,000 numbers and as many dates (the transcript has them all), names of the first 20,000
    characters. Pure and linear in the length of `text`.
    """
    spoken = detect_language(text, language)
    folded = fold(text, spoken, len(text))
    numbers: dict[Preserved, None] = {}
    dates: dict[Preserved, None] = {}
    for one in quantities_in(folded, spoken, now):
        said = one.preserved.said
        if len(said) <= LONGEST_VALUE:
            (dates if one.date else numbers).setdefault(one.preserved, None)
    declared = critical_in(text, language=spoken, now=now, cycle="")
    addresses = [folded.original(start, end) for start, end in folded.atoms[:MOST_QUANTITIES]]
    named = [*names_in(text[:LIMIT]), *(said for said in addresses if not any(map(str.isdigit, said)))]
    return PreservedData(
        numerical_values=tuple(numbers)[:MOST_QUANTITIES],
        dates=tuple(dates)[:MOST_QUANTITIES],
        decisions=tuple(one.text for one in declared if one.kind == "important_decisions"),
        essential_context=tuple(dict.fromkeys(named)),
    )

"""The wording of a briefing (HM-10): short lines, never JSON (pure)."""

from collections.abc import Iterable
from dataclasses import dataclass, replace
from datetime import datetime, tzinfo
from functools import cache
from typing import Literal

from thoughtcycle.memory.model import MemoryRecord, MessageHit, Mood, OldCycle, Period, ProfileEntry, named_id
from thoughtcycle.memory.text.analyzer import fold
from thoughtcycle.memory.text.labels import label_of
from thoughtcycle.memory.text.secrets import masked
from thoughtcycle.prompts.loader import Language, Texts, texts
from thoughtcycle.text_clipping import ELLIPSIS, clip_at_word

Origin = Literal["memory", "profile", "cycle", "message", "conversation"]
LONGEST = 400
"""Characters of one memory or summary in a briefing; the store keeps it whole."""
LONGEST_EXCERPT = 300
"""Characters of one message in a briefing."""
LABEL = 60
"""Characters of a label before a text."""
JOINED = 160
"""Characters of a line up to which related facts join it."""
READ = 2_000
"""Characters of a text that are read before it is cut: a secret is masked whole, not its visible half."""
AROUND = 6
"""Characters that a line adds to label and text, at most: its bullet, a colon, a full stop, its end."""


@dataclass(frozen=True)
class Item:
    """A candidate line of the briefing, and its origin."""

    id: str
    """Of the memory, cycle or message; for a profile entry a hash of its key."""
    text: str
    origin: Origin
    score: float = 0.0
    label: str = ""
    """Stands before the text; items of one label share a line."""
    group: str = ""
    """Items without a label that are related share a line."""
    at: datetime | None = None
    said: str = ""
    """The plain text, where `text` has dates or marks."""
    former: "Item | None" = None
    """Its former version."""

    @property
    def essence(self) -> str:
        """The text that duplicates are recognised by."""
        return self.said or self.text


def clipped(text: str, longest: int = LONGEST) -> str:
    """`text` on one line, at most `longest` characters, cut between words where there is one.

    A briefing is shown unasked, so secrets are masked (BY-10); a search gives them back.
    """
    line = " ".join(masked(text[:READ]).split())
    return clip_at_word(line if len(text) <= READ else line + ELLIPSIS, longest)


def day(at: datetime, zone: tzinfo | None) -> str:
    """The day of a moment as the user counts days, ISO 8601."""
    return at.astimezone(zone).date().isoformat() if zone is not None else at.date().isoformat()


def of_memory(record: MemoryRecord, score: float, now: datetime, frame: Texts, *, labelled: bool) -> Item:
    """A memory, `labelled` with the topic of its key; one that ended says so, with its dates."""
    text = clipped(record.line)
    family = (record.key or "").split(":")[0]
    item = Item(
        id=record.id,
        text=text,
        origin="memory",
        score=score,
        label=clipped(family, LABEL) if labelled else "",
        group=family or (f"kind {record.kind}" if record.kind else ""),
        at=record.valid_from,
    )
    over = record.valid_to or (record.expires if record.expires and record.expires <= now else None)
    return item if over is None else replace(item, text=past(record, over, now, frame), said=text)


def of_former(record: MemoryRecord, current: Item, now: datetime, frame: Texts) -> Item:
    """The former version of a memory, on the line of the current one."""
    text = past(record, record.valid_to or record.updated, now, frame)
    return replace(current, id=record.id, text=text, said=clipped(record.line))


def past(record: MemoryRecord, until: datetime, now: datetime, frame: Texts) -> str:
    """A fact that was once true, labelled as past with its dates."""
    dates = {"since": day(record.valid_from, now.tzinfo), "until": day(until, now.tzinfo)}
    return frame.fill("past", text=clipped(record.line), **dates)


def of_event(item: Item, now: datetime) -> Item:
    """An event with its day before it."""
    if item.at is None or item.said:
        return item
    return replace(item, text=f"{day(item.at, now.tzinfo)} {item.text}", said=item.text, group="")


def of_profile(entry: ProfileEntry, score: float) -> Item:
    """An entry of the profile as `key: value`."""
    text, label = clipped(entry.value), clipped(entry.key, LABEL)
    id = named_id("profile", entry.key)
    return Item(id, text, "profile", score, label=label, at=entry.updated, said=f"{entry.key} {text}")


def of_old(entry: OldCycle, score: float, now: datetime) -> Item:
    """An old cycle of this chat as its dated summary."""
    text = clipped(entry.summary)
    dated = f"{day(entry.timestamp, now.tzinfo)} {text}"
    return Item(entry.cycle_id, dated, "cycle", score, at=entry.timestamp, said=text)


def of_period(period: Period, now: datetime) -> Item:
    """Old cycles of this chat that were rolled up into one summary."""
    since, until = day(period.since, now.tzinfo), day(period.until, now.tzinfo)
    dates = since if since == until else f"{since} – {until}"
    text = clipped(period.summary)
    id = period.first or named_id("period", since, text)
    return Item(id, f"{dates} {text}", "cycle", at=period.until, said=text)


def of_other(item: Item, importance: int, frame: Texts) -> Item:
    """Something of another chat with its importance (SM-5); it stands by relevance, not by its day."""
    marked = frame.fill("importance", importance=importance, text=item.text)
    return replace(item, text=marked, said=item.essence, at=None)


def of_message(hit: MessageHit, now: datetime, frame: Texts, longest: int = LONGEST_EXCERPT) -> Item:
    """A message, verbatim, with day and speaker."""
    text = clipped(hit.text, longest)
    who = clipped(hit.name, 40) if hit.name else frame[hit.role]
    line = f'{day(hit.at, now.tzinfo)} {who}: "{text}"'
    return Item(hit.message, line, "message", hit.relevance, at=hit.at, said=text)


def of_mood(mood: Mood, frame: Texts, language: Language) -> str:
    """A mood as an instruction; one without a line of its own by its name in `language`."""
    name = fold(mood.name)
    for known, beginnings in _moods(frame["moods"]):
        if name.startswith(beginnings):
            return frame[f"mood.{known}"]
    return frame.fill("mood.other", mood=clipped(label_of("mood", mood.name, language), 40))


@cache
def _moods(text: str) -> tuple[tuple[str, tuple[str, ...]], ...]:
    pairs = (pair.split("=") for pair in text.split())
    return tuple((name, tuple(beginnings.split(","))) for name, beginnings in pairs)


def bullets(items: Iterable[Item], language: Language) -> list[str]:
    """The lines of a section; related items share one, as in "Vegetariano; odeia coentro."."""
    lines: list[tuple[str, str, list[str]]] = []
    for item in items:
        for label, group, parts in lines:
            related = (item.label, item.group) == (label, group) and (label or group)
            if related and len(item.text) + sum(map(len, parts)) <= JOINED:
                parts.append(_continued(item.text, language))
                break
        else:
            lines.append((item.label, item.group, [item.text]))
    return [f"- {label + ': ' if label else ''}{_ended('; '.join(parts))}" for label, _, parts in lines]


def _ended(text: str) -> str:
    return text if text.endswith((".", "!", "?", '"', ELLIPSIS)) else f"{text}."


def _continued(text: str, language: Language) -> str:
    """`text` inside a line: a verb that began a sentence loses its capital, a name keeps it."""
    first, _, rest = text.partition(" ")
    if fold(first) not in _starters(language):
        return text
    return f"{first[0].lower()}{first[1:]} {rest}".rstrip()


@cache
def _starters(language: Language) -> frozenset[str]:
    return frozenset(fold(word) for word in texts(language, "briefing")["starters"].split())

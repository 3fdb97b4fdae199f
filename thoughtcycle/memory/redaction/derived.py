"""Blots hidden words out of what formation made: judgements, memories of chats, profiles (pure)."""

from collections.abc import Callable, Sequence
from datetime import datetime
from typing import Protocol, TypeVar

from thoughtcycle.memory.model import (
    ConversationMemory,
    CriticalDatum,
    FoundFact,
    Judgement,
    Mood,
    PreservedData,
    Profile,
    ProfileEntry,
)
from thoughtcycle.memory.text.spans import HIDDEN, is_blank

S = TypeVar("S", ConversationMemory, Profile)


class Blot(Protocol):
    """Takes hidden words out of texts derived from a message."""

    @property
    def memories(self) -> frozenset[str]:
        """Ids of the memories that are hidden."""
        ...

    def text(self, text: str) -> str:
        """A text as it may be read."""
        ...

    def keeps(self, text: str) -> bool:
        """Whether a value may stay."""
        ...


BlotOf = Callable[[Sequence[str], datetime | None], Blot]
"""The blot of what was made of these cycles, said at a time (None: not known)."""


def blotted_judgement(one: Judgement, blot: Blot) -> Judgement:
    """`one` without hidden words; of facts, which are learned from, those that told any are left out."""
    mood = one.mood
    return one.model_copy(
        update={
            "summary": blot.text(one.summary),
            "facts": tuple(fact for fact in one.facts if _stays(fact, blot)),
            "preserved": blotted_data(one.preserved, blot),
            "critical": tuple(_critical(datum, blot) for datum in one.critical),
            "mood": mood if mood is not None and blot.keeps(mood.name) and blot.keeps(mood.topic) else None,
        }
    )


def _stays(fact: FoundFact, blot: Blot) -> bool:
    if {fact.same_as, fact.replaces} & blot.memories:
        return False
    texts = (fact.content, fact.words, fact.key or "", *fact.bindings, *fact.tags)
    return all(blot.text(text) == text for text in texts)


def blotted_data(data: PreservedData, blot: Blot) -> PreservedData:
    """`data` without the values and texts that tell what is hidden."""
    return PreservedData(
        numerical_values=tuple(one for one in data.numerical_values if blot.keeps(one.said)),
        dates=tuple(one for one in data.dates if blot.keeps(one.said)),
        decisions=_texts(data.decisions, blot),
        essential_context=_texts(data.essential_context, blot),
    )


def _texts(texts: Sequence[str], blot: Blot) -> tuple[str, ...]:
    return tuple(left for left in map(blot.text, texts) if not is_blank(left))


def _critical(datum: CriticalDatum, blot: Blot) -> CriticalDatum:
    text = blot.text(datum.text)
    return datum if text == datum.text else datum.model_copy(update={"text": text, "values": ()})


def blotted_conversation(memory: ConversationMemory, blot_of: BlotOf) -> ConversationMemory:
    """`memory` without hidden words, entry for entry: none is left out."""
    old = []
    for entry in memory.old_memory:
        blot = blot_of((entry.cycle_id,), entry.timestamp)
        said = {
            "summary": blot.text(entry.summary),
            "preserved_data": blotted_data(entry.preserved_data, blot),
        }
        old.append(entry.model_copy(update=said))
    return memory.model_copy(
        update={
            "old_memory": tuple(old),
            "periods": tuple(
                one.model_copy(update={"summary": blot_of(one.cycle_ids, one.since).text(one.summary)})
                for one in memory.periods
            ),
            "ledger": tuple(
                one.model_copy(
                    update={
                        "preserved_data": blotted_data(
                            one.preserved_data, blot_of((one.cycle_id,), one.timestamp)
                        )
                    }
                )
                for one in memory.ledger
            ),
            "critical_data": tuple(
                _critical(one, blot_of((one.cycle,), one.at)) for one in memory.critical_data
            ),
            "working": blot_of((), None).text(memory.working),
        }
    )


def blotted_profile(profile: Profile, blot_of: BlotOf) -> Profile:
    """`profile` without hidden words, entry for entry: none is left out."""
    return profile.model_copy(
        update={
            "entries": tuple(_entry(one, blot_of(one.cycles, one.updated)) for one in profile.entries),
            "moods": tuple((cycle, _mood(mood, blot_of((cycle,), None))) for cycle, mood in profile.moods),
        }
    )


def _entry(entry: ProfileEntry, blot: Blot) -> ProfileEntry:
    if not blot.keeps(entry.key):
        return entry.model_copy(update={"key": HIDDEN, "value": HIDDEN})
    if blot.keeps(entry.value) and blot.keeps(f"{entry.key}: {entry.value}"):
        return entry
    return entry.model_copy(update={"value": HIDDEN})


def _mood(mood: Mood, blot: Blot) -> Mood:
    if blot.keeps(mood.name) and blot.keeps(mood.topic):
        return mood
    return mood.model_copy(update={"name": HIDDEN, "topic": ""})


def without_blanks(sheet: S) -> S:
    """`sheet` without data and habits of which nothing is left; summaries stay, they hold a cycle's place."""
    if isinstance(sheet, Profile):
        return legible_profile(sheet)
    kept = tuple(one for one in sheet.critical_data if not is_blank(one.text))
    return sheet.model_copy(update={"critical_data": kept})


def legible_conversation(memory: ConversationMemory) -> ConversationMemory:
    """`memory` without the entries of which nothing is left: as it is shown to a model."""
    return memory.model_copy(
        update={
            "old_memory": tuple(one for one in memory.old_memory if not is_blank(one.summary)),
            "periods": tuple(one for one in memory.periods if not is_blank(one.summary)),
            "critical_data": tuple(one for one in memory.critical_data if not is_blank(one.text)),
            "working": "" if is_blank(memory.working) else memory.working,
        }
    )


def legible_profile(profile: Profile) -> Profile:
    """`profile` without the entries of which nothing is left."""
    entries = tuple(one for one in profile.entries if not is_blank(one.value))
    moods = tuple((cycle, mood) for cycle, mood in profile.moods if not is_blank(mood.name))
    return profile.model_copy(update={"entries": entries, "moods": moods})

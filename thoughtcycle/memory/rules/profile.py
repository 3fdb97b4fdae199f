"""Habits of a user, with a confidence by observation (LM-3), and recurring moods (HM-4, pure).

Confidence: FIRST at first sight; a confirming observation takes it c → c + RAISE · (1 - c), a contradicting
one c → c - LOWER; when that falls below REPLACE, the new value takes the place of the old one, at FIRST.
"""

from datetime import datetime

from thoughtcycle.memory.model import MemoryDraft, Mood, Profile, ProfileEntry, Source
from thoughtcycle.memory.rules.layer_rules import Preference
from thoughtcycle.memory.text.labels import label_of
from thoughtcycle.prompts.loader import Language, texts

FIRST = 0.7
RAISE = 0.25
LOWER = 0.25
REPLACE = 0.3
CYCLES = 50
"""Cycles that an entry names; none of them is counted twice."""
MOODS = 200
"""Moods that a profile holds."""
RECURRING = 3
"""Cycles with the same mood on the same topic that make a pattern."""


def with_observation(profile: Profile, preference: Preference, cycle: str, at: datetime) -> Profile:
    """The profile after one observation; unchanged when its entry has counted the cycle."""
    known = next((entry for entry in profile.entries if entry.key == preference.key), None)
    if known is None:
        return profile.model_copy(update={"entries": (*profile.entries, _first(preference, cycle, at))})
    if cycle in known.cycles:
        return profile
    changed = _changed(known, preference, cycle, at)
    entries = tuple(changed if entry is known else entry for entry in profile.entries)
    return profile.model_copy(update={"entries": entries})


def _first(preference: Preference, cycle: str, at: datetime) -> ProfileEntry:
    return ProfileEntry(
        key=preference.key,
        value=preference.value,
        category=preference.category,
        confidence=FIRST,
        cycles=(cycle,),
        created=at,
        updated=at,
    )


def _changed(known: ProfileEntry, preference: Preference, cycle: str, at: datetime) -> ProfileEntry:
    confirms = known.value.casefold() == preference.value.casefold()
    confidence = known.confidence + RAISE * (1 - known.confidence) if confirms else known.confidence - LOWER
    if confidence < REPLACE:
        return _first(preference, cycle, at).model_copy(update={"created": known.created})
    return known.model_copy(
        update={
            "confidence": round(confidence, 4),
            "observations": known.observations + 1,
            "cycles": (*known.cycles, cycle)[-CYCLES:],
            "updated": max(at, known.updated),
        }
    )


def with_mood(profile: Profile, mood: Mood, cycle: str, at: datetime) -> Profile:
    """The profile with the mood of a cycle that began at `at`; unchanged when it has one of this cycle."""
    if any(known == cycle for known, _ in profile.moods):
        return profile
    return profile.model_copy(
        update={"moods": (*profile.moods, (cycle, mood.model_copy(update={"at": at})))[-MOODS:]}
    )


def recurring_mood(profile: Profile, mood: Mood, cycle: str, language: Language) -> MemoryDraft | None:
    """The pattern that a mood on the same topic in RECURRING cycles makes (HM-4); None: there is none.

    The key names mood and topic, so that a further occurrence reinforces the same memory.
    """
    same = [each for _, each in profile.moods if (each.name, each.topic) == (mood.name, mood.topic)]
    if not mood.topic or len(same) < RECURRING:
        return None
    name = label_of("mood", mood.name, language)
    content = texts(language, "formation/patterns").fill("recurring", mood=name, topic=mood.topic)
    return MemoryDraft(
        content=content[:1].upper() + content[1:],
        kind="emo",
        layer="semantic",
        key=f"pattern:{mood.name}:{mood.topic}"[:200],
        bindings=(mood.topic, name),
        tags=("pattern",),
        weight=max(each.intensity for each in same),
        source=Source(cycle=cycle),
    )

"""The profile's confidence and the moods that come back."""

from datetime import UTC, datetime, timedelta

import pytest

from thoughtcycle.language.parse.patterns import vocabulary
from thoughtcycle.memory.model.conversation import Profile
from thoughtcycle.memory.model.judgement import Mood
from thoughtcycle.memory.rules.layer_rules import Preference
from thoughtcycle.memory.rules.profile import CYCLES, MOODS, recurring_mood, with_mood, with_observation
from thoughtcycle.memory.text.labels import label_of
from thoughtcycle.prompts.loader import LANGUAGES, Language, texts, word_lists

AT = datetime(2026, 11, 21, 10, 0, tzinfo=UTC)


def seen(*values: str) -> Profile:
    profile = Profile(user="u")
    for number, value in enumerate(values):
        at = AT + timedelta(days=number)
        profile = with_observation(
            profile, Preference("communication_preference", value, "communication"), f"c{number}", at
        )
    return profile


@pytest.mark.spec("LM-3")
@pytest.mark.parametrize(
    ("values", "value", "confidence", "observations"),
    [
        (("email",), "email", 0.7, 1),
        (("email", "email"), "email", 0.775, 2),
        (("email", "EMAIL", "email"), "email", 0.8313, 3),
        (("email", "call"), "email", 0.45, 2),
        (("email", "call", "call"), "call", 0.7, 1),
        (("email", "call", "email"), "email", 0.5875, 3),
        (("email", "email", "email", "call", "call"), "email", 0.3313, 5),
        (("email", "email", "email", "call", "call", "call"), "call", 0.7, 1),
    ],
)
def test_confidence(values: tuple[str, ...], value: str, confidence: float, observations: int) -> None:
    (entry,) = seen(*values).entries
    assert (entry.value, entry.observations) == (value, observations)
    assert entry.confidence == pytest.approx(confidence)
    assert entry.created == AT
    assert entry.updated == AT + timedelta(days=len(values) - 1)


@pytest.mark.spec("LM-3")
def test_a_cycle_counts_once() -> None:
    profile = seen("email", "call")
    again = Preference("communication_preference", "call", "communication")
    assert with_observation(profile, again, "c1", AT) == profile
    replaced = seen("email", "call", "call")
    assert with_observation(replaced, again, "c2", AT) == replaced


@pytest.mark.spec("LM-3")
def test_confidence_never_leaves_its_range_and_the_entry_stays_small() -> None:
    (entry,) = seen(*["email"] * 300).entries
    assert entry.confidence <= 1.0
    assert len(entry.cycles) == CYCLES


def test_a_clock_that_jumps_back_takes_no_time_away() -> None:
    profile = seen("email")
    later = with_observation(
        profile, Preference("communication_preference", "email", ""), "x", AT - timedelta(days=9)
    )
    assert later.entries[0].updated == AT


def moody(*moods: tuple[str, str]) -> Profile:
    profile = Profile(user="u")
    for number, (name, topic) in enumerate(moods):
        profile = with_mood(profile, Mood(name=name, topic=topic), f"c{number}", AT)
    return profile


@pytest.mark.spec("HM-4")
@pytest.mark.parametrize(
    ("moods", "found"),
    [
        ([("anxious", "prazo")] * 2, False),
        ([("anxious", "prazo")] * 3, True),
        ([("anxious", "prazo"), ("sad", "prazo"), ("anxious", "prova"), ("anxious", "prazo")], False),
        ([("anxious", "prazo"), ("sad", "x"), ("anxious", "prazo"), ("anxious", "prazo")], True),
        ([("anxious", "")] * 5, False),
    ],
)
def test_a_mood_on_a_topic_in_three_cycles_is_a_pattern(moods: list[tuple[str, str]], found: bool) -> None:
    profile = moody(*moods)
    name, topic = moods[-1]
    draft = recurring_mood(profile, Mood(name=name, topic=topic), "c9", "pt")
    assert (draft is not None) == found
    if draft:
        assert (draft.content, draft.kind, draft.layer) == (
            "Ansioso quando o assunto é prazo",
            "emo",
            "semantic",
        )
        assert draft.key == "pattern:anxious:prazo"


@pytest.mark.spec("HM-4")
def test_the_pattern_keeps_its_key_when_it_comes_up_again_and_speaks_the_language() -> None:
    profile = moody(*[("anxious", "deadline")] * 4)
    draft = recurring_mood(profile, Mood(name="anxious", topic="deadline"), "c3", "en")
    assert draft is not None
    assert (draft.content, draft.key) == ("Anxious when it is about deadline", "pattern:anxious:deadline")


@pytest.mark.spec("HM-4")
def test_a_cycle_is_felt_once_and_old_moods_leave() -> None:
    once = moody(("sad", "x"))
    assert with_mood(once, Mood(name="sad", topic="x"), "c0", AT) == once
    assert once.moods[0][1].at == AT
    assert len(moody(*[("sad", "x")] * (MOODS + 5)).moods) == MOODS


@pytest.mark.parametrize(
    ("name", "pt", "en"),
    [("in_love", "apaixonado", "in love"), ("anxious", "ansioso", "anxious"), ("zen", "zen", "zen")],
)
def test_a_mood_is_called_by_its_word(name: str, pt: str, en: str) -> None:
    assert (label_of("mood", name, "pt"), label_of("mood", name, "en")) == (pt, en)


@pytest.mark.parametrize("language", LANGUAGES)
def test_every_mood_of_the_word_lists_has_a_name(language: str) -> None:
    for each in LANGUAGES:
        for mood in vocabulary(each)["moods"]:
            assert f"mood.{mood}" in texts(language, "formation/patterns")  # type: ignore[arg-type]


@pytest.mark.parametrize("language", LANGUAGES)
def test_every_habit_has_its_words(language: Language) -> None:
    words = word_lists(language, "language/layers")
    names = ("communication_preference", "time_preference", *words["channels"], *words["times"])
    for name in names:
        assert f"habit.{name}" in texts(language, "formation/patterns"), name
    assert label_of("habit", "14:30", language) == "14:30"

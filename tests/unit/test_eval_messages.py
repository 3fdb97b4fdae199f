"""The labelled everyday messages are whole, split by a fixed rule, and scored right."""

import json

import pytest
from typer.testing import CliRunner

from thoughtcycle.cli.main import app
from thoughtcycle.evals.everyday import ALL, Reading, failures, score
from thoughtcycle.evals.everyday_labels import HALVES, alternating, labelled, load
from thoughtcycle.prompts.loader import LANGUAGES, Language


@pytest.mark.parametrize("language", LANGUAGES)
def test_there_are_300_messages_in_balanced_halves(language: Language) -> None:
    halves = {half: load(language, half) for half in HALVES}
    texts = [message.text for half in halves.values() for message in half]
    assert len(texts) == len(set(texts)) >= 300
    categories = [{message.category for message in half} for half in halves.values()]
    assert categories[0] == categories[1]
    assert abs(len(halves["tune"]) - len(halves["held_out"])) <= len(categories[0])
    for half in halves.values():
        assert sum(message.keep is True for message in half) >= 60
        assert sum(message.keep is False for message in half) >= 40


@pytest.mark.parametrize("language", LANGUAGES)
def test_the_fresh_messages_are_others_and_balanced(language: Language) -> None:
    fresh = {half: load(language, half, "fresh") for half in HALVES}
    first = {message.text for half in HALVES for message in load(language, half)}
    texts = {message.text for half in fresh.values() for message in half}
    assert sum(map(len, fresh.values())) == len(texts) >= 120
    assert len(texts & first) <= 8  # "...", "test" and the like stand in any such list
    for half in fresh.values():
        assert sum(message.keep is True for message in half) == 41
        assert sum(message.keep is False for message in half) == 48


def test_halves_alternate() -> None:
    assert alternating("abcde", "tune") == ["a", "c", "e"]
    assert alternating("abcde", "held_out") == ["b", "d"]


def test_labels_are_read() -> None:
    told = labelled(
        "c", "t", "bio:14 de março|14/03 obj|any:a+b critical:goals critical:limits? mood:sad/job"
    )
    assert told.keep is True
    assert [fact.kinds for fact in told.facts] == [{"bio"}, frozenset()]
    assert told.facts[1].fits(None, "A and B") and not told.facts[1].fits(None, "A and C")
    assert told.critical == {"financial_goals"}
    assert told.allowed == {"financial_goals", "configured_limits"}
    assert told.mood is not None and told.mood[1].search("my job")
    assert labelled("c", "t", "").keep is False
    assert labelled("c", "t", "either").keep is None


@pytest.mark.parametrize("labels", ["fact:x", "bio:", "critical:money", "kept"])
def test_a_label_that_is_none_is_refused(labels: str) -> None:
    with pytest.raises((ValueError, KeyError)):
        labelled("c", "t", labels)


def test_facts_and_moods_are_counted() -> None:
    messages = [
        labelled("c", "one", "bio:york"),
        labelled("c", "two", "pref:tea mood:sad/rain"),
        labelled("d", "three", ""),
    ]
    said = {
        "one": Reading(facts=(("bio", "Lives in York"), ("bio", "Is tall"))),
        "two": Reading(facts=(("bio", "Likes tea"),), mood=("sad", "rain")),
        "three": Reading(mood=("glad", "")),
    }
    told = score(messages, "en", lambda text, language: said[text])
    facts, mood = told[ALL, "facts"], told[ALL, "mood"]
    assert (facts.precision, facts.recall) == (1 / 3, 1 / 2)
    assert (mood.precision, mood.recall) == (1 / 2, 1.0)
    assert told["d", "facts"].precision is None


def test_what_passes_and_what_is_critical_is_counted() -> None:
    messages = [
        labelled("c", "one", "any:x critical:goals"),
        labelled("c", "two", "keep critical:limits?"),
        labelled("c", "three", ""),
        labelled("c", "four", ""),
        labelled("c", "five", "either"),
    ]
    said = {
        "one": Reading(kept=False, critical=frozenset({"financial_goals", "important_decisions"})),
        "two": Reading(critical=frozenset({"configured_limits"})),
        "three": Reading(),
        "four": Reading(kept=False),
        "five": Reading(),
    }
    told = score(messages, "en", lambda text, language: said[text])
    assert (told[ALL, "kept"].recall, told[ALL, "dropped"].recall) == (1 / 2, 1 / 2)
    critical = told[ALL, "critical"]
    assert (critical.precision, critical.recall) == (2 / 3, 1.0)


@pytest.mark.parametrize("language", LANGUAGES)
def test_the_rules_do_not_get_worse(language: Language) -> None:
    told = score(load(language, "held_out"), language)
    assert (told[ALL, "facts"].precision or 0) >= 0.8
    assert (told[ALL, "facts"].recall or 0) >= 0.5
    assert (told[ALL, "kept"].recall or 0) >= 0.95
    assert (told[ALL, "critical"].precision or 0) >= 0.9
    assert (told[ALL, "critical"].recall or 0) >= 0.75


def test_only_the_tuned_half_is_listed_when_it_fails() -> None:
    listed = failures("en", lambda text, language: Reading())
    held_out = {repr(message.text) for message in load("en", "held_out")}
    assert listed and not any(text in line for line in listed for text in held_out)


def test_the_command_prints_tables_json_and_failures() -> None:
    run = CliRunner().invoke
    shown = run(app, ["eval", "messages"])
    assert (shown.exit_code, "en held_out" in shown.stdout) == (0, True)
    told = json.loads(run(app, ["eval", "messages", "--json"]).stdout)
    assert 0 < told["pt"]["tune"]["all/facts"]["recall"] <= 1
    assert "biography" in run(app, ["eval", "messages", "--failures"]).stdout

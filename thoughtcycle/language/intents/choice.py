"""Parses offers of ours and answers to them: yes, no, or a choice such as "the first one" (TC-11)."""

import re
from collections.abc import Mapping
from datetime import datetime
from functools import cache
from typing import Any

from thoughtcycle.language.facts import Fact, fact_behind
from thoughtcycle.language.parse import compiled, fold
from thoughtcycle.prompts.loader import LANGUAGES, Language, word_lists

LONGEST = 60
"""Characters of an answer that only picks; a longer one says something of its own."""
READ = 1_000
"""Characters at the end of a reply in which an offer is looked for."""


@cache
def _data(language: Language) -> Mapping[str, Any]:
    return word_lists(language, "language/choosing")


@cache
def _answer(language: Language) -> re.Pattern[str]:
    data = _data(language)
    ordinals = "|".join([*data["ordinals"], data["last"]])
    return re.compile(rf"(?:{data['before']})*(?P<pick>{ordinals})(?:{data['after']})*")


def parse_consent(text: str) -> bool | None:
    """True for a plain yes, False for a plain no, in any language; None for all else."""
    for language in LANGUAGES:
        said = fold(text, language).text.strip(" \n.,!;:)") if len(text) <= LONGEST else ""
        for name in ("yes", "no"):
            if compiled(_data(language)[name], language).fullmatch(said):
                return name == "yes"
    return None


def parse_choice(text: str, count: int, language: Language) -> int | None:
    """The place, from 0, of what an answer picks out of `count` things; None when it picks none of them."""
    said = fold(text, language).text.strip(" \n.,!?;:)") if len(text) <= LONGEST else ""
    match = _answer(language).fullmatch(said)
    if match is None:
        return None
    data = _data(language)
    if re.fullmatch(data["last"], match["pick"]):
        return count - 1 if count else None
    place = next(at for at, each in enumerate(data["ordinals"]) if re.fullmatch(each, match["pick"]))
    return place if place < count else None


def offers(reply: str) -> bool:
    """Whether a reply of the assistant asks or offers something, so that "yes, please" answers it."""
    said = [(fold(reply[-READ:], language).text, _data(language)["offers"]) for language in LANGUAGES]
    return any(re.search(pattern, text) for text, pattern in said)


def offered_fact(reply: str, now: datetime) -> Fact | None:
    """The fact that a reply offers to keep: "shall I remember that you prefer trains?"."""
    for language in LANGUAGES:
        folded = fold(reply[-READ:], language)
        if match := re.search(_data(language)["offered"], folded.text):
            return fact_behind(folded.original(*match.span("what")), "", language, now)
    return None

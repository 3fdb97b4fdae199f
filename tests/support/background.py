"""A model on the fake server that answers what the cycle and formation ask, and counts it.

    model = Background(fake_openai)
    model.facts["Recife"] = [{"t": "bio", "c": "Mora em Recife", "words": "moro em Recife"}]

Decisions are always Finish. Summaries are the model's own words, so that a test can tell them from the rules'.
"""

import json
import re
from collections import Counter
from dataclasses import dataclass, field
from typing import Any

from support.fake_openai import Behaviour, FakeOpenAI, Recorded
from thoughtcycle.prompts.loader import LANGUAGES, texts

BACK = "back"
"""Model name of the background role."""
QUESTIONS = {
    "judge": ("formation/judge", "judge"),
    "compress": ("formation/summaries", "compress"),
    "roll_up": ("formation/summaries", "roll_up"),
    "working": ("formation/summaries", "working"),
}


@dataclass
class Background:
    """What the model says; every part may be replaced while it runs."""

    server: FakeOpenAI
    facts: dict[str, list[dict[str, Any]]] = field(default_factory=dict)
    """Facts that are found in an exchange which has these words."""
    importance: int = 50
    summary: str = "The person said: {said}"
    reply: str = "Certo, vamos em frente."
    working: str = "State by the model."
    short: str = "Shortened by the model"
    rolled: str = "A period told by the model"
    refuses: dict[str, Behaviour] = field(default_factory=dict)
    """What is answered instead, by question."""
    refuses_words: dict[str, Behaviour] = field(default_factory=dict)
    """What the judge answers instead to an exchange that has these words."""
    asked: Counter[str] = field(default_factory=Counter)
    judged: list[str] = field(default_factory=list)
    """What the judge was shown: known memories as data, and then the exchange."""
    prompts: list[tuple[str, str]] = field(default_factory=list)
    """Question and system prompt of every background call."""

    def __post_init__(self) -> None:
        self.server.answer = self.answer

    @property
    def calls(self) -> int:
        """Background calls of all kinds."""
        return self.asked.total()

    def answer(self, request: Recorded) -> Behaviour:
        if request.model != BACK:
            return "Finish" if request.model == "heavy" else self.reply
        system, said = request.text("system"), request.text("user")
        question = question_of(system)
        self.asked[question] += 1
        self.prompts.append((question, system))
        if question in self.refuses:
            return self.refuses[question]
        if question == "judge":
            return self.judge(said)
        if question == "compress":
            count = len(re.findall(r"^\d+\. \(", said, re.MULTILINE))
            return json.dumps([self.short] * count)
        return self.rolled if question == "roll_up" else self.working

    def judge(self, shown: str) -> Behaviour:
        """The judgement of an exchange as the prompt shows it, behind the data.

        `same_as` and `replaces` of a fact name a known memory by its words, and become its number.
        """
        self.judged.append(shown)
        data, _, exchange = shown.rpartition("<exchange>")
        for words, behaviour in self.refuses_words.items():
            if words in exchange:
                return behaviour
        said = exchange.partition(": ")[2].split("\n")[0]
        found = [fact for words, facts in self.facts.items() if words in exchange for fact in facts]
        found = [{**fact, **_numbered(fact, data)} for fact in found]
        summary = self.summary.format(said=" ".join(said.split()[:20]))
        return json.dumps({"importance": self.importance, "type": "chat", "summary": summary, "facts": found})


def _numbered(fact: dict[str, Any], data: str) -> dict[str, int]:
    named = {name: str(fact[name]) for name in ("same_as", "replaces") if name in fact}
    listed = {
        name: re.search(rf"^(\d+)\. .*{re.escape(it)}", data, re.MULTILINE) for name, it in named.items()
    }
    return {name: int(match[1]) for name, match in listed.items() if match is not None}


def question_of(system: str) -> str:
    """Which background question a prompt asks."""
    for question, patterns in _PATTERNS.items():
        if any(pattern.search(system) for pattern in patterns):
            return question
    raise AssertionError(f"no background question: {system[-300:]!r}")


def _pattern(text: str) -> re.Pattern[str]:
    return re.compile(re.sub(r"\\\{\\\{\w+\\\}\\\}", ".*", re.escape(text)), re.DOTALL)


_PATTERNS = {
    question: [_pattern(texts(language, file)[section]) for language in LANGUAGES]
    for question, (file, section) in QUESTIONS.items()
}

"""An action of another package: counts the letters of a word."""

import re
from typing import ClassVar

from thoughtcycle.mind.base import Question, View
from thoughtcycle.nodes.actions.base import Action, Outcome
from thoughtcycle.nodes.base.turn import Turn

ASKED = re.compile(r"(?:quantas letras|how many letters).*?(\w+)\W*$", re.IGNORECASE)


def word_by_rules(view: View) -> str | None:
    match = ASKED.search(view.message)
    return match[1] if match else None


def tell_by_rules(view: View) -> str:
    return view.steps[-1]["outcome"]


class CountLetters(Action[str]):
    """Counts letters."""

    name = "CountLetters"
    file = "count_letters"
    package = "toy_action"
    question: ClassVar = Question(
        "actions/count_letters#ask", "reasoning", str, word_by_rules, package="toy_action"
    )
    reply: ClassVar = Question("actions/count_letters#tell", "chat", str, tell_by_rules, package="toy_action")

    def urgency(self, view: View) -> float:
        done = any(step["action"] == self.name for step in view.steps)
        return 0.6 if word_by_rules(view) and not done else 0.0

    async def act(self, given: str, turn: Turn) -> Outcome:
        return Outcome(self.say(turn.language, "outcome", word=given, count=len(given)))

"""Question: asks the user for what memory does not hold; ends the cycle (TC-7)."""

from typing import ClassVar

from thoughtcycle.mind.base import Question, View
from thoughtcycle.nodes.actions.base import Action, Outcome
from thoughtcycle.nodes.actions.told import did, found_now, heard, topics
from thoughtcycle.nodes.turn import Turn

_LAST_RESORT = 0.05
"""Below Finish: ends the cycle where that one is switched off."""


def question_by_rules(view: View) -> str:
    """A question about what was looked for and not found."""
    action = AskQuestion()
    told = heard(view)
    if told.forget:
        return action.say(view.language, "rules.forget", topics=topics(view))
    if topics(view):
        return action.say(view.language, "rules.ask", topics=topics(view))
    return action.say(view.language, "rules.open")


class AskQuestion(Action[None]):
    """Asks one short question."""

    name = "Question"
    file = "question"
    ends = True
    reply: ClassVar = Question(
        name="actions/question#tell", role="chat", schema=str, by_rules=question_by_rules
    )

    def urgency(self, view: View) -> float:
        told = heard(view)
        missing = bool(told.asked or told.forget) and did(view, "MemorySearch") and not found_now(view)
        return 0.5 if missing and not did(view, "MemoryDelete") and not told.facts else _LAST_RESORT

    async def act(self, given: None, turn: Turn) -> Outcome:
        return Outcome(self.say(turn.language, "outcome"))

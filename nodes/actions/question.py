"""Question: asks the user for what memory does not hold; ends the cycle (TC-7)."""

from typing import ClassVar

from thoughtcycle.mind.base import Question, View
from thoughtcycle.nodes.actions.base import Action, Outcome
from thoughtcycle.nodes.actions.deletion_targets import doubtful, meant
from thoughtcycle.nodes.actions.update_targets import undecided
from thoughtcycle.nodes.actions.view_queries import brief_list, did, found_now, heard, topics
from thoughtcycle.nodes.base.turn import Turn

_LAST_RESORT = 0.05
"""Below Finish: ends the cycle where that one is switched off."""


def question_by_rules(view: View) -> str:
    """A question about a topic without memories, or about which of several is meant."""
    action = AskQuestion()
    told = heard(view)
    if unclear := undecided(view):
        return action.say(view.language, "rules.which_changed", memories=brief_list(unclear))
    if unclear := doubtful(view):
        return action.say(view.language, "rules.which", memories=brief_list(unclear))
    named = topics(view)
    section = "rules.forget" if told.forget else "rules.ask" if named else "rules.open"
    return action.say(view.language, section, topics=named)


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
        if not did(view, "MemorySearch"):
            return _LAST_RESORT
        if undecided(view):
            return 0.5
        if told.forget:
            unserved = not meant(view) and not did(view, "MemoryDelete") and not told.facts
            return 0.5 if doubtful(view) or unserved else _LAST_RESORT
        return 0.5 if told.asked and not found_now(view) and not told.facts else _LAST_RESORT

    async def act(self, given: None, turn: Turn) -> Outcome:
        return Outcome(self.say(turn.language, "outcome"))

"""Question: asks the user for what memory does not hold; ends the cycle (TC-7)."""

from typing import ClassVar

from thoughtcycle.mind.base import Question, View
from thoughtcycle.nodes.actions.base import Action, Outcome
from thoughtcycle.nodes.actions.deletion_targets import ambiguous_deletions, deletions
from thoughtcycle.nodes.actions.update_targets import ambiguous_moves
from thoughtcycle.nodes.actions.view_queries import brief_list, found_answers, has_run, meaning_of, topics
from thoughtcycle.nodes.base.turn import Turn

_LAST_RESORT = 0.05
"""Below Finish: ends the cycle where that one is switched off."""


def question_by_rules(view: View) -> str:
    """A question about a topic without memories, or about which of several is meant."""
    action = AskQuestion()
    meaning = meaning_of(view)
    if unclear := ambiguous_moves(view):
        return action.say(view.language, "rules.which_changed", memories=brief_list(unclear))
    if unclear := ambiguous_deletions(view):
        return action.say(view.language, "rules.which", memories=brief_list(unclear))
    named = topics(view)
    section = "rules.forget" if meaning.forget else "rules.ask" if named else "rules.open"
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
        meaning = meaning_of(view)
        if not has_run(view, "MemorySearch"):
            return _LAST_RESORT
        if ambiguous_moves(view):
            return 0.5
        if meaning.forget:
            unserved = not deletions(view) and not has_run(view, "MemoryDelete") and not meaning.facts
            return 0.5 if ambiguous_deletions(view) or unserved else _LAST_RESORT
        return 0.5 if meaning.asked and not found_answers(view) and not meaning.facts else _LAST_RESORT

    async def act(self, given: None, turn: Turn) -> Outcome:
        return Outcome(self.say(turn.language, "outcome"))

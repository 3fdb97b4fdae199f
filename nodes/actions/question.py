"""Question: asks the user for what memory does not hold; ends the cycle (TC-7)."""

from collections.abc import Sequence
from typing import ClassVar

from langchain_core.messages import AIMessage

from thoughtcycle.memory.model import Step
from thoughtcycle.mind.base import Question, View
from thoughtcycle.mind.streaming import speak
from thoughtcycle.nodes.actions.base import Action, Outcome
from thoughtcycle.nodes.actions.deletion_targets import ambiguous_deletions, deletions
from thoughtcycle.nodes.actions.memory_delete import MOST_UNASKED
from thoughtcycle.nodes.actions.update_targets import ambiguous_moves
from thoughtcycle.nodes.actions.view_queries import (
    EVERYTHING,
    brief_list,
    found_answers,
    has_run,
    meaning_of,
    topics,
)
from thoughtcycle.nodes.base.turn import Turn

_LAST_RESORT = 0.05
"""Below Finish: ends the cycle where that one is switched off."""


def question_by_rules(view: View) -> str:
    """A question about a topic without memories, or about which of several is meant."""
    action = AskQuestion()
    if step := deletion_asked(view.steps):
        return _consent_question(view, step)
    meaning = meaning_of(view)
    if unclear := ambiguous_moves(view):
        return action.say(view.language, "rules.which_changed", memories=brief_list(unclear))
    if unclear := ambiguous_deletions(view):
        return action.say(view.language, "rules.which", memories=brief_list(unclear))
    named = topics(view)
    section = "rules.forget" if meaning.forget else "rules.ask" if named else "rules.open"
    return action.say(view.language, section, topics=named)


def deletion_asked(steps: Sequence[Step]) -> Step | None:
    """The step that waits for the user's yes before it deletes."""
    return steps[-1] if steps and steps[-1]["status"] == "asked" else None


def _consent_question(view: View, step: Step) -> str:
    """Asks whether to delete: lists the few memories meant, counts many."""
    found, about, action = step.get("found", ()), step.get("about", ()), AskQuestion()
    final = f" {action.say(view.language, 'rules.delete.final')}" if step.get("final") else ""
    if EVERYTHING in about:
        return action.say(view.language, "rules.delete.everything", count=len(found), final=final)
    if len(found) > MOST_UNASKED:
        listed = ", ".join(about) or "–"
        return action.say(view.language, "rules.delete.many", count=len(found), topics=listed, final=final)
    meant = brief_list(memory for memory in view.recalled if memory["id"] in found)
    return action.say(view.language, "rules.delete.few", memories=meant, final=final)


class AskQuestion(Action[None]):
    """Asks one short question."""

    name = "Question"
    file = "question"
    ends = True
    by_reply = True
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

    async def _tell(self, turn: Turn, view: View, step: Step) -> AIMessage:
        """Asks for consent in our own words, whatever the mind: they name just what would be deleted."""
        if deletion_asked(view.steps):
            text = question_by_rules(view)
            return await speak(text, chat_history=True, name=self.reply.name, begun=turn.begun)
        return await super()._tell(turn, view, step)

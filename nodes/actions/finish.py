"""Finish: answers and says what was done, when nothing else is left to do; ends the cycle (TC-6)."""

from collections.abc import Callable
from dataclasses import replace
from typing import ClassVar

from thoughtcycle.language.intents import asks_not_to_keep
from thoughtcycle.language.parse import LIMIT
from thoughtcycle.mind.base import Question, View
from thoughtcycle.mind.streaming import speak
from thoughtcycle.nodes.actions import memory_delete, memory_save, memory_update
from thoughtcycle.nodes.actions.base import Action, Outcome
from thoughtcycle.nodes.actions.view_queries import (
    asks_beyond_rules,
    brief_list,
    found_answers,
    has_run,
    meaning_of,
    written,
)
from thoughtcycle.nodes.attachments import ACTION as ATTACH
from thoughtcycle.nodes.base.message import unasked_secrets
from thoughtcycle.nodes.base.state import StateUpdate
from thoughtcycle.nodes.base.turn import Turn
from thoughtcycle.prompts.loader import texts


def answer_by_rules(view: View) -> str:
    """A social phrase, the answer or what was done, and what the rules cannot do."""
    meaning, action = meaning_of(view), Finish()
    idle = all(step["action"] == action.name for step in view.steps)
    parts: list[str] = []
    if meaning.social and not meaning.facts and idle:
        parts.append(action.say(view.language, f"rules.{meaning.social}", persona=view.persona))
    parts += _results(view, action)
    if len(view.message) > LIMIT:
        parts.append(action.say(view.language, "rules.long", count=LIMIT))
    elif any(fact.shortened for fact in meaning.facts):
        parts.append(action.say(view.language, "rules.shortened"))
    if view.withheld and (meaning.facts or meaning.retractions):
        parts.append(action.say(view.language, "rules.paused"))
    elif meaning.facts and not any(has_run(view, name) for name in ("MemorySave", "MemoryUpdate", ATTACH)):
        parts.append(action.say(view.language, "rules.unkept"))
    elif meaning.beyond and not parts:
        parts.append(action.say(view.language, "rules.beyond"))
    if asks_not_to_keep(view.message):
        empty = "rules.unsaid"
    else:
        empty = "rules.secret" if unasked_secrets(view.message) else "rules.heard"
    return " ".join(parts) or action.say(view.language, empty)


def _results(view: View, action: "Finish") -> list[str]:
    """What was done: all of it, where no other text has said it; else one short sentence."""
    if view.explain == "auto" and not view.shown and (told := _told(view)):
        return told
    if has_run(view, "MemoryDelete"):
        return [action.say(view.language, "rules.deleted")]
    if has_run(view, "MemoryUpdate"):
        return [action.say(view.language, "rules.updated")]
    if has_run(view, "MemorySave"):
        if view.shown:  # the save has explained itself
            return [action.say(view.language, "rules.saved")]
        return [action.say(view.language, "rules.kept", memories=brief_list(written(view)))]
    if not has_run(view, "MemorySearch"):
        return []
    found = found_answers(view)
    if not found:
        return [] if asks_beyond_rules(view) else [action.say(view.language, "rules.nothing")]
    return [action.say(view.language, "rules.answer", memories=brief_list(found))]


def _told(view: View) -> list[str]:
    """The sentence of each step that changed something or is another package's, in order."""
    told = []
    for number, step in enumerate(view.steps, 1):
        before = replace(view, steps=view.steps[:number])
        tell = _TELLS.get(step["action"])
        if tell is not None and step["status"] != "repeated":
            told.append(tell(before))
        elif step["action"] not in _SILENT and step["status"] == "done":
            told.append(step["outcome"])
    return told


_TELLS: dict[str, Callable[[View], str]] = {
    "MemorySave": memory_save.tell_by_rules,
    "MemoryUpdate": memory_update.tell_by_rules,
    "MemoryDelete": memory_delete.tell_by_rules,
}
_SILENT = ("MemorySearch", "Question", "Finish")


class Finish(Action[None]):
    """Says the closing text."""

    name = "Finish"
    file = "finish"
    ends = True
    by_reply = True
    chat_history = False
    reply: ClassVar = Question(
        name="actions/finish#tell",
        role="chat",
        schema=str,
        by_rules=answer_by_rules,
        values=lambda view: {"explain": texts(view.language, "router")[f"tell.{view.explain}"]},
    )

    def urgency(self, view: View) -> float:
        return 0.1

    async def run(self, turn: Turn) -> StateUpdate:
        """See Action.run; one line says that a secret told in passing is not kept."""
        update, told = await super().run(turn), unasked_secrets(turn.message)
        refused = asks_not_to_keep(turn.message) or meaning_of(turn.view()).forget
        if not told or turn.context.incognito or refused:
            return update
        (*before, said) = update.get("messages", ())
        line = await speak(turn.texts("cycle")["secret_unkept"], chat_history=False, begun=said)
        return {**update, "messages": [*before, line]}

    def say_by_rules(self, view: View) -> str:
        """What is known and was done; the rules' other phrases would deny the model."""
        known = " ".join(_results(view, self))
        return known or self.say(view.language, "rules.speechless")

    async def act(self, given: None, turn: Turn) -> Outcome:
        return Outcome(self.say(turn.language, "outcome"))

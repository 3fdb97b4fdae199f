"""MemoryDelete: takes recalled memories out of every path at once, when the user asks for it (TC-11)."""

import logging
from typing import Annotated, Any, ClassVar

from pydantic import StringConstraints

from thoughtcycle.memory.records import MemoryRecord
from thoughtcycle.mind.base import Question, View
from thoughtcycle.nodes.actions.base import Action, Outcome
from thoughtcycle.nodes.actions.forgettable import forgotten_topics, meant
from thoughtcycle.nodes.actions.told import LAST, did, heard
from thoughtcycle.nodes.recall import rebrief
from thoughtcycle.nodes.turn import Turn
from thoughtcycle.prompts.errors import NotAllowed

log = logging.getLogger(__name__)

MemoryId = Annotated[str, StringConstraints(strip_whitespace=True, min_length=1, max_length=200)]


def ids_by_rules(view: View) -> list[str]:
    """The memories found in this cycle that the user asked to forget."""
    return [memory["id"] for memory in meant(view)]


def tell_by_rules(view: View) -> str:
    """The topic of what was erased, never its content."""
    step = view.steps[-1]
    action = MemoryDelete()
    if step["status"] != "done":
        return action.say(view.language, "rules.nothing")
    if named := step.get("about"):
        return action.say(view.language, "rules.deleted", topic=", ".join(named))
    if LAST in heard(view).forget:
        return action.say(view.language, "rules.last")
    return action.say(view.language, "rules.everything", count=len(step["input"]))


class MemoryDelete(Action[list[str]]):
    """Hides memories that this thread has seen; `undo` brings them back."""

    name = "MemoryDelete"
    file = "memory_delete"
    question: ClassVar = Question(
        name="actions/memory_delete#ask", role="reasoning", schema=list[MemoryId], by_rules=ids_by_rules
    )
    reply: ClassVar = Question(
        name="actions/memory_delete#tell", role="chat", schema=str, by_rules=tell_by_rules
    )

    def urgency(self, view: View) -> float:
        return 0.8 if heard(view).forget and not did(view, self.name) and ids_by_rules(view) else 0.0

    def input_key(self, given: list[str]) -> Any:
        return sorted(set(given))

    async def act(self, given: list[str], turn: Turn) -> Outcome:
        allowed = {memory["id"] for memory in turn.state.get("recalled", ())}
        ids = [id for id in dict.fromkeys(given) if id in allowed]
        if not ids:
            turn.require_memory()
            section = "outcome.refused" if given else "outcome.nothing"
            return Outcome(
                self.say(turn.language, section, count=len(given)), "refused" if given else "nothing"
            )
        self.status(turn, "status.erasing")
        try:
            hidden = await turn.memory.hide(turn.user, ids, cycle=turn.state.get("cycle_id"))
        except NotAllowed as refusal:
            log.info("delete refused: %s", refusal.code)
            return Outcome(self.say(turn.language, "outcome.refused", count=len(ids)), "refused")
        about = forgotten_topics(turn.view(), [record.id for record in hidden])
        return Outcome(
            self.say(turn.language, "outcome", count=len(hidden), topic=_topics(hidden)),
            about=about,
            recalled=[memory for memory in turn.state.get("recalled", ()) if memory["id"] not in ids],
            changes=await rebrief(turn, without=ids),
        )


def _topics(hidden: list[MemoryRecord]) -> str:
    """What the erased memories were about: their first binding, which names a topic and not the content."""
    return ", ".join(dict.fromkeys(record.bindings[0] for record in hidden if record.bindings)) or "–"

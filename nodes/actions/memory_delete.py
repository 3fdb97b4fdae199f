"""MemoryDelete: takes recalled memories out of every path, for good when the user says so (TC-11)."""

import logging
from typing import Annotated, Any, ClassVar

from pydantic import BaseModel, ConfigDict, StringConstraints

from thoughtcycle.errors import NotAllowed
from thoughtcycle.language.intents import is_final
from thoughtcycle.mind.base import Question, View
from thoughtcycle.nodes.actions.base import Action, Outcome, Status
from thoughtcycle.nodes.actions.deletion_targets import deletions, forgotten_topics
from thoughtcycle.nodes.actions.view_queries import LAST, has_run, meaning_of
from thoughtcycle.nodes.base.turn import Turn
from thoughtcycle.nodes.recall import rebrief

log = logging.getLogger(__name__)

MemoryId = Annotated[str, StringConstraints(strip_whitespace=True, min_length=1, max_length=200)]


class ForGood(BaseModel):
    """Memories to be erased with no way back, as a mind answers."""

    model_config = ConfigDict(extra="ignore")

    ids: list[MemoryId]
    final: bool = True


Chosen = list[MemoryId] | ForGood


def chosen_by_rules(view: View) -> Chosen:
    """The memories found in this cycle that the user asked to forget; for good where the user said so."""
    ids = [memory["id"] for memory in deletions(view)]
    return ForGood(ids=ids) if meaning_of(view).final else ids


def ids_of(given: Any) -> list[str]:
    """The ids of an answer, or of the input of a step."""
    if isinstance(given, ForGood):
        return given.ids
    return list(given["ids"] if isinstance(given, dict) else given)


def tell_by_rules(view: View) -> str:
    """The topic of the deleted memories, never their content."""
    step = view.steps[-1]
    action = MemoryDelete()
    if step["status"] != "done":
        return action.say(view.language, "rules.nothing")
    named = step.get("about")
    if isinstance(step["input"], dict):
        topic = ", ".join(named) if named else ""
        return action.say(view.language, "rules.final" if topic else "rules.final_all", topic=topic)
    if named:
        return action.say(view.language, "rules.deleted", topic=", ".join(named))
    if LAST in meaning_of(view).forget:
        return action.say(view.language, "rules.last")
    return action.say(view.language, "rules.everything", count=len(ids_of(step["input"])))


class MemoryDelete(Action[Chosen]):
    """Hides memories that this thread has seen; `undo` brings them back, unless the user said "for good"."""

    name = "MemoryDelete"
    file = "memory_delete"
    question: ClassVar = Question(
        name="actions/memory_delete#ask",
        role="reasoning",
        schema=Chosen,
        by_rules=chosen_by_rules,
        by_id=True,
    )
    reply: ClassVar = Question(
        name="actions/memory_delete#tell", role="chat", schema=str, by_rules=tell_by_rules
    )

    def urgency(self, view: View) -> float:
        return 0.8 if meaning_of(view).forget and not has_run(view, self.name) and deletions(view) else 0.0

    def input_key(self, given: Chosen) -> Any:
        ids = sorted(set(ids_of(given)))
        return {"ids": ids, "final": True} if isinstance(given, ForGood) and given.final else ids

    async def act(self, given: Chosen, turn: Turn) -> Outcome:
        """Deletes; for good only where the user's own words say so, whatever a model answered."""
        wanted = ids_of(given)
        allowed = {memory["id"] for memory in turn.state.get("recalled", ())}
        ids = [id for id in dict.fromkeys(wanted) if id in allowed]
        if not ids:
            turn.require_memory()
            status: Status = "refused" if wanted else "nothing"
            return Outcome(self.say(turn.language, f"outcome.{status}", count=len(wanted)), status)
        final = isinstance(given, ForGood) and given.final and is_final(turn.message)
        delete = turn.memory.erasure.give_up if final else turn.memory.hide
        self.status(turn, "status.erasing")
        try:
            hidden = await delete(turn.user, ids, cycle=turn.state.get("cycle_id"))
        except NotAllowed as refusal:
            log.info("delete refused: %s", refusal.code)
            return Outcome(self.say(turn.language, "outcome.refused", count=len(ids)), "refused")
        about = forgotten_topics(turn.view(), [record.id for record in hidden])
        # Of each memory the first binding, which does not tell the content.
        topics = ", ".join(dict.fromkeys(record.bindings[0] for record in hidden if record.bindings)) or "–"
        section = "outcome.final" if final else "outcome"
        return Outcome(
            self.say(turn.language, section, count=len(hidden), topic=topics),
            about=about,
            recalled=[memory for memory in turn.state.get("recalled", ()) if memory["id"] not in ids],
            changes=await rebrief(turn, without=ids),
        )

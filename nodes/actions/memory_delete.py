"""MemoryDelete: takes recalled memories out of every path, for good when the user says so (TC-11)."""

import logging
from collections.abc import Collection, Sequence
from typing import Annotated, Any, ClassVar

from pydantic import BaseModel, BeforeValidator, ConfigDict, StringConstraints

from thoughtcycle.errors import NotAllowed
from thoughtcycle.language.intents import is_final
from thoughtcycle.memory.model import MemoryRecord, whole_id
from thoughtcycle.memory.model import Status as MemoryStatus
from thoughtcycle.memory.redaction import ERASING
from thoughtcycle.memory.text.secrets import masked
from thoughtcycle.mind.base import Question, View
from thoughtcycle.nodes.actions.base import Action, Outcome, Status
from thoughtcycle.nodes.actions.deletion_targets import (
    deletions,
    forgotten_topics,
    of_whole_topics,
    topics_of,
)
from thoughtcycle.nodes.actions.item_forms import id_in, ids_in
from thoughtcycle.nodes.actions.view_queries import EVERYTHING, LAST, has_run, meaning_of
from thoughtcycle.nodes.base.turn import Turn
from thoughtcycle.prompts.loader import Language

log = logging.getLogger(__name__)

MemoryId = Annotated[str, BeforeValidator(id_in), StringConstraints(min_length=1, max_length=200)]


class ForGood(BaseModel):
    """Memories to be erased with no way back, as a mind answers."""

    model_config = ConfigDict(extra="ignore")

    ids: Annotated[list[MemoryId], BeforeValidator(ids_in)]
    final: bool = True


Chosen = list[MemoryId] | ForGood
MOST_UNASKED = 3
"""Memories that a request may delete without a question."""


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
    if step["status"] != "done":
        return MemoryDelete().say(view.language, "rules.nothing")
    if not step.get("found"):
        return MemoryDelete().say(view.language, "rules.unlearned")
    named = step.get("about")
    if not isinstance(step["input"], dict) and not named and LAST in meaning_of(view).forget:
        return MemoryDelete().say(view.language, "rules.last")
    return done_line(view.language, named or (), len(step.get("found", ())), final=bool(step.get("final")))


def done_line(language: Language, about: Sequence[str], count: int, *, final: bool) -> str:
    """One line about memories that were deleted: their topics, or else how many they are."""
    action, topic = MemoryDelete(), masked(", ".join(about))
    if final:
        return action.say(language, "rules.final" if topic else "rules.final_all", topic=topic)
    if topic:
        return action.say(language, "rules.deleted", topic=topic)
    return action.say(language, "rules.everything", count=count)


class MemoryDelete(Action[Chosen]):
    """Hides memories that this thread has seen; `undo` brings them back, unless the user said "for good"."""

    name = "MemoryDelete"
    file = "memory_delete"
    argument = "ids"
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
        meaning = meaning_of(view)
        called_for = deletions(view) or EVERYTHING in meaning.forget
        return 0.8 if meaning.forget and not has_run(view, self.name) and called_for else 0.0

    def tool_schema(self) -> dict[str, Any]:
        ids = {"type": "array", "items": {"type": "string"}}
        return {
            "type": "object",
            "properties": {"ids": ids, "final": {"type": "boolean"}},
            "required": ["ids"],
        }

    def read_call(self, given: Any, left_out: list[str]) -> Chosen:
        """See Action.read_call; for good only where the call says so."""
        chosen = super().read_call(given, left_out)
        final = isinstance(given, dict) and given.get("final") is True
        return ForGood(ids=ids_of(chosen)) if final else ids_of(chosen)

    def input_key(self, given: Chosen) -> Any:
        ids = sorted(set(ids_of(given)))
        return {"ids": ids, "final": True} if isinstance(given, ForGood) and given.final else ids

    def whole(self, given: Chosen, known: Collection[str]) -> Chosen:
        ids = [whole_id(id, known) for id in ids_of(given)]
        return given.model_copy(update={"ids": ids}) if isinstance(given, ForGood) else ids

    async def act(self, given: Chosen, turn: Turn) -> Outcome:
        """Deletes what the user asked for in words that the rules understand; else, and for many, asks first.

        For good only where the user's own words say so, whatever a model answered.
        """
        view, wanted = turn.view(), ids_of(given)
        targets = meaning_of(view).targets
        everything = any(target.context == EVERYTHING for target in targets)
        allowed = {memory["id"] for memory in turn.state.get("recalled", ())}
        ids = [id for id in wanted if id in allowed]
        final = bool(targets) and isinstance(given, ForGood) and given.final and is_final(turn.message)
        if everything:
            ids += await all_memories(turn, final=final)
        elif targets:
            ids += of_whole_topics(await turn.memory.list(turn.user), targets)
        ids = list(dict.fromkeys(ids))
        if not ids:
            turn.require_memory()
            if everything and await unlearn_unformed(turn, turn.state.get("cycle_id")):
                return Outcome(self.say(turn.language, "outcome.unlearned"))
            status: Status = "refused" if wanted else "nothing"
            return Outcome(self.say(turn.language, f"outcome.{status}", count=len(wanted)), status)
        if everything or not targets or len(ids) > MOST_UNASKED:
            summary = self.say(turn.language, "outcome.asked", count=len(ids))
            about = topics_of(await turn.memory.active(turn.user, ids), turn.language)
            return Outcome(summary, "asked", ids, [EVERYTHING] if everything else about, final)
        self.status(turn, "status.erasing")
        try:
            hidden = await delete(turn, ids, turn.state.get("cycle_id"), final=final)
        except NotAllowed as refusal:
            log.info("delete refused: %s", refusal.code)
            return Outcome(self.say(turn.language, "outcome.refused", count=len(ids)), "refused")
        kinds = topics_of(hidden, turn.language)
        section = "outcome.final" if final else "outcome"
        return Outcome(
            self.say(turn.language, section, count=len(hidden), topic=", ".join(kinds) or "–"),
            found=[record.id for record in hidden],
            about=forgotten_topics(view, hidden, turn.language),
            final=final,
            recalled=[memory for memory in turn.state.get("recalled", ()) if memory["id"] not in ids],
            outdated=ids,
        )


async def delete(turn: Turn, ids: Sequence[str], cycle: str | None, *, final: bool) -> list[MemoryRecord]:
    """Hides memories, or erases them for good once the turn is over; `cycle` is the one that asks for it."""
    act = turn.memory.erasure.give_up if final else turn.memory.hide
    return await act(turn.user, ids, cycle=cycle)


async def all_memories(turn: Turn, *, final: bool) -> list[str]:
    """The memories that "everything" means: the archived too, and for good also those that are hidden."""
    statuses: tuple[MemoryStatus, ...] = ("active", "archived", "hidden") if final else ("active", "archived")
    records = await turn.memory.list(turn.user, statuses=statuses)
    return [record.id for record in records if record.reason != ERASING]


async def unlearn_unformed(turn: Turn, cycle: str | None) -> int:
    """Unlearns what waits for formation; "forget everything", asked for in `cycle`, means it, too."""
    neutral = turn.texts("formation/judge")["unsaid"]
    return await turn.memory.unlearning.unlearn_unformed(turn.user, neutral, asked=cycle)

"""MemoryUpdate: gives recalled memories new content; the former version stays in history (TC-10)."""

import logging
from collections.abc import Collection
from typing import Annotated, Any, ClassVar

from pydantic import BaseModel, ConfigDict, Field, StringConstraints, model_validator

from thoughtcycle.errors import InputRefused, NotAllowed
from thoughtcycle.memory.model import MemoryRecord, as_text, whole_id
from thoughtcycle.memory.rules.completion import dated
from thoughtcycle.memory.text.secrets import without_secrets
from thoughtcycle.mind.base import Question, View
from thoughtcycle.nodes.actions.base import Action, Outcome, Status
from thoughtcycle.nodes.actions.item_forms import change_in
from thoughtcycle.nodes.actions.memory_save import Bindings, Content, safe_bindings, said, usable
from thoughtcycle.nodes.actions.update_targets import changes
from thoughtcycle.nodes.actions.view_queries import brief_list, has_run, meaning_of, says_of
from thoughtcycle.nodes.base.message import tells_in_passing
from thoughtcycle.nodes.base.turn import Turn

log = logging.getLogger(__name__)


class UpdateItem(BaseModel):
    """One memory and its new content, as a mind answers."""

    model_config = ConfigDict(extra="ignore", populate_by_name=True)

    id: Annotated[str, StringConstraints(min_length=1, max_length=200)] = Field(validation_alias="_id")
    content: Content
    bindings: Bindings | None = None

    @model_validator(mode="before")
    @classmethod
    def _read(cls, value: Any) -> Any:
        return change_in(value)


class KnownUpdate(UpdateItem):
    """A change found by the rules, with its slot and the user's words."""

    key: str | None = None
    words: str = ""


def items_by_rules(view: View) -> list[UpdateItem]:
    """The recalled memories whose slot the message fills again, or takes back."""
    meaning = meaning_of(view)
    items = [
        KnownUpdate(
            id=change.memory["id"],
            content=change.fact.content,
            bindings=list(change.fact.bindings),
            key=change.fact.key,
            words=change.fact.words,
        )
        for change in changes(view)
    ]
    new = {fact.key for fact in meaning.facts}
    for memory in view.recalled:
        denied = [each for each in meaning.retractions if says_of(memory["key"], (each.key,))]
        if denied and memory["key"] not in new:
            content = MemoryUpdate().say(view.language, "rules.no_longer", memory=memory["content"])
            items.append(KnownUpdate(id=memory["id"], content=content, words=denied[0].words))
    return [*items]


def tell_by_rules(view: View) -> str:
    """One line with the new content of the changed memories."""
    action = MemoryUpdate()
    step = view.steps[-1]
    changed = [memory for memory in view.recalled if memory["id"] in step.get("found", ())]
    if not changed:
        return action.say(view.language, "rules.nothing")
    return action.say(view.language, "rules.updated", memories=brief_list(changed))


class MemoryUpdate(Action[list[UpdateItem]]):
    """Changes memories that this thread has seen."""

    name = "MemoryUpdate"
    file = "memory_update"
    argument = "memories"
    writes = True
    question: ClassVar = Question(
        name="actions/memory_update#ask",
        role="reasoning",
        schema=list[UpdateItem],
        by_rules=items_by_rules,
        by_id=True,
    )
    reply: ClassVar = Question(
        name="actions/memory_update#tell", role="chat", schema=str, by_rules=tell_by_rules
    )

    def urgency(self, view: View) -> float:
        meaning = meaning_of(view)
        changes = meaning.correction or bool(meaning.retractions)
        return 0.8 if changes and not has_run(view, self.name) and items_by_rules(view) else 0.0

    def input_key(self, given: list[UpdateItem]) -> Any:
        return sorted([item.id, as_text(item.content)] for item in given)

    def whole(self, given: list[UpdateItem], known: Collection[str]) -> list[UpdateItem]:
        return [item.model_copy(update={"id": whole_id(item.id, known)}) for item in given]

    async def act(self, given: list[UpdateItem], turn: Turn) -> Outcome:
        allowed = {memory["id"] for memory in turn.state.get("recalled", ())}
        longest = turn.services.limits.content_chars
        wanted = {item.id: item for item in given if item.id in allowed and usable(item.content, longest)}
        items = list(wanted.values())
        if not items:
            turn.require_memory()
        else:
            self.status(turn, "status.writing")
        tried = [await _update(item, turn) for item in items]
        changed = [record for record in tried if record is not None]
        refused = len(given) - len(changed)
        if not changed:
            status: Status = "refused" if refused else "nothing"
            return Outcome(self.say(turn.language, f"outcome.{status}", count=refused), status)
        return Outcome(
            self.say(turn.language, "outcome", count=len(changed), refused=refused),
            found=[record.id for record in changed],
            recalled=turn.with_recalled(map(without_secrets, changed)),
            outdated=[record.id for record in changed],
        )


async def _update(item: UpdateItem, turn: Turn) -> MemoryRecord | None:
    """The new version; None when the memory is gone, or the new content has a secret told in passing."""
    (former,) = await turn.memory.active(turn.user, [item.id]) or (None,)
    if former is None or tells_in_passing(as_text(item.content), turn.message, former.text):
        return None
    content = dated(item.content, turn.language, turn.now())
    try:
        return await turn.memory.update(
            turn.user,
            item.id,
            content=content,
            bindings=item.bindings and safe_bindings(item.bindings, as_text(item.content)),
            key=item.key if isinstance(item, KnownUpdate) else None,
            cycle=turn.state.get("cycle_id"),
            words=item.words
            if isinstance(item, KnownUpdate)
            else said(as_text(item.content), turn.message, turn.language),
            said=turn.now(),
        )
    except (NotAllowed, InputRefused) as refusal:
        log.info("update refused: %s", refusal.code)
        return None

"""MemorySave: keeps what the user explicitly told, each item found later by its bindings (TC-9)."""

import json
import re
from collections.abc import Callable, Collection, Iterable
from typing import Annotated, Any, ClassVar, get_args

from pydantic import (
    AfterValidator,
    BaseModel,
    BeforeValidator,
    ConfigDict,
    StringConstraints,
    WithJsonSchema,
    model_validator,
)

from thoughtcycle.language.facts import Fact
from thoughtcycle.language.parse import parse
from thoughtcycle.memory.model import Kind, MemoryDraft, Recalled, Source, as_text
from thoughtcycle.memory.rules.completion import complete
from thoughtcycle.memory.text.analyzer import terms
from thoughtcycle.memory.text.secrets import holds_secret, secret_values, without_secrets, writes_mask_over
from thoughtcycle.memory.text.spans import HIDDEN, is_blank
from thoughtcycle.mind.base import Question, View
from thoughtcycle.nodes.actions.base import Action, Outcome
from thoughtcycle.nodes.actions.item_forms import LONGEST_BINDING, TYPE, bindings_in, item_in, type_in
from thoughtcycle.nodes.actions.update_targets import ambiguous_moves, relative_meant, takes_the_place
from thoughtcycle.nodes.actions.view_queries import brief_list, has_key, has_run, meaning_of
from thoughtcycle.nodes.attachments import ACTION as ATTACH
from thoughtcycle.nodes.base.message import tells_in_passing
from thoughtcycle.nodes.base.turn import Turn
from thoughtcycle.prompts.loader import Language
from thoughtcycle.text_clipping import clip_middle

Binding = Annotated[str, StringConstraints(strip_whitespace=True, min_length=1, max_length=LONGEST_BINDING)]
Bindings = Annotated[list[Binding], BeforeValidator(bindings_in)]
TypeName = Annotated[str, BeforeValidator(type_in), StringConstraints(pattern=TYPE)]


def _storable(content: Any) -> Any:
    """`content` itself where a database can store it without loss; else ValueError."""
    if _deeper(content, DEPTH):
        raise ValueError(f"content is nested more than {DEPTH} levels deep")
    json.dumps(content, ensure_ascii=False, allow_nan=False).encode()
    return content


def _deeper(content: Any, levels: int) -> bool:
    inner = content.values() if isinstance(content, dict) else content if isinstance(content, list) else ()
    return levels < 0 or any(_deeper(each, levels - 1) for each in inner)


def usable(content: Any, longest: int) -> bool:
    """Whether `content` is neither empty nor too long for a memory."""
    text = as_text(content).strip()
    return 0 < len(text) <= longest and not is_blank(text) and text not in ("null", "{}", "[]")


def _one_of(known: Collection[str]) -> Callable[[Any], Any]:
    """Reads a model's word: one of `known`, else None."""
    return lambda value: value if isinstance(value, str) and value in known else None


DEPTH = 20
SLOTS = ("name", "age", "birthday", "home", "work", "marital")
"""Keys of which a person has one; a model may say that a fact is that one."""
Content = Annotated[Any, AfterValidator(_storable)]


class SaveItem(BaseModel):
    """One thing to keep, as a mind answers."""

    model_config = ConfigDict(extra="ignore")

    type: TypeName = "text"
    content: Content
    bindings: Bindings = []
    kind: Annotated[Kind | None, BeforeValidator(_one_of(get_args(Kind)))] = None
    key: Annotated[str | None, BeforeValidator(_one_of(SLOTS)), WithJsonSchema({"enum": [*SLOTS, None]})] = (
        None
    )

    @model_validator(mode="before")
    @classmethod
    def _read(cls, value: Any) -> Any:
        return item_in(value)


class KnownItem(SaveItem):
    """An item found by the rules, with its slot and the user's words."""

    key: str | None = None
    weight: float = 1.0
    words: str = ""


def items_by_rules(view: View) -> list[SaveItem]:
    """The facts of the message that this cycle has not written yet."""
    return [
        KnownItem(
            content=fact.content,
            bindings=list(fact.bindings),
            kind=fact.kind,
            key=fact.key,
            weight=fact.weight,
            words=fact.words,
        )
        for fact in unsaved(view)
    ]


def unsaved(view: View) -> list[Fact]:
    """The facts of the message without those that an update of this cycle has written."""
    if ambiguous_moves(view):
        return []
    updated = {id for step in view.steps if step["action"] == "MemoryUpdate" for id in step.get("found", ())}
    known = [memory for memory in view.recalled if memory["id"] in updated]
    facts = [fact for fact in meaning_of(view).facts if fact.key not in {memory["key"] for memory in known}]
    if has_run(view, ATTACH):  # "keep this contract" names the file that came with it
        facts = [fact for fact in facts if not fact.key.startswith("note:") or len(terms(fact.content)) > 1]
    facts = [fact for fact in facts if relative_meant(fact, view.recalled) not in known]
    return [fact for fact in facts if not (fact.replaces and any(_took(memory, fact) for memory in known))]


def _took(memory: Recalled, fact: Fact) -> bool:
    """Whether an updated memory already holds a fact of another key."""
    return fact.key.startswith("date:") and has_key(memory, ("date",)) and takes_the_place(fact, memory)


def tell_by_rules(view: View) -> str:
    """One line with the saved memories."""
    action = MemorySave()
    step = view.steps[-1]
    saved = [memory for memory in view.recalled if memory["id"] in step.get("found", ())]
    if not saved:
        return action.say(view.language, "rules.nothing")
    section = "rules.known" if step["status"] == "nothing" else "rules.saved"
    return action.say(view.language, section, memories=brief_list(saved))


class MemorySave(Action[list[SaveItem]]):
    """Writes new memories."""

    name = "MemorySave"
    file = "memory_save"
    argument = "memories"
    writes = True
    question: ClassVar = Question(
        name="actions/memory_save#ask", role="reasoning", schema=list[SaveItem], by_rules=items_by_rules
    )
    reply: ClassVar = Question(
        name="actions/memory_save#tell", role="chat", schema=str, by_rules=tell_by_rules
    )

    def urgency(self, view: View) -> float:
        return 0.7 if not has_run(view, self.name) and unsaved(view) else 0.0

    def input_key(self, given: list[SaveItem]) -> Any:
        return sorted(f"{item.type}:{as_text(item.content).casefold()}" for item in given)

    async def act(self, given: list[SaveItem], turn: Turn) -> Outcome:
        limits = turn.services.limits
        drafts = [
            draft
            for item in given[: limits.save_items]
            if (draft := _draft(item, turn, limits.content_chars))
        ]
        if not drafts:
            return Outcome(self.say(turn.language, "outcome.nothing"), "nothing")
        self.status(turn, "status.formatting")
        texts = [text for draft in drafts for text in (as_text(draft.content), *draft.bindings)]
        vectors = await turn.memory.embed_to_save(list(dict.fromkeys(texts)))
        self.status(turn, "status.writing")
        saved = await turn.memory.save(turn.user, drafts, vectors=vectors)
        records = [item.record for item in saved if item.record.status == "active"]
        cycle = turn.state.get("cycle_id")
        new = [
            item
            for item in saved
            if item.outcome in ("saved", "superseded") or item.record.source.cycle == cycle
        ]
        return Outcome(
            self.say(turn.language, "outcome", count=len(new), known=len(saved) - len(new)),
            "done" if new else "nothing",
            found=[record.id for record in records],
            recalled=turn.with_recalled(map(without_secrets, records)),
            outdated=[item.record.id for item in saved if item.outcome == "superseded"],
        )


def _draft(item: SaveItem, turn: Turn, longest: int) -> MemoryDraft | None:
    """The draft of an item; None for unusable content, a mask of redacted words, a secret told in passing."""
    text = as_text(item.content).strip()
    if not usable(item.content, longest) or writes_mask_over(text, turn.message):
        return None
    if tells_in_passing(text, turn.message) or (HIDDEN in text and HIDDEN not in turn.message):
        return None
    known = item if isinstance(item, KnownItem) else None
    draft = MemoryDraft(
        content=text if isinstance(item.content, str) else item.content,
        type=item.type,
        bindings=safe_bindings(item.bindings, text),
        said=turn.now(),
        source=Source(
            cycle=turn.state.get("cycle_id"),
            words=known.words if known else said(text, turn.message, turn.language),
        ),
    )
    if known:
        slot = {"kind": known.kind, "key": known.key, "weight": known.weight}
        return complete(draft.model_copy(update=slot), turn.language, turn.now())
    read = complete(draft, turn.language, turn.now())
    if read.kind is not None:
        return read
    key = item.key if item.kind == "bio" else None  # a model's word counts where the rules read nothing
    return complete(read.model_copy(update={"kind": item.kind, "key": key}), turn.language, turn.now())


def safe_bindings(bindings: Iterable[str], content: str) -> tuple[str, ...]:
    """`bindings`, each once, without those that hold a secret of `content`: it is found by its name."""
    secrets = secret_values(content)
    return tuple(one for one in dict.fromkeys(bindings) if not holds_secret(one, secrets))


def said(content: str, message: str, language: Language) -> str:
    """The sentence of the user's message that shares most words with `content`.

    Only the clause where that shares as many: deleting the memory redacts no other words.
    """
    wanted = set(re.findall(r"\w{3,}", content.casefold()))

    def shared(text: str) -> int:
        return len(wanted.intersection(re.findall(r"\w{3,}", text.casefold())))

    best = max(re.split(r"(?<=[.!?\n])\s+", message), key=shared)
    parsed = parse(best, language)
    clauses = [
        parsed.folded.original(part.start, part.end) for one in parsed.sentences for part in one.clauses
    ]
    enough = [clause for clause in clauses if shared(clause) == shared(best) > 0]
    return clip_middle(min(enough, key=len, default=best), 2_000)

"""MemorySearch: looks for what is missing, by short contexts, and shows each memory found (TC-8)."""

import logging
from collections.abc import Sequence
from typing import Annotated, ClassVar

import numpy as np
from pydantic import BeforeValidator, StringConstraints

from thoughtcycle.errors import ModelFailed
from thoughtcycle.language.intents import understand
from thoughtcycle.language.parse import message_contexts
from thoughtcycle.memory.model import MemoryHit, MemoryRecord
from thoughtcycle.memory.search import as_found
from thoughtcycle.memory.text.secrets import answering
from thoughtcycle.mind.base import Question, View
from thoughtcycle.nodes.actions.base import Action, Outcome
from thoughtcycle.nodes.actions.deletion_targets import ambiguous_deletions, deletions
from thoughtcycle.nodes.actions.item_forms import context_in
from thoughtcycle.nodes.actions.view_queries import (
    ALL_OR_LAST,
    EVERYTHING,
    LAST,
    asks_beyond_rules,
    found_answers,
    has_run,
    meaning_of,
    needs_search,
    says_of,
    under,
)
from thoughtcycle.nodes.base.run import WORDS_ONLY
from thoughtcycle.nodes.base.turn import Turn

log = logging.getLogger(__name__)

_NEWEST = 500
"""Newest memories that are scanned for a topic when no search finds one of it."""
SearchContext = Annotated[
    str,
    BeforeValidator(context_in),
    StringConstraints(strip_whitespace=True, min_length=1, max_length=300),
]


def contexts_by_rules(view: View) -> list[str]:
    """The search contexts: topics that the message asks for, wants forgotten, or corrects."""
    meaning = meaning_of(view)
    worded = [target for target in meaning.targets if target.words]
    named = (f"{target.context} {target.words}" if target.either else target.words for target in worded)
    wanted = [*meaning.asked, *meaning.forget, *named]
    if not wanted and asks_beyond_rules(view):
        wanted = list(message_contexts(view.message, view.language))
    if not wanted:
        wanted = [fact.replaces for fact in meaning.facts if fact.replaces]
        wanted += [binding for fact in meaning.facts for binding in fact.bindings[:2]]
        wanted += [retraction.words for retraction in meaning.retractions]
    return list(dict.fromkeys(wanted))


def tell_by_rules(view: View) -> str:
    """One line with the number of memories found."""
    meaning, action = meaning_of(view), MemorySearch()
    if not meaning.asked and not meaning.forget and not asks_beyond_rules(view):
        return action.say(view.language, "rules.checked")
    fitting = [*deletions(view), *ambiguous_deletions(view)] if meaning.forget else found_answers(view)
    shown, count = len(view.steps[-1].get("found", ())), len(fitting)
    if count == 0:
        return action.say(view.language, "rules.near" if shown else "rules.nothing")
    if count < shown:
        return action.say(view.language, "rules.found_among", shown=shown, count=count)
    return action.say(view.language, "rules.found_one" if count == 1 else "rules.found", count=count)


class MemorySearch(Action[list[str]]):
    """Recalls what is needed to go on."""

    name = "MemorySearch"
    file = "memory_search"
    argument = "contexts"
    question: ClassVar = Question(
        name="actions/memory_search#ask",
        role="reasoning",
        schema=list[SearchContext],
        by_rules=contexts_by_rules,
    )
    reply: ClassVar = Question(
        name="actions/memory_search#tell", role="chat", schema=str, by_rules=tell_by_rules
    )

    def urgency(self, view: View) -> float:
        if has_run(view, self.name):
            return 0.0
        called_for = needs_search(meaning_of(view)) or (asks_beyond_rules(view) and contexts_by_rules(view))
        return 0.9 if called_for else 0.0

    def input_key(self, given: list[str]) -> list[str]:
        return sorted({context.casefold() for context in given})

    async def act(self, given: list[str], turn: Turn) -> Outcome:
        turn.require_memory()
        contexts = list(dict.fromkeys(given))[: turn.services.limits.search_contexts]
        self.status(turn, "status.formatting")
        vectors = await _embedded([context for context in contexts if context not in ALL_OR_LAST], turn)
        self.status(turn, "status.looking_up")
        hits = [hit for context in contexts for hit in await _look_up(context, vectors.get(context), turn)]
        hits += await _of_topic([hit.record for hit in hits], turn)
        best = {hit.record.id: hit for hit in reversed(hits)}  # of several the first
        query, asks = " ".join(contexts), not meaning_of(turn.view()).forget
        read = {hit.record.id: as_found(best[hit.record.id], query) for hit in hits}
        found = {id: answering(record, turn.message, asks=asks) for id, record in read.items()}
        if not found:
            turn.require_memory(whole=True)  # it may be among what waits
        for record in found.values():
            turn.show(record)
        return Outcome(
            self.say(turn.language, "outcome", count=len(found), contexts=", ".join(contexts)),
            "done" if found else "nothing",
            found=list(found),
            recalled=turn.with_recalled(found.values()),
        )


async def _embedded(contexts: list[str], turn: Turn) -> dict[str, np.ndarray]:
    """One vector per context, in one call; none while the embedding model is out of reach."""
    try:
        return await turn.memory.embed(contexts)
    except ModelFailed as failure:
        log.warning("searching by words alone: %s", failure.code)
        return dict.fromkeys(contexts, WORDS_ONLY)


async def _look_up(context: str, vector: np.ndarray | None, turn: Turn) -> list[MemoryHit]:
    limits = turn.services.limits
    if context == EVERYTHING:
        return _as_hits(await turn.memory.list(turn.user, limit=limits.recalled))
    if context == LAST:
        return _as_hits(await _last_kept(turn))
    found = WORDS_ONLY if vector is None else vector
    return await turn.find(context, limits.search_hits, found)


async def _of_topic(found: Sequence[MemoryRecord], turn: Turn) -> list[MemoryHit]:
    """The newest memories of the topics to forget; of one asked about, if no memory in `found` is of it.

    "My hobbies" and "Loves hiking" share no word, but the key of the memory names the topic.
    """
    meaning = understand(turn.message, language=turn.language, now=turn.now())
    asked = meaning.asked_whole
    if any(under(record.key, meaning.asked_keys) for record in found):
        asked = ()
    if not asked and not meaning.forget_keys:
        return []
    newest = await turn.memory.list(turn.user, limit=_NEWEST)
    answers = [record for record in newest if under(record.key, asked)]
    to_forget = [record for record in newest if says_of(record.key, meaning.forget_keys)]
    limits = turn.services.limits
    return _as_hits([*answers[: limits.search_hits], *to_forget[: limits.recalled]])


def _as_hits(records: list[MemoryRecord]) -> list[MemoryHit]:
    return [MemoryHit(record=record, relevance=1.0, matched=record.text) for record in records]


async def _last_kept(turn: Turn) -> list[MemoryRecord]:
    """The memories written by the newest cycle of this chat that wrote any, or learned from it since."""
    tip = turn.state.get("parent")
    if tip is None:
        return []
    cycles = await turn.memory.conversation(
        turn.user, turn.chat, limit=turn.services.limits.recalled, tip=tip
    )
    newest = await turn.memory.list(turn.user, limit=_NEWEST)
    for cycle in reversed(cycles):
        steps = cycle.variants[-1].steps if cycle.variants else ()
        wrote = [step for step in steps if step["action"] in ("MemorySave", "MemoryUpdate")]
        ids = [id for step in wrote for id in step.get("found", ())]
        ids += [record.id for record in newest if record.source.cycle == cycle.id]
        if ids:
            return await turn.memory.active(turn.user, list(dict.fromkeys(ids)))
    return []

"""Finds the memories that a request to forget means, and those that leave a doubt (pure)."""

from collections.abc import Iterable, Sequence

from thoughtcycle.language.intents import Target
from thoughtcycle.language.parse import topic_bindings, topic_context
from thoughtcycle.memory.model import MemoryRecord, Recalled
from thoughtcycle.mind.base import View
from thoughtcycle.nodes.actions.view_queries import (
    ALL_OR_LAST,
    found_by_search,
    has_words,
    meaning_of,
    says_of,
    subject_of,
)
from thoughtcycle.prompts.loader import Language, texts


def deletions(view: View) -> list[Recalled]:
    """The found memories to forget, without doubtful ones: nothing is erased by accident."""
    return _unique(memory for _, memories in _sure(view) for memory in memories)


def ambiguous_deletions(view: View) -> list[Recalled]:
    """The found memories of which only one is meant, and the message does not say which."""
    return _unique(memory for target in meaning_of(view).targets for memory in _doubt(target, view))


def of_whole_topics(records: Iterable[MemoryRecord], targets: Iterable[Target]) -> list[str]:
    """Ids of the memories of those topics that are to be forgotten as a whole."""
    whole = [target.keys for target in targets if not (target.words or target.aspect or target.one)]
    return [record.id for record in records if any(says_of(record.key, keys) for keys in whole)]


def forgotten_topics(view: View, hidden: Sequence[MemoryRecord], language: Language) -> list[str]:
    """The topics of the hidden memories that the user meant, as the user named them, with what they held."""
    by_id = {record.id: record for record in hidden}
    topics: dict[str, None] = {}
    for target, memories in _sure(view):
        taken = [by_id[memory["id"]] for memory in memories if memory["id"] in by_id]
        if taken and target.context not in ALL_OR_LAST:
            held = topics_of(taken, language) if len(taken) > 1 else []
            topics[f"{target.context} ({', '.join(held)})" if len(held) > 1 else target.context] = None
    return [*topics]


def topics_of(records: Iterable[MemoryRecord], language: Language) -> list[str]:
    """The topics of memories by their keys, known tags and kinds; never a word that somebody else chose."""
    topics: dict[str, None] = {}
    for record in records:
        name = (record.key or "").partition(":")[0]
        known = [topic for topic in (name, *record.tags) if topic_bindings(topic)]
        if known:
            topics |= {topic_context(topic, language): None for topic in known}
        elif record.kind is not None:
            topics[texts(language, "actions/memory_delete")[f"kind.{record.kind}"]] = None
    return [*topics]


def _sure(view: View) -> list[tuple[Target, list[Recalled]]]:
    found = found_by_search(view)
    targets = [target for target in meaning_of(view).targets if not _doubt(target, view)]
    return [(target, _fitting(target, found)) for target in targets]


def _doubt(target: Target, view: View) -> list[Recalled]:
    fitting = _fitting(target, found_by_search(view)) if target.one else []
    return fitting if len({subject_of(memory) for memory in fitting}) > 1 else []


def _fitting(target: Target, found: Sequence[Recalled]) -> list[Recalled]:
    """The memories of the target's topic with its words; of any topic when one thing is meant."""
    if target.context in ALL_OR_LAST:
        return list(found)
    worded = [memory for memory in found if has_words(memory, target.words)]
    if target.either:
        named = ([memory for memory in worded if has_words(memory, name)] for name in target.either)
        return next(filter(None, named), [])
    if not target.keys:
        return worded
    keyed = [memory for memory in worded if _of_topic(memory, target)]
    return keyed or (worded if target.words and target.one else [])


def _of_topic(memory: Recalled, target: Target) -> bool:
    """Whether a memory is of the target's topic: by its key, without one by its words."""
    if memory["key"] is None:
        return has_words(memory, target.context)
    last = memory["key"].rpartition(":")[2]
    return says_of(memory["key"], target.keys) and target.aspect in ("", last)


def _unique(memories: Iterable[Recalled]) -> list[Recalled]:
    return list({memory["id"]: memory for memory in memories}.values())

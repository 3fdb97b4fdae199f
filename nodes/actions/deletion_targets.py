"""Finds the memories that a request to forget means, and those that leave a doubt (pure)."""

from collections.abc import Iterable, Sequence

from thoughtcycle.language.intents import Target
from thoughtcycle.memory.model import Recalled
from thoughtcycle.mind.base import View
from thoughtcycle.nodes.actions.view_queries import (
    ALL_OR_LAST,
    found_by_search,
    has_key,
    has_words,
    meaning_of,
    subject_of,
)


def deletions(view: View) -> list[Recalled]:
    """The found memories to forget, without doubtful ones: nothing is erased by accident."""
    return _unique(memory for _, memories in _sure(view) for memory in memories)


def ambiguous_deletions(view: View) -> list[Recalled]:
    """The found memories of which only one is meant, and the message does not say which."""
    return _unique(memory for target in meaning_of(view).targets for memory in _doubt(target, view))


def forgotten_topics(view: View, ids: Iterable[str]) -> list[str]:
    """The topics of the hidden memories `ids` that the user meant, as the user named them."""
    hidden = set(ids)
    named = [target.context for target, memories in _sure(view) if hidden & {each["id"] for each in memories}]
    return [context for context in dict.fromkeys(named) if context not in ALL_OR_LAST]


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
    if not target.keys:
        return worded
    keyed = [memory for memory in worded if _of_topic(memory, target)]
    return keyed or (worded if target.words and target.one else [])


def _of_topic(memory: Recalled, target: Target) -> bool:
    """Whether a memory is of the target's topic: by its key, without one by its words."""
    if memory["key"] is None:
        return has_words(memory, target.context)
    last = memory["key"].rpartition(":")[2]
    return has_key(memory, target.keys) and target.aspect in ("", last)


def _unique(memories: Iterable[Recalled]) -> list[Recalled]:
    return list({memory["id"]: memory for memory in memories}.values())

"""Which recalled memories a message gives a new content, and between which it leaves a doubt (pure)."""

from collections.abc import Iterable
from dataclasses import dataclass, replace

from thoughtcycle.memory.records import Recalled
from thoughtcycle.mind.base import View
from thoughtcycle.mind.language.dates import mentions, undated
from thoughtcycle.mind.language.understanding import Fact
from thoughtcycle.nodes.actions.told import has_key, has_words, heard, subject_of


@dataclass(frozen=True)
class Change:
    """A memory and what it is to say from now on."""

    memory: Recalled
    fact: Fact


def changes(view: View) -> list[Change]:
    """The memories whose slot the message fills anew, whom it renames, or whose date it moves."""
    told = heard(view)
    known = {memory["key"]: memory for memory in view.recalled if memory["key"]}
    found: list[Change] = []
    for fact in told.facts:
        if fact.key in known:
            memory = known[fact.key]
            change = Change(memory, _moved(memory, fact, view) if _moves(fact) else fact)
            if memory["content"] != change.fact.content:
                found.append(change)
        elif told.correction and fact.replaces:
            found += _replaced(fact, view)
    return found


def undecided(view: View) -> list[Recalled]:
    """The memories of which the message moves just one, without a word that tells which."""
    told, known = heard(view), {memory["key"] for memory in view.recalled}
    moved = [fact for fact in told.facts if _moves(fact) and fact.key not in known]
    several = [found for fact in moved if len(found := _candidates(fact, view.recalled)) > 1]
    return [memory for found in several for memory in found]


def _moves(fact: Fact) -> bool:
    return bool(fact.replaces) and fact.key.startswith("date:")


def _candidates(fact: Fact, recalled: Iterable[Recalled]) -> list[Recalled]:
    """The memories that a fact under another key may be meant to change."""
    if _moves(fact):
        dates = [memory for memory in recalled if has_key(memory, ("date",))]
        return [memory for memory in dates if has_words(memory, fact.replaces)]
    return [memory for memory in recalled if has_key(memory, (fact.key.rpartition(":")[0],))]


def _replaced(fact: Fact, view: View) -> list[Change]:
    candidates = _candidates(fact, view.recalled)
    if _moves(fact):
        return [Change(memory, _moved(memory, fact, view)) for memory in candidates if len(candidates) == 1]
    if len({subject_of(memory) for memory in candidates}) != 1:
        return []
    return [Change(memory, fact) for memory in candidates if memory["key"] == subject_of(memory)]


def _moved(memory: Recalled, fact: Fact, view: View) -> Fact:
    """The appointment as it was called, with its new date; a new time alone leaves the day."""
    language = heard(view).language
    date = fact.content.partition(": ")[2]
    times_only = not any(mention.value for mention in mentions(date, language, view.now))
    kept = undated(memory["content"], language, view.now, times_only=times_only)
    content = f"{kept} {date}" if times_only else f"{kept}: {date}"
    return replace(fact, content=content, key=memory["key"] or fact.key)

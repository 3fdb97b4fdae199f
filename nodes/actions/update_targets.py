"""Finds the recalled memories that a message changes, and those that leave a doubt (pure)."""

import re
from collections.abc import Iterable
from dataclasses import dataclass, replace

from thoughtcycle.language.facts import Fact
from thoughtcycle.language.parse import dates_in, undated
from thoughtcycle.memory.model import Recalled
from thoughtcycle.mind.base import View
from thoughtcycle.nodes.actions.view_queries import has_key, has_words, meaning_of, subject_of

_YEARS = ("age", "birthday")
"""Ends of the keys of ages: "is six", "turns six in March"."""
_NUMBER = re.compile(r"\d+")


@dataclass(frozen=True)
class Change:
    """A memory and its new fact."""

    memory: Recalled
    fact: Fact


def changes(view: View) -> list[Change]:
    """The memories whose slot the message fills again, whose person it renames, or whose date it moves."""
    meaning = meaning_of(view)
    known = {memory["key"]: memory for memory in view.recalled if memory["key"]}
    found: list[Change] = []
    for fact in meaning.facts:
        if fact.key in known:
            memory = known[fact.key]
            change = Change(memory, _moved(memory, fact, view) if _moves(fact) else fact)
            if memory["content"] != change.fact.content:
                found.append(change)
        elif meaning.correction and (relative := relative_meant(fact, view.recalled)) is not None:
            found.append(Change(relative, _named(fact, relative)))
        elif meaning.correction and fact.replaces:
            found += _replaced(fact, view)
    return found


def ambiguous_moves(view: View) -> list[Recalled]:
    """The appointments of which the message moves only one without saying which."""
    meaning, known = meaning_of(view), {memory["key"] for memory in view.recalled}
    moved = [fact for fact in meaning.facts if meaning.correction and _moves(fact) and fact.key not in known]
    several = [found for fact in moved if len(found := _candidates(fact, view.recalled)) > 1]
    return [memory for found in several for memory in found]


def relative_meant(fact: Fact, recalled: Iterable[Recalled]) -> Recalled | None:
    """The memory of the one relative of a kind whose age or birthday a fact corrects without a name."""
    kind, _, aspect = fact.key.rpartition(":")
    if kind.count(":") != 1 or not kind.startswith("family:") or aspect not in _YEARS:
        return None
    own = [memory for memory in recalled if has_key(memory, (kind,))]
    if len({subject_of(memory) for memory in own}) != 1:
        return None
    years = [memory for memory in own if (memory["key"] or "").rpartition(":")[2] in _YEARS]
    return years[0] if len(years) == 1 else None


def _named(fact: Fact, memory: Recalled) -> Fact:
    """A fact about a relative with the name and the details that the memory has."""
    kin, _, said = fact.content.partition(" ")
    name = re.match(rf"{re.escape(kin)} ([A-ZÀ-Ý][\w-]*)", memory["content"])
    content = f"{kin} {name[1]} {said}" if name else fact.content
    before, now = (_NUMBER.sub("#", text) for text in (memory["content"], content))
    if before.startswith(f"{now} "):
        content += before[len(now) :]
    bindings = (*fact.bindings, name[1]) if name else fact.bindings
    return replace(fact, content=content, key=memory["key"] or fact.key, bindings=bindings)


def takes_the_place(fact: Fact, memory: Recalled) -> bool:
    """Whether a new date is that of this appointment, by its words or as one of its kind ("the trip")."""
    return has_words(memory, fact.replaces) or has_key(memory, (fact.key,))


def _moves(fact: Fact) -> bool:
    return bool(fact.replaces) and fact.key.startswith("date:")


def _candidates(fact: Fact, recalled: Iterable[Recalled]) -> list[Recalled]:
    """The memories that a fact under another key may be meant to change."""
    if _moves(fact):
        dates = [memory for memory in recalled if has_key(memory, ("date",))]
        return [memory for memory in dates if takes_the_place(fact, memory)]
    return [memory for memory in recalled if has_key(memory, (fact.key.rpartition(":")[0],))]


def _replaced(fact: Fact, view: View) -> list[Change]:
    candidates = _candidates(fact, view.recalled)
    if _moves(fact):
        return [Change(memory, _moved(memory, fact, view)) for memory in candidates if len(candidates) == 1]
    if len({subject_of(memory) for memory in candidates}) != 1:
        return []
    return [Change(memory, fact) for memory in candidates if memory["key"] == subject_of(memory)]


def _moved(memory: Recalled, fact: Fact, view: View) -> Fact:
    """The fact of an appointment with its new date; a new time alone leaves the day."""
    language = meaning_of(view).language
    date = fact.content.partition(": ")[2]
    times_only = not any(mention.value for mention in dates_in(date, language, view.now))
    kept = undated(memory["content"], language, view.now, times_only=times_only)
    content = f"{kept} {date}" if times_only else f"{kept}: {date}"
    return replace(fact, content=content, key=memory["key"] or fact.key)

"""Reconciles a new fact with known ones: same, newer or unrelated (HM-6)."""

from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Literal

from thoughtcycle.language.facts.statements import Statement, parse_statement
from thoughtcycle.language.parse import Lexicon, lexicon
from thoughtcycle.prompts.loader import Language

Broader = Literal["fact", "known"]


@dataclass(frozen=True)
class Claim:
    """A fact or memory, reduced to the fields that reconciliation compares."""

    content: str
    kind: str | None = None
    key: str | None = None
    words: str = ""
    """The user's words behind a new fact: they tell a change ("now") that the fact leaves out."""
    id: str = ""


@dataclass(frozen=True)
class Relation:
    """The relation of a new fact to a known memory."""

    relation: Literal["same", "newer", "unrelated"]
    id: str | None = None
    broader: Broader = "known"
    """Which of two that say the same says more generally what holds; the known one when they are equal."""


UNRELATED = Relation("unrelated")


def reconcile(fact: Claim, candidates: Sequence[Claim], language: Language) -> Relation:
    """Relates `fact` to the nearest few memories; pure, by rules, never by similarity alone.

    The same key is the same slot; else concepts, polarity, names and values decide. `same` names the memory
    that says it already and which of the two is the broader one, `newer` the memory that no longer holds.
    """
    words = lexicon(language)
    said = parse_statement(fact.content, language)
    known = [(each, parse_statement(each.content, language)) for each in candidates]
    changes = parse_statement(fact.words, language).changes
    for each, old in known:
        if changes and said.set != old.set:
            continue
        if broader := same(said, old, words):
            return Relation("same", each.id, broader)
    for each, _ in known:
        if _same_slot(fact, each):
            return Relation("newer", each.id)
    for each, old in known:
        if contradicts(said, old, words):
            return Relation("newer", each.id)
    changed = _changed(fact, known, words, language)
    return Relation("newer", changed.id) if changed else UNRELATED


def _same_slot(fact: Claim, known: Claim) -> bool:
    return bool(fact.key) and fact.key == known.key and not str(fact.key).startswith("note")


def same(fact: Statement, known: Statement, words: Lexicon) -> Broader | None:
    """Which of two is the broader one when they say the same; None when they do not."""
    polarities = {(one.negative, one.spared) for one in (fact, known)}
    if len(polarities) > 1 or not fact.concepts or not known.concepts:
        return None
    if _disagree(fact, known) or _turned(fact, known, words):
        return None
    if fact.set == known.set:
        more = fact.values > known.values or (fact.wide and not known.wide)
        return "fact" if more else "known"
    return _covering(fact, known, words)


def _disagree(one: Statement, other: Statement) -> bool:
    """Whether both name values of a type and not the same ones."""
    return bool(one.values and other.values) and one.values != other.values


def _turned(one: Statement, other: Statement, words: Lexicon) -> bool:
    """Whether order counts and is another one ("prefers tea to coffee"; "the cat follows the dog")."""
    common = one.set & other.set
    first, second = ([each for each in side.concepts if each in common] for side in (one, other))
    if common & words.ordered:
        return first != second
    return len(first) > 2 and (first[0], first[-1]) == (second[-1], second[0])


def _covering(fact: Statement, known: Statement, words: Lexicon) -> Broader | None:
    """Which of two says all that the other does: by a kind of it, or by naming more."""
    added, missing = fact.set - known.set, known.set - fact.set
    if added and missing:
        general = _general(added - words.filler, missing - words.filler, words)
        if general is None:
            return None
        wide = fact.negative or bool(fact.set & known.set & words.attitudes)
        return general if wide else ("known" if general == "fact" else "fact")
    richer, poorer, extra = (fact, known, added) if added else (known, fact, missing)
    idle = words.filler | words.support if poorer.values else words.support
    if extra <= idle and (poorer.values or not poorer.set <= words.generic):
        return "known"
    if not poorer.set - words.generic or richer.concepts[0] in extra:
        return None
    named = all(each in richer.proper for each in extra)
    return ("fact" if added else "known") if named or _listed(extra, poorer.set, words) else None


def _general(added: frozenset[str], missing: frozenset[str], words: Lexicon) -> Broader | None:
    """Which side names the kind of thing that the other side names one or more of."""
    if _covers(added, missing, words):
        return "fact"
    return "known" if _covers(missing, added, words) else None


def _covers(broad: Iterable[str], narrow: Iterable[str], words: Lexicon) -> bool:
    """Whether every concept of `narrow` is a kind of the one in `broad`."""
    wide = set(broad)
    return len(wide) == 1 and all(wide <= words.kinds.get(each, frozenset()) for each in narrow)


def _listed(extra: Iterable[str], beside: Iterable[str], words: Lexicon) -> bool:
    """Whether `extra` only lengthens a list of such things ("apples and pears")."""
    listed = frozenset[str]().union(*(words.kinds.get(each, frozenset()) for each in beside))
    return all(words.kinds.get(each, frozenset()) & listed for each in extra)


def contradicts(fact: Statement, known: Statement, words: Lexicon) -> bool:
    """Whether two are about the same thing and cannot both hold."""
    if _turned(fact, known, words):
        return fact.set == known.set and len(fact.set - words.ordered) == 2
    if fact.negative != known.negative:
        return _about_the_same(fact, known, words)
    types = [{kind for kind, _ in each.values} for each in (fact, known)]
    one, other = (each.set - words.filler if each.values else each.set for each in (fact, known))
    if one == other and (one or fact.set == known.set):
        return bool(types[0] & types[1]) and fact.values != known.values
    return _other_value(fact, known, words)


def _about_the_same(fact: Statement, known: Statement, words: Lexicon) -> bool:
    """Whether the one denies what the other says: the same concepts, or one a kind of the other's."""
    verbs = {"like", "eat", "drink", "consume"}
    one, other = fact.set - verbs, known.set - verbs
    tastes = bool(fact.set & verbs) == bool(known.set & verbs)
    if not tastes or not one or not other or _disagree(fact, known):
        return False
    return one == other or _covers(one, other, words) or _covers(other, one, words)


def _other_value(fact: Statement, known: Statement, words: Lexicon) -> bool:
    """Whether they fill the same slot with different things ("lives in Leeds", "lives in York")."""
    added, missing, common = fact.set - known.set, known.set - fact.set, fact.set & known.set
    if not added or not missing or "want" in added ^ missing:
        return False
    if (added | missing) & words.kin:
        return False
    if len(added) == len(missing) == 1 and added | missing in words.opposites:
        return bool(common) or added | missing in _whole(words)
    slot = common & words.functional
    named = len(common - slot - words.generic)
    if not slot or named > ("favorite" in slot or "main" in common) or ("favorite" in slot and not named):
        return False
    last = fact.concepts[-1] in added and known.concepts[-1] in missing
    return last and len(added) <= 3 and len(missing) <= 3 and fact.negative == known.negative


def _whole(words: Lexicon) -> frozenset[frozenset[str]]:
    """Opposites that are a whole statement by themselves ("single", "married")."""
    return frozenset(pair for pair in words.opposites if any(each in words.kinds for each in pair))


def _changed(
    fact: Claim, known: Sequence[tuple[Claim, Statement]], words: Lexicon, language: Language
) -> Claim | None:
    """The memory that a fact worded as a change or a denial is about; None when none or several could be."""
    said = parse_statement(fact.words or fact.content, language)
    counts = Counter(concept for _, old in known for concept in old.set)
    scored = [(_overlap(said, old, counts, words), each) for each, old in known]
    best = max((score for score, _ in scored), default=0.0)
    top = [each for score, each in scored if score == best]
    return top[0] if best > 0 and len(top) == 1 else None


def _overlap(said: Statement, old: Statement, counts: Counter[str], words: Lexicon) -> float:
    """The weight of shared concepts, rare ones more; 0 when the change cannot be about the old one."""
    mine, theirs = frozenset(said.concepts), frozenset(old.concepts)
    common, denied = mine & theirs, said.negative and not old.negative
    of_another = mine & words.kin != theirs & words.kin and not (said.ends and common & old.proper)
    if not (said.changes or denied) or of_another:
        return 0.0
    if denied and not said.ends and not said.changes and not _plainly_denied(said, old, words):
        return 0.0
    siblings = not denied and _siblings(mine - theirs, theirs - mine, words)
    whole = denied and said.ends and common == mine
    if not common - words.generic and not siblings and not whole:
        return 0.0
    most = 2 * len(common) > len(mine) or mine - theirs <= said.proper
    if not denied and ((not siblings and not most) or not theirs & words.attitudes <= mine):
        return 0.0
    return sum((0.3 if each in words.generic else 1.0) / counts[each] for each in common) + 0.5 * siblings


def _plainly_denied(said: Statement, old: Statement, words: Lexicon) -> bool:
    """Whether a mere "not" takes back all that was said, verb included."""
    return old.set & words.generic <= said.set and (old.set <= said.set or said.set <= old.set)


def _siblings(added: Iterable[str], missing: Iterable[str], words: Lexicon) -> bool:
    """Whether each side has a thing of the same kind ("Android", "iPhone")."""
    kinds = [
        frozenset[str]().union(*(words.kinds.get(each, frozenset()) for each in side))
        for side in (added, missing)
    ]
    return bool(kinds[0] & kinds[1])

"""The ledger of a conversation: critical and preserved data, which no upkeep loses (CM-6, CM-7; pure)."""

import re
from collections.abc import Collection, Iterable
from datetime import datetime
from functools import cache, lru_cache

from thoughtcycle.memory.model import CriticalDatum, LedgerEntry, Preserved, PreservedData
from thoughtcycle.memory.text import WORD, fold, terms
from thoughtcycle.prompts.loader import LANGUAGES, word_lists

_FIGURE = re.compile(r"\d[\d.,:/%-]*")


@cache
def _words(name: str) -> frozenset[str]:
    return frozenset(word for language in LANGUAGES for word in word_lists(language, "fillers")[name].split())


def merged(known: Iterable[CriticalDatum], found: Iterable[CriticalDatum]) -> tuple[CriticalDatum, ...]:
    """`known` and what is new among `found`, in the order in which they were said.

    One of the same kind with the same values and, case, accents, endings and fillers aside, the same words
    in the same order is no new entry: the first wording stays and knows the cycles that said it again.
    Another amount, another thing, a negation: a new entry, so that nothing is lost.
    """
    entries: dict[tuple[object, ...], CriticalDatum] = {}
    for datum in (*known, *found):
        key = _identity(datum)
        first = entries.get(key)
        if first is None:
            entries[key] = datum
            continue
        said = (*first.again, datum.cycle, *datum.again)
        again = tuple(cycle for cycle in dict.fromkeys(said) if cycle != first.cycle)
        entries[key] = first.model_copy(update={"again": again})
    return tuple(sorted(entries.values(), key=lambda datum: datum.at))


def _identity(datum: CriticalDatum) -> tuple[object, ...]:
    return datum.kind, datum.values, *_content(datum.text, bool(datum.values))


@lru_cache(maxsize=4_096)
def _content(text: str, valued: bool) -> tuple[tuple[str, ...], object]:
    """The negations of a text, and its content words in order, without amounts where these are known."""
    words = WORD.findall(fold(text))
    dropped = _words("fillers") | (_words("money") if valued else frozenset())
    told = (word for word in words if word not in dropped and not (valued and word[0].isdigit()))
    return tuple(word for word in words if word in _words("negations")), tuple(terms(" ".join(told))) or text


def of_live(known: Iterable[CriticalDatum], live: Collection[str]) -> tuple[CriticalDatum, ...]:
    """What was said on the live branch, also if it was first said on another one."""
    kept = []
    for datum in known:
        said = [cycle for cycle in (datum.cycle, *datum.again) if cycle in live]
        if said:
            kept.append(datum.model_copy(update={"cycle": said[0], "again": tuple(said[1:])}))
    return tuple(kept)


def grown(
    ledger: Iterable[LedgerEntry], cycle: str, at: datetime, preserved: PreservedData
) -> tuple[LedgerEntry, ...]:
    """The ledger with the preserved data of a cycle; nothing that it holds goes."""
    entries = {entry.cycle_id: entry for entry in ledger}
    if cycle in entries:
        preserved = entries[cycle].preserved_data.merged(preserved)
    if preserved:
        entries[cycle] = LedgerEntry(cycle_id=cycle, timestamp=at, preserved_data=preserved)
    return tuple(entries.values())


def figures(text: str) -> tuple[str, ...]:
    """The groups of digits in a text, as they stand."""
    return tuple(dict.fromkeys(match[0].rstrip(".,:/-") for match in _FIGURE.finditer(text)))


def guarded(preserved: PreservedData, text: str) -> PreservedData:
    """`preserved` with every figure of `text` that it lacks, as it stands."""
    said = " ".join(one.said for one in (*preserved.numerical_values, *preserved.dates))
    known = set(figures(said))
    lacking = [Preserved(said=one, normalised=one) for one in figures(text) if one not in known]
    return preserved.merged(PreservedData(numerical_values=tuple(lacking))) if lacking else preserved

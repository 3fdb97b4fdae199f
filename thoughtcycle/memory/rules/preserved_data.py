"""Critical and preserved data of a conversation, which no upkeep loses (CM-6, CM-7; pure)."""

import re
from collections.abc import Collection, Iterable
from functools import cache, lru_cache

from thoughtcycle.memory.model import CriticalDatum, LedgerEntry, OldCycle, Preserved, PreservedData
from thoughtcycle.memory.text.analyzer import WORD, fold, terms
from thoughtcycle.prompts.loader import LANGUAGES, word_lists

_FIGURE = re.compile(r"\d[\d.,:/%-]*")


@cache
def _words(name: str) -> frozenset[str]:
    return frozenset(word for language in LANGUAGES for word in word_lists(language, "fillers")[name].split())


def merged_critical_data(
    known: Iterable[CriticalDatum], found: Iterable[CriticalDatum]
) -> tuple[CriticalDatum, ...]:
    """`known` and what is new among `found`, in the order in which they were said.

    A datum of the same kind with the same values and the same words in the same order (case, accents,
    endings and fillers aside) is no new entry: the first wording stays and names the cycles that repeat it.
    Another amount, another thing or a negation is a new entry, so that nothing is lost.
    """
    entries: dict[tuple[object, ...], CriticalDatum] = {}
    for datum in (*known, *found):
        key = (datum.kind, datum.values, *_content(datum.text, bool(datum.values)))
        first = entries.get(key)
        if first is None:
            entries[key] = datum
            continue
        said = (*first.again, datum.cycle, *datum.again)
        again = tuple(cycle for cycle in dict.fromkeys(said) if cycle != first.cycle)
        entries[key] = first.model_copy(update={"again": again})
    return tuple(sorted(entries.values(), key=lambda datum: datum.at))


@lru_cache(maxsize=4_096)
def _content(text: str, valued: bool) -> tuple[tuple[str, ...], object]:
    """The negations of a text, and its content words in order, without amounts if it is `valued`."""
    words = WORD.findall(fold(text))
    dropped = _words("fillers") | (_words("money") if valued else frozenset())
    content = (word for word in words if word not in dropped and not (valued and word[0].isdigit()))
    return tuple(word for word in words if word in _words("negations")), tuple(
        terms(" ".join(content))
    ) or text


def live_critical_data(known: Iterable[CriticalDatum], live: Collection[str]) -> tuple[CriticalDatum, ...]:
    """The data of the live branch, also those first said on another branch."""
    kept = []
    for datum in known:
        said = [cycle for cycle in (datum.cycle, *datum.again) if cycle in live]
        if said:
            kept.append(datum.model_copy(update={"cycle": said[0], "again": tuple(said[1:])}))
    return tuple(kept)


def ledger_with(ledger: Iterable[LedgerEntry], cycles: Iterable[OldCycle]) -> tuple[LedgerEntry, ...]:
    """The ledger with the preserved data and the figures of these summaries; no entry is lost."""
    entries = {entry.cycle_id: entry for entry in ledger}
    for one in cycles:
        preserved = with_figures_of(one.preserved_data, one.summary)
        if one.cycle_id in entries:
            preserved = entries[one.cycle_id].preserved_data.merged(preserved)
        if preserved:
            entries[one.cycle_id] = LedgerEntry(
                cycle_id=one.cycle_id, timestamp=one.timestamp, preserved_data=preserved
            )
    return tuple(entries.values())


def figures(text: str) -> tuple[str, ...]:
    """The groups of digits in a text, verbatim."""
    return tuple(dict.fromkeys(match[0].rstrip(".,:/-") for match in _FIGURE.finditer(text)))


def with_figures_of(preserved: PreservedData, text: str) -> PreservedData:
    """`preserved` with every figure of `text` that it lacks, verbatim."""
    said = " ".join(one.said for one in (*preserved.numerical_values, *preserved.dates))
    known = set(figures(said))
    lacking = [Preserved(said=one, normalised=one) for one in figures(text) if one not in known]
    return preserved.merged(PreservedData(numerical_values=tuple(lacking))) if lacking else preserved

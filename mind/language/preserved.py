"""What no summary of a text may lose, by rules: numbers, dates, decisions, names (CM-3)."""

from datetime import datetime

from thoughtcycle.memory.records import Preserved, PreservedData
from thoughtcycle.mind.language.critical import critical_in
from thoughtcycle.mind.language.detect import detect_language
from thoughtcycle.mind.language.fold import LIMIT, fold
from thoughtcycle.mind.language.names import names_in
from thoughtcycle.mind.language.quantities import MOST, quantities
from thoughtcycle.prompts.loader import Language

LONGEST = 200
"""Characters of a number or date as said: a longer run without a space is no number."""


def preserved_in(text: str, *, language: Language, now: datetime) -> PreservedData:
    """Every number and date of `text` as said and normalised, its decisions, and whom or what it names.

    `language` decides where the words do not; `now` is the text's own time in the user's time zone (BY-11).
    At most 1,000 numbers and as many dates (the transcript has them all), names of the first 20,000
    characters. Pure and linear in the length of `text`.
    """
    spoken = detect_language(text, language)
    folded = fold(text, spoken, len(text))
    numbers: dict[Preserved, None] = {}
    dates: dict[Preserved, None] = {}
    for one in quantities(folded, spoken, now):
        said = one.preserved.said
        if len(said) <= LONGEST:
            (dates if one.date else numbers).setdefault(one.preserved, None)
    declared = critical_in(text, language=spoken, now=now, cycle="")
    addresses = [folded.original(start, end) for start, end in folded.atoms[:MOST]]
    named = [*names_in(text[:LIMIT]), *(said for said in addresses if not any(map(str.isdigit, said)))]
    return PreservedData(
        numerical_values=tuple(numbers)[:MOST],
        dates=tuple(dates)[:MOST],
        decisions=tuple(one.text for one in declared if one.kind == "important_decisions"),
        essential_context=tuple(dict.fromkeys(named)),
    )

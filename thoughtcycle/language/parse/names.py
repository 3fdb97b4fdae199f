"""Proper names in a text, by how they are written: capitals where nothing else asks for one."""

import re
from functools import cache

from thoughtcycle.language.parse.folding import fold_word
from thoughtcycle.prompts.loader import LANGUAGES, word_lists

MOST = 40
"""Names of one text."""

_WORD = re.compile(r"[^\W\d_](?:[^\W_]|['’.&+-](?=[^\W_]))*")
_START = re.compile(r"(?:^|[.!?…:\n*•#>\"“-])\s*$")


@cache
def _common() -> frozenset[str]:
    words = (
        word
        for language in LANGUAGES
        for name in ("common_words", "stop_words")
        for word in word_lists(language, name)["words"].split()
    )
    return frozenset(map(fold_word, words))


def _is_name(word: str, begins: bool) -> bool:
    if not word[:1].isupper() or len(word) < 2:
        return False
    folded = fold_word(word)
    if folded in _calendar() or folded.split("'")[0].split("’")[0] in ("i", "eu"):
        return False
    return not begins or (folded not in _common() and len(word) > 2)


@cache
def _calendar() -> frozenset[str]:
    tables = (
        word_lists(language, "language/dates")[name]
        for language in LANGUAGES
        for name in ("months", "weekdays")
    )
    return frozenset(word for table in tables for word in table)


def names_in(text: str) -> tuple[str, ...]:
    """The names in `text` as written, each once, in order; none where everything is in capitals.

    The first word of a sentence counts if another name follows it, or if it stands elsewhere with a
    capital in the middle of a sentence. Linear in the length of the text.
    """
    words = [(match[0], match.start(), match.end()) for match in _WORD.finditer(text)]
    capitals = sum(word[0].isupper() for word, _, _ in words)
    if capitals > 6 and capitals > 0.7 * len(words):
        return ()
    sure = {word for word, start, _ in words if _is_name(word, begins=False) and not _begins(text, start)}
    found: dict[str, None] = {}
    for start, end, first in _runs(text, words):
        if first is None or first in sure or end > start + len(first):
            found.setdefault(text[start:end], None)
    return tuple(found)[:MOST]


def _begins(text: str, start: int) -> bool:
    return start == 0 or bool(_START.search(text[max(0, start - 4) : start]))


def _runs(text: str, words: list[tuple[str, int, int]]) -> list[tuple[int, int, str | None]]:
    """The spans of names, those side by side as one, each with its first word if that begins a sentence."""
    runs: list[tuple[int, int, str | None]] = []
    for word, start, end in words:
        begins = _begins(text, start)
        if not _is_name(word, begins):
            continue
        between = text[runs[-1][1] : start] if runs else "\n"
        if re.fullmatch(r" (?:(?:d[aeo]s?|of|von|van|di) )?", between):
            runs[-1] = (runs[-1][0], end, runs[-1][2])
        else:
            runs.append((start, end, word if begins else None))
    return runs

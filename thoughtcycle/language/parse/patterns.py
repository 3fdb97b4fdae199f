"""Compiles the patterns of the word lists: `{name}` in a pattern stands for a macro or a list of words."""

import re
from collections.abc import Mapping
from functools import cache, lru_cache
from typing import Any

from thoughtcycle.prompts.loader import Language, word_lists

_MACRO = re.compile(r"\{([a-z_]+)\}")


@cache
def vocabulary(language: Language) -> Mapping[str, Any]:
    """The word lists that patterns name."""
    return word_lists(language, "language/vocabulary")


@cache
def _definitions(language: Language) -> Mapping[str, str]:
    words = {name: f"(?:{value})" for name, value in vocabulary(language).items() if isinstance(value, str)}
    tables = {
        name: f"(?:{'|'.join(value.values())})"
        for name, value in vocabulary(language).items()
        if isinstance(value, dict)
    }
    dates = word_lists(language, "language/dates")
    times = {name: f"(?:{'|'.join(dates[name])})" for name in ("weekdays", "months")}
    files = [word_lists(language, f"language/{name}")["macros"] for name in ("facts", "everyday")]
    macros: dict[str, str] = {name: value for file in files for name, value in file.items()}
    return {**words, **tables, **times, **macros}


def expand(pattern: str, language: Language) -> str:
    """`pattern` with every `{name}` replaced; KeyError for a name that no list defines."""
    definitions = _definitions(language)
    while _MACRO.search(pattern):
        pattern = _MACRO.sub(lambda match: definitions[match[1]], pattern)
    return pattern


@cache
def compiled(pattern: str, language: Language) -> re.Pattern[str]:
    """The expanded pattern as a regular expression over folded text."""
    return re.compile(expand(pattern, language))


@lru_cache(maxsize=4_096)
def neutral_name(word: str, table: str, language: Language) -> str | None:
    """The language-neutral name of `word` in a table of the vocabulary ("irma" in `kin` is "sister")."""
    entries: dict[str, str] = vocabulary(language)[table]
    return next((name for name, pattern in entries.items() if re.fullmatch(pattern, word)), None)

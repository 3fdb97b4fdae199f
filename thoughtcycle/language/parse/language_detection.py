"""Tells Portuguese from English by their function words."""

import re
from functools import cache

from thoughtcycle.language.parse.folding import fold_word
from thoughtcycle.prompts.loader import Language, word_lists

READ = 2_000
"""Characters that decide; the language does not change after them."""

_WORD = re.compile(r"[^\W\d_]+(?:['’][^\W\d_]+)?")
_PORTUGUESE_LETTERS = re.compile(r"[ãõçâêôáéíóúà]", re.IGNORECASE)


@cache
def _words(language: Language) -> frozenset[str]:
    return frozenset(word_lists(language, "language/detect")["words"])


def detect_language(text: str, default: Language) -> Language:
    """The language of `text`; `default` when its words do not decide."""
    beginning = text[:READ]
    score = 2 * len(_PORTUGUESE_LETTERS.findall(beginning)[:1])
    for match in _WORD.finditer(beginning):
        word = fold_word(match[0].replace("’", "'"))
        score += (word in _words("pt")) - (word in _words("en"))
    return default if score == 0 else "pt" if score > 0 else "en"

"""Turns text into search terms: folded, without stop words, as Portuguese and English stems."""

import hashlib
import re
import threading
import unicodedata
from functools import cache, lru_cache
from typing import Any

import Stemmer

from thoughtcycle.memory.model import as_json
from thoughtcycle.prompts.loader import LANGUAGES, word_lists

WORD = re.compile(r"\w+")
LONGEST_WORD = 64
"""Characters of a word that count."""
_local = threading.local()

Term = tuple[str, ...]
"""One word as its stem forms; two words are the same term when they share a form."""


def fold(text: str) -> str:
    """Lower case, without accents."""
    if text.isascii():
        return text.lower()
    decomposed = unicodedata.normalize("NFKD", text.casefold())
    return "".join(char for char in decomposed if not unicodedata.combining(char))


def identity(type: str, content: Any) -> str:
    """A hash, equal for contents in the same words: case, spaces and a final full stop aside.

    Accents count ("avó" is not "avô"); content that is no plain text is compared exactly.
    """
    text = content if isinstance(content, str) else as_json(content)
    if type == "text" and isinstance(content, str):
        text = text if text.isascii() else unicodedata.normalize("NFC", text)
        text = " ".join(text.casefold().split()).rstrip(".!")
    return hashlib.sha256(f"{type}\x1f{text}".encode("utf-8", "surrogatepass")).hexdigest()


def digest(text: str) -> str:
    """The SHA-256 of a text, in hexadecimal."""
    return hashlib.sha256(text.encode("utf-8", "surrogatepass")).hexdigest()


@cache
def stop_words() -> frozenset[str]:
    """Words of all languages that say nothing about a topic, folded."""
    lists = (word_lists(language, "stop_words")["words"].split() for language in LANGUAGES)
    return frozenset(fold(word) for words in lists for word in words)


def terms(text: str) -> list[Term]:
    """The content words of `text`, in order, as stem forms."""
    found = (word_forms(word[:LONGEST_WORD]) for word in WORD.findall(text.casefold()))
    return [term for term in found if term]


def forms_of(word: str) -> Term:
    """The stem forms of a word of case-folded text: Portuguese (with and without its accents) and English.

    () for one that says nothing about a topic. Snowball's Portuguese rules need the accents, but people leave
    them out, so both are kept.
    """
    if word.isdecimal():
        return (word,)
    plain = fold(word)
    if plain in stop_words():
        return ()
    portuguese, english = _stemmers()
    found = (fold(portuguese.stemWord(word)), portuguese.stemWord(plain), english.stemWord(plain))
    return tuple(dict.fromkeys(form for form in found if form)) or (plain,)


word_forms = lru_cache(maxsize=65_536)(forms_of)
"""`forms_of` with a cache of recent words."""


def _stemmers() -> tuple[Stemmer.Stemmer, Stemmer.Stemmer]:
    """A pair per thread: PyStemmer's objects are not thread-safe. Their caches cost more than they save."""
    if not hasattr(_local, "stemmers"):
        _local.stemmers = (Stemmer.Stemmer("portuguese", 0), Stemmer.Stemmer("english", 0))
    pair: tuple[Stemmer.Stemmer, Stemmer.Stemmer] = _local.stemmers
    return pair

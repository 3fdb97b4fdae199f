"""The funnel: drops exchanges that say nothing worth judging, by word lists, without a model (SM-2, SM-3).

A message is read in both languages at once, because people mix them. Reading is linear in its length; of a
long text the beginning decides.
"""

import re
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from itertools import chain
from typing import Any, Literal

from thoughtcycle.memory.text.analyzer import fold
from thoughtcycle.prompts.loader import LANGUAGES, joined_pattern, word_lists

Reason = Literal[
    "symbols", "short", "courtesy", "lookup", "recall", "unsaid", "reply", "value", "fact", "code", "content"
]
"""Why a message is dropped – nothing but an address, digits or emoji; too short; greetings, thanks and
small talk; a question that the world answers; one that the memory answers; not to be kept; a plain reply – or
passes: a value word, a fact about the user, code, anything else."""

FUNNEL, SMALL_TALK = "language/funnel", "language/idle"
"""Word lists."""
SHORTEST = 10
"""Characters of a message; a shorter one is dropped (SM-2)."""
READ = 4_000
"""Characters of a message that are read: they decide about a longer one, too."""
LONG = 30
"""Words of a sentence; a longer one tells more than it asks or greets."""
LIGHT = 12
"""Longest sentence, in words, that is small talk by its light words; a longer one tells a story."""

_REPEATED = re.compile(r"(.)\1+")
_LAUGHTER = re.compile(
    r"(?:a|ba|mua)?(?:h[aeiu]{1,3}){2,}h?|k{2,}|(?:rs){2,}|(?:ja){2,}|(?:ai){2,}|l+(?:ol)+|lma+o+"
)
_ADDRESS = re.compile(r"(?:https?://|www?\.)\S+|\S+@\S+\.\S+")
_LETTERS = re.compile(r"[^\W\d_]{2,}")
_WORD = re.compile(r"[^\W_]+(?:'[^\W_]+)*")
_QUOTED = re.compile(
    r"\"[^\"\n]*\"|“[^”\n]*”|«[^»\n]*»|```.*?```|`[^`\n]*`|(?<!\w)'[^'\n]{2,500}'(?!\w)", re.DOTALL
)
_SENTENCE = re.compile(r"[^.!?…;\n]+[.!?…;]*")
_FENCE = re.compile(r"^ {0,3}(?:```|~~~)", re.MULTILINE)
_STRETCHED = re.compile(r"([a-z])\1{2,}")
_APOSTROPHES = str.maketrans("’‘`´", "''''")


@dataclass(frozen=True)
class Verdict:
    """The verdict of the funnel on a message or an exchange."""

    passed: bool
    reason: Reason


def _pattern(entry: str, file: str = FUNNEL) -> re.Pattern[str]:
    return joined_pattern(file, entry)


def _entries(entry: str, file: str = FUNNEL) -> list[Any]:
    return [word_lists(language, file)[entry] for language in LANGUAGES]


@cache
def _courtesies() -> tuple[re.Pattern[str], ...]:
    """Phrases of courtesy, and remarks on the time of the year."""
    phrases = chain(*_entries("courtesies"), *_entries("phrases", SMALL_TALK))
    return tuple(re.compile(rf"(?:{phrase})(?![\w'])") for phrase in phrases)


@cache
def _fillers() -> frozenset[str]:
    return frozenset(chain(*_entries("fillers")))


@cache
def _contractions() -> Mapping[str, str]:
    """Short forms written out; one that two languages have counts in the first."""
    return {key: value for each in reversed(_entries("contractions")) for key, value in each.items()}


def filter_message(text: str, *, personal: bool = False, unsaid: bool = False) -> Verdict:
    """The verdict for a message of the user.

    `personal`: the language rules found that it states something about the user, or asks to note something
    down. `unsaid`: they found that it takes itself back (a joke, "don't remember this").
    """
    head = text[:READ].strip()
    plain = _plain(head)
    own_words = _QUOTED.sub(" ", plain)
    if unsaid or _pattern("unsaid").search(own_words):
        return Verdict(False, "unsaid")
    if not _LETTERS.search(_ADDRESS.sub(" ", plain)):
        return Verdict(False, "symbols")
    if _is_pasted(own_words):
        return Verdict(False, "lookup")
    if _has_value(own_words, "value"):
        return Verdict(True, "value")
    if personal:
        return Verdict(True, "fact")
    if _FENCE.search(head):
        return Verdict(True, "code")
    dropped = _dropped(own_words, len(head))
    return Verdict(False, dropped) if dropped else Verdict(True, "content")


def filter_reply(text: str) -> Verdict:
    """The verdict for a reply: plain prose is judged by the message that it answers.

    A reply passes by itself with code, or with a decision made together.
    """
    if _FENCE.search(text):
        return Verdict(True, "code")
    if _has_value(_QUOTED.sub(" ", _plain(text[:READ])), "value_reply"):
        return Verdict(True, "value")
    return Verdict(False, "reply")


def filter_exchange(message: Verdict, reply: Verdict) -> Verdict:
    """The verdict for a cycle: it passes if either of its messages does.

    A message that the user does not want remembered is dropped, whatever the reply.
    """
    if message.passed or message.reason == "unsaid" or not reply.passed:
        return message
    return reply


def _plain(text: str) -> str:
    """`text` in lower case without accents, with its short forms written out."""
    words = _contractions()
    folded = _STRETCHED.sub(r"\1\1", fold(text.translate(_APOSTROPHES)))
    return _WORD.sub(lambda match: words.get(match[0], match[0]), folded)


def _has_value(text: str, entry: Literal["value", "value_reply"]) -> bool:
    return _pattern(entry).search(_pattern("not_value").sub(" ", text)) is not None


def _dropped(text: str, length: int) -> Reason | None:
    """Why layer 1 drops a message; None when any sentence of it says something."""
    found = {_of_sentence(match[0].strip()) for match in _SENTENCE.finditer(text)}
    if None in found:
        return "short" if length < SHORTEST else None
    for reason in ("lookup", "recall"):
        if reason in found:
            return reason
    return "short" if length < SHORTEST else "courtesy"


def _of_sentence(sentence: str) -> Reason | None:
    """Why a sentence says nothing about anybody; None when it may."""
    if len(sentence.split()) > LONG:
        return None
    if not _LETTERS.search(_ADDRESS.sub(" ", sentence)) or _says_nothing(sentence):
        return "courtesy"
    sentence = _pattern("as_if", SMALL_TALK).sub(" ", sentence)  # "as if I were …" states nothing
    start = _lead(sentence)
    if _pattern("recalls").match(sentence, start):
        return "recall"
    if _is_idle(sentence, start):
        return "lookup"
    asks = any(_pattern(entry).match(sentence, start) for entry in ("lookups", "works"))
    asks = asks or _is_order(sentence, start)
    return "lookup" if asks and not _pattern("own").search(sentence, start) else None


def _lead(sentence: str) -> int:
    """The end of the words that lead in."""
    end = 0
    while (match := _pattern("leads").match(sentence, end)) and match.end() > end:
        end = match.end()
    return end


def _says_nothing(sentence: str) -> bool:
    """Whether it is made of phrases of courtesy and fillers, or, when short, of those and light words.

    The longest phrase is taken each time; fillers alone are no courtesy.
    """
    at, read, phrases = 0, 0, 0
    courteous, light = True, True
    while (courteous or light) and (word := _WORD.search(sentence, at)):
        found = (phrase.match(sentence, word.start()) for phrase in _courtesies())
        end = max((match.end() for match in found if match), default=0)
        phrases += bool(end)
        courteous &= bool(end) or word[0] in _fillers()
        light &= read < LIGHT and (bool(end) or _is_light(word[0]))
        read += 1
        at = end or word.end()
    return (courteous and phrases > 0) or (light and read > 0)


def _is_pasted(text: str) -> bool:
    """Whether it asks to work on a text that it contains; that text is nobody's statement."""
    match = _pattern("pasted").match(text, _lead(text))
    return match is not None and (":" in text or _pattern("into").search(text, match.end()) is not None)


@cache
def _light_words() -> frozenset[str]:
    return frozenset(_squeezed(word) for words in _entries("light", SMALL_TALK) for word in words.split())


def _is_light(word: str) -> bool:
    """Whether a word, also a stretched one ("nossaaa"), says nothing about anybody, or is laughter."""
    return _squeezed(word.removesuffix("'s")) in _light_words() or _LAUGHTER.fullmatch(word) is not None


def _is_order(sentence: str, start: int) -> bool:
    """Whether it orders work on a text or the like, at its beginning or behind its lead-in, at `start`."""
    return any(_pattern("requests", SMALL_TALK).match(sentence, at) for at in (0, start))


def _is_idle(sentence: str, start: int) -> bool:
    """Whether it begins a game or a role play, or is about the world or the assistant and nobody else."""
    if _pattern("play", SMALL_TALK).match(sentence, start):
        return True
    if _pattern("somebody", SMALL_TALK).search(sentence, start):
        return False
    if sentence.endswith("?") and "," not in sentence[start:]:
        return True
    return any(
        _pattern(entry, SMALL_TALK).match(sentence, at)
        for entry in ("asked", "addressed")
        for at in (0, start)
    )


def _squeezed(word: str) -> str:
    return _REPEATED.sub(r"\1", word)

"""Which exchanges are worth judging, by word lists and for 0 tokens (SM-2, SM-3).

A message is read in both languages at once, because people mix them. Reading is linear in its length: of a
pasted book the beginning decides.
"""

import re
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from typing import Any, Literal

from thoughtcycle.memory.rules.small_talk import (
    LIGHT,
    is_idle,
    is_light,
    is_order,
    is_play,
    phrases,
    without_comparisons,
)
from thoughtcycle.memory.text import fold
from thoughtcycle.prompts.loader import LANGUAGES, word_lists

Reason = Literal[
    "symbols", "short", "courtesy", "lookup", "recall", "unsaid", "reply", "value", "fact", "code", "content"
]
"""Why a message is dropped – nothing but an address, digits or emoji; too short; greetings, thanks and
small talk; a question that the world answers; one that the memory answers; not to be kept; a plain reply – or
passes: a value word, a fact about the user, code, anything else."""

SHORTEST = 10
"""Characters of a message; what is shorter is dropped (SM-2)."""
READ = 4_000
"""Characters of a message that are read; what matters of a longer one stands there, and it passes anyway."""
LONG = 30
"""Words of a sentence from which on it tells more than it asks or greets."""

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


_PATTERNS = (
    "lookups",
    "works",
    "pasted",
    "recalls",
    "own",
    "value",
    "value_reply",
    "not_value",
    "unsaid",
    "into",
)


@dataclass(frozen=True)
class Verdict:
    """What the funnel says of one message or of an exchange."""

    passed: bool
    reason: Reason

    @property
    def forced(self) -> bool:
        """Whether a value word overrode every other filter (SM-3)."""
        return self.reason == "value"


@dataclass(frozen=True)
class _Lists:
    courtesies: tuple[re.Pattern[str], ...]
    fillers: frozenset[str]
    leads: re.Pattern[str]
    lookups: re.Pattern[str]
    works: re.Pattern[str]
    pasted: re.Pattern[str]
    recalls: re.Pattern[str]
    own: re.Pattern[str]
    value: re.Pattern[str]
    value_reply: re.Pattern[str]
    not_value: re.Pattern[str]
    unsaid: re.Pattern[str]
    into: re.Pattern[str]
    contractions: Mapping[str, str]


@cache
def _lists() -> _Lists:
    data = [word_lists(language, "language/funnel") for language in LANGUAGES]

    def together(name: str, form: str = "(?:{})") -> re.Pattern[str]:
        return re.compile(form.format("|".join(f"(?:{each[name]})" for each in data)))

    def first_of(name: str) -> dict[str, Any]:
        return {key: value for each in reversed(data) for key, value in each[name].items()}

    return _Lists(
        courtesies=tuple(
            re.compile(rf"(?:{phrase})(?![\w'])")
            for phrase in (*(phrase for each in data for phrase in each["courtesies"]), *phrases())
        ),
        fillers=frozenset(word for each in data for word in each["fillers"]),
        leads=together("leads", "(?:{})*"),
        contractions=first_of("contractions"),
        **{name: together(name) for name in _PATTERNS},
    )


def of_message(text: str, *, personal: bool = False, unsaid: bool = False) -> Verdict:
    """The verdict for a message of the user.

    `personal`: the language rules found that it states something about the user, or asks to note something
    down. `unsaid`: they found that it takes itself back (a joke, "don't remember this").
    """
    head = text[:READ].strip()
    plain = _plain(head)
    own_words = _QUOTED.sub(" ", plain)
    lists = _lists()
    if unsaid or lists.unsaid.search(own_words):
        return Verdict(False, "unsaid")
    if not _LETTERS.search(_ADDRESS.sub(" ", plain)):
        return Verdict(False, "symbols")
    if _is_pasted(own_words):
        return Verdict(False, "lookup")
    if _valuable(own_words, lists.value):
        return Verdict(True, "value")
    if personal:
        return Verdict(True, "fact")
    if _FENCE.search(head):
        return Verdict(True, "code")
    dropped = _dropped(own_words, len(head))
    return Verdict(False, dropped) if dropped else Verdict(True, "content")


def of_reply(text: str) -> Verdict:
    """The verdict for what the assistant answered: mere prose is judged by the message that it answers.

    It passes by itself when it holds code, or tells what was decided together.
    """
    if _FENCE.search(text):
        return Verdict(True, "code")
    if _valuable(_QUOTED.sub(" ", _plain(text[:READ])), _lists().value_reply):
        return Verdict(True, "value")
    return Verdict(False, "reply")


def of_exchange(message: Verdict, reply: Verdict) -> Verdict:
    """The verdict for a cycle: it passes if either of its messages does.

    What the user does not want kept is not kept, whatever was answered to it.
    """
    if message.passed or message.reason == "unsaid" or not reply.passed:
        return message
    return reply


def _plain(text: str) -> str:
    """`text` in lower case without accents, with its short forms written out."""
    words = _lists().contractions
    folded = _STRETCHED.sub(r"\1\1", fold(text.translate(_APOSTROPHES)))
    return _WORD.sub(lambda match: words.get(match[0], match[0]), folded)


def _valuable(text: str, words: re.Pattern[str]) -> bool:
    return words.search(_lists().not_value.sub(" ", text)) is not None


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
    """What a sentence is that says nothing about anybody; None when it may."""
    lists = _lists()
    if len(sentence.split()) > LONG:
        return None
    if not _LETTERS.search(_ADDRESS.sub(" ", sentence)) or _says_nothing(sentence):
        return "courtesy"
    sentence = without_comparisons(sentence)
    start = _lead(sentence)
    if lists.recalls.match(sentence, start):
        return "recall"
    if is_play(sentence, start) or is_idle(sentence, start):
        return "lookup"
    known = lists.lookups.match(sentence, start) or lists.works.match(sentence, start)
    asks = known is not None or is_order(sentence, start)
    return "lookup" if asks and not lists.own.search(sentence, start) else None


def _lead(sentence: str) -> int:
    match = _lists().leads.match(sentence)
    return match.end() if match else 0


def _says_nothing(sentence: str) -> bool:
    """Whether it is made of phrases of courtesy and fillers, or, when short, of those and light words.

    The longest phrase is taken each time; fillers alone are no courtesy.
    """
    lists = _lists()
    at, read, phrases = 0, 0, 0
    courteous, light = True, True
    while (courteous or light) and (word := _WORD.search(sentence, at)):
        found = (phrase.match(sentence, word.start()) for phrase in lists.courtesies)
        end = max((match.end() for match in found if match), default=0)
        phrases += bool(end)
        courteous &= bool(end) or word[0] in lists.fillers
        light &= read < LIGHT and (bool(end) or is_light(word[0]))
        read += 1
        at = end or word.end()
    return (courteous and phrases > 0) or (light and read > 0)


def _is_pasted(text: str) -> bool:
    """Whether it asks to work on a text that it holds: what stands in there is nobody's statement."""
    lists = _lists()
    match = lists.pasted.match(text, _lead(text))
    return match is not None and (":" in text or lists.into.search(text, match.end()) is not None)

"""Extractive summaries: picks the sentence that says most, or drops the words that say least (CM-3, SM-4)."""

import re
from collections.abc import Sequence
from functools import cache

from thoughtcycle.language.parse import fold_word, names_in
from thoughtcycle.prompts.loader import LANGUAGES, word_lists
from thoughtcycle.text_clipping import first_parts

SUMMARY_WORDS = 50
"""Words of a summary."""
_REPLY_WORDS = 20
"""Words of it that the reply gets."""
_READ = 20_000
_SENTENCES = 200
_SENTENCE = re.compile(r"(?:\[…\]|[^.!?…\n]|[.](?=\w))+[.!?…]*")
_NUMBER = re.compile(r"\d")
_CAPITALISED = re.compile(r"(?<=[\w,;] )[A-ZÀ-Ý][a-zà-ÿ]{2,}")
_FIGURE, _NEGATION, _AFTER, _NAME, _CONTENT, _STOP, _FILLER = 6, 6, 4, 5, 3, 1, 0
"""Weight of each kind of word: the lightest go first, the later ones of equal weight before the earlier."""
_EDGES = ".,;:!?…\"'()[]*#>–—-"


@cache
def _words(name: str, file: str = "fillers") -> frozenset[str]:
    lists = (word_lists(language, file)[name].split() for language in LANGUAGES)
    return frozenset(fold_word(word) for words in lists for word in words)


@cache
def _calendar() -> frozenset[str]:
    tables = [word_lists(language, "language/dates") for language in LANGUAGES]
    words = [word for table in tables for name in ("months", "weekdays", "days") for word in table[name]]
    return frozenset(word for phrase in words for word in phrase.split())


@cache
def _number_words() -> frozenset[str]:
    tables = [word_lists(language, "language/quantities") for language in LANGUAGES]
    ones = {"um", "uma", "one"}
    return frozenset(word for table in tables for part in ("words", "scales") for word in table[part]) - ones


def shorten(text: str, words: int) -> str:
    """At most `words` words of `text`, in their order; the text itself when it is short enough.

    Words that carry a figure, a date, a name or a negation go last. A word is what stands between blanks.
    """
    tokens = [token for token in text.split() if any(map(str.isalnum, token))]
    if len(tokens) <= words:
        return " ".join(text.split())
    weights = _weights(tokens, text)
    best = sorted(range(len(tokens)), key=lambda place: (-weights[place], place))[:words]
    kept = [tokens[place] for place in sorted(best)]
    return " ".join(kept).strip(",;: ")


def _weights(tokens: Sequence[str], text: str) -> list[int]:
    named = {part for name in names_in(text) for part in name.split()}
    weights = [_weight(token, named) for token in tokens]
    for place, token in enumerate(tokens):
        plain = fold_word(token.strip(_EDGES))
        if place + 1 < len(tokens) and plain in _words("negations"):
            weights[place + 1] = max(weights[place + 1], _AFTER)
        if place and weights[place] == _FIGURE and fold_word(tokens[place - 1]).endswith(("$", "€", "£")):
            weights[place - 1] = _FIGURE
    return weights


def _weight(token: str, named: set[str]) -> int:
    word = token.strip(_EDGES)
    plain = fold_word(word)
    if any(map(str.isdigit, word)) or plain in _calendar() or plain in _number_words():
        return _FIGURE
    if plain in _words("negations"):
        return _NEGATION
    if plain in _words("money"):
        return _FIGURE if len(plain) > 2 else _CONTENT
    if word in named:
        return _NAME
    if plain in _words("fillers"):
        return _FILLER
    return _STOP if plain in _words("words", "stop_words") else _CONTENT


def shorten_all(texts: Sequence[str], words: int) -> str:
    """Several texts as one of at most `words` words, each with an equal share, in their order."""
    told = [text.rstrip(".;, ") for text in texts if text.strip()]
    if not told:
        return ""
    share = max(words // len(told), 3)
    return shorten("; ".join(shorten(text, share).rstrip(".;, ") for text in told), words)


def summarize(message: str, reply: str, words: int = SUMMARY_WORDS) -> str:
    """The sentence of the message that says most and, if there is room, the reply's; at most `words`."""
    asked, answered = best_sentence(message), best_sentence(reply)
    if not asked:
        return first_parts(answered, words)
    told = first_parts(asked, words - min(_REPLY_WORDS, len(answered.split())))
    room = words - len(told.split()) - 1
    return f"{told} — {first_parts(answered, room)}" if answered and room > 3 else told


def best_sentence(text: str) -> str:
    """The sentence with most content words, numbers and names; the first of equals, "" when there is none."""
    sentences = [match[0].strip(" \t#*->") for match in _SENTENCE.finditer(text[:_READ])][:_SENTENCES]
    return " ".join(max(filter(None, sentences), key=_content_score, default="").split())


def _content_score(sentence: str) -> float:
    words = (fold_word(word.strip(".,;:!?")) for word in sentence.split())
    content = sum(word not in _words("words", "stop_words") for word in words)
    figures = 2 * bool(_NUMBER.search(sentence)) - 2 * sentence.endswith("?")
    return min(content, 25) + figures + len(_CAPITALISED.findall(sentence))

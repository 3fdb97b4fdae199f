"""One sentence that says what an exchange was about, in its own words, uninterpreted (CM-3, SM-4)."""

import re

from thoughtcycle.mind.language.fold import fold_word
from thoughtcycle.mind.language.importance import stop_words

WORDS = 50
"""Words of a summary."""
_REPLY_WORDS = 20
"""Words of it that the reply gets."""
_READ = 20_000
_SENTENCES = 200
_SENTENCE = re.compile(r"(?:[^.!?…\n]|[.](?=\w))+[.!?…]*")
_NUMBER = re.compile(r"\d")
_NAME = re.compile(r"(?<=[\w,;] )[A-ZÀ-Ý][a-zà-ÿ]{2,}")


def summary_of(message: str, reply: str, words: int = WORDS) -> str:
    """The sentence of the message that says most and, if there is room, the reply's; at most `words`."""
    asked, answered = best_sentence(message), best_sentence(reply)
    if not asked:
        return clipped(answered, words)
    told = clipped(asked, words - min(_REPLY_WORDS, len(answered.split())))
    room = words - len(told.split()) - 1
    return f"{told} — {clipped(answered, room)}" if answered and room > 3 else told


def best_sentence(text: str) -> str:
    """The sentence with most content words, numbers and names; the first of equals, "" when there is none."""
    sentences = [match[0].strip(" \t#*->") for match in _SENTENCE.finditer(text[:_READ])][:_SENTENCES]
    return " ".join(max(filter(None, sentences), key=_weight, default="").split())


def clipped(text: str, words: int) -> str:
    """The first `words` words of `text`, with an ellipsis where there are more."""
    parts = text.split()
    return " ".join(parts) if len(parts) <= words else " ".join(parts[:words]).rstrip(",;:.") + "…"


def _weight(sentence: str) -> float:
    content = [word for word in sentence.split() if fold_word(word.strip(".,;:!?")) not in stop_words()]
    asks = sentence.endswith("?")
    return (
        min(len(content), 25) + 2 * bool(_NUMBER.search(sentence)) + len(_NAME.findall(sentence)) - 2 * asks
    )

"""Recognises and masks secrets: passwords, PINs, one-time codes, cards, keys, tokens (BY-10, pure).

The one place that decides it, for saving, showing, logging, tracing and summaries. A CPF or a phone number is
no secret: it identifies, opens nothing, and people ask to keep it; it is masked in traces only.
"""

import re
from collections.abc import Iterable, Iterator
from functools import cache, lru_cache
from typing import Any

from thoughtcycle.memory.model import MemoryRecord
from thoughtcycle.memory.text.analyzer import fold, terms
from thoughtcycle.memory.text.secret_shapes import (
    cards,
    credentials,
    keys,
    personal_numbers,
    private_keys,
    recovery_words,
)
from thoughtcycle.memory.text.secret_speech import listed_words, names_wallet, told_secrets
from thoughtcycle.memory.text.spans import HIDDEN, Span
from thoughtcycle.prompts.loader import LANGUAGES, word_lists

MARK = "••••"
"""Replaces a secret."""

SHORT = 1_000
"""Characters up to which the places of a text's secrets are remembered."""
SOME_RECOVERY_WORDS = 5
"""Words of a recovery phrase in a row that are a part of one, where a wallet is spoken of."""
_STARS = re.compile(r"[*•]{3,}")


def secrets_in(text: str, *, personal: bool = False) -> list[Span]:
    """The secrets of a text, in order, none overlapping; linear in its length.

    With `personal` also numbers of documents and telephones.
    """
    find = _cached_spans if len(text) <= SHORT else _spans
    return list(find(text, personal))


def _spans(text: str, personal: bool) -> tuple[Span, ...]:
    found: list[Span] = []
    for start, end in sorted([*_candidates(text), *(personal_numbers(text) if personal else ())]):
        if found and start < found[-1][1]:
            found[-1] = (found[-1][0], max(end, found[-1][1]))
        else:
            found.append((start, end))
    return tuple(found)


_cached_spans = lru_cache(maxsize=512)(_spans)  # a turn shows the same texts several times


def masked(text: str, *, personal: bool = False) -> str:
    """`text` with MARK in place of every secret; idempotent. `personal`: see `secrets_in`; for traces."""
    parts, at = [], 0
    for start, end in secrets_in(text, personal=personal):
        parts += [text[at:start], MARK]
        at = end
    return "".join([*parts, text[at:]])


def without_secrets(record: MemoryRecord) -> MemoryRecord:
    """A memory for display where nobody searched for it: its secrets are masked, the store has them."""
    words = record.source.words
    values = [*secret_values(record.text), *secret_values(words)]
    if not values:
        return record
    text, key = masked(record.text), record.key
    if key is not None:  # rules make keys of what is said
        for value in values:
            key = key.replace(fold(value), MARK)
    bindings = tuple(one for one in record.bindings if not holds_secret(one, values))
    source = record.source.model_copy(update={"words": masked(words)})
    content = record.content if text == record.text else text
    return record.model_copy(update={"content": content, "key": key, "bindings": bindings, "source": source})


def answering(record: MemoryRecord, query: str, *, asks: bool = True) -> MemoryRecord:
    """A memory as an answer: with its secrets where `query` asks for them by name or has them, else without.

    A query that tells a secret asks for no other; nor does one that is known to ask for nothing (`asks`).
    """
    values = secret_values(record.text)
    if any(has_value(query, value) for value in values):
        return record
    names, vague = _asking()
    words = forms(query)
    topics = words - names - vague
    named = words & names and (not topics or topics & forms(record.text))
    return record if asks and named and not holds_secret(query) else without_secrets(record)


def masked_object(value: Any) -> Any:
    """A JSON value with the secrets in its texts masked."""
    if isinstance(value, dict):
        return {name: masked_object(inner) for name, inner in value.items()}
    if isinstance(value, list | tuple):
        return [masked_object(inner) for inner in value]
    return masked(value) if isinstance(value, str) else value


def forms(text: str) -> frozenset[str]:
    """The stem forms of the content words of a text."""
    return frozenset(form for term in terms(text) for form in term)


def writes_mask_over(new: str, old: str) -> bool:
    """Whether `new` has a mask in place of hidden words or secrets that `old` has.

    Storing a masked text would lose them. Asterisks are a mask only in place of a secret, else emphasis.
    """
    if any(new.count(mark) > old.count(mark) for mark in (MARK, HIDDEN)):
        return True
    return _STARS.search(new) is not None and any(value not in new for value in secret_values(old))


def secret_values(text: str) -> list[str]:
    """The secrets of a text, as they stand there."""
    return [text[start:end] for start, end in secrets_in(text)]


def holds_secret(text: str, values: Iterable[str] = ()) -> bool:
    """Whether there is any secret in `text`, or one of `values`, known secrets, as words of its own."""
    return bool(secrets_in(text)) or any(has_value(text, value) for value in values)


def has_value(text: str, value: str) -> bool:
    """Whether `text` has the value of a secret, as words of its own."""
    return value in text and re.search(rf"(?<!\w){re.escape(value)}(?!\w)", text) is not None


def _candidates(text: str) -> Iterator[Span]:
    """Secrets by their form, and those that are told; the folded text has each character in its place."""
    folded = _folded(text)
    found = [span for finder in (private_keys, keys, cards, credentials) for span in finder(text)]
    found += recovery_words(folded, listed_words("seed"))
    if names_wallet(folded):
        words = listed_words("seed") - listed_words("remarks")
        found += recovery_words(folded, words, SOME_RECOVERY_WORDS)
    yield from found
    yield from (span for span in told_secrets(text, folded, found) if MARK not in text[slice(*span)])


def _folded(text: str) -> str:
    """`text` in lower case without accents, of the same length."""
    if text.isascii():
        return text.lower()
    return "".join(char if len(char) == 1 else "?" for char in map(fold, text))


@cache
def _asking() -> tuple[frozenset[str], frozenset[str]]:
    """The forms of words by which a secret is asked for, and of those that name no topic."""
    data = [word_lists(language, "language/secrets") for language in LANGUAGES]
    names, vague = (forms(" ".join(each[name] for each in data)) for name in ("asked", "vague"))
    return names, vague

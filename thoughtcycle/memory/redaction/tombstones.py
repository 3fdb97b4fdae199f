"""Tombstones of erased memories: enough to recognise their words, not to read them (pure)."""

import hashlib
import hmac
from collections.abc import Iterable, Sequence
from datetime import datetime

from thoughtcycle.memory.model import Tombstone
from thoughtcycle.memory.redaction.fingerprint import Trace
from thoughtcycle.memory.text.analyzer import WORD, fold
from thoughtcycle.memory.text.spans import key, tokens

KEY_BYTES = 32
"""Of a user's random key: as long as SHA-256's output (RFC 2104, section 3)."""
MOST_WORDS = 12
"""A value of more words is recognised as a whole text only."""
LONGEST = 20_000
"""Characters of a text that are looked through for values."""


def tombstone(one: Trace, user: str, secret: bytes, span: tuple[int, int] | None) -> Tombstone:
    """The tombstone of an erased memory; `secret` is the user's random key."""
    values = {value.words: len(value.words.split()) for value in one.values}
    phrases = {phrase: len(phrase.split()) for phrase in one.phrases}
    forms = {form for value in one.values for form in value.stems}
    return Tombstone(
        memory=one.memory,
        user=user,
        at=one.until,
        cycles=tuple(sorted(one.sources)),
        span=span,
        texts=tuple(sorted({sealed(text, secret) for text in one.told})),
        values=tuple(sorted((count, sealed(words, secret)) for words, count in values.items())),
        phrases=tuple(sorted((count, sealed(words, secret)) for words, count in phrases.items())),
        stems=tuple(sorted(sealed(form, secret) for form in forms)),
    )


def sealed(text: str, secret: bytes) -> str:
    """The keyed digest (HMAC-SHA-256, RFC 2104) of a text's folded words; of one without words, of itself."""
    return _digest(key(text).strip() or text.strip(), secret)


def _digest(folded: str, secret: bytes) -> str:
    return hmac.new(secret, folded.encode("utf-8", "surrogatepass"), hashlib.sha256).hexdigest()


def buried(
    texts: Iterable[str],
    tombstones: Sequence[Tombstone],
    secret: bytes,
    *,
    cycle: str | None,
    at: datetime | None,
) -> Tombstone | None:
    """The tombstone of what `texts` say, if they were said before it: in `cycle`, at `at`.

    Where it is not known when they were said, they count as old.
    """
    known = [one for one in tombstones if (cycle in one.cycles) or at is None or at <= one.at]
    if not known:
        return None
    lengths = {count for one in known for count, _ in one.values if count <= MOST_WORDS}
    digests: set[str] = set()
    for text in texts:
        digests.add(sealed(text, secret))
        said = tokens(text[:LONGEST])
        digests |= _pieces(said.words, lengths, secret)
        digests |= {_digest(word, secret) for *_, word in said.compounds}
        if "_" in text:  # tombstones from before `_` parted words
            words = WORD.findall(fold(text))
            digests |= {_digest(" ".join(words), secret), *_pieces(words[:LONGEST], lengths, secret)}
    return next((one for one in known if _says(one, digests)), None)


def _says(one: Tombstone, digests: set[str]) -> bool:
    return not digests.isdisjoint((*one.texts, *(digest for _, digest in one.values)))


def _pieces(words: Sequence[str], lengths: Iterable[int], secret: bytes) -> set[str]:
    rows = {
        " ".join(words[start : start + length])
        for length in lengths
        for start in range(len(words) - length + 1)
    }
    return {_digest(row, secret) for row in rows}

"""The words of memories that an erasure has to take, found without the product's rules of erasing (pure)."""

import re
import unicodedata
from collections.abc import Iterable, Iterator
from itertools import chain
from typing import Any

from thoughtcycle.memory.model import MemoryRecord
from thoughtcycle.memory.redaction import common_words

_WORD = re.compile(r"[^\W_]+")
_YEAR = re.compile(r"(?:19|20)\d\d")
_LONGEST = 300
"""Characters of a sentence that is looked for as a whole; of a longer one its words are."""
_FEWEST = 3
"""Words of a sentence that nobody else says by chance."""
MOST = 24
"""Words of one proof: to hash one takes a fifth of a second."""


def words_of(records: Iterable[MemoryRecord], said: Iterable[str] = ()) -> list[str]:
    """The sentences of memories and of what was `said`, and the words in them that tell them from others.

    A sentence of common words counts from three words on; of a key the whole, when it has several words.
    """
    texts: list[str] = [*said]
    keys = []
    for record in records:
        texts += [*_texts(record.content), record.source.words]
        keys += [record.key] if record.key and len(_WORD.findall(record.key)) > 1 else []
    lines = [" ".join(line.split()) for text in texts for line in text.splitlines()]
    telling = {line: [word for word in _WORD.findall(line) if _tells(word)] for line in lines}
    whole = [line for line in lines if telling[line] or len(_WORD.findall(line)) >= _FEWEST]
    found = chain(*telling.values(), (line for line in whole if len(line) <= _LONGEST), keys)
    return list({folded(word): word for word in found if folded(word)}.values())[:MOST]


def folded(text: str) -> str:
    """`text` without case, accents, repeated blanks and punctuation at its ends: as it is hashed."""
    plain = unicodedata.normalize("NFKD", text).casefold()
    plain = "".join(character for character in plain if not unicodedata.combining(character))
    return " ".join(plain.split()).strip(" .,;:!?…\"'()[]")


def _texts(content: Any) -> Iterator[str]:
    if isinstance(content, dict):
        content = [value for name, value in content.items() if name not in ("sha256", "media_type")]
    if isinstance(content, list):
        for item in content:
            yield from _texts(item)
    elif isinstance(content, str):
        yield content


def _tells(word: str) -> bool:
    if word.isdigit():
        return len(word) >= 4 and not _YEAR.fullmatch(word)
    return len(word) >= (3 if word[0].isupper() else 4) and folded(word) not in common_words()

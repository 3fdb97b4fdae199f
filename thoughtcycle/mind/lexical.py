"""Embeddings without a model: hashed word stems and letter groups; similar words, not similar meanings."""

import math
import re
import unicodedata
from collections import Counter
from functools import cache, lru_cache
from hashlib import blake2b

import numpy as np
import Stemmer
from langchain_core.embeddings import Embeddings
from numpy.typing import NDArray

DIMENSIONS = 512

_WORD = re.compile(r"\w+")
_STEM, _GROUP = 1.0, 0.3
"""Weights of a whole word's stem and of one group of its letters."""
_GROUP_SIZES = (3, 4)
_LONGEST_WORD = 40
"""Letters of a word; a longer one (a key, an address) has no groups."""

# Words of grammar say nothing about the topic. The list is part of the model `lexical-v1`, like the
# weights: vectors made with another list are not comparable, so it stands here and not among the texts.
_GRAMMAR = frozenset(
    _WORD.findall(
        """
        a am an and ao aos aquela aquele are as at be been but by com como da das de did do does dos e ela
        elas ele eles em era essa esse esta este estou eu foi for from ha had has have he her him his how i
        if in is isso isto it its ja lhe mais mas me meu meus minha minhas muito my na nas no nos not o of
        on onde or os ou our para pela pelo por pra quais qual quando que quem sao se sem ser seu seus she
        so sou sua suas te tem tenho ter that the their them there these they this those to tu um uma umas
        uns voce voces was we were what when where which who with without you your
        """
    )
)
_GRAMMAR_WEIGHT = 0.1


class LexicalEmbeddings(Embeddings):
    """512 signed hash buckets of stems (Portuguese and English) and letter groups, accents folded.

    Term frequencies count as 1 + ln(tf); rows have length 1 (0 for a text without words). The same text
    gives the same vector in every process and on every machine. Feature hashing: Weinberger et al. 2009.
    """

    name = "lexical-v1"

    def embed_documents(self, texts: list[str]) -> list[list[float]]:
        """One row of 512 numbers per text."""
        return [self.embed_query(text) for text in texts]

    def embed_query(self, text: str) -> list[float]:
        """The row of one text."""
        row = np.zeros(DIMENSIONS)
        for word, count in Counter(_WORD.findall(_folded(text))).items():
            places, weights = _features(word) if len(word) <= _LONGEST_WORD else _features_of(word)
            np.add.at(row, places, weights * (1.0 + math.log(count)))
        length = float(np.linalg.norm(row))
        values: list[float] = (row / length if length else row).tolist()
        return values

    async def aembed_documents(self, texts: list[str]) -> list[list[float]]:
        """Like `embed_documents`, on the event loop unless the texts are long."""
        if sum(map(len, texts)) > 20_000:
            return await super().aembed_documents(texts)
        return self.embed_documents(texts)

    async def aembed_query(self, text: str) -> list[float]:
        """Like `embed_query`."""
        return (await self.aembed_documents([text]))[0]


def _folded(text: str) -> str:
    decomposed = unicodedata.normalize("NFKD", text.casefold())
    return "".join(mark for mark in decomposed if not unicodedata.combining(mark))


@cache
def _stemmers() -> tuple[Stemmer.Stemmer, ...]:
    return tuple(Stemmer.Stemmer(language) for language in ("portuguese", "english"))


def _features_of(word: str) -> tuple[NDArray[np.intp], NDArray[np.float64]]:
    """The buckets of a folded word, and its weight in each."""
    scale = _GRAMMAR_WEIGHT if word in _GRAMMAR else 1.0
    stems = {stemmer.stemWord(word) for stemmer in _stemmers()}
    features = [(f"w{stem}", _STEM / math.sqrt(len(stems))) for stem in sorted(stems)]
    if scale == 1.0 and len(word) <= _LONGEST_WORD:
        features += [(f"g{group}", _GROUP) for group in _groups(f"_{word}_")]
    hashes = [_hash(name) for name, _ in features]
    places = np.array([number % DIMENSIONS for number in hashes], dtype=np.intp)
    signs = np.array([1.0 if number >> 16 & 1 else -1.0 for number in hashes])
    return places, signs * np.array([weight for _, weight in features]) * scale


_features = lru_cache(maxsize=16_384)(_features_of)
"""`_features_of` with a cache of recent words, about 1 KB each."""


def _groups(word: str) -> set[str]:
    return {word[at : at + size] for size in _GROUP_SIZES for at in range(len(word) - size + 1)}


def _hash(feature: str) -> int:
    return int.from_bytes(blake2b(feature.encode(), digest_size=4).digest(), "little")

"""The interface of embedding models (LangChain's Embeddings with a name), and the stored form of vectors."""

import math
from collections.abc import Mapping, Sequence
from typing import Protocol

import numpy as np

from thoughtcycle.errors import ModelFailed

LONGEST = 8_000
"""Characters of a text that are given to the embedding model; what is beyond is found by keywords."""


class Embedder(Protocol):
    """LangChain's `Embeddings`, asynchronous half, and the name under which its vectors are kept."""

    @property
    def name(self) -> str:
        """Of the model; vectors of different names are never compared."""
        ...

    async def aembed_documents(self, texts: list[str], /) -> list[list[float]]:
        """One vector per text, in order."""
        ...

    async def aembed_query(self, text: str, /) -> list[float]:
        """The vector of a question."""
        ...


async def embed(embedder: Embedder | None, texts: Sequence[str]) -> dict[str, np.ndarray]:
    """Text → vector of unit length (float32, shape (d,)), asked in one call; {} without an embedder.

    A text whose vector has no direction (all zeros, not a number) is left out: keywords find it.
    Raises ModelFailed('embedding_answer') when the number of vectors is wrong.
    """
    distinct = list(dict.fromkeys(text for text in texts if text.strip()))
    if embedder is None or not distinct:
        return {}
    rows = await embedder.aembed_documents([text[:LONGEST] for text in distinct])
    if len(rows) != len(distinct):
        raise ModelFailed("embedding_answer", expected=len(distinct), got=len(rows))
    return units(dict(zip(distinct, rows, strict=True)))


def units(rows: Mapping[str, Sequence[float] | np.ndarray]) -> dict[str, np.ndarray]:
    """Text → vector of unit length; those that have no direction are left out."""
    found = {text: unit(row) for text, row in rows.items()}
    return {text: vector for text, vector in found.items() if vector is not None}


def unit(row: Sequence[float] | np.ndarray) -> np.ndarray | None:
    """`row` as float32 of length 1; None when it has no direction."""
    vector = np.asarray(row, dtype=np.float32).reshape(-1)
    exact = vector.astype(np.float64)
    length = math.sqrt(exact @ exact)
    if not math.isfinite(length) or length == 0.0:
        return None
    return vector / np.float32(length)


def packed(vectors: Mapping[str, np.ndarray]) -> dict[str, bytes]:
    """Text → bytes of its vector of unit length: float32, little-endian."""
    return {text: vector.astype("<f4", copy=False).tobytes() for text, vector in vectors.items()}

"""Vectors of one dimension, searched exactly by FAISS; rows of removed ones are used again."""

from collections.abc import Collection
from typing import Any

import numpy as np
import numpy.typing as npt

Row = npt.NDArray[np.float32]
MANY = 20
"""Vectors from which on their mean says something about the model."""


class Vectors:
    """Rows of unit length. CPU-bound, not thread-safe."""

    def __init__(self, dimension: int) -> None:
        import faiss  # heavy: loaded by the first search that needs it, not by every command

        self._faiss: Any = faiss
        self._dimension = dimension
        self._index: Any = faiss.IndexFlatIP(dimension)
        self._free: list[int] = []
        self._sum = np.zeros(dimension, np.float64)

    def __len__(self) -> int:
        """How many there are."""
        return int(self._index.ntotal) - len(self._free)

    @property
    def size(self) -> int:
        """One more than the highest row number."""
        return int(self._index.ntotal)

    def add(self, matrix: Row) -> list[int]:
        """Row numbers of new vectors, shape (n, dimension)."""
        self._sum += matrix.sum(axis=0, dtype=np.float64)
        again = [self._free.pop() for _ in range(min(len(self._free), len(matrix)))]
        if again:
            self._matrix()[again] = matrix[: len(again)]
        start = self.size
        rest = np.ascontiguousarray(matrix[len(again) :], np.float32)
        if len(rest):
            self._index.add(rest)
        return again + list(range(start, start + len(rest)))

    def remove(self, rows: Collection[int]) -> None:
        """Forgets these rows; until they are used again they are all zeros."""
        places = list(rows)
        matrix = self._matrix()
        self._sum -= matrix[places].sum(axis=0, dtype=np.float64)
        matrix[places] = 0
        self._free += places

    def nearest(self, vector: Row, count: int, among: Collection[int] | None = None) -> dict[int, float]:
        """Row → cosine of the `count` nearest rows (`among` these); removed ones may be in it."""
        parameters = None
        if among is not None:
            selector = self._faiss.IDSelectorBatch(np.fromiter(among, np.int64, len(among)))
            parameters = self._faiss.SearchParameters(sel=selector)
        # Other threads of OpenMP only wait for one query: on a busy machine they cost milliseconds.
        self._faiss.omp_set_num_threads(1)
        cosines, rows = self._index.search(vector.reshape(1, -1), min(count, self.size), params=parameters)
        found = zip(rows[0].tolist(), cosines[0].tolist(), strict=True)
        return {row: cosine for row, cosine in found if row >= 0}

    def cosines(self, vector: Row, rows: npt.NDArray[np.integer] | None = None) -> Row:
        """Cosine of each of these rows, or of all."""
        matrix = self._matrix()
        return (matrix if rows is None else matrix[rows]) @ vector

    def mean(self, vector: Row) -> float:
        """The query's mean cosine; 0.0 while there are too few to tell."""
        return float(vector @ self._sum) / len(self) if len(self) >= MANY else 0.0

    def _matrix(self) -> Row:
        """FAISS's own rows, to read and to write; a view that ends with the next `add`."""
        if not self.size:
            return np.empty((0, self._dimension), np.float32)
        flat: Row = self._faiss.rev_swig_ptr(self._index.get_xb(), self.size * self._dimension)
        return flat.reshape(self.size, self._dimension)

"""Vectors of one dimension, searched exactly by FAISS; rows of removed ones are used again."""

from collections.abc import Collection
from typing import Any

import numpy as np
import numpy.typing as npt

Row = npt.NDArray[np.float32]
Rows = npt.NDArray[np.int64]
MANY = 20
"""Vectors from which on their mean says something about the model."""
_SUMMED = 1_024
"""Rows that are added up in single precision, by one product: many times faster than in double."""


class Vectors:
    """Rows of unit length. CPU-bound, not thread-safe."""

    def __init__(self, dimension: int) -> None:
        import faiss  # heavy: loaded by the first search that needs it, not by every command

        self._faiss: Any = faiss
        self.dimension = dimension
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

    @property
    def nbytes(self) -> int:
        """Memory of the rows."""
        return self.size * self.dimension * 4

    def add(self, matrix: Row) -> list[int]:
        """Row numbers of new vectors, shape (n, dimension)."""
        for start in range(0, len(matrix), _SUMMED):
            some = matrix[start : start + _SUMMED]
            self._sum += np.ones(len(some), np.float32) @ some
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

    def nearest(
        self, vector: Row, count: int, among: npt.NDArray[np.bool_] | None = None
    ) -> tuple[Rows, Row]:
        """Numbers and cosines of the `count` nearest rows (those that are true in `among`), best first.

        Removed rows may be among them.
        """
        parameters = None
        if among is not None:
            bits = np.packbits(among, bitorder="little")
            parameters = self._faiss.SearchParameters(sel=self._faiss.IDSelectorBitmap(bits))
        # Other threads of OpenMP only wait for one query: on a busy machine they cost milliseconds.
        self._faiss.omp_set_num_threads(1)
        cosines, rows = self._index.search(vector.reshape(1, -1), min(count, self.size), params=parameters)
        found = rows[0] >= 0
        return rows[0][found], cosines[0][found]

    def cosines(self, vector: Row, rows: Rows | None = None) -> Row:
        """Cosine of each of these rows, or of all."""
        matrix = self._matrix()
        return (matrix if rows is None else matrix[rows]) @ vector

    def rows(self, numbers: Rows) -> Row:
        """Copies of these rows."""
        found: Row = self._matrix()[numbers]
        return found

    def mean(self, vector: Row) -> float:
        """The query's mean cosine; 0.0 while there are too few to tell."""
        return float(vector @ self._sum) / len(self) if len(self) >= MANY else 0.0

    def _matrix(self) -> Row:
        """FAISS's own rows, to read and to write; a view that ends with the next `add`."""
        if not self.size:
            return np.empty((0, self.dimension), np.float32)
        flat: Row = self._faiss.rev_swig_ptr(self._index.get_xb(), self.size * self.dimension)
        return flat.reshape(self.size, self.dimension)

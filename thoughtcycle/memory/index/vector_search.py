"""Exact vector search: rows of one dimension in a flat FAISS index; rows of removed vectors are reused."""

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
    """Rows of unit length in half precision. CPU-bound, not thread-safe.

    16 bits per number: half the memory, a scan more than twice as fast, and cosines that are off by at most
    0.0005 (docs/measurements.md, Memories).
    """

    def __init__(self, dimension: int) -> None:
        import faiss  # heavy: loaded by the first search that needs it, not by every command

        self._faiss: Any = faiss
        self.dimension = dimension
        quantizer, metric = faiss.ScalarQuantizer.QT_fp16, faiss.METRIC_INNER_PRODUCT
        self._index: Any = faiss.IndexScalarQuantizer(dimension, quantizer, metric)
        self._free: list[int] = []
        self._sum = np.zeros(dimension, np.float64)

    def __len__(self) -> int:
        """How many vectors there are."""
        return int(self._index.ntotal) - len(self._free)

    @property
    def size(self) -> int:
        """One more than the highest row number."""
        return int(self._index.ntotal)

    @property
    def nbytes(self) -> int:
        """Memory of the rows."""
        return self.size * int(self._index.code_size)

    def add(self, matrix: npt.NDArray[np.floating]) -> list[int]:
        """Row numbers of new vectors, shape (n, dimension)."""
        new = np.ascontiguousarray(matrix, np.float16)
        self._sum += _sum(new)
        reused = [self._free.pop() for _ in range(min(len(self._free), len(new)))]
        if reused:
            self._matrix()[reused] = new[: len(reused)]
        start = self.size
        if rest := len(new) - len(reused):
            self._index.add_sa_codes(new[len(reused) :].view(np.uint8))
        return reused + list(range(start, start + rest))

    def row(self, number: int) -> Row:
        """One row, as it is kept."""
        return np.asarray(self._matrix()[number], np.float32)

    def remove(self, rows: list[int]) -> None:
        """Removes these rows; they are all zeros until they are reused."""
        matrix = self._matrix()
        self._sum -= _sum(matrix[rows])
        matrix[rows] = 0
        self._free += rows

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
        (cosines,), (rows,) = self._index.search(vector[None], min(count, self.size), params=parameters)
        if len(rows) and rows[-1] < 0:  # fewer than `count`
            found = rows >= 0
            rows, cosines = rows[found], cosines[found]
        return rows, cosines

    def cosines(self, vector: Row) -> Row:
        """Cosine of every row."""
        rows, cosines = self.nearest(vector, self.size)  # FAISS reads halves many times faster than NumPy
        every = np.zeros(self.size, np.float32)
        every[rows] = cosines
        return every

    def mean(self, vector: Row) -> float:
        """The query's mean cosine; 0.0 while there are too few to tell."""
        return float(vector @ self._sum) / len(self) if len(self) >= MANY else 0.0

    def _matrix(self) -> npt.NDArray[np.float16]:
        """FAISS's own rows, to read and to write; a view that ends with the next `add`."""
        if not self.size:
            return np.empty((0, self.dimension), np.float16)
        codes = self._faiss.rev_swig_ptr(self._index.codes.data(), self.nbytes)
        matrix: npt.NDArray[np.float16] = codes.view(np.float16).reshape(self.size, self.dimension)
        return matrix


def _sum(matrix: npt.NDArray[np.floating]) -> npt.NDArray[np.float64]:
    """The sum of all rows."""
    total = np.zeros(matrix.shape[1], np.float64)
    for start in range(0, len(matrix), _SUMMED):
        some = matrix[start : start + _SUMMED].astype(np.float32, copy=False)
        total += np.ones(len(some), np.float32) @ some
    return total

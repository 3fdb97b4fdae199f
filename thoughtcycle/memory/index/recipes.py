"""How dense and keyword evidence become one order: named recipes (pure)."""

from collections.abc import Mapping
from typing import Protocol

import numpy as np
import numpy.typing as npt

from thoughtcycle.errors import InputRefused
from thoughtcycle.memory.index.ranking import fuse

Numbers = npt.NDArray[np.floating]


class Recipe(Protocol):
    """Relevance in [0, 1] of each candidate; 0 for those whose evidence does not reach `floor`."""

    def __call__(
        self, cosines: Numbers, share: Numbers, coverage: Numbers, *, mean: float, floor: float
    ) -> Numbers:
        """`cosines` may be nan; `share` and `coverage` as in `ranking.Keywords`; `mean` is the query's."""
        ...


def adaptive(cosines: Numbers, share: Numbers, coverage: Numbers, *, mean: float, floor: float) -> Numbers:
    """Both, keywords weighing the more, the more of the query the best of them matches (`ranking.fuse`)."""
    return fuse(cosines, share, coverage, mean=mean, floor=floor)


def words(cosines: Numbers, share: Numbers, coverage: Numbers, *, mean: float, floor: float) -> Numbers:
    """Keywords alone."""
    return fuse(np.full(len(cosines), np.nan), share, coverage, floor=floor)


def vectors(cosines: Numbers, share: Numbers, coverage: Numbers, *, mean: float, floor: float) -> Numbers:
    """Cosines alone."""
    nothing = np.zeros(len(cosines))
    return fuse(cosines, nothing, nothing, mean=mean, floor=floor)


RECIPES: Mapping[str, Recipe] = {"adaptive": adaptive, "words": words, "vectors": vectors}
DEFAULT = "adaptive"


def recipe_of(name: str) -> Recipe:
    """The recipe of this name; raises InputRefused('unknown_recipe')."""
    if name not in RECIPES:
        raise InputRefused("unknown_recipe", recipe=repr(name), known=", ".join(RECIPES))
    return RECIPES[name]

"""How well a memory answers a query: fusion of dense and keyword evidence, then weight and recency (pure)."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from math import exp, log
from typing import Literal, get_args

import numpy as np
import numpy.typing as npt

from thoughtcycle.errors import InputRefused
from thoughtcycle.memory.model import MemoryRecord
from thoughtcycle.memory.rules.decay import strength, time_since_said
from thoughtcycle.memory.text.analyzer import Term, terms

FLOOR = 0.25
"""Evidence below which a memory has nothing to do with the query: one of four rare words, or cosine 0.33."""
TRUST = 8.0
"""Weight of keywords beside cosines, times the share of the query that the best keyword match reaches."""
OWN = 3.0
"""Weight of a word that the message itself says."""
BEFORE, AFTER = (2.0, 1.0), (1.0, 0.5)
"""Weights of words said one and two messages before it, and one and two messages after it."""
ABOUT = 2.0
"""Weight of the speaker's name and of the day."""
DENSE_FROM, DENSE_TO = 0.2, 0.7
"""Cosines that count as no and as full evidence; unrelated sentences lie around 0.0 to 0.3."""
CROWDED = 0.5
"""A mean cosine above this says that the model finds everything alike: evidence then begins at the mean."""
HALF_LIFE = timedelta(days=30)
_LEAST = 1e-9
"""Evidence below which there is none."""
_FEW_TERMS = 3
_SMALL_SPACE = 50
_K1, _B = 1.2, 0.75
MOST_SATURATED = _K1 + 1
"""Limit of `saturated` for a word that is said again and again."""

Scores = npt.NDArray[np.float32]
Numbers = npt.NDArray[np.floating]
Slots = npt.NDArray[np.integer]

Recipe = Literal["adaptive", "words", "vectors"]
"""Evidence that counts: both with adaptive weights (see `fuse`), keywords alone, or cosines alone."""
_RECIPES: tuple[Recipe, ...] = get_args(Recipe)


@dataclass(frozen=True)
class Keywords:
    """Keyword evidence for some documents."""

    documents: npt.NDArray[np.integer]
    share: Numbers
    """BM25 as a share of what it would be if every word of the query were said again and again, in [0, 1]."""
    coverage: Numbers
    """Share of the query's weight of words that matched, in [0, 1]; see `full_weight`."""


def idf(documents: int, containing: int) -> float:
    """Weight of a term found in `containing` of `documents`: BM25's, smoothed for small spaces.

    A space of three memories says nothing about how rare a word is, so none counts as smaller than 50
    documents; a term nobody has counts like one that a single document has.
    """
    size, found = max(documents, _SMALL_SPACE), max(containing, 1)
    return log(1 + (size - min(found, size) + 0.5) / (found + 0.5))


def length_norms(length: Scores, mean_length: float) -> Scores:
    """BM25's length normalisation (Robertson & Zaragoza 2009, k1 1.2, b 0.75)."""
    return (_K1 * (1 - _B + _B * length / max(mean_length, 1e-9))).astype(np.float32)


def saturated(frequency: Scores, norm: Scores) -> Scores:
    """BM25's factor of a term's frequency, given the norms of the lengths (see `length_norms`)."""
    slowed: Scores = frequency + norm
    factor: Scores = frequency * np.float32(MOST_SATURATED) / slowed
    return factor


def full_weight(weights: Sequence[float]) -> float:
    """Matched weight that covers a query of these `weights` in full: the sum of its three largest.

    So a long message can still be about one thing.
    """
    return sum(sorted(weights, reverse=True)[:_FEW_TERMS])


def dense_evidence(cosine: npt.ArrayLike, mean: float = 0.0) -> Numbers:
    """Cosines as evidence: 0 for none, 1 for full evidence, more beyond.

    `mean` is the query's mean cosine over the whole space.
    """
    start = mean if mean > CROWDED else DENSE_FROM
    end = max(DENSE_TO, (1 + start) / 2)
    return (np.asarray(cosine) - start) / (end - start)


def spread(slots: Slots, counts: Scores, before: Slots, after: Slots, size: int) -> Scores:
    """Counts of a word per message: what it says itself, and what is said around it.

    `slots` (each once) say it `counts` times; `before` and `after` give every slot's neighbours, -1 for none.
    """
    total = np.zeros(size, np.float32)
    total[slots] = OWN * counts
    for weights, links in ((BEFORE, after), (AFTER, before)):
        hearers, heard = links[slots], counts
        for weight in weights:
            hearers, heard = hearers[hearers >= 0], heard[hearers >= 0]
            total[hearers] += weight * heard
            hearers = links[hearers]
    return total


def fuse(
    cosines: Numbers,
    share: Numbers,
    coverage: Numbers,
    *,
    mean: float = 0.0,
    floor: float = FLOOR,
    recipe: Recipe = "adaptive",
) -> Numbers:
    """Relevance in [0, 1] of each candidate; 0 for those whose evidence does not reach `floor`.

    A cosine may be nan: there is none. Evidence is absolute (the better of dense and keyword evidence), so
    that a lone hit is not relevant just for being the best. The order comes from a sum of the two, both
    absolute, in which keywords weigh the more, the more of the query the best of them matches: that tells
    whether what is looked for repeats the question's words. Stretching each half to its own best, or fusing
    ranks, makes a poor half as loud as a good one (docs/measurements.md, Retrieval).
    """
    if not len(cosines):
        return np.zeros(0)
    if recipe == "words":
        cosines = np.full(len(cosines), np.nan)
    elif recipe == "vectors":
        share = coverage = np.zeros(len(cosines))
    dense = dense_evidence(cosines, mean)
    dense[np.isnan(dense)] = 0.0
    evidence = np.maximum(coverage, np.minimum(dense, 1.0))
    passed = evidence >= max(floor, _LEAST)
    if not passed.any():
        return np.zeros(len(cosines))
    score = dense + TRUST * share.max() * share
    among = score[passed]
    best, least = among.max(), among.min()
    place = (among - least) / (best - least) if best > least else 1.0
    relevance = np.zeros(len(score))
    relevance[passed] = evidence[passed].max() * (0.5 + 0.5 * place)
    return relevance


def rerank(relevance: float, record: MemoryRecord, now: datetime) -> float:
    """HM-9, bounded so that relevance dominates: times weight in 0.7…1 and recency in 0.85…1."""
    recency = exp(-log(2) * (max(timedelta(0), time_since_said(record, now)) / HALF_LIFE))
    return relevance * (0.7 + 0.3 * strength(record, now)) * (0.85 + 0.15 * recency)


def layer_score(
    priority: float, age: timedelta, similarity: float, accesses: int, *, half_life: timedelta = HALF_LIFE
) -> float:
    """LM-4: priority × (0.4·recency + 0.4·similarity + 0.2·ln(accesses + 1)/10), at most 10.

    Recency is `exp(-ln 2 · age / half_life)`; `priority` 1…10, `similarity` 0…1, `accesses` how often found.
    """
    recency = exp(-log(2) * (max(timedelta(0), age) / half_life))
    return min(10.0, priority * (0.4 * recency + 0.4 * similarity + 0.2 * log(accesses + 1) / 10))


def best_key(query: Iterable[Term], keys: Sequence[str]) -> str | None:
    """The first search key that shares most words with the query; None when none shares any."""
    wanted = list(query)

    def shared(key: str) -> int:
        forms = {form for term in terms(key) for form in term}
        return sum(not forms.isdisjoint(term) for term in wanted)

    counts = {key: shared(key) for key in keys}
    best = max(counts, key=lambda key: counts[key], default=None)
    return best if best is not None and counts[best] else None


def checked_recipe(name: str) -> Recipe:
    """`name` as a recipe; raises InputRefused('unknown_recipe')."""
    for recipe in _RECIPES:
        if recipe == name:
            return recipe
    raise InputRefused("unknown_recipe", recipe=repr(name), known=", ".join(_RECIPES))

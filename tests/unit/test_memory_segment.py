"""Postings built at once equal those built one document after the other, and stay so through changes."""

import random

import numpy as np
import pytest

from thoughtcycle.memory.index.postings import Postings
from thoughtcycle.memory.index.segment import build_segment
from thoughtcycle.memory.text.analyzer import terms

WORDS = (
    "viagem",
    "Viagens",
    "avó",
    "avo",
    "casa",
    "the",
    "de",
    "2026",
    "nações",
    "nation",
    "a\0b",
    "\U0001f980",
    "x" * 99,
)


def texts(chance: random.Random) -> tuple[str, ...]:
    return tuple(
        chance.choice((" ", "\n", "\0", " -")).join(chance.choices(WORDS, k=chance.randrange(6)))
        for _ in range(chance.randrange(4))
    )


def evidence(postings: Postings, query: str) -> dict[int, tuple[float, float]]:
    found = postings.search(terms(query), most=99)
    return {
        document: (pytest.approx(share), pytest.approx(coverage))
        for document, share, coverage in zip(
            found.documents.tolist(), found.share.tolist(), found.coverage.tolist(), strict=True
        )
    }


@pytest.mark.spec("BY-2")
@pytest.mark.parametrize("seed", range(8))
def test_at_once_equals_one_by_one(seed: int) -> None:
    chance = random.Random(seed)
    documents = {number: texts(chance) for number in range(30)}
    many = Postings(build_segment(documents.values()))
    one = Postings()
    for number, said in documents.items():
        one.add(number, said)
    for _ in range(40):
        gone = chance.sample(range(30), chance.choice((1, 1, 2, 6)))
        for number in gone:
            one.remove(number)
        many.remove(*gone)
        for number in gone:
            if chance.random() < 0.6:
                said = texts(chance)
                for postings in (one, many):
                    postings.add(number, said)
        assert len(one) == len(many)
    kept = [number for number in range(30) if number in one._forms]
    for query in WORDS:
        assert evidence(one, query) == evidence(many, query)
    assert np.array_equal(one.lengths(30), many.lengths(30))
    many.remove(*kept, *kept, 99)
    assert len(many) == 0
    assert all(evidence(many, query) == {} for query in WORDS)


@pytest.mark.parametrize("documents", [[], [()], [("",), ("de",)]])
def test_what_says_nothing_is_there_and_never_found(documents: list[tuple[str, ...]]) -> None:
    postings = Postings(build_segment(documents))
    assert len(postings) == len(documents)
    assert evidence(postings, "casa de the") == {}

"""Of many documents that hold words of a query, the ones with the most evidence are kept."""

import random

import pytest

from thoughtcycle.memory.index.postings import Postings
from thoughtcycle.memory.index.segment import build_segment
from thoughtcycle.memory.text.analyzer import terms

WORDS = ["garden", "piano", "lemon", "harbour", "winter", "bicycle", "ladder", "candle"]


@pytest.mark.spec("HM-9")
@pytest.mark.parametrize("most", [1, 5, 64, 700])
@pytest.mark.parametrize("often", [1, 6], ids=["mostly alike", "different"])
def test_none_that_is_left_out_has_more_evidence(most: int, often: int) -> None:
    chance = random.Random(most)
    documents = ([" ".join(chance.choices(WORDS, k=chance.randint(1, often)))] for _ in range(900))
    postings = Postings(build_segment(documents))
    query = terms("piano winter ladder")
    every = postings.search(query, most=900)
    best = postings.search(query, most=most)
    assert len(set(best.documents.tolist())) == min(most, len(every.documents))
    assert sorted(best.share.tolist()) == sorted(every.share.tolist())[-most:]
    shares = dict(zip(every.documents.tolist(), every.share.tolist(), strict=True))
    assert [shares[document] for document in best.documents.tolist()] == best.share.tolist()

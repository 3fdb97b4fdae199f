"""What an index finds, and how relevant it is, equals the formulas applied to each memory by itself."""

import random
from collections import Counter

import numpy as np
import pytest

from support.memories import feed, record, vector
from thoughtcycle.memory.index.corpus import MemoryQuery
from thoughtcycle.memory.index.filters import ALL, Filters
from thoughtcycle.memory.index.memory_index import MemoryIndex
from thoughtcycle.memory.index.ranking import full_weight, fuse, idf, length_norms, saturated
from thoughtcycle.memory.model.records import MemoryRecord, Vector
from thoughtcycle.memory.text.analyzer import Term, terms

WORDS = ("mar", "sol", "rio", "casa", "viagem", "viagens", "nação", "gato", "livro", "chuva", "trem", "festa")
SIZE = 24


def said(chance: random.Random, most: int = 6) -> str:
    return " ".join(chance.choices(WORDS, range(len(WORDS), 0, -1), k=chance.randint(1, most)))


def unit(chance: random.Random) -> np.ndarray:
    row = np.array([chance.gauss(0.3, 1) for _ in range(SIZE)])
    return (row / np.linalg.norm(row)).astype(np.float32)


def memory(chance: random.Random, number: int) -> tuple[MemoryRecord, list[Vector]]:
    bindings = tuple(said(chance, 2) for _ in range(chance.randrange(3)))
    one = record(
        f"m{number}", content=said(chance), bindings=bindings, kind=chance.choice((None, "bio", "pref"))
    )
    keys = [
        vector(one, f"{number} {place}").model_copy(update={"data": unit(chance).tobytes()})
        for place in range(chance.randrange(1 + len(bindings) + 1))
    ]
    return one.model_copy(update={"vector_ids": tuple(key.id for key in keys)}), keys


def counts(query: list[Term], one: MemoryRecord) -> list[int]:
    """How often the memory says each term of the query, as the form that it says most."""
    forms = Counter(form for text in (one.text, *one.bindings) for term in terms(text) for form in term)
    return [max(forms[form] for form in term) for term in query]


def plain(
    known: dict[str, tuple[MemoryRecord, list[Vector]]], query: str, direction: np.ndarray, wanted: Filters
) -> dict[str, float]:
    """Relevance of each memory that is related, by the formulas alone."""
    words = list(dict.fromkeys(terms(query)))
    held = {id: counts(words, one) for id, (one, _) in known.items()}
    weights = [idf(len(known), sum(map(bool, column))) for column in zip(*held.values(), strict=True)]
    lengths = {
        id: sum(len(terms(text)) for text in (one.text, *one.bindings)) for id, (one, _) in known.items()
    }
    length = sum(lengths.values()) / len(known)
    rows = {
        id: [np.frombuffer(key.data, "<f4").astype(np.float16).astype(np.float64) @ direction for key in keys]
        for id, (_, keys) in known.items()
    }
    every = [cosine for cosines in rows.values() for cosine in cosines]
    ids = [id for id, (one, _) in known.items() if wanted.match(one)]
    share, coverage = [], []
    for id in ids:
        found = np.array(held[id], np.float32)
        bm25 = saturated(
            found, length_norms(np.full(len(found), lengths[id], np.float32), length)
        ) @ np.array(weights)
        share.append(bm25 / (2.2 * sum(weights)))
        matched = sum(weight for weight, count in zip(weights, held[id], strict=True) if count)
        coverage.append(min(1.0, matched / full_weight(weights)))
    cosines = np.array([max(rows[id], default=np.nan) for id in ids])
    mean = sum(every) / len(every) if len(every) >= 20 else 0.0
    relevance = fuse(cosines, np.array(share), np.array(coverage), mean=mean)
    return {id: value for id, value in zip(ids, relevance.tolist(), strict=True) if value > 0}


@pytest.mark.spec("HM-9", "LM-9", "BY-2")
@pytest.mark.parametrize("seed", range(6))
def test_the_index_finds_what_the_formulas_say(seed: int) -> None:
    chance = random.Random(seed)
    known = {f"m{number}": memory(chance, number) for number in range(40)}
    index = MemoryIndex()
    index.apply(
        feed(40, [one for one, _ in known.values()], [key for _, keys in known.values() for key in keys])
    )
    for number in range(41, 53):
        one, keys = memory(chance, chance.randrange(50))
        known[one.id] = one, keys
        gone, _ = known.pop(f"m{chance.choice([int(id[1:]) for id in known])}")
        changes = [gone.model_copy(update={"status": "hidden"})] + ([one] if one.id != gone.id else [])
        index.apply(feed(number, changes, keys if one.id != gone.id else []))
        query, direction = said(chance, 4), unit(chance)
        wanted = chance.choice((ALL, ALL, Filters(kinds=["bio", "pref"])))
        found = index.search(MemoryQuery(query, direction, wanted, limit=100))
        expected = plain(known, query, direction, wanted)
        assert {one.memory: one.relevance for one in found} == pytest.approx(expected, abs=1e-5)
        assert [one.relevance for one in found] == sorted((one.relevance for one in found), reverse=True)

"""Keyword postings of one space: which memory holds which stem how often, scored by BM25."""

from collections import Counter, defaultdict
from collections.abc import Collection, Iterable, Sequence

from thoughtcycle.memory.ranking import KeywordScore, idf, saturation, whole
from thoughtcycle.memory.words import Term, terms

_MOST_TERMS = 64
"""Terms of a query that count: the rest of a very long message is not read."""


class Postings:
    """Live in memory; documents are small numbers given by the caller. Not thread-safe."""

    def __init__(self) -> None:
        self._counts: dict[str, dict[int, int]] = defaultdict(dict)
        self._forms: dict[int, tuple[str, ...]] = {}
        self._lengths: dict[int, int] = {}
        self._total = 0

    def add(self, document: int, texts: Iterable[str]) -> None:
        """Puts the words of `texts` under `document`, which must not be there yet."""
        words = [term for text in texts for term in terms(text)]
        counts = Counter(form for term in words for form in term)
        for form, count in counts.items():
            self._counts[form][document] = count
        self._forms[document] = tuple(counts)
        self._lengths[document] = len(words)
        self._total += len(words)

    def remove(self, document: int) -> None:
        """Forgets `document`; nothing happens when it is unknown."""
        for form in self._forms.pop(document, ()):
            holders = self._counts[form]
            del holders[document]
            if not holders:
                del self._counts[form]
        self._total -= self._lengths.pop(document, 0)

    def search(self, query: Sequence[Term], among: Collection[int] | None = None) -> dict[int, KeywordScore]:
        """Every document that holds a term of `query` (and is `among` these), with its score."""
        wanted = list(dict.fromkeys(query))[:_MOST_TERMS]
        holders = [self._holders(term) for term in wanted]
        weights = [idf(len(self._lengths), len(held)) for held in holders]
        mean = self._total / len(self._lengths) if self._lengths else 0.0
        bm25: dict[int, float] = defaultdict(float)
        matched: dict[int, float] = defaultdict(float)
        for held, weight in zip(holders, weights, strict=True):
            for document, frequency in held.items():
                if among is None or document in among:
                    bm25[document] += weight * saturation(frequency, self._lengths[document], mean)
                    matched[document] += weight
        full = whole(weights)
        return {id: KeywordScore(score, min(1.0, matched[id] / full)) for id, score in bm25.items()}

    def _holders(self, term: Term) -> dict[int, int]:
        """Documents that hold any form of `term`, with the highest frequency among the forms."""
        found: dict[int, int] = {}
        for form in term:
            for document, count in self._counts.get(form, {}).items():
                found[document] = max(count, found.get(document, 0))
        return found

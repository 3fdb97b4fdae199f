"""Near-duplicates and word overlap of short texts (pure)."""

from thoughtcycle.memory.text.analyzer import WORD, Term, fold, identity, terms

ALIKE = 0.8
"""Share of common words (Jaccard) from which two texts are near-identical."""
_LONGEST = 1_000
_NEGATIONS = frozenset(
    ["nao", "nunca", "jamais", "sem", "nem", "nada", "no", "not", "never", "without", "nor", "none", "t"]
)
"""Folded, of both languages; `t` ends "don't"."""


class Deduplicator:
    """Recognises a text that was added before, in the same or nearly the same words."""

    def __init__(self) -> None:
        self._same: set[str] = set()
        self._words: list[tuple[frozenset[Term], frozenset[str]]] = []

    def has(self, text: str) -> bool:
        """Whether `text`, or a near-identical one, was added."""
        if identity("text", text) in self._same:
            return True
        mine = _words(text)
        if not mine:
            return False
        signs = _signs(text)
        return any(signs == other_signs and _near(mine, other) for other, other_signs in self._words)

    def add(self, text: str) -> None:
        """Takes `text` in."""
        self._same.add(identity("text", text))
        if mine := _words(text):
            self._words.append((mine, _signs(text)))


def _near(one: frozenset[Term], other: frozenset[Term]) -> bool:
    """Whether both have nearly all words in common."""
    small, large = sorted((len(one), len(other)))
    return small >= ALIKE * large and len(one & other) >= ALIKE * len(one | other)


def word_overlap(one: str, other: str) -> float:
    """Jaccard index of the words of two texts, in [0, 1]: similarity where there is no embedding (LM-9)."""
    first, second = _words(one), _words(other)
    return len(first & second) / len(first | second) if first and second else 0.0


def _words(text: str) -> frozenset[Term]:
    return frozenset(terms(text[:_LONGEST]))


def _signs(text: str) -> frozenset[str]:
    """Numbers and negations: texts that differ in one of them are no duplicates."""
    words = WORD.findall(fold(text[:_LONGEST]))
    return frozenset(word for word in words if word in _NEGATIONS or not word.isalpha())

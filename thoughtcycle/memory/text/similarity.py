"""Whether two short texts say the same: one is shown once (pure)."""

from thoughtcycle.memory.text.analyzer import WORD, Term, fold, identity, terms

ALIKE = 0.8
"""Share of common words (Jaccard) from which two texts are near-identical."""
_LONGEST = 1_000
_NEGATIONS = frozenset(
    ["nao", "nunca", "jamais", "sem", "nem", "nada", "no", "not", "never", "without", "nor", "none", "t"]
)
"""Folded, of both languages; `t` ends "don't"."""


class Told:
    """Texts that were told already."""

    def __init__(self) -> None:
        self._same: set[str] = set()
        self._words: list[tuple[frozenset[Term], frozenset[str]]] = []

    def knows(self, text: str) -> bool:
        """Whether `text`, or a near-identical one, was told."""
        if identity("text", text) in self._same:
            return True
        mine = _words(text)
        if not mine:
            return False
        return any(near_to(mine, its) and kept == _telling(text) for its, kept in self._words)

    def tell(self, text: str) -> None:
        """`text` was told."""
        self._same.add(identity("text", text))
        if mine := _words(text):
            self._words.append((mine, _telling(text)))


def near_to(one: frozenset[Term], other: frozenset[Term]) -> bool:
    """Whether nearly all words of either are the other's too."""
    small, large = sorted((len(one), len(other)))
    return small >= ALIKE * large and len(one & other) >= ALIKE * len(one | other)


def likeness(one: str, other: str) -> float:
    """Jaccard over the words of two texts, in [0, 1]: similarity where there is no embedding (LM-9)."""
    mine, its = _words(one), _words(other)
    return len(mine & its) / len(mine | its) if mine and its else 0.0


def _words(text: str) -> frozenset[Term]:
    return frozenset(terms(text[:_LONGEST]))


def _telling(text: str) -> frozenset[str]:
    """Numbers and negations: texts that differ in one of them do not say the same."""
    words = WORD.findall(fold(text[:_LONGEST]))
    return frozenset(word for word in words if word in _NEGATIONS or not word.isalpha())

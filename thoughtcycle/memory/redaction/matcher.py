"""Looks for the words of many memories in a text at once (pure)."""

from collections import defaultdict
from collections.abc import Iterable, Iterator
from functools import lru_cache

from thoughtcycle.memory.redaction.fingerprint import Trace, stems
from thoughtcycle.memory.text.spans import Span, Tokens, literal, squeezed, tokens

_HEAD = 3
"""Letters that all endings of a word have in common."""
_MOST_NEEDLES = 500
"""Beyond these, looking for each takes as long as reading the words of a text."""


class _Traces(tuple[Trace, ...]):
    """Told apart by the very objects: comparing what they hold would take longer than looking for it."""

    def __hash__(self) -> int:
        return hash(tuple(map(id, self)))

    def __eq__(self, other: object) -> bool:
        same = isinstance(other, _Traces) and len(self) == len(other)
        return same and all(one is two for one, two in zip(self, other, strict=True))  # type: ignore[call-overload]


class _Seek:
    """The phrases by their first word, and the values with other endings by their first letters."""

    def __init__(self, traces: Iterable[Trace]) -> None:
        self._phrases: dict[str, set[str]] = defaultdict(set)
        self._stems: dict[str, set[frozenset[str]]] = defaultdict(set)
        self._signs: set[str] = set()
        for one in traces:
            for phrase in (*one.phrases, *(value.words for value in one.values)):
                self._phrases[phrase.split()[0]].add(phrase)
            for value in one.values:
                if value.stems:
                    self._stems[value.words.strip()[:_HEAD]].add(value.stems)
            self._signs.update(one.signs)
        needles = {squeezed(phrase) for phrases in self._phrases.values() for phrase in phrases}
        found = sorted((needles | self._stems.keys()), key=len)
        self._needles = None if len(found) > _MOST_NEEDLES else found

    def may_stand(self, text: str) -> bool:
        """Whether any of it may stand in `text`; False is certain."""
        if self._needles is None or any(sign in text for sign in self._signs):
            return True
        letters = squeezed(text)
        return any(needle in letters for needle in self._needles)

    def spans(self, said: Tokens) -> Iterator[Span]:
        """Where any of it stands."""
        place = 0  # of the space before the word, in said.joined
        for number, word in enumerate(said.words):
            for phrase in self._phrases.get(word, ()):
                if said.joined.startswith(phrase, place):
                    last = number + phrase.count(" ") - 2
                    yield said.spans[number][0], said.spans[last][1]
            for known in self._stems.get(word[:_HEAD], ()):
                if known & stems((word,)):
                    yield said.spans[number]
            place += len(word) + 1
        for first, last, word in said.compounds:
            others = self._stems.get(word[:_HEAD], set())
            if f" {word} " in self._phrases.get(word, ()) or any(one & stems((word,)) for one in others):
                yield said.spans[first][0], said.spans[last][1]
        for sign in self._signs:
            yield from literal(said.text, sign)


@lru_cache(maxsize=256)
def _seek(traces: _Traces) -> _Seek:
    return _Seek(traces)


def everywhere(text: str, traces: Iterable[Trace]) -> list[Span]:
    """Where the words, contents and values of `traces` stand."""
    seek = _seek(_Traces(traces))
    return list(seek.spans(tokens(text))) if seek.may_stand(text) else []

"""A mask made of tombstones: finds erased words again by their digests, when nobody has the words (pure)."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any, cast

from thoughtcycle.memory.model import Cycle, CycleMessage, Step, Tombstone, Variant
from thoughtcycle.memory.redaction.fingerprint import stems
from thoughtcycle.memory.redaction.redactor import MARKS, Mask
from thoughtcycle.memory.redaction.tombstones import LONGEST, sealed
from thoughtcycle.memory.text.spans import HIDDEN, Span, Tokens, replaced, sentences, tokens


@dataclass(frozen=True)
class Buried(Mask):
    """Also takes out what the tombstones know: for texts read before an erasure and stored after it."""

    stones: tuple[Tombstone, ...] = ()
    secret: bytes = b""
    """The user's random key."""

    def __bool__(self) -> bool:
        return bool(self.traces or self.stones)

    def text(self, text: str, at: datetime | None = None) -> str:
        """`text` without words, contents and values; said at `at` (None: before every erasure)."""
        return self._without(super().text(text, at), whole=False, at=at)

    def reply(self, text: str) -> str:
        """A text of the assistant: sentences with any of the words go whole."""
        return self._without(super().reply(text), whole=True, at=None)

    @property
    def memories(self) -> frozenset[str]:
        """Ids of the memories that are looked for."""
        return super().memories | {one.memory for one in self.stones}

    def since(self, at: datetime) -> Mask:
        """The mask for a message of `at`: memories deleted later."""
        left = tuple(one for one in self.stones if at <= one.at)
        return Buried(super().since(at).traces, left, self.secret)

    def cycle(self, cycle: Cycle) -> Cycle:
        """`cycle` as it may be kept: it answers with what it knew as it began."""
        known, late = super().cycle(cycle), self.since(cycle.opened_at)
        if not late:
            return known

        def said(message: CycleMessage) -> CycleMessage:
            return message.model_copy(update={"text": late.text(message.text)})

        def variant(one: Variant) -> Variant:
            texts = tuple(map(said, one.messages))
            return one.model_copy(update={"messages": texts, "steps": tuple(map(step, one.steps))})

        def step(one: Step) -> Step:
            told = {name: _blotted(value, late) for name, value in one.items() if name not in MARKS}
            return cast(Step, {**one, **told})

        changed = known.model_copy(
            update={
                "message": said(known.message),
                "variants": tuple(map(variant, known.variants)),
                "progress": tuple(
                    (execution, step(done), None if text is None else said(text))
                    for execution, done, text in known.progress
                ),
            }
        )
        return cycle if changed == cycle else changed

    def _without(self, text: str, *, whole: bool, at: datetime | None) -> str:
        stones = [one for one in self.stones if at is None or at <= one.at]
        if not stones or not text:
            return text
        known = _Known(stones, self.secret)
        if len(text) > LONGEST or known.says(text):
            return HIDDEN  # what is too long to look through goes as a whole
        spans = [span for span in sentences(text) if known.says(text[slice(*span)])]
        if whole:
            spans += [span for span in sentences(text) if known.spans(tokens(text[slice(*span)]))]
        else:
            spans += known.spans(tokens(text))
        return replaced(text, spans, HIDDEN) if spans else text


def _blotted(value: Any, mask: Mask) -> Any:
    if isinstance(value, str):
        return mask.text(value)
    if isinstance(value, dict):
        return {name: _blotted(item, mask) for name, item in value.items()}
    return [_blotted(item, mask) for item in value] if isinstance(value, list) else value


class _Known:
    """The digests of some tombstones together."""

    def __init__(self, stones: Sequence[Tombstone], secret: bytes) -> None:
        self._secret = secret
        self._texts = {text for one in stones for text in one.texts}
        self._stems = {stem for one in stones for stem in one.stems}
        self._rows = {row for one in stones for row in (*one.values, *one.phrases)}

    def says(self, text: str) -> bool:
        """Whether it is one of the texts as a whole."""
        return bool(text.strip()) and sealed(text, self._secret) in self._texts

    def spans(self, said: Tokens) -> list[Span]:
        """Where values and phrases stand."""
        return [*self._in_a_row(said), *self._other_endings(said)]

    def _in_a_row(self, said: Tokens) -> Iterable[Span]:
        for length in {count for count, _ in self._rows}:
            for start in range(len(said.words) - length + 1):
                row = " ".join(said.words[start : start + length])
                if (length, sealed(row, self._secret)) in self._rows:
                    yield said.spans[start][0], said.spans[start + length - 1][1]
        for first, last, word in said.compounds:
            if (1, sealed(word, self._secret)) in self._rows:
                yield said.spans[first][0], said.spans[last][1]

    def _other_endings(self, said: Tokens) -> Iterable[Span]:
        if not self._stems:
            return
        for place, word in enumerate(said.words):
            if any(sealed(form, self._secret) in self._stems for form in stems((word,))):
                yield said.spans[place]

"""How what is hidden or erased is blotted out of what was said (pure)."""

from collections.abc import Collection, Iterable, Iterator, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any, cast

from thoughtcycle.memory.model import (
    Cycle,
    CycleMessage,
    JournalEntry,
    MemoryRecord,
    Step,
    UndoResult,
    Variant,
)
from thoughtcycle.memory.redaction.derived import blotted_judgement
from thoughtcycle.memory.redaction.fingerprint import Trace, stems
from thoughtcycle.memory.redaction.matcher import everywhere
from thoughtcycle.memory.text.secrets import without_secrets
from thoughtcycle.memory.text.spans import (
    HIDDEN,
    Span,
    Tokens,
    clauses,
    key,
    literal,
    replaced,
    sentences,
    tokens,
)

MARKS = ("action", "status", "found", "tokens")
"""Of a step what is no text."""
DELETE = "MemoryDelete"
"""The action whose input lists the memories that its cycle deleted."""


@dataclass(frozen=True)
class Mask:
    """Takes the words of memories out of texts and cycles."""

    traces: tuple[Trace, ...] = ()

    def __bool__(self) -> bool:
        return bool(self.traces)

    def text(self, text: str, at: datetime | None = None) -> str:
        """`text` without words, contents and values; said at `at` (None: before every deletion)."""
        found = self._since(at)
        return _blotted(text, everywhere(text, found)) if found and text else text

    def takes(self, message: str | None) -> bool:
        """Whether the message with this id goes as a whole, whatever it says."""
        return False

    def reply(self, text: str) -> str:
        """A text of the assistant about these memories: whole sentences that speak of them go too."""
        return _blotted(text, _about(text, self.traces)) if self.traces and text else text

    def cycle(self, cycle: Cycle) -> Cycle:
        """`cycle` as it may be read: what was told in it, shown in it or deleted by it concerns it most."""
        if not self.traces:
            return cycle
        near = Near(self, ties(self, cycle))
        changed = cycle.model_copy(
            update={
                "message": near.message(cycle.message),
                "variants": tuple(map(near.variant, cycle.variants)),
                "progress": tuple(
                    (execution, near.step(step), near.answer(text) if text is not None else None)
                    for execution, step, text in cycle.progress
                ),
                "judgement": cycle.judgement
                and blotted_judgement(cycle.judgement, near.at(cycle.message.at)),
            }
        )
        return cycle if changed == cycle else changed

    @property
    def memories(self) -> frozenset[str]:
        """Ids of the memories that are looked for."""
        return frozenset(one.memory for one in self.traces)

    @property
    def files(self) -> frozenset[str]:
        """Hashes of the files among them."""
        return frozenset().union(*(one.files for one in self.traces))

    def since(self, at: datetime) -> "Mask":
        """The mask for a message of `at`: memories deleted later."""
        return Mask(tuple(self._since(at)))

    def only(self, ids: Collection[str]) -> "Mask":
        """The mask of these memories only."""
        return Mask(tuple(one for one in self.traces if one.memory in ids))

    def finds(self, text: str) -> bool:
        """Whether any of the words is in `text`."""
        return bool(text) and self.text(text) != text

    def _since(self, at: datetime | None) -> Sequence[Trace]:
        return [one for one in self.traces if at is None or at <= one.until]


NOTHING = Mask()
"""The mask of a user who has deleted nothing."""


def unreadable(record: MemoryRecord) -> MemoryRecord:
    """A hidden memory as it may be listed: that it exists, not what it says."""
    gone = {"content": HIDDEN, "type": "text", "key": None, "bindings": (), "tags": ()}
    source = record.source.model_copy(update={"words": HIDDEN if record.source.words else ""})
    return record.model_copy(update={**gone, "source": source})


def listed(record: MemoryRecord) -> MemoryRecord:
    """A memory as a list shows it: its secrets masked, of what its user has deleted only that it exists."""
    return unreadable(record) if _is_deleted(record) else without_secrets(record)


def listed_history(record: MemoryRecord, entries: Iterable[JournalEntry]) -> list[JournalEntry]:
    """The rows about `record` as a list shows them."""
    shown = unreadable if _is_deleted(record) else without_secrets
    return [entry.model_copy(update={"before": entry.before and shown(entry.before)}) for entry in entries]


def listed_undo(result: UndoResult) -> UndoResult:
    """A change that was taken back, as a list shows it."""
    record, undone = result.record, result.undone
    if record is None or undone is None:
        return result
    back = {"record": listed(record), "others": tuple(map(listed, result.others))}
    return result.model_copy(update={**back, "undone": listed_history(record, [undone])[0]})


def _is_deleted(record: MemoryRecord) -> bool:
    return record.status == "hidden" and record.reason in ("user", "erasing")


def shown_in(cycle: Cycle) -> frozenset[str]:
    """Ids of the memories that were found, written or shown in `cycle`."""
    listed = [id for step in _steps(cycle) for id in step.get("found", ())]
    return frozenset((*listed, *(id for variant in cycle.variants for id in variant.shown)))


def deleted_in(cycle: Cycle) -> frozenset[str]:
    """Ids of the memories that `cycle` deleted."""
    inputs = [step["input"] for step in _steps(cycle) if step["action"] == DELETE]
    lists = [given.get("ids") if isinstance(given, dict) else given for given in inputs]
    return frozenset(id for given in lists if isinstance(given, list) for id in given)


def _steps(cycle: Cycle) -> Iterator[Step]:
    for variant in cycle.variants:
        yield from variant.steps
    for _, step, _ in cycle.progress:
        yield step


@dataclass(frozen=True)
class Ties:
    """Ids of the memories that one or several cycles told, deleted or showed."""

    told: frozenset[str]
    deleted: frozenset[str]
    """It asked for their deletion."""
    shown: frozenset[str]
    began: datetime | None = None
    """When the cycle was opened; None: not known, or several."""

    def __or__(self, other: "Ties") -> "Ties":
        """The ties of both."""
        return Ties(self.told | other.told, self.deleted | other.deleted, self.shown | other.shown)


def ties(mask: Mask, cycle: Cycle) -> Ties:
    """The ties of `cycle` to the memories of `mask`."""
    asked = {one.memory for one in mask.traces if cycle.id in one.requests}
    told = frozenset(one.memory for one in mask.traces if cycle.id in one.sources)
    return Ties(told, deleted_in(cycle) | asked, shown_in(cycle), cycle.opened_at)


class Near:
    """The part of a mask that concerns one message."""

    def __init__(self, whole: Mask, tied: Ties) -> None:
        self._all = whole.traces
        self._began = tied.began
        self._ids = tied.told | tied.shown | tied.deleted
        self._told = [one for one in whole.traces if one.memory in tied.told]
        self._deleted = [one for one in whole.traces if one.memory in tied.deleted]
        self._about = [one for one in whole.traces if one.memory in self._ids]

    def at(self, at: datetime | None) -> "Derived":
        """The redaction of texts derived from messages of `at`."""
        return Derived(self, at)

    def derived(self, text: str, at: datetime | None) -> str:
        """A text, such as a summary, that was made of what was said at `at`."""
        spans = [*everywhere(text, self._since(at)), *_about(text, self._about)]
        if HIDDEN not in text:  # once done it is not done again
            spans += [span for one in self._told for span in source_spans(text, one)]
            spans += [span for one in self._deleted for span in _request(text, one)]
        return _blotted(text, spans)

    def keeps(self, text: str, at: datetime | None) -> bool:
        """Whether a value that was taken from something said at `at` may stay."""
        if everywhere(text, self._since(at)) or _about(text, self._about):
            return False
        wanted = key(text)
        told = (words for one in (*self._told, *self._deleted) for words in one.told)
        return not wanted.strip() or not any(wanted in key(words) for words in told)

    @property
    def memories(self) -> frozenset[str]:
        """Ids of the memories that are looked for."""
        return frozenset(one.memory for one in self._all)

    def message(self, message: CycleMessage) -> CycleMessage:
        """The user's message, redacted."""
        text = message.text
        spans = everywhere(text, self._since(message.at))
        if HIDDEN not in text:  # once done it is not done again
            spans += [span for one in self._told for span in source_spans(text, one)]
            spans += [span for one in self._deleted for span in _request(text, one)]
        return _with_text(message, _blotted(text, spans))

    def answer(self, message: CycleMessage) -> CycleMessage:
        """A reply, redacted."""
        spans = everywhere(message.text, self._since(message.at))
        return _with_text(message, _blotted(message.text, [*spans, *_about(message.text, self._about)]))

    def variant(self, variant: Variant) -> Variant:
        """A whole reply with its steps."""
        messages = tuple(map(self.answer, variant.messages))
        steps = tuple(self._step(step, variant.at) for step in variant.steps)
        return variant.model_copy(update={"messages": messages, "steps": steps})

    def step(self, step: Step) -> Step:
        """A step under way."""
        return self._step(step, None)

    def _step(self, step: Step, at: datetime | None) -> Step:
        said = {name: self._plain(value, at) for name, value in step.items() if name not in MARKS}
        return cast(Step, {**step, **said})

    def _plain(self, value: Any, at: datetime | None) -> Any:
        if isinstance(value, str):
            spans = everywhere(value, self._since(at))
            return _blotted(value, [*spans, *_about(value, self._about)])
        if isinstance(value, list):
            return [self._plain(item, at) for item in value]
        return (
            {name: self._plain(item, at) for name, item in value.items()}
            if isinstance(value, dict)
            else value
        )

    def _since(self, at: datetime | None) -> list[Trace]:
        """The traces for a message of `at`: a cycle answers with what it knew as it began."""
        since = min(at, self._began) if at and self._began else at
        return [one for one in self._all if since is None or since <= one.until or one.memory in self._ids]


@dataclass(frozen=True)
class Derived:
    """`Near` for what was made of something said at one time."""

    near: Near
    said: datetime | None

    @property
    def memories(self) -> frozenset[str]:
        """Ids of the memories that are looked for."""
        return self.near.memories

    def text(self, text: str) -> str:
        """A text as it may be read."""
        return self.near.derived(text, self.said) if text else text

    def keeps(self, text: str) -> bool:
        """Whether a value may stay."""
        return self.near.keeps(text, self.said)


def _with_text(message: CycleMessage, text: str) -> CycleMessage:
    return message if text == message.text else message.model_copy(update={"text": text})


def _blotted(text: str, spans: Iterable[Span]) -> str:
    found = list(spans)
    return replaced(text, found, HIDDEN) if found else text


def _about(text: str, traces: Collection[Trace]) -> list[Span]:
    """The sentences of `text` that speak of one of `traces`."""
    if not traces:
        return []
    return [span for span in sentences(text) if any(_speaks_of(text[slice(*span)], one) for one in traces)]


def _speaks_of(sentence: str, one: Trace) -> bool:
    """A value is in it, or it has all content words of the memory."""
    if everywhere(sentence, (one,)):
        return True
    own = stems(tokens(sentence).words)
    return bool(one.core) and all(word & own for word in one.core)


def source_spans(text: str, one: Trace) -> list[Span]:
    """Where a message tells a memory: the very words; where they are not to be found, their clauses."""
    said = tokens(text)
    spans = [span for words in one.told for span in _verbatim(said, words)]
    if spans or not one.terms:
        return spans
    best = max(sentences(text), key=lambda span: _common(text, span, one), default=None)
    if best is None or not _common(text, best, one):
        return []
    return [span for span in clauses(text, best) if _common(text, span, one)]


def _verbatim(said: Tokens, words: str) -> Iterator[Span]:
    phrase = key(words)
    return said.find(phrase) if phrase.strip() else literal(said.text, words.strip())


def _common(text: str, span: Span, one: Trace) -> int:
    return len(stems(tokens(text[slice(*span)]).words) & one.terms)


def _request(text: str, one: Trace) -> list[Span]:
    """The sentences that asked for the deletion: those which name it or its topic, else all."""
    wanted = one.terms | one.topics
    named = [span for span in sentences(text) if stems(tokens(text[slice(*span)]).words) & wanted]
    return named or [(0, len(text))]

"""Provenance: the words that a memory came from, and every change since (BY-1)."""

from collections.abc import Callable, Iterable, Mapping, Sequence
from datetime import datetime

from thoughtcycle.errors import InputRefused
from thoughtcycle.memory.core import Core, owned
from thoughtcycle.memory.model import Cycle, Frozen, JournalEntry, MemoryRecord, Op, Role, Source
from thoughtcycle.memory.text.secrets import masked, without_secrets

AROUND = 200
"""Characters shown on either side of the words that a memory came from."""
LONGEST = 2_000
"""Characters of those words that are shown."""

Redact = Callable[[str], str]
"""Removes the words of hidden memories from a text."""


class Quote(Frozen):
    """Words of the transcript: where and when they were said, and by whom."""

    cycle: str
    chat: str
    channel: str
    at: datetime
    role: Role
    name: str | None
    """Of the speaker, where it is known."""
    text: str
    """The words with some text around them."""


class Change(Frozen):
    """One change of a memory, and the words that asked for it."""

    number: int
    """Of its journal row."""
    at: datetime
    op: Op
    content: str
    """The memory from then on, as one line."""
    other: str | None = None
    """Of a merge: the memory merged into this one."""
    asked: Quote | None = None
    """From the cycle that made the change; None: it was made by hand, or the cycle is not known."""


class Provenance(Frozen):
    """The origin and history of a memory, without the words of hidden memories."""

    record: MemoryRecord
    origin: Quote | None
    """Of its present content; None where it is not known."""
    changes: tuple[Change, ...]
    """Oldest first."""
    former: tuple[MemoryRecord, ...]
    """Former versions and memories merged into it, the latest first."""

    def without_secrets(self) -> "Provenance":
        """The same with its secrets masked."""
        changes = (
            {"content": masked(change.content), "asked": change.asked and _masked(change.asked)}
            for change in self.changes
        )
        return Provenance(
            record=without_secrets(self.record),
            origin=self.origin and _masked(self.origin),
            changes=tuple(one.model_copy(update=new) for one, new in zip(self.changes, changes, strict=True)),
            former=tuple(map(without_secrets, self.former)),
        )


def _masked(quote: Quote) -> Quote:
    return quote.model_copy(update={"text": masked(quote.text)})


class Explainer:
    """Answers where memories come from."""

    def __init__(self, core: Core) -> None:
        self._core, self._masks = core, core.redactors
        self._memories, self._transcript = core.storage.memories, core.storage.transcript

    async def why(self, user: str, id: str) -> Provenance:
        """The memory, where and when it was said, its former versions and every change with its cause.

        Raises MemoryUnknown, also for what was erased, and InputRefused('memory_hidden').
        """
        (record,) = await self._core.known(owned(user), [id])
        if record.status == "hidden":
            raise InputRefused("memory_hidden", id=repr(id))
        entries = (await self._memories.journal(user, memories=[id]))[::-1]
        versions = await self._memories.versions(user, [id])
        named = dict.fromkeys((record.source.cycle, *(entry.cycle for entry in entries)))
        mask = await self._masks.of(user)
        cycles = {
            cycle: mask.cycle(found)
            for cycle in named
            if cycle is not None and (found := await self._transcript.cycle(user, cycle))
        }
        return provenance(record, entries, versions, cycles, mask.text)


def provenance(
    record: MemoryRecord,
    entries: Sequence[JournalEntry],
    versions: Iterable[MemoryRecord],
    cycles: Mapping[str, Cycle],
    redact: Redact,
) -> Provenance:
    """`record` explained by its journal rows, oldest first, its former versions, and the cycles they name."""
    former = [version for version in versions if version.status == "superseded"]
    after = [entry.before for entry in entries[1:]] + [record]
    return Provenance(
        record=_redacted(record, redact),
        origin=_quote(cycles, record.source, redact),
        changes=tuple(
            Change(
                number=entry.number,
                at=entry.at,
                op=entry.op,
                content=redact((then or record).text),
                other=_merged_by(entry, former),
                asked=_quote(cycles, _cause(entry, then), redact),
            )
            for entry, then in zip(entries, after, strict=True)
        ),
        former=tuple(_redacted(version, redact) for version in former),
    )


def _quote(cycles: Mapping[str, Cycle], source: Source, redact: Redact) -> Quote | None:
    """The words of `source` in their cycle; the user's message where they are not in it."""
    cycle = cycles.get(source.cycle or "")
    if cycle is None:
        return None
    spoken = [one for one in (cycle.message, *cycle.replies) if one.role == source.speaker]
    message = next((one for one in spoken if source.words in one.text), cycle.message)
    return Quote(
        cycle=cycle.id,
        chat=cycle.chat,
        channel=cycle.channel,
        at=message.at,
        role=message.role,
        name=message.name,
        text=around(redact(message.text), source.words),
    )


def around(text: str, words: str) -> str:
    """The part of `text` with `words` in the middle; its beginning where they are not in it."""
    place = max(text.find(words), 0)
    end = place + min(len(words), LONGEST) + AROUND
    start = max(place - AROUND, 0)
    return f"{'…' * (start > 0)}{text[start:end]}{'…' * (end < len(text))}"


def _cause(entry: JournalEntry, then: MemoryRecord | None) -> Source:
    """The source of a change; its words are known where the memory took its content from that cycle."""
    return then.source if then is not None and then.source.cycle == entry.cycle else Source(cycle=entry.cycle)


def _merged_by(entry: JournalEntry, former: Iterable[MemoryRecord]) -> str | None:
    if entry.op != "merge":
        return None
    return next((one.id for one in former if one.merged and one.valid_to == entry.at), None)


def _redacted(record: MemoryRecord, redact: Redact) -> MemoryRecord:
    source = record.source.model_copy(update={"words": redact(record.source.words)})
    return record.model_copy(update={"source": source})

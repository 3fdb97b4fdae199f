"""Why something is known: the words it came from, and every change since (BY-1)."""

from collections.abc import Callable, Iterable, Mapping, Sequence
from datetime import datetime

from thoughtcycle.errors import InputRefused
from thoughtcycle.memory.core import Core, owned
from thoughtcycle.memory.model import (
    Cycle,
    CycleMessage,
    Frozen,
    JournalEntry,
    MemoryRecord,
    Op,
    Role,
    Source,
)

AROUND = 200
"""Characters shown on either side of the words that a memory came from."""
LONGEST = 2_000
"""Characters of those words that are shown."""

Blot = Callable[[str], str]
"""Takes the words of hidden memories out of a text."""


class Said(Frozen):
    """Where and when something was said."""

    cycle: str
    chat: str
    channel: str
    at: datetime
    role: Role
    name: str | None
    """Of the speaker, where it is known."""
    text: str
    """The words with what was said around them."""


class Change(Frozen):
    """One change of a memory, and what asked for it."""

    number: int
    """Of its journal row."""
    at: datetime
    op: Op
    content: str
    """What the memory says from then on, as one line."""
    other: str | None = None
    """Of a merge: the memory that was merged into this one."""
    asked: Said | None = None
    """What was said in the cycle that made the change; None: it was made by hand, or that is not known."""


class Provenance(Frozen):
    """All that tells why a memory is there. The words of hidden memories are blotted out of it."""

    record: MemoryRecord
    origin: Said | None
    """Where its present content was said; None where that is not known."""
    changes: tuple[Change, ...]
    """Oldest first."""
    former: tuple[MemoryRecord, ...]
    """What it said before, and what was merged into it; the latest first."""


class Explainer:
    """Answers where memories come from."""

    def __init__(self, core: Core) -> None:
        self._core = core
        self._masks = core.redactors
        self._storage = core.storage

    async def why(self, user: str, id: str) -> Provenance:
        """The memory, where and when it was said, its former versions and every change with its cause.

        Raises MemoryUnknown, also for what was erased, and InputRefused('memory_hidden').
        """
        (record,) = await self._core.known(owned(user), [id])
        if record.status == "hidden":
            raise InputRefused("memory_hidden", id=repr(id))
        entries = (await self._storage.memories.journal(user, memories=[id]))[::-1]
        versions = await self._storage.memories.versions(user, [id])
        named = (record.source.cycle, *(entry.cycle for entry in entries))
        wanted = list(dict.fromkeys(cycle for cycle in named if cycle is not None))
        mask = await self._masks.of(user)
        cycles = {
            cycle: mask.cycle(found)
            for cycle in wanted
            if (found := await self._storage.transcript.cycle(user, cycle))
        }
        return provenance(record, entries, versions, cycles, mask.text)


def provenance(
    record: MemoryRecord,
    entries: Sequence[JournalEntry],
    versions: Iterable[MemoryRecord],
    cycles: Mapping[str, Cycle],
    blot: Blot,
) -> Provenance:
    """`record` explained by its journal rows, oldest first, its former versions, and the cycles they name."""
    former = [version for version in versions if version.status == "superseded"]
    after = [entry.before for entry in entries[1:]] + [record]
    return Provenance(
        record=_blotted(record, blot),
        origin=said_in(cycles, record.source, blot),
        changes=tuple(
            Change(
                number=entry.number,
                at=entry.at,
                op=entry.op,
                content=blot((then or record).text),
                other=_merged_by(entry, former),
                asked=said_in(cycles, _cause(entry, then), blot),
            )
            for entry, then in zip(entries, after, strict=True)
        ),
        former=tuple(_blotted(version, blot) for version in former),
    )


def said_in(cycles: Mapping[str, Cycle], source: Source, blot: Blot) -> Said | None:
    """The place in its cycle where the words of `source` were said."""
    cycle = cycles.get(source.cycle or "")
    if cycle is None:
        return None
    message = _message(cycle, source)
    text = around(blot(message.text), source.words)
    return Said(
        cycle=cycle.id,
        chat=cycle.chat,
        channel=cycle.channel,
        at=message.at,
        role=message.role,
        name=message.name,
        text=text,
    )


def around(text: str, words: str) -> str:
    """The part of `text` with `words` in the middle; its beginning where they are not in it."""
    place = max(text.find(words), 0)
    end = place + min(len(words), LONGEST) + AROUND
    start = max(place - AROUND, 0)
    return f"{'…' * (start > 0)}{text[start:end]}{'…' * (end < len(text))}"


def _message(cycle: Cycle, source: Source) -> CycleMessage:
    said = (cycle.message, *cycle.replies)
    own = [one for one in said if one.role == source.speaker]
    return next((one for one in own if source.words in one.text), cycle.message)


def _cause(entry: JournalEntry, then: MemoryRecord | None) -> Source:
    """What asked for a change: the words are known where the memory says since then what was told there."""
    told = then is not None and then.source.cycle == entry.cycle
    return then.source if then is not None and told else Source(cycle=entry.cycle)


def _merged_by(entry: JournalEntry, former: Iterable[MemoryRecord]) -> str | None:
    if entry.op != "merge":
        return None
    return next((one.id for one in former if one.merged and one.valid_to == entry.at), None)


def _blotted(record: MemoryRecord, blot: Blot) -> MemoryRecord:
    source = record.source.model_copy(update={"words": blot(record.source.words)})
    return record.model_copy(update={"source": source})

"""The scope of an erasure: its memories, and the traces by which their words are known (pure)."""

from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass

from thoughtcycle.memory.model import Cycle, JournalEntry, MemoryRecord
from thoughtcycle.memory.redaction import ERASING, Spared, Trace, trace
from thoughtcycle.memory.text.spans import key


@dataclass(frozen=True)
class Estate:
    """The memories that are erased, and what stays."""

    family: tuple[MemoryRecord, ...]
    """They and all their former versions."""
    journal: tuple[JournalEntry, ...]
    """All rows about them."""
    others: tuple[MemoryRecord, ...]
    """The user's other memories."""
    cycles: tuple[Cycle, ...]

    def traces(self) -> list[Trace]:
        """One trace per memory, over all its versions.

        What stays is spared as far as it was there when the memory was deleted.
        """
        ids = {one.id for one in self.family}
        heads = [one for one in self.family if one.reason == ERASING and one.current not in ids]
        own: defaultdict[str, list[MemoryRecord]] = defaultdict(list)
        for one in self.family:
            if one.current is not None and one.current != one.id:
                own[one.current].append(one)
        rows: defaultdict[str, list[JournalEntry]] = defaultdict(list)
        for row in self.journal:
            rows[row.memory].append(row)
        made, spared = {}, Spared()
        staying = sorted((one for one in self.others if one.status != "erased"), key=lambda one: one.created)
        told = 0
        for head in sorted(heads, key=lambda one: one.updated):
            while told < len(staying) and staying[told].created <= head.updated:
                spared.add(key(staying[told].text))
                told += 1
            about = [row for one in (head, *own[head.id]) for row in rows[one.id]]
            made[head.id] = _trace(head, own[head.id], about, spared)
        return [made[head.id] for head in heads]


def _trace(
    head: MemoryRecord, versions: Sequence[MemoryRecord], rows: Sequence[JournalEntry], spared: Spared
) -> Trace:
    former = [row.before for row in rows if row.before is not None]
    requests = [row.cycle for row in rows if row.op == "hide" and row.cycle is not None]
    return trace(head, until=head.updated, former=[*former, *versions], requests=requests, spared=spared)

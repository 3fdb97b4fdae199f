"""What a save has to know of what is stored already."""

from collections.abc import Collection, Sequence
from dataclasses import dataclass

from thoughtcycle.memory.model import MemoryRecord, Vector


@dataclass(frozen=True)
class Asked:
    """By what the memories are named beside which something is to be saved."""

    identities: Collection[str]
    """Of active memories (`words.identity`)."""
    keys: Collection[str]
    """Of active memories."""
    ids: Sequence[str]
    """Of memories whatever their status."""


@dataclass(frozen=True)
class Standing:
    """What was found of that."""

    records: Sequence[MemoryRecord]
    """Those named, and what those that were merged became."""
    vectors: Sequence[Vector] = ()
    """All vectors of those that hold one of the keys."""

    def merged(self) -> list[str]:
        """Ids of what those that were merged became."""
        return [record.current for record in self.records if record.merged and record.current]

    def holding(self, keys: Collection[str]) -> list[str]:
        """Ids of those that have vectors and hold one of these keys."""
        return [record.id for record in self.records if record.key in keys and record.vector_ids]

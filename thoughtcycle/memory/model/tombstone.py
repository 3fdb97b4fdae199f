"""The mark that an erased memory leaves: its words can be known again, not read."""

from datetime import datetime

from thoughtcycle.memory.model.base import Frozen


class Tombstone(Frozen):
    """Marks words that were erased: what says them again on the strength of old messages is not kept."""

    memory: str
    user: str
    at: datetime
    """Words said later are not concerned."""
    cycles: tuple[str, ...] = ()
    """Where it was told."""
    span: tuple[int, int] | None = None
    """Offsets of the words in the message that told it, where they were found."""
    texts: tuple[str, ...] = ()
    """Keyed digests of its words and contents, folded."""
    values: tuple[tuple[int, str], ...] = ()
    """Number of words and keyed digest of each value."""
    phrases: tuple[tuple[int, str], ...] = ()
    """The same of what is looked for in longer texts too."""
    stems: tuple[str, ...] = ()
    """Keyed digests of the stems by which values are known with other endings."""

"""Records that an erasure leaves: the tombstone of each memory, and the receipt."""

from datetime import datetime

from thoughtcycle.memory.model.base import Frozen
from thoughtcycle.prompts.loader import Language, texts


class Tombstone(Frozen):
    """Keeps the words of an erased memory from being learned again; holds keyed digests, not the words."""

    memory: str
    user: str
    at: datetime
    """When it was erased; the same words said later may be learned."""
    cycles: tuple[str, ...] = ()
    """The cycles that told it."""
    span: tuple[int, int] | None = None
    """Offsets of the words in the message that told it, if they were found there."""
    texts: tuple[str, ...] = ()
    """Keyed digests of its words and contents, folded."""
    values: tuple[tuple[int, str], ...] = ()
    """Number of words and keyed digest of each value."""
    phrases: tuple[tuple[int, str], ...] = ()
    """The same of values that are also searched for in longer texts."""
    stems: tuple[str, ...] = ()
    """Keyed digests of stems, which match values with other endings."""


class Receipt(Frozen):
    """Counts of an erasure of one user."""

    user: str
    memories: int = 0
    versions: int = 0
    vectors: int = 0
    journal: int = 0
    """Rows of the history that were emptied."""
    cycles: int = 0
    """Exchanges whose words were redacted."""
    sources: int = 0
    """Other memories from the same words, which were redacted in them."""
    sheets: int = 0
    """Memories of chats and profiles whose words were redacted."""
    files: int = 0
    """Files whose bytes were deleted."""
    elsewhere: int = 0
    """Checkpoints and pending writes that were redacted."""
    waiting: int = 0
    """Memories that are emptied later: an open cycle may still repeat them."""
    left: tuple[str, ...] = ()
    """Places where the check afterwards still found something; empty when all is gone."""

    def text(self, language: Language) -> str:
        """The receipt for a person, with a note on copies that are out of reach."""
        found = texts(language, "erasure")
        counts = self.model_dump(exclude={"user", "left", "waiting"})
        lines = [found.fill("receipt", **counts)]
        if self.waiting:
            lines.append(found.fill("waiting", count=self.waiting))
        if self.left:
            lines.append(found.fill("left", places=", ".join(self.left)))
        elif not self.waiting:
            lines.append(found["nothing_left"])
        return "\n".join((*lines, out_of_reach(language)))


def out_of_reach(language: Language) -> str:
    """The copies that no erasure of ours reaches, for a person."""
    return texts(language, "erasure")["out_of_reach"]

"""What an erasure tells of itself."""

from thoughtcycle.memory.model.base import Frozen
from thoughtcycle.prompts.loader import Language, texts


class Receipt(Frozen):
    """What was erased of one user."""

    user: str
    memories: int = 0
    versions: int = 0
    vectors: int = 0
    journal: int = 0
    """Rows of the history that were emptied."""
    cycles: int = 0
    """Exchanges whose words were redacted."""
    sources: int = 0
    """Other memories that came from the same words: the words are gone from them."""
    sheets: int = 0
    """Memories of chats and profiles whose words were redacted."""
    files: int = 0
    """Files whose bytes were deleted."""
    elsewhere: int = 0
    """Checkpoints and pending writes that were redacted."""
    waiting: int = 0
    """Memories that are emptied later: a cycle that may still say them is under way."""
    left: tuple[str, ...] = ()
    """Where looking again still found something: empty when all is gone."""

    def text(self, language: Language) -> str:
        """The receipt as a person reads it, with what is out of reach."""
        found = texts(language, "erasure")
        counts = self.model_dump(exclude={"user", "left", "waiting"})
        lines = [found.fill("receipt", **counts)]
        if self.waiting:
            lines.append(found.fill("waiting", count=self.waiting))
        if self.left:
            lines.append(found.fill("left", places=", ".join(self.left)))
        elif not self.waiting:
            lines.append(found["nothing_left"])
        return "\n".join((*lines, found["out_of_reach"]))

"""An exchange as formation reads it, and the verdict of the relevance filter (SM-1 … SM-3)."""

from dataclasses import dataclass
from datetime import datetime
from functools import cached_property

from thoughtcycle.language.facts import critical_in
from thoughtcycle.language.intents import disclosure
from thoughtcycle.memory.model import CriticalDatum
from thoughtcycle.memory.rules.relevance_filter import Verdict, filter_exchange, filter_message, filter_reply
from thoughtcycle.memory.text.secrets import holds_secret, masked, secret_values
from thoughtcycle.prompts.loader import Language


@dataclass(frozen=True)
class Exchange:
    """A cycle's texts, read through the user's mask."""

    cycle: str
    message: str
    """The user's message."""
    reply: str
    """All that was answered, in order."""
    at: datetime
    """The message's own time, in the user's time zone."""
    language: Language = "pt"
    """The language where the message shows none."""
    persona: str = "Katherine"

    @cached_property
    def plain(self) -> str:
        """The user's message without its secrets (BY-10)."""
        return masked(self.message)

    def has_secret(self, text: str) -> bool:
        """Whether a text has a secret, also one that only the user's message shows to be one."""
        return holds_secret(text, secret_values(self.message))

    @cached_property
    def critical(self) -> tuple[CriticalDatum, ...]:
        """The critical data of the user's message (CM-7), verbatim but for secrets."""
        return critical_in(self.plain, language=self.language, now=self.at, cycle=self.cycle)

    @cached_property
    def verdict(self) -> Verdict:
        """The verdict of the relevance filter; an exchange with critical data always passes."""
        told = disclosure(self.message, self.language, self.at)
        personal, unsaid = told.personal or bool(self.critical), told.unsaid or told.forgets
        message = filter_message(self.message, personal=personal, unsaid=unsaid)
        return filter_exchange(message, filter_reply(self.reply))

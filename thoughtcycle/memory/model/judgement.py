"""The judgement of one exchange: facts, preserved and critical data, mood, and layers."""

from datetime import datetime
from itertools import chain
from typing import Literal, get_args

from pydantic import AwareDatetime, Field

from thoughtcycle.memory.model.base import Frozen, Kind, Layer, Role

ExchangeType = Literal["chat", "code", "decision"]
CriticalKind = Literal["financial_goals", "configured_limits", "declared_preferences", "important_decisions"]
CRITICAL: tuple[CriticalKind, ...] = get_args(CriticalKind)


class Preserved(Frozen):
    """A number or a date as it was said and, beside it, normalised (CM-3)."""

    said: str
    normalised: str
    """A number in plain digits (`5000`, `12.5`), a day, week, month or year (`2026-12`) or a time of day
    (`15:00`) in ISO 8601; telephone numbers, addresses and identifiers as they were said."""


class PreservedData(Frozen):
    """Data that no summary may lose (CM-3)."""

    numerical_values: tuple[Preserved, ...] = ()
    dates: tuple[Preserved, ...] = ()
    decisions: tuple[str, ...] = ()
    essential_context: tuple[str, ...] = ()

    def merged(self, *others: "PreservedData") -> "PreservedData":
        """The union of all, each entry once, in order."""
        return PreservedData(
            **{
                name: tuple(dict.fromkeys(chain(value, *(getattr(one, name) for one in others))))
                for name, value in self
            }
        )

    def __bool__(self) -> bool:
        return any(value for _, value in self)


class CriticalDatum(Frozen):
    """A goal, limit, preference or decision of the user, verbatim (CM-7)."""

    kind: CriticalKind
    text: str
    """The clause as it was said, with its amounts and dates."""
    cycle: str
    at: AwareDatetime
    values: tuple[str, ...] = ()
    """Its numbers and dates, normalised."""
    again: tuple[str, ...] = ()
    """Other cycles that said it, in the same words or nearly so."""


class FoundFact(Frozen):
    """A fact of one exchange, before it is reconciled with what is known."""

    content: str
    kind: Kind | None = None
    key: str | None = None
    """Given by rules only; without a key, related memories are found by searching."""
    weight: float = Field(default=1.0, ge=0.0, le=1.0)
    bindings: tuple[str, ...] = ()
    tags: tuple[str, ...] = ()
    type: str = "text"
    """`code` is kept verbatim."""
    words: str = ""
    """The words of the exchange that state it, verbatim."""
    speaker: Role = "user"
    landmark: bool = False
    """A landmark event or a decision: it becomes episodic."""
    denies: bool = False
    """It retracts the memories under `key`, or below it; without any, nothing is saved."""
    same_as: str | None = None
    """Id of the memory that says the same, if the judge was shown one."""
    replaces: str | None = None
    """Id of the memory that it supersedes, if the judge was shown one."""


class Mood(Frozen):
    """The mood of the user in one exchange, and its topic (HM-4)."""

    name: str
    """Language-neutral if the word lists have it (`anxious`), else folded."""
    topic: str = ""
    """Slug of the cause; empty when none is named."""
    intensity: float = Field(default=0.7, ge=0.0, le=1.0)
    at: AwareDatetime | None = None
    """When it was said; None in a judgement, because its cycle has the time."""


class Judgement(Frozen):
    """The worth of an exchange (SM-4); made once, immutable."""

    importance: int = Field(ge=0, le=100)
    """0 trivial, 1–30 temporary, 31–70 context, 71–100 critical."""
    type: ExchangeType = "chat"
    summary: str = ""
    """One sentence, at most 50 words."""
    facts: tuple[FoundFact, ...] = ()
    preserved: PreservedData = PreservedData()
    critical: tuple[CriticalDatum, ...] = ()
    mood: Mood | None = None
    by: Literal["rules", "model"] = "rules"
    """Rules alone judge what the funnel dropped."""
    unsaid: bool = False
    """The user does not want it remembered (BY-10): no memory, and not shown unasked."""
    pending: bool = False
    """The summary could not be made in time (CM-8): the cycle is kept in full and judged again."""
    failures: int = 0
    """Failed tries of a model."""


class LayerMark(Frozen):
    """A layer of a cycle (LM-6)."""

    layer: Layer
    priority: float = Field(ge=1.0, le=10.0)
    expires: datetime | None = None
    tags: tuple[str, ...] = ()

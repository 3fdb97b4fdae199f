"""The memory of a chat in two parts, what each cycle changes and what grows with them, and back (pure)."""

from collections.abc import Iterable

from thoughtcycle.memory.formed import (
    Annex,
    ConversationDigest,
    ConversationMemory,
    Period,
    PeriodDigest,
)

_TOLD = PeriodDigest.model_fields.keys() - {"first", "cycles"}
"""What both kinds of period say."""


def parted(memory: ConversationMemory) -> tuple[ConversationDigest, Annex]:
    """The two parts of `memory`."""
    fields = {**dict(memory), "periods": tuple(map(_digest, memory.periods))}
    annex = Annex(ledger=fields.pop("ledger"), rolled=tuple(one.cycle_ids for one in memory.periods))
    return ConversationDigest(**fields), annex


def joined(digest: ConversationDigest, annex: Annex) -> ConversationMemory | None:
    """The memory of which these are the parts; None where the annex lacks the cycles of a period.

    Of periods that an edit by hand took out of the digest nothing is left.
    """
    rolled, periods = list(annex.rolled), []
    for one in digest.periods:
        cycles = _rolled(one, rolled)
        if cycles is None:
            return None
        rolled.remove(cycles)
        periods.append(Period(cycle_ids=cycles, **{name: getattr(one, name) for name in _TOLD}))
    return ConversationMemory(**{**dict(digest), "periods": tuple(periods), "ledger": annex.ledger})


def _digest(period: Period) -> PeriodDigest:
    told = {name: getattr(period, name) for name in _TOLD}
    return PeriodDigest(first=period.first, cycles=period.cycles, **told)


def _rolled(period: PeriodDigest, rolled: Iterable[tuple[str, ...]]) -> tuple[str, ...] | None:
    wanted = period.cycles, period.first
    return next((ids for ids in rolled if (len(ids), ids[0] if ids else "") == wanted), None)

"""How cycles that leave the recent window become summaries (CM-2, CM-3; pure)."""

from collections.abc import Iterable, Sequence
from datetime import datetime
from itertools import pairwise

from thoughtcycle.budget import count_words, first_words
from thoughtcycle.memory.model import (
    ConversationMemory,
    Cycle,
    OldCycle,
    Period,
    PreservedData,
)
from thoughtcycle.memory.rules.preserved_data import guarded, merged, of_live
from thoughtcycle.memory.rules.word_budget import Volume, counted, cycle_words, reply_text
from thoughtcycle.memory.text import masked

WINDOW = 2
"""Complete cycles of the recent window."""
EVERY = 4
"""Exchanges after which the working summary is made anew (HM-2)."""


def since_head(
    memory: ConversationMemory, path: Sequence[Cycle], window: int = WINDOW
) -> tuple[list[str], int] | None:
    """The end of the live branch, oldest first, that may change `memory`, and how many come before it.

    `path`: the last cycles of the branch, newest first. None where the whole branch has to be looked at: the
    memory was not made from it, lacks a cycle that it should know, or `path` does not reach far enough.
    """
    ids = [cycle.id for cycle in path]
    if memory.head not in ids:
        return None
    end = ids.index(memory.head) + window
    before = memory.total_cycles - window
    linked = all(newer.parent == older.id for newer, older in pairwise(path[:end]))
    if len(ids) < end or before < 1 or not linked or known_cycles(memory) != before:
        return None
    return ids[:end][::-1], before


def known_cycles(memory: ConversationMemory) -> int:
    """How many cycles are summarised, each by itself or in a period: all those behind the window."""
    return len(memory.old_memory) + memory.rolled_cycles


def missing(
    memory: ConversationMemory, live: Sequence[str], window: int = WINDOW, *, before: int = 0
) -> tuple[str, ...]:
    """Ids of the complete cycles that `aged` needs: those in the window, and those that are due to age.

    `live`: the complete cycles on the live branch, oldest first, or the end of it where so many come `before`
    (`since_head`); without these `memory` has to be all that is known. A cycle is due when it left the window
    and has no summary yet, or when it still waits for one.
    """
    waiting = [one.cycle_id for one in memory.old_memory if one.pending_summarization]
    known = {one.cycle_id for one in memory.old_memory}.difference(waiting)
    edge = max(len(live) - window, 0)
    if not before:
        waiting, behind = [], set(live[:edge])
        assert not memory.partial, "only the whole memory tells what belongs to a branch"
        known.update(*(one.cycle_ids for one in memory.periods if behind.issuperset(one.cycle_ids)))
    due = (cycle for place, cycle in enumerate(live) if place >= edge or cycle not in known)
    return tuple(dict.fromkeys((*waiting, *due)))


def aged(
    memory: ConversationMemory,
    live: Sequence[str],
    cycles: Iterable[Cycle],
    now: datetime,
    *,
    before: int = 0,
    window: int = WINDOW,
    volume: Volume | None = None,
) -> ConversationMemory:
    """`memory` after the live branch (`live` and `before` as in `missing`): `cycles` are those of `missing`.

    Each cycle behind the window gets one summary (≤ 50 words) from its judgement; one without a judgement,
    or with one that is pending, is kept in full until there is one (CM-8). Critical data of all given
    cycles are taken in. What belongs to cycles off the live branch leaves; it comes back in the same way
    when the branch is live again. Doing it twice changes nothing. Words are counted anew.
    """
    limits = volume or Volume()
    given = {cycle.id: cycle for cycle in cycles}
    kept = memory if before else _of_branch(memory, live, window)
    entries = {one.cycle_id: one for one in kept.old_memory}
    rolled = frozenset[str]() if before else _rolled(kept.periods)
    behind = dict.fromkeys((*(entries if before else ()), *live[: max(len(live) - window, 0)]))
    places = {cycle: place for place, cycle in enumerate(behind) if cycle not in rolled}
    for cycle in places.keys() & given.keys():
        if cycle not in entries or entries[cycle].pending_summarization:
            entries[cycle] = old_cycle(given[cycle], limits)
    said = (given[cycle].judgement for cycle in dict.fromkeys((*places, *live)) if cycle in given)
    found = [datum for judgement in said if judgement for datum in judgement.critical]
    recent = [given[cycle] for cycle in live[-window:] if cycle in given]
    changed = kept.model_copy(
        update={
            "old_memory": tuple(sorted(entries.values(), key=lambda one: places[one.cycle_id])),
            "critical_data": merged(kept.critical_data, found),
            "unjudged": tuple(one.id for one in recent if one.judgement and one.judgement.pending),
            "head": live[-1] if live else None,
            "total_cycles": before + len(live),
            **_working(memory, live, before),
        }
    )
    changed = counted(changed, recent)
    return memory if changed == memory else changed.model_copy(update={"stuck": False, "updated_at": now})


def _of_branch(memory: ConversationMemory, live: Sequence[str], window: int) -> ConversationMemory:
    """`memory` with what belongs to this branch, of summaries what lies behind its window."""
    assert not memory.partial, "only the whole memory tells what belongs to a branch"
    alive, behind = set(live), set(live[: max(len(live) - window, 0)])
    periods = tuple(one for one in memory.periods if behind.issuperset(one.cycle_ids))
    single = behind - _rolled(periods)
    return memory.model_copy(
        update={
            "old_memory": tuple(one for one in memory.old_memory if one.cycle_id in single),
            "periods": periods,
            "ledger": tuple(entry for entry in memory.ledger if entry.cycle_id in alive),
            "critical_data": of_live(memory.critical_data, alive),
        }
    )


def _rolled(periods: Iterable[Period]) -> frozenset[str]:
    return frozenset[str]().union(*(one.cycle_ids for one in periods))


def _working(memory: ConversationMemory, live: Sequence[str], before: int) -> dict[str, object]:
    """The working summary and the cycles since; one made from another branch is made anew (HM-2)."""
    if memory.head is not None and memory.head not in live:
        return {"working": "", "working_cycles": tuple(live[-EVERY:])}
    start = live.index(memory.head) + 1 if memory.head is not None else 0
    since = dict.fromkeys((*memory.working_cycles, *live[start:]))
    alive = set(since if before else live)
    return {"working_cycles": tuple(cycle for cycle in since if cycle in alive)}


def working_due(memory: ConversationMemory, every: int = EVERY) -> bool:
    """Whether the working summary is to be made anew: `every` exchanges since it was made."""
    return len(memory.working_cycles) >= every


def with_working(memory: ConversationMemory, working: str, now: datetime) -> ConversationMemory:
    """`memory` with a new working summary; word counts: see `volume.counted`."""
    return memory.model_copy(update={"working": working, "working_cycles": (), "updated_at": now})


def old_cycle(cycle: Cycle, volume: Volume) -> OldCycle:
    """A cycle as its summary; in full while nobody could summarise it.

    Of one that nobody is going to judge – a command, what was said in a pause – its beginning.
    """
    judgement = cycle.judgement
    whole = f"{cycle.message.text}\n\n{reply_text(cycle)}".strip()
    pending = cycle.formation not in ("none", "failed") if judgement is None else judgement.pending
    told = (judgement.summary.strip() if judgement is not None else "") or masked(whole)
    summary = whole if pending else first_words(told, volume.summary)
    preserved = guarded(judgement.preserved if judgement else PreservedData(), told)
    return OldCycle(
        cycle_id=cycle.id,
        timestamp=cycle.message.at,
        summary=summary,
        preserved_data=preserved,
        original_word_count=cycle_words(cycle),
        summary_word_count=count_words(summary),
        importance=judgement.importance if judgement else 0,
        pending_summarization=pending,
        expires=next((mark.expires for mark in cycle.marks if mark.layer == "medium"), None),
    )

"""Rolls the recent window: cycles that leave it become summaries (CM-2, CM-3; pure)."""

from collections.abc import Iterable, Sequence
from datetime import datetime
from itertools import pairwise

from thoughtcycle.memory.model import (
    ConversationMemory,
    Cycle,
    OldCycle,
    Period,
    PreservedData,
)
from thoughtcycle.memory.rules.preserved_data import live_critical_data, merged_critical_data, with_figures_of
from thoughtcycle.memory.rules.word_budget import WordBudget, cycle_words, reply_text, with_word_counts
from thoughtcycle.memory.text.secrets import masked
from thoughtcycle.text_clipping import count_words, first_words

WINDOW_CYCLES = 2
"""Complete cycles of the recent window."""
WORKING_SUMMARY_EVERY = 4
"""Exchanges after which the working summary is renewed (HM-2)."""


def branch_end(memory: ConversationMemory, path: Sequence[Cycle]) -> tuple[list[str], int] | None:
    """The end of the live branch, oldest first, that may change `memory`, and how many come before it.

    `path`: the last cycles of the branch, newest first. None where the whole branch has to be read: the
    memory was not made from it, lacks one of its cycles, or `path` is too short.
    """
    ids = [cycle.id for cycle in path]
    if memory.head not in ids:
        return None
    end = ids.index(memory.head) + WINDOW_CYCLES
    before = memory.total_cycles - WINDOW_CYCLES
    linked = all(newer.parent == older.id for newer, older in pairwise(path[:end]))
    summarised = len(memory.old_memory) + memory.rolled_cycles
    if len(ids) < end or before < 1 or not linked or summarised != before:
        return None
    return ids[:end][::-1], before


def missing_cycles(memory: ConversationMemory, live: Sequence[str], *, before: int = 0) -> tuple[str, ...]:
    """Ids of the complete cycles that `follow_branch` needs: in the window, or without a summary.

    `live`: the complete cycles on the live branch, oldest first, or its end behind so many `before`
    (`branch_end`); without these `memory` must not be partial. A cycle without a summary is one that left
    the window, or whose summary is pending.
    """
    waiting = [one.cycle_id for one in memory.old_memory if one.pending_summarization]
    known = {one.cycle_id for one in memory.old_memory}.difference(waiting)
    edge = max(len(live) - WINDOW_CYCLES, 0)
    if not before:
        waiting, behind = [], set(live[:edge])
        assert not memory.partial, "only the whole memory names all cycles of a branch"
        known.update(*(one.cycle_ids for one in memory.periods if behind.issuperset(one.cycle_ids)))
    due = (cycle for place, cycle in enumerate(live) if place >= edge or cycle not in known)
    return tuple(dict.fromkeys((*waiting, *due)))


def follow_branch(
    memory: ConversationMemory,
    live: Sequence[str],
    cycles: Iterable[Cycle],
    now: datetime,
    *,
    before: int = 0,
    budget: WordBudget | None = None,
) -> ConversationMemory:
    """`memory` rolled on along the live branch, given the `cycles` that `missing_cycles` names.

    Each cycle behind the window gets one summary (≤ 50 words) from its judgement; one without a judgement,
    or with a pending one, is stored in full until there is one (CM-8). Critical data of all given cycles
    are added. Parts of cycles off the live branch leave; they come back in the same way when that branch
    is live again. Idempotent. Words are counted anew.
    """
    limits = budget or WordBudget()
    given = {cycle.id: cycle for cycle in cycles}
    kept = memory if before else _of_branch(memory, live)
    entries = {one.cycle_id: one for one in kept.old_memory}
    rolled = frozenset[str]() if before else _rolled(kept.periods)
    behind = dict.fromkeys((*(entries if before else ()), *live[:-WINDOW_CYCLES]))
    places = {cycle: place for place, cycle in enumerate(behind) if cycle not in rolled}
    for cycle in places.keys() & given.keys():
        if cycle not in entries or entries[cycle].pending_summarization:
            entries[cycle] = summarised_cycle(given[cycle], limits)
    said = (given[cycle].judgement for cycle in dict.fromkeys((*places, *live)) if cycle in given)
    found = [datum for judgement in said if judgement for datum in judgement.critical]
    recent = [given[cycle] for cycle in live[-WINDOW_CYCLES:] if cycle in given]
    changed = kept.model_copy(
        update={
            "old_memory": tuple(sorted(entries.values(), key=lambda one: places[one.cycle_id])),
            "critical_data": merged_critical_data(kept.critical_data, found),
            "unjudged": tuple(one.id for one in recent if one.judgement and one.judgement.pending),
            "head": live[-1] if live else None,
            "total_cycles": before + len(live),
            **_working(memory, live, before),
        }
    )
    changed = with_word_counts(changed, recent)
    return memory if changed == memory else changed.model_copy(update={"stuck": False, "updated_at": now})


def _of_branch(memory: ConversationMemory, live: Sequence[str]) -> ConversationMemory:
    """`memory` with the parts of this branch only; summaries of cycles behind its window."""
    assert not memory.partial, "only the whole memory names all cycles of a branch"
    alive, behind = set(live), set(live[:-WINDOW_CYCLES])
    periods = tuple(one for one in memory.periods if behind.issuperset(one.cycle_ids))
    single = behind - _rolled(periods)
    return memory.model_copy(
        update={
            "old_memory": tuple(one for one in memory.old_memory if one.cycle_id in single),
            "periods": periods,
            "ledger": tuple(entry for entry in memory.ledger if entry.cycle_id in alive),
            "critical_data": live_critical_data(memory.critical_data, alive),
        }
    )


def _rolled(periods: Iterable[Period]) -> frozenset[str]:
    return frozenset[str]().union(*(one.cycle_ids for one in periods))


def _working(memory: ConversationMemory, live: Sequence[str], before: int) -> dict[str, object]:
    """The working summary and the cycles since; one of another branch is dropped (HM-2)."""
    if memory.head is not None and memory.head not in live:
        return {"working": "", "working_cycles": tuple(live[-WORKING_SUMMARY_EVERY:])}
    start = live.index(memory.head) + 1 if memory.head is not None else 0
    since = dict.fromkeys((*memory.working_cycles, *live[start:]))
    alive = set(since if before else live)
    return {"working_cycles": tuple(cycle for cycle in since if cycle in alive)}


def working_due(memory: ConversationMemory, every: int = WORKING_SUMMARY_EVERY) -> bool:
    """Whether the working summary is due: `every` exchanges since it was made."""
    return len(memory.working_cycles) >= every


def with_working(memory: ConversationMemory, working: str, now: datetime) -> ConversationMemory:
    """`memory` with a new working summary; count its words by `with_word_counts`."""
    return memory.model_copy(update={"working": working, "working_cycles": (), "updated_at": now})


def summarised_cycle(cycle: Cycle, budget: WordBudget) -> OldCycle:
    """A cycle as its summary; in full while its judgement is pending.

    A cycle that is never judged (a command, an exchange in a pause) has its beginning as summary.
    """
    judgement = cycle.judgement
    whole = f"{cycle.message.text}\n\n{reply_text(cycle)}".strip()
    pending = cycle.formation not in ("none", "failed") if judgement is None else judgement.pending
    text = (judgement.summary.strip() if judgement is not None else "") or masked(whole)
    summary = whole if pending else first_words(text, budget.summary)
    preserved = with_figures_of(judgement.preserved if judgement else PreservedData(), text)
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

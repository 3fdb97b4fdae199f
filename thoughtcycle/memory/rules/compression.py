"""Compression of a conversation memory: chooses the next step, and applies its answers (CM-6; pure)."""

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime

from thoughtcycle.memory.model import ConversationMemory, Cycle, OldCycle, Period, PreservedData
from thoughtcycle.memory.rules.preserved_data import figures, ledger_with
from thoughtcycle.memory.rules.word_budget import WordBudget, old_words, recent_words, with_word_counts
from thoughtcycle.text_clipping import count_words, first_words

ROLLED = 8
"""Summaries in one roll-up, at most."""
BATCH = 10
"""Summaries in one question, at most."""
RESERVED_SHARE = 4
"""Old summaries keep this part of the goal, a quarter, when the recent cycles alone exceed the goal."""


Unit = OldCycle | Period


@dataclass(frozen=True)
class Piece:
    """A summary to be shortened, and the data that it must not lose."""

    id: str
    """Of the cycle, or of a period's first one."""
    since: datetime
    summary: str
    preserved: PreservedData


@dataclass(frozen=True)
class Shorten:
    """Shortens each of these to at most `words` words."""

    pieces: tuple[Piece, ...]
    words: int


@dataclass(frozen=True)
class RollUp:
    """Makes one summary of at most `words` words of all these."""

    pieces: tuple[Piece, ...]
    words: int


def next_step(
    memory: ConversationMemory, recent: Iterable[Cycle], budget: WordBudget
) -> Shorten | RollUp | None:
    """The next step of compression; None when the goal is reached or nothing is left to do.

    Recent cycles are untouched, as are those whose summary is pending. The oldest summaries are shortened
    first; when all are short, the oldest are rolled up into periods, and then the oldest periods.
    """
    room = _room(memory, recent, budget)
    excess = old_words((*memory.old_memory, *memory.periods)) - room
    if excess <= 0:
        return None
    ready = [one for one in memory.old_memory if not one.pending_summarization]
    long = [one for one in ready if not one.compressed and count_words(one.summary) > budget.compressed]
    if long:
        return Shorten(_as_needed(long, memory, excess, budget), budget.compressed)
    many = 2 * old_words(memory.periods) > room
    periods, all_units = list[Unit](memory.periods), [*list[Unit](memory.periods), *ready]
    tried: list[Sequence[Unit]] = [periods if many else (), ready, periods, all_units]
    steps = (_rolled_up(units, memory, excess, budget) for units in tried)
    return next((step for step in steps if step is not None), None)


def _room(memory: ConversationMemory, recent: Iterable[Cycle], budget: WordBudget) -> int:
    """Words for old summaries: the rest of the goal, or a part of it where it is out of reach."""
    now = recent_words(recent)
    beyond = now > budget.goal
    left = budget.goal // RESERVED_SHARE if beyond else budget.goal - now - count_words(memory.working)
    return max(left, old_words(one for one in memory.old_memory if one.pending_summarization))


def _as_needed(
    long: Sequence[OldCycle], memory: ConversationMemory, excess: int, budget: WordBudget
) -> tuple[Piece, ...]:
    """The oldest of `long`, as many as needed."""
    chosen: list[Piece] = []
    for one in long[:BATCH]:
        if excess <= 0:
            break
        chosen.append(_piece(one, memory))
        excess -= count_words(one.summary) - budget.compressed
    return tuple(chosen)


def _rolled_up(
    units: Sequence[Unit], memory: ConversationMemory, excess: int, budget: WordBudget
) -> RollUp | None:
    """The oldest of `units`, as many as needed; None unless two or more become shorter together."""
    chosen: list[Unit] = []
    for one in units[:ROLLED]:
        chosen.append(one)
        if len(chosen) > 1 and old_words(chosen) - budget.period >= excess:
            break
    if old_words(chosen) <= budget.period:
        chosen = list(units)  # tiny ones: only all together are longer than a period
    if len(chosen) < 2 or old_words(chosen) <= budget.period:
        return None
    return RollUp(tuple(_piece(one, memory) for one in chosen), budget.period)


def _piece(one: Unit, memory: ConversationMemory) -> Piece:
    """A summary, with the preserved data of its cycles in ledger and entries."""
    ids = {one.cycle_id} if isinstance(one, OldCycle) else set(one.cycle_ids)
    preserved = [entry.preserved_data for entry in memory.ledger if entry.cycle_id in ids]
    preserved += [old.preserved_data for old in memory.old_memory if old.cycle_id in ids]
    data = PreservedData().merged(*preserved)
    if isinstance(one, OldCycle):
        return Piece(one.cycle_id, one.timestamp, one.summary, data)
    return Piece(one.cycle_ids[0], one.since, one.summary, data)


def apply_shortening(
    memory: ConversationMemory, step: Shorten, answers: Mapping[str, str]
) -> ConversationMemory:
    """`memory` with the answers (piece id → text) in place of the summaries.

    An answer that is too long is cut at a word; one that is missing, or has a figure that the summary lacks,
    is replaced by the beginning of the summary. Preserved data, and every figure of the summary, go to the
    ledger in any case. A piece that is gone is skipped.
    """
    asked = {piece.id: piece for piece in step.pieces}
    old, shortened = [], []
    for one in memory.old_memory:
        piece = asked.get(one.cycle_id)
        if piece is None or piece.summary != one.summary:
            old.append(one)
            continue
        summary = fitted(answers.get(piece.id, ""), [piece], step.words)
        changed = {
            "summary": summary,
            "summary_word_count": count_words(summary),
            "preserved_data": PreservedData(),
            "compressed": True,
        }
        old.append(one.model_copy(update=changed))
        shortened.append(one)
    ledger = ledger_with(memory.ledger, shortened)
    return memory.model_copy(update={"old_memory": tuple(old), "ledger": ledger})


def apply_roll_up(memory: ConversationMemory, step: RollUp, answer: str) -> ConversationMemory:
    """`memory` with one period in place of the pieces; see `apply_shortening`.

    Returns `memory` when a piece is gone.
    """
    wanted = {piece.id for piece in step.pieces}
    cycles = [one for one in memory.old_memory if one.cycle_id in wanted]
    periods = [one for one in memory.periods if one.cycle_ids[0] in wanted]
    if len(cycles) + len(periods) != len(step.pieces):
        return memory
    ids = [id for one in periods for id in one.cycle_ids] + [one.cycle_id for one in cycles]
    summary = fitted(answer, step.pieces, step.words)
    made = Period(
        cycle_ids=tuple(dict.fromkeys(ids)),
        since=min([one.since for one in periods] + [one.timestamp for one in cycles]),
        until=max([one.until for one in periods] + [one.timestamp for one in cycles]),
        summary=summary,
        word_count=count_words(summary),
        importance=max([one.importance for one in periods] + [one.importance for one in cycles]),
    )
    others = [one for one in memory.periods if one not in periods]
    return memory.model_copy(
        update={
            "old_memory": tuple(one for one in memory.old_memory if one not in cycles),
            "periods": tuple(sorted([*others, made], key=lambda one: one.since)),
            "ledger": ledger_with(memory.ledger, cycles),
        }
    )


def fitted(answer: str, pieces: Sequence[Piece], words: int) -> str:
    """An answer, made short enough; the beginning of the pieces if it has a figure that they lack.

    "5k" passes for 5000: a figure counts as known when a known one begins with its digits.
    """
    known = set(figures(" ".join(piece.summary for piece in pieces)))
    for piece in pieces:
        preserved = (*piece.preserved.numerical_values, *piece.preserved.dates)
        known.update(one for each in preserved for one in figures(f"{each.said} {each.normalised}"))
    digits = tuple(re.sub(r"\D", "", one) for one in known)
    answered = (re.sub(r"\D", "", one) for one in figures(answer))
    new = [one for one in answered if not any(each.startswith(one) for each in digits)]
    if new or not answer.strip():
        share = max(words // len(pieces), 1)
        return first_words(" ".join(first_words(piece.summary, share) for piece in pieces), words)
    return first_words(answer, words)


def finish_compression(
    memory: ConversationMemory, recent: Sequence[Cycle], budget: WordBudget, now: datetime, *, changed: bool
) -> ConversationMemory:
    """`memory` at the end of a compression that `changed` it or found nothing to do.

    It is `stuck` when the goal was not reached: not tried again until something changes.
    """
    whole = with_word_counts(memory, recent)
    update: dict[str, object] = {"stuck": whole.total_word_count > budget.goal, "updated_at": now}
    if changed:
        update |= {"compression_count": memory.compression_count + 1, "last_compression": now}
    return whole.model_copy(update=update)

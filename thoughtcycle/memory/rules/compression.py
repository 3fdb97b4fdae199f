"""Compression of a conversation's memory: what is to be made shorter, and what comes of it (CM-6; pure)."""

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime

from thoughtcycle.budget import count_words, first_words
from thoughtcycle.memory.model import ConversationMemory, Cycle, OldCycle, Period, PreservedData
from thoughtcycle.memory.rules.preserved_data import figures, grown, guarded
from thoughtcycle.memory.rules.word_budget import Volume, counted, old_words, recent_words

ROLLED = 8
"""Summaries that one roll-up takes in at most."""
BATCH = 10
"""Summaries that are compressed with one question at most."""
KEPT_SHARE = 4
"""Where the recent cycles alone are beyond reach of the goal, the old ones still keep this part of it."""


Unit = OldCycle | Period


@dataclass(frozen=True)
class Piece:
    """A summary that is to become shorter, and what it must not lose."""

    id: str
    """Of the cycle, or of a period's first one."""
    since: datetime
    summary: str
    preserved: PreservedData


@dataclass(frozen=True)
class Shorten:
    """Each of these is to be said in at most `words` words."""

    pieces: tuple[Piece, ...]
    words: int


@dataclass(frozen=True)
class RollUp:
    """All of these are to become one summary of at most `words` words."""

    pieces: tuple[Piece, ...]
    words: int


def next_step(memory: ConversationMemory, recent: Iterable[Cycle], volume: Volume) -> Shorten | RollUp | None:
    """What to compress next on the way to the goal; None when it is reached or nothing is left to do.

    Recent cycles are untouched, as are those whose summary is pending. The oldest summaries are shortened
    first; when all are short, the oldest are rolled up into periods, and then the oldest periods.
    """
    room = _room(memory, recent, volume)
    excess = old_words((*memory.old_memory, *memory.periods)) - room
    if excess <= 0:
        return None
    ready = [one for one in memory.old_memory if not one.pending_summarization]
    if long := [one for one in ready if not _short(one, volume)]:
        return Shorten(_as_needed(long, memory, excess, volume), volume.compressed)
    many = 2 * old_words(memory.periods) > room
    periods, all_units = list[Unit](memory.periods), [*list[Unit](memory.periods), *ready]
    tried: list[Sequence[Unit]] = [periods if many else (), ready, periods, all_units]
    steps = (_rolled_up(units, memory, excess, volume) for units in tried)
    return next((step for step in steps if step is not None), None)


def _room(memory: ConversationMemory, recent: Iterable[Cycle], volume: Volume) -> int:
    """Words that old summaries may have: what the goal leaves, a part of it where it is out of reach."""
    now = recent_words(recent)
    beyond = now > volume.goal
    left = volume.goal // KEPT_SHARE if beyond else volume.goal - now - count_words(memory.working)
    return max(left, old_words(one for one in memory.old_memory if one.pending_summarization))


def _short(one: OldCycle, volume: Volume) -> bool:
    return one.compressed or count_words(one.summary) <= volume.compressed


def _as_needed(
    long: Sequence[OldCycle], memory: ConversationMemory, excess: int, volume: Volume
) -> tuple[Piece, ...]:
    """The oldest of `long`, as many as are needed."""
    chosen: list[Piece] = []
    for one in long[:BATCH]:
        if excess <= 0:
            break
        chosen.append(_piece(one, memory))
        excess -= count_words(one.summary) - volume.compressed
    return tuple(chosen)


def _rolled_up(
    units: Sequence[Unit], memory: ConversationMemory, excess: int, volume: Volume
) -> RollUp | None:
    """The oldest of `units`, as many as are needed; at least two, and such that it becomes less."""
    chosen: list[Unit] = []
    for one in units[:ROLLED]:
        chosen.append(one)
        if len(chosen) > 1 and old_words(chosen) - volume.period >= excess:
            break
    if old_words(chosen) <= volume.period:
        chosen = list(units)  # so many tiny ones that only all of them together are more than a period
    if len(chosen) < 2 or old_words(chosen) <= volume.period:
        return None
    return RollUp(tuple(_piece(one, memory) for one in chosen), volume.period)


def _piece(one: Unit, memory: ConversationMemory) -> Piece:
    if isinstance(one, OldCycle):
        return Piece(one.cycle_id, one.timestamp, one.summary, _preserved([one.cycle_id], memory))
    return Piece(one.cycle_ids[0], one.since, one.summary, _preserved(one.cycle_ids, memory))


def _preserved(cycles: Iterable[str], memory: ConversationMemory) -> PreservedData:
    """What the ledger and the entries hold of these cycles."""
    wanted = set(cycles)
    kept = [entry.preserved_data for entry in memory.ledger if entry.cycle_id in wanted]
    kept += [one.preserved_data for one in memory.old_memory if one.cycle_id in wanted]
    return PreservedData().merged(*kept)


def shortened(memory: ConversationMemory, step: Shorten, answers: Mapping[str, str]) -> ConversationMemory:
    """`memory` with the answers (piece id → text) in place of the summaries.

    An answer that is too long is cut at a word; one that is missing, or names a figure that was not
    there, is replaced by the beginning of the summary. Preserved data, and every figure of the summary,
    go to the ledger whatever the answer says. A piece that is gone is passed over.
    """
    asked = {piece.id: piece for piece in step.pieces}
    old, ledger = [], memory.ledger
    for one in memory.old_memory:
        piece = asked.get(one.cycle_id)
        if piece is None or piece.summary != one.summary:
            old.append(one)
            continue
        ledger = grown(ledger, one.cycle_id, one.timestamp, guarded(one.preserved_data, one.summary))
        summary = fitted(answers.get(piece.id, ""), [piece], step.words)
        changed = {
            "summary": summary,
            "summary_word_count": count_words(summary),
            "preserved_data": PreservedData(),
            "compressed": True,
        }
        old.append(one.model_copy(update=changed))
    return memory.model_copy(update={"old_memory": tuple(old), "ledger": ledger})


def rolled_up(memory: ConversationMemory, step: RollUp, answer: str) -> ConversationMemory:
    """`memory` with one period in place of the pieces; see `shortened`.

    `memory` as it is when a piece is gone.
    """
    wanted = {piece.id for piece in step.pieces}
    cycles = [one for one in memory.old_memory if one.cycle_id in wanted]
    periods = [one for one in memory.periods if one.cycle_ids[0] in wanted]
    if len(cycles) + len(periods) != len(step.pieces):
        return memory
    ledger = memory.ledger
    for one in cycles:
        ledger = grown(ledger, one.cycle_id, one.timestamp, guarded(one.preserved_data, one.summary))
    summary = fitted(answer, step.pieces, step.words)
    made = Period(
        cycle_ids=tuple(
            dict.fromkeys(
                [cycle for one in periods for cycle in one.cycle_ids] + [one.cycle_id for one in cycles]
            )
        ),
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
            "ledger": ledger,
        }
    )


def fitted(answer: str, pieces: Sequence[Piece], words: int) -> str:
    """An answer as it may be kept: short enough, and with no figure that the pieces do not have.

    "5k" passes for 5000: a figure counts as known when a known one begins with its digits.
    """
    told = " ".join(piece.summary for piece in pieces)
    known = set(figures(told))
    for piece in pieces:
        preserved = (*piece.preserved.numerical_values, *piece.preserved.dates)
        known.update(one for each in preserved for one in figures(f"{each.said} {each.normalised}"))
    digits = tuple(re.sub(r"\D", "", one) for one in known)
    told_new = (
        one for one in figures(answer) if not any(each.startswith(re.sub(r"\D", "", one)) for each in digits)
    )
    if not answer.strip() or next(told_new, None) is not None:
        share = max(words // len(pieces), 1)
        return first_words(" ".join(first_words(piece.summary, share) for piece in pieces), words)
    return first_words(answer, words)


def finished(
    memory: ConversationMemory, recent: Sequence[Cycle], volume: Volume, now: datetime, *, changed: bool
) -> ConversationMemory:
    """`memory` after a compression that found nothing more to do.

    `changed`: whether it did anything. Where the goal was not reached it is `stuck`: not tried again until
    something changes.
    """
    whole = counted(memory, recent)
    update: dict[str, object] = {"stuck": whole.total_word_count > volume.goal, "updated_at": now}
    if changed:
        update |= {"compression_count": memory.compression_count + 1, "last_compression": now}
    return whole.model_copy(update=update)

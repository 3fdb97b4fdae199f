"""Closed cycles of a chat with their judgements, made without a graph."""

from datetime import UTC, datetime, timedelta

from thoughtcycle.memory.model import Cycle, CycleMessage, Variant
from thoughtcycle.memory.model.judgement import CriticalDatum, Judgement, PreservedData

BEGIN = datetime(2026, 11, 1, 9, 0, tzinfo=UTC)


def at(number: int) -> datetime:
    return BEGIN + timedelta(minutes=10 * number)


def judged(
    summary: str = "resumo",
    *,
    preserved: PreservedData | None = None,
    critical: tuple[CriticalDatum, ...] = (),
    pending: bool = False,
    importance: int = 40,
) -> Judgement:
    return Judgement(
        importance=importance,
        summary=summary,
        preserved=preserved or PreservedData(),
        critical=critical,
        pending=pending,
    )


def exchange(number: int, text: str = "oi", reply: str = "olá", judgement: Judgement | None = None) -> Cycle:
    """The exchange `c<number>` of the chat `chat`, ten minutes after the one before."""
    message = CycleMessage(id=f"m{number}", role="user", text=text, at=at(number))
    answer = CycleMessage(id=f"r{number}", role="assistant", text=reply, at=at(number))
    return Cycle(
        id=f"c{number}",
        user="ana",
        chat="chat",
        channel="cli",
        parent=f"c{number - 1}" if number else None,
        message=message,
        opened_at=at(number),
        heartbeat=at(number),
        variants=(Variant(execution="e", messages=(answer,), steps=(), at=at(number)),),
        formation="done",
        judgement=judgement,
    )

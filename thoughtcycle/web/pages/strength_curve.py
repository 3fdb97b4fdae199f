"""The strength of a memory over time as a small drawing (HM-7; pure)."""

from dataclasses import dataclass
from datetime import datetime, timedelta

from thoughtcycle.memory.model import MemoryRecord
from thoughtcycle.memory.rules.decay import FORGOTTEN_STRENGTH, strength

POINTS = 7
AHEAD = timedelta(weeks=4)
LEAST = timedelta(weeks=10)
"""Time that a drawing spans at least: full strength is forgotten in seven weeks."""


@dataclass(frozen=True)
class StrengthCurve:
    """Lines in a box that is `width` × `height`; strength 1 is at the top, 0 at the bottom."""

    width: int
    height: int
    past: str
    """Points of the line until now, as SVG writes them."""
    ahead: str
    """Points from now on, without another mention."""
    now: tuple[float, float]
    strength: float
    fades: bool
    floor: float
    """Height below which the memory is forgotten."""
    begin: datetime
    end: datetime


def strength_curve(
    record: MemoryRecord, now: datetime, *, width: int = 96, height: int = 28
) -> StrengthCurve:
    """The curve from the last mention to some weeks from now."""
    begin = min(now, max(record.valid_from, record.reinforced_at or record.valid_from))
    end = max(now + AHEAD, begin + LEAST)
    inset = 3

    def point(at: datetime) -> tuple[float, float]:
        x = inset + (width - 2 * inset) * ((at - begin) / (end - begin))
        return round(x, 1), _height(strength(record, at), height, inset)

    def line(start: datetime, stop: datetime) -> str:
        steps = [start + (stop - start) * n / (POINTS - 1) for n in range(POINTS)]
        points = dict.fromkeys(point(at) for at in steps)
        return " ".join(f"{x:g},{y:g}" for x, y in points)

    return StrengthCurve(
        width=width,
        height=height,
        past=line(begin, now),
        ahead=line(now, end),
        now=point(now),
        strength=strength(record, now),
        fades=record.kind == "emo" and not record.pinned,
        floor=_height(FORGOTTEN_STRENGTH, height, inset),
        begin=begin,
        end=end,
    )


def _height(value: float, height: int, inset: int) -> float:
    return round(inset + (height - 2 * inset) * (1 - value), 1)

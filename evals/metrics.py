"""The metrics of LM-14: each with its name, its value and its unit (pure)."""

from collections.abc import Sequence
from dataclasses import asdict, dataclass
from statistics import fmean, median
from typing import Any, Literal

Unit = Literal["share", "days", "ms", "tokens", "bytes"]
Source = Literal["store", "file"]


@dataclass(frozen=True)
class Metric:
    """One measured quantity."""

    name: str
    """A section of the metrics' texts, which says what it means."""
    value: float | None
    """None where nothing was there to be measured."""
    unit: Unit
    count: int
    """Of what it is the mean, the share or the median."""
    source: Source


def share(name: str, good: Sequence[bool], source: Source) -> Metric:
    """The share of what is good."""
    return Metric(name, fmean(good) if good else None, "share", len(good), source)


def mean(name: str, values: Sequence[float], unit: Unit, source: Source) -> Metric:
    """The arithmetic mean."""
    return Metric(name, fmean(values) if values else None, unit, len(values), source)


def times(name: str, seconds: Sequence[float], source: Source) -> list[Metric]:
    """Median and 95th percentile (nearest rank), in milliseconds."""
    ordered = sorted(seconds)
    late = ordered[max(0, -(-95 * len(ordered) // 100) - 1)] if ordered else None
    return [
        Metric(f"{name}_p50", 1_000 * median(ordered) if ordered else None, "ms", len(ordered), source),
        Metric(f"{name}_p95", 1_000 * late if late is not None else None, "ms", len(ordered), source),
    ]


def as_json(metrics: Sequence[Metric]) -> list[dict[str, Any]]:
    """For machines."""
    return [asdict(one) for one in metrics]


def shown(metric: Metric) -> str:
    """The value with its unit, for people."""
    value = metric.value
    if value is None:
        return "–"
    if metric.unit == "share":
        return f"{100 * value:.1f}%"
    if metric.unit in ("tokens", "bytes"):
        return f"{value:,.0f} {metric.unit}"
    return f"{value:,.1f} {metric.unit}"

"""The metrics of LM-14: each with its name, its value and its unit (pure)."""

from collections.abc import Sequence
from dataclasses import asdict, dataclass
from statistics import fmean, median
from typing import Any, Literal

from thoughtcycle.prompts.forms import number, size
from thoughtcycle.prompts.loader import Language, texts

Unit = Literal["share", "days", "ms", "tokens", "bytes"]
Source = Literal["store", "file"]
_EXACT = 100
"""From here on a tenth more or less tells nothing."""


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
    """The figures as plain data for JSON."""
    return [asdict(one) for one in metrics]


def shown(metric: Metric, language: Language) -> str:
    """The value with its unit, for people who read this language."""
    value = metric.value
    if value is None:
        return "–"
    if metric.unit == "share":
        return f"{number(100 * value, language, 1)}%"
    if metric.unit == "bytes":
        return size(round(value), language)
    digits = 0 if metric.unit == "tokens" or value >= _EXACT else 1
    return f"{number(value, language, digits)} {texts(language, 'forms')[metric.unit]}"

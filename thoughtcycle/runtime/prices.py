"""Prices of models per million tokens, as a deployment sets them, and the cost of calls (pure)."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from thoughtcycle.nodes.base.state import Spent

MILLION = 1_000_000


@dataclass(frozen=True)
class Price:
    """Of one model, per million tokens, in whatever currency the deployment counts."""

    input: float
    output: float


def parse_prices(given: object) -> object:
    """`gpt-5-mini=0.25/2,other=1/4` as prices by model; ValueError at an entry of another form."""
    if not isinstance(given, str):
        return given
    prices: dict[str, Price] = {}
    for entry in filter(None, (part.strip() for part in given.split(","))):
        model, _, price = entry.rpartition("=")
        read, _, written = price.partition("/")
        cost = Price(float(read), float(written))
        if not model.strip() or not 0 <= cost.input < MILLION or not 0 <= cost.output < MILLION:
            raise ValueError("no list of MODEL=INPUT/OUTPUT")
        prices[model.strip()] = cost
    return prices


def cost(calls: Iterable[Spent], prices: Mapping[str, Price]) -> float | None:
    """The cost of these calls; None where one of them has no price."""
    total = 0.0
    for call in calls:
        if (price := prices.get(call["model"])) is None:
            return None
        total += (call["input"] * price.input + call["output"] * price.output) / MILLION
    return total

"""Prices of models per million tokens, as a deployment sets them, and the cost of calls (pure)."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from thoughtcycle.nodes.base.state import Spent

MILLION = 1_000_000


@dataclass(frozen=True)
class Price:
    """The price of a model per million tokens, in the deployment's currency."""

    input: float
    output: float


def parse_prices(given: object) -> object:
    """Parses `gpt-5-mini=0.25/2,other=1/4` to prices by model; ValueError for an entry of another form."""
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
    priced = [(call, prices.get(call["model"])) for call in calls]
    costs = [call["input"] * price.input + call["output"] * price.output for call, price in priced if price]
    return sum(costs) / MILLION if len(costs) == len(priced) else None

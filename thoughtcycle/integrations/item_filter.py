"""Compiles the filter of a LangGraph store's search to a predicate on items (pure)."""

from collections.abc import Callable, Mapping
from operator import ge, gt, le, lt
from typing import Any

from thoughtcycle.errors import InputRefused
from thoughtcycle.memory.items import Test

_ORDER: Mapping[str, Callable[[float, float], bool]] = {"$gt": gt, "$gte": ge, "$lt": lt, "$lte": le}


def item_filter(wanted: Mapping[str, Any] | None) -> Test | None:
    """The predicate on an item's content: equal fields, or comparisons ($eq $ne $gt $gte $lt $lte).

    A field that is missing, or no number, is neither above nor below anything. None: all pass.
    Raises InputRefused('store_operator').
    """
    if not wanted:
        return None
    fits = _with_fields(wanted)
    return lambda content: fits(content["value"])


def _value_test(wanted: Any) -> Test:
    """Compares a value with `wanted`."""
    if isinstance(wanted, Mapping):
        if any(name.startswith("$") for name in wanted):
            comparisons = [_comparison(name, one) for name, one in wanted.items()]
            return lambda value: all(test(value) for test in comparisons)
        fits = _with_fields(wanted)
        return lambda value: isinstance(value, dict) and fits(value)
    if isinstance(wanted, (list, tuple)):
        tests = [_value_test(one) for one in wanted]
        return lambda value: (
            isinstance(value, list)
            and len(value) == len(tests)
            and all(test(one) for test, one in zip(tests, value, strict=True))
        )
    return lambda value: bool(value == wanted)


def _with_fields(wanted: Mapping[str, Any]) -> Test:
    """Compares an object's fields with `wanted`; a missing one counts as null."""
    tests = {name: _value_test(one) for name, one in wanted.items()}
    return lambda value: all(test(value.get(name)) for name, test in tests.items())


def _comparison(operator: str, wanted: Any) -> Test:
    if operator == "$eq":
        return lambda value: bool(value == wanted)
    if operator == "$ne":
        return lambda value: bool(value != wanted)
    if operator not in _ORDER:
        raise InputRefused("store_operator", operator=repr(operator))
    compare, limit = _ORDER[operator], _number(wanted)
    return lambda value: (
        limit is not None and (number := _number(value)) is not None and compare(number, limit)
    )


def _number(value: Any) -> float | None:
    """Converts a value as LangGraph does, numeric text included; None for anything else."""
    try:
        return float(value)
    except OverflowError:  # an integer that no float holds; Python compares the two exactly
        return value  # type: ignore[no-any-return]
    except (TypeError, ValueError):
        return None

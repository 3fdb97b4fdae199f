"""A filter lets through what LangGraph's own in-memory store lets through, whatever is filtered by what."""

from typing import Any

import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st
from langgraph.store.memory import InMemoryStore

from thoughtcycle.errors import InputRefused
from thoughtcycle.integrations.items import item_filter

NAMES = st.sampled_from(["a", "b", "a.b", "$a", "$eq", "'\"", ""])
LEAVES = st.one_of(
    st.none(),
    st.booleans(),
    st.integers(-3, 3),
    st.sampled_from([0.5, 1.0, -0.0, 1e308, 2**53, 2**53 + 1, "1", "1.0", "x", "", "nan", "inf", "true"]),
)
VALUES = st.recursive(
    LEAVES,
    lambda inner: st.lists(inner, max_size=2) | st.dictionaries(NAMES, inner, max_size=2),
    max_leaves=6,
)
COMPARISONS = st.dictionaries(
    st.sampled_from(["$eq", "$ne", "$gt", "$gte", "$lt", "$lte"]), LEAVES, min_size=1, max_size=2
)
WANTED = st.recursive(
    LEAVES | COMPARISONS,
    lambda inner: st.lists(inner, max_size=2) | st.dictionaries(st.sampled_from(["a", "b", "a.b"]), inner),
    max_leaves=4,
)


@pytest.mark.spec("BY-6")
@settings(max_examples=400)
@given(st.dictionaries(NAMES, VALUES, max_size=4), st.dictionaries(NAMES, WANTED | VALUES, max_size=2))
def test_a_filter_is_langgraphs(value: dict[str, Any], wanted: dict[str, Any]) -> None:
    theirs = InMemoryStore()
    theirs.put(("a",), "k", value)
    try:
        there = bool(theirs.search(("a",), filter=wanted))
        test = item_filter(wanted)
    except (TypeError, ValueError, InputRefused):  # it compares what is no number, or knows no such operator
        assume(False)
    assert (test is None or test({"value": value})) is there

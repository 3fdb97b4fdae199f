"""What is archived is stored smaller where it can be, and nothing can be mistaken for it."""

import json

import pytest

from support.memories import record
from thoughtcycle.memory.storage.mongo.serialization import memory_document, memory_record
from thoughtcycle.memory.storage.serialization import (
    content_of,
    dumps,
    is_packed,
    loads,
    packed,
    stored,
    to_document,
    unpacked,
)

LONG = "Casou em maio, em Natal. " * 40


@pytest.mark.spec("LM-12")
@pytest.mark.parametrize(
    ("content", "smaller"),
    [
        (LONG, True),
        ({"a": LONG, "b": [1.5, None]}, True),
        ("curto", False),
        ("", False),
        (None, False),
        (12.5, False),
        ({"zlib": "not ours"}, False),
        ({"zlib": "not ours", "a": 1}, False),
        ("\0\u2400 ção \U0001f980" * 50, True),
    ],
)
def test_a_content_is_packed_where_that_is_smaller(content: object, smaller: bool) -> None:
    small, kept = packed(content), stored(content)
    assert unpacked(small) == unpacked(kept) == content
    assert (len(json.dumps(small)) < len(json.dumps(content))) == smaller
    assert is_packed(kept) == is_packed(content)


@pytest.mark.spec("LM-12")
def test_an_archived_document_keeps_what_it_is_searched_by_beside_its_content() -> None:
    kept = {"kind": "bio", "key": "k", "tags": ("t",), "bindings": ("x",)}
    active = record(content=LONG, **kept)
    archived = record(content=LONG, status="archived", **kept)
    assert to_document(active)["content"] == LONG
    document = to_document(archived)
    assert is_packed(document["content"]) and content_of(document) == LONG
    assert {name: document[name] for name in kept} == {**kept, "tags": ["t"], "bindings": ["x"]}
    text = dumps(archived) or ""
    assert len(text) < len(dumps(active) or "") * 0.6
    assert loads(text) == archived
    assert loads(dumps(active, aside=True) or "") == active
    assert to_document(archived, aside=False)["content"] == LONG, "an export is read by people"
    assert is_packed(memory_document(archived)["content"])
    assert memory_record(memory_document(archived)) == archived


@pytest.mark.parametrize(
    "content",
    ["a\0b\u2028 \u2400 ção \U0001f980", {"a": [float("inf"), 10**40, None, {"b": True}]}, [], 1.5, None],
)
def test_whatever_json_can_say_comes_back_as_it_was(content: object) -> None:
    memory = record(content=content, type="json")
    text = dumps(memory) or ""
    assert loads(text) == memory
    assert json.loads(text) == to_document(memory)


def test_a_document_nested_deep_is_read() -> None:
    content: object = "fundo"
    for _ in range(240):  # the quick parser goes 200 deep
        content = [content]
    assert loads(str(dumps(record(content=content)))).content == content

"""Converts the items of LangGraph's store to memories and back; lists namespaces (pure)."""

import json
from collections.abc import Iterator, Mapping, Sequence
from datetime import datetime
from math import inf
from typing import Any, Literal

from langgraph.store.base import Item, MatchCondition, PutOp, SearchItem, get_text_at_path

from thoughtcycle.errors import InputRefused
from thoughtcycle.memory.items import PASSING
from thoughtcycle.memory.model import ITEM, MemoryDraft, MemoryRecord, named_id
from thoughtcycle.memory.storage import StoredItem

Namespace = tuple[str, ...]

DEPTH = 100
"""Levels of a value; pydantic gives up behind 200."""

_IN, _AT = "in:", "at:"
"""Prefixes of the tags for the namespaces above an item, and for its own."""


def item_key(namespace: Namespace, key: str) -> str:
    """The key of an item's memory, unique per namespace and key.

    Raises InputRefused('text_not_unicode').
    """
    try:
        return named_id("item", *namespace, key)
    except UnicodeEncodeError as error:
        raise InputRefused("text_not_unicode") from error


def tag_below(namespace: Namespace) -> str | None:
    """The tag of all items in this namespace and those below it; None: of all items there are."""
    return _IN + json.dumps(namespace) if namespace else None


def namespaces_of(tags: Sequence[str]) -> list[Namespace]:
    """The namespaces of the items, read from their tags."""
    return [tuple(json.loads(tag.removeprefix(_AT))) for tag in tags if tag.startswith(_AT)]


def as_draft(op: PutOp, fields: Sequence[str]) -> MemoryDraft:
    """The memory for the item of `op`; found by the texts at `op.index`, else at `fields`.

    Its content differs for every different put. Raises InputRefused('item_not_json', 'item_ttl').
    """
    namespace = tuple(op.namespace)
    content: dict[str, Any] = {"namespace": list(namespace), "key": op.key, "value": _plain(op.value)}
    if op.index is not None:
        content["index"] = op.index
    if op.ttl is not None:
        if not isinstance(op.ttl, (int, float)) or isinstance(op.ttl, bool) or not abs(op.ttl) < inf:
            raise InputRefused("item_ttl", ttl=repr(op.ttl))
        content["ttl"] = op.ttl
    tags = [f"{_IN}{json.dumps(namespace[:depth])}" for depth in range(1, len(namespace) + 1)]
    passing = [PASSING] if op.ttl is not None else []
    return MemoryDraft(
        type=ITEM,
        content=content,
        key=item_key(namespace, op.key),
        bindings=_texts(content["value"], op.index, fields),
        tags=(*tags, _AT + json.dumps(namespace), *passing),
    )


def _plain(value: Mapping[str, Any] | None) -> dict[str, Any]:
    """`value` as plain JSON values, at most `DEPTH` levels deep."""
    try:
        if _deeper(value, DEPTH):
            raise ValueError(f"more than {DEPTH} levels deep")
        found: dict[str, Any] = json.loads(json.dumps(dict(value or {}), allow_nan=False))
    except (TypeError, ValueError, RecursionError) as error:
        raise InputRefused("item_not_json", cause=str(error)[:200]) from error
    return found


def _deeper(value: Any, levels: int) -> bool:
    inner = value.values() if isinstance(value, Mapping) else value
    nested = isinstance(value, (Mapping, list, tuple))
    return levels < 0 or (nested and any(_deeper(one, levels - 1) for one in inner))


def _texts(value: Any, index: Literal[False] | list[str] | None, fields: Sequence[str]) -> tuple[str, ...]:
    """The texts at paths of LangGraph's syntax; of the whole value, its leaves with their names."""
    found: list[str] = []
    for path in (fields if index is None else index) or ():
        found += ["; ".join(_leaves(value))] if path in ("", "$") else get_text_at_path(value, path)
    return tuple(dict.fromkeys(text for text in found if text.strip()))


def _leaves(value: Any, name: str = "") -> Iterator[str]:
    """The leaves of a value as texts, without brackets and quotes."""
    if isinstance(value, dict):
        for inner, one in value.items():
            yield from _leaves(one, inner.replace("_", " "))
    elif isinstance(value, list):
        for one in value:
            yield from _leaves(one, name)
    elif value is not None:
        text = value if isinstance(value, str) else json.dumps(value)
        yield f"{name}: {text}" if name else text


def as_item(found: StoredItem) -> Item:
    """The item of a stored memory."""
    return Item(**_fields(found.content), created_at=found.created, updated_at=found.changed)


def as_hit(found: StoredItem, score: float | None) -> SearchItem:
    """The item as a search result; without a score it was only listed."""
    fields = _fields(found.content)
    return SearchItem(**fields, created_at=found.created, updated_at=found.changed, score=score)


def as_version(version: MemoryRecord, created: datetime) -> Item:
    """A former value of an item that was `created` then: `updated_at` is when this one was put."""
    return Item(**_fields(version.content), created_at=created, updated_at=version.valid_from)


def _fields(content: Mapping[str, Any]) -> dict[str, Any]:
    return {"namespace": tuple(content["namespace"]), "key": content["key"], "value": content["value"]}


def matches(condition: MatchCondition, namespace: Namespace) -> bool:
    """Whether a namespace begins (`prefix`) or ends (`suffix`) with a path in which `*` is any label."""
    path = condition.path
    if len(path) > len(namespace):
        return False
    start = 0 if condition.match_type == "prefix" else len(namespace) - len(path)
    return all(wanted in ("*", label) for label, wanted in zip(namespace[start:], path, strict=False))


def list_namespaces(
    namespaces: Sequence[Namespace], conditions: Sequence[MatchCondition], max_depth: int | None
) -> list[Namespace]:
    """The namespaces that meet all conditions, cut to `max_depth`, each once and sorted."""
    found = [one for one in namespaces if all(matches(each, one) for each in conditions)]
    return sorted({one if max_depth is None else one[:max_depth] for one in found})

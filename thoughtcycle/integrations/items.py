"""The items of LangGraph's store as memories: operations in one owner's space, and conversion."""

import json
from collections.abc import Callable, Iterator, Mapping, Sequence
from math import inf
from operator import ge, gt, le, lt
from typing import Any, Literal

from langgraph.store.base import (
    GetOp,
    Item,
    ListNamespacesOp,
    MatchCondition,
    PutOp,
    SearchItem,
    SearchOp,
    get_text_at_path,
)

from thoughtcycle.errors import InputRefused
from thoughtcycle.memory.items import PASSING, Test
from thoughtcycle.memory.memory import Memory
from thoughtcycle.memory.model import ITEM, ItemSpace, MemoryDraft, Receipt, named_id, owner_of
from thoughtcycle.memory.storage import StoredItem

Namespace = tuple[str, ...]

DEPTH = 100
"""Levels of a value; pydantic gives up behind 200."""

_IN, _AT = "in:", "at:"
"""Prefixes of the tags for the namespaces above an item, and for its own."""
_ATTEMPTS = 3
"""Tries of a search when an item changed between finding and reading it."""
_ALL = 1_000_000
"""Hits to be ranked where a filter may drop all but the last of them."""
_ORDER: Mapping[str, Callable[[float, float], bool]] = {"$gt": gt, "$gte": ge, "$lt": lt, "$lte": le}


class OwnerItems:
    """The items of one owner."""

    def __init__(self, memory: Memory, space: ItemSpace) -> None:
        self._memory, self._space = memory, space

    async def get(self, ops: Sequence[GetOp]) -> list[Item | None]:
        """One answer per operation, in order."""
        keys = [item_key(op.namespace, op.key) for op in ops]
        found = await self._memory.items.keyed(self._space, keys)
        over = await self._memory.items.expired(self._space, found.values())
        there = {key: item for key, item in found.items() if item.id not in over}
        read = [there[key] for key, op in zip(keys, ops, strict=True) if op.refresh_ttl and key in there]
        self._refresh(read)
        return [Item(**_fields(there[key])) if key in there else None for key in keys]

    async def put(self, drafts: Mapping[str, MemoryDraft | None]) -> None:
        """Puts items by their keys atomically; then deletes those whose draft is None."""
        if new := [draft for draft in drafts.values() if draft is not None]:
            await self._memory.save(self._space, new)
        deleted = [key for key, draft in drafts.items() if draft is None]
        if found := await self._memory.items.keyed(self._space, deleted):
            await self._memory.hide(self._space, [item.id for item in found.values()])

    async def search(self, op: SearchOp) -> list[SearchItem]:
        """Searches: hits best first, then, without a score, the other items, newest first."""
        offset, limit = max(0, op.offset), max(0, op.limit)
        tag = _IN + json.dumps(op.namespace_prefix) if op.namespace_prefix else None
        test, scores = item_filter(op.filter), dict[str, float]()
        if op.query and limit:
            most = offset + limit if test is None else _ALL
            scores = await self._memory.items.likeliest(self._space, op.query, tag=tag, limit=most)
        page: list[StoredItem] = []
        for _ in range(_ATTEMPTS if limit else 0):
            ids = await self._memory.items.passed(
                self._space, test, tag=tag, first=scores, limit=offset + limit
            )
            page = await self._memory.items.items(self._space, ids[offset:])
            page = [item for item in page if test is None or test(item.content)]
            if len(page) == len(ids[offset:]):
                break
        if op.refresh_ttl:
            self._refresh(page)
        return [SearchItem(**_fields(item), score=scores.get(item.id)) for item in page]

    async def namespaces(self, op: ListNamespacesOp) -> list[Namespace]:
        """The matching namespaces of items, cut to `max_depth`, sorted; expired items count until swept."""
        tags = await self._memory.items.tags(self._space)
        every = [tuple(json.loads(tag.removeprefix(_AT))) for tag in tags if tag.startswith(_AT)]
        found = [one for one in every if all(_matches(each, one) for each in op.match_conditions or ())]
        return sorted({one[: op.max_depth] for one in found})[op.offset :][: op.limit]

    async def history(self, namespace: Namespace, key: str) -> list[Item]:
        """See `ThoughtCycleStore.history`."""
        found = await self._memory.items.keyed(self._space, [item_key(namespace, key)])
        return [
            Item(**_content(version.content), created_at=item.created, updated_at=version.valid_from)
            for item in found.values()
            for version in await self._memory.versions(self._space, item.id)
        ]

    async def undo(self, namespace: Namespace, key: str) -> Item | None:
        """See `ThoughtCycleStore.undo`."""
        name = item_key(namespace, key)
        for id in await self._ids(name):
            done = await self._memory.undo(self._space, id)
            if done.undone is not None:
                found = await self._memory.items.keyed(self._space, [name])
                return Item(**_fields(found[name])) if name in found else None
        return None

    async def erase(self, namespace: Namespace, key: str) -> Receipt:
        """See `ThoughtCycleStore.erase`."""
        receipt = await self._memory.erase(self._space, await self._ids(item_key(namespace, key)))
        return receipt.model_copy(update={"user": owner_of(self._space)})

    async def _ids(self, name: str) -> list[str]:
        """Ids of the memories of this item, the present one first, then deleted ones."""
        found = await self._memory.items.keyed(self._space, [name])
        return [*(item.id for item in found.values()), *await self._memory.items.deleted(self._space, name)]

    def _refresh(self, items: Sequence[StoredItem]) -> None:
        """Restarts the time to live of items that have one."""
        timed = [item.id for item in items if "ttl" in item.content]
        if timed:
            self._memory.items.note_read(self._space, timed)


def item_key(namespace: Namespace, key: str) -> str:
    """The key of an item's memory, unique per namespace and key.

    Raises InputRefused('text_not_unicode').
    """
    try:
        return named_id("item", *namespace, key)
    except UnicodeEncodeError as error:
        raise InputRefused("text_not_unicode") from error


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


def _fields(item: StoredItem) -> dict[str, Any]:
    return {**_content(item.content), "created_at": item.created, "updated_at": item.changed}


def _content(content: Mapping[str, Any]) -> dict[str, Any]:
    return {"namespace": tuple(content["namespace"]), "key": content["key"], "value": content["value"]}


def _matches(condition: MatchCondition, namespace: Namespace) -> bool:
    """Whether a namespace begins (`prefix`) or ends (`suffix`) with a path in which `*` is any label."""
    path = condition.path
    if len(path) > len(namespace):
        return False
    start = 0 if condition.match_type == "prefix" else len(namespace) - len(path)
    return all(wanted in ("*", label) for label, wanted in zip(namespace[start:], path, strict=False))


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

"""The list of memories: searched, narrowed, page by page, and several changed at once."""

import json
from dataclasses import asdict, dataclass
from datetime import datetime, timedelta
from typing import Annotated, Any, get_args

from fastapi import Depends, Form, Query
from fastapi.responses import HTMLResponse

from thoughtcycle.errors import InputRefused
from thoughtcycle.memory.index import Filters
from thoughtcycle.memory.memory import Memory
from thoughtcycle.memory.model import LISTED, Kind, Layer, MemoryHit, MemoryRecord, Status, utc_now
from thoughtcycle.memory.records import RecordPage, browse
from thoughtcycle.memory.redaction import listed
from thoughtcycle.memory.search import Part
from thoughtcycle.web.api.memories import CHANGES, existing_memory
from thoughtcycle.web.pages.rendering import Page, Reader
from thoughtcycle.web.pages.routing import pages
from thoughtcycle.web.pages.strength_curve import StrengthCurve, strength_curve
from thoughtcycle.web.server.dependencies import MemoryDep

router = pages()

PAGE = 50
FOUND = 50
"""Memories that a search shows, best first."""
_SEARCHED: dict[Status, Part] = {"active": "facts", "archived": "archived"}
"""The part that a search covers; former versions and hidden memories are only listed."""
KINDS: tuple[Kind, ...] = get_args(Kind)
LAYERS: tuple[Layer, ...] = get_args(Layer)

Word = Annotated[str, Query(max_length=200)]


@dataclass(frozen=True)
class Row:
    """A memory in the list, with secrets and deleted words masked."""

    record: MemoryRecord
    curve: StrengthCurve


@dataclass(frozen=True)
class ListQuery:
    """The search and filters of the list."""

    query: str
    status: Status
    filters: Filters
    at: datetime | None


async def parse_query(
    reader: Reader,
    q: Annotated[str, Query(max_length=10_000)] = "",
    status: Word = "",
    kind: Word = "",
    layer: Word = "",
    tag: Word = "",
    since: Word = "",
    until: Word = "",
    at: Word = "",
) -> ListQuery:
    """The filters of the form, without its empty fields; InputRefused for one that cannot be read."""
    filters = Filters(
        kinds=_one_of(KINDS, kind, "kind"),
        layers=_one_of(LAYERS, layer, "layer"),
        tags=[tag.strip()] if tag.strip() else None,
        since=_day(reader, since, "since"),
        until=_day(reader, until, "until", end=True),
    )
    chosen = _one_of(LISTED, status, "status") or ("active",)
    return ListQuery(q.strip(), chosen[0], filters, _day(reader, at, "at", end=True))


ListQueryDep = Annotated[ListQuery, Depends(parse_query)]


@router.get("/memories")
async def memories(
    reader: Reader, memory: MemoryDep, asked: ListQueryDep, after: Annotated[int, Query(ge=0)] = 0
) -> HTMLResponse:
    """The page, or for htmx the list alone."""
    if not reader.part:
        return await full_page(reader, memory, asked, None)
    return reader.html("parts/memories.html", **await _list(reader, memory, asked, after))


async def full_page(reader: Page, memory: Memory, asked: ListQuery, detail: str | None) -> HTMLResponse:
    """The page with its list; `detail` is the HTML of an open memory."""
    choices: dict[str, Any] = {"statuses": LISTED, "kinds": KINDS, "layers": LAYERS}
    listing = await _list(reader, memory, asked, 0)
    return reader.html("memories.html", asked=asked, detail=detail, **choices, **listing)


async def _list(reader: Page, memory: Memory, asked: ListQuery, after: int) -> dict[str, Any]:
    found = await _found(reader, memory, asked, after)
    query = reader.request.query_params.multi_items()
    return {
        "rows": rows(found.records),
        "after": found.after,
        "more": [(name, value) for name, value in query if name != "after" and value],
        "first": after == 0,
        "narrowed": asked != ListQuery("", "active", Filters(), None),
    }


async def _found(reader: Page, memory: Memory, asked: ListQuery, after: int) -> RecordPage:
    user, filters, at = reader.user, asked.filters, asked.at
    if not asked.query:
        return await browse(
            memory.records, user, filters=filters, statuses=(asked.status,), at=at, after=after, limit=PAGE
        )
    if asked.status not in _SEARCHED:
        return RecordPage((), None)
    parts = (_SEARCHED[asked.status],)
    hits = await memory.search(
        user, asked.query, limit=FOUND, at=at, include=parts, counted=False, **asdict(filters)
    )
    return RecordPage(tuple(hit.record for hit in hits if isinstance(hit, MemoryHit)), None)


def rows(records: "tuple[MemoryRecord, ...]") -> list[Row]:
    """Memories as the list shows them."""
    now = utc_now()
    return [Row(listed(record), strength_curve(record, now)) for record in records]


@router.post("/memories/bulk")
async def bulk(
    reader: Reader,
    memory: MemoryDep,
    change: Annotated[str, Form(max_length=20)],
    ids: Annotated[list[str], Form(max_length=500)] = [],  # noqa: B006  (FastAPI copies defaults)
) -> HTMLResponse:
    """Changes several memories, all or none; offers to undo it, which is done one by one."""
    if not ids:
        raise InputRefused("nothing_chosen")
    if change == "undo":
        for id in ids:
            await existing_memory(memory, reader.user, id)
        for id in ids:
            await memory.undo(reader.user, id)
    elif (act := CHANGES.get(change)) is not None:
        await act(memory, reader.user, ids)
    else:
        raise InputRefused("bad_field", name="change", expected=", ".join(CHANGES))
    note = reader.say(f"changed.{change}", count=len(ids))
    undoable = ids if change != "undo" else []
    return reader.html("parts/changed.html", headers=change_headers(ids), note=note, ids=undoable)


def change_headers(ids: list[str]) -> dict[str, str]:
    """The header that makes the page reload these memories."""
    return {"HX-Trigger": json.dumps({"memory": {"ids": ids}})}


def _one_of(known: "tuple[Any, ...]", value: str, name: str) -> "tuple[Any, ...] | None":
    if not value:
        return None
    if value not in known:
        raise InputRefused("bad_field", name=name, expected=", ".join(known))
    return (value,)


def _day(reader: Page, value: str, name: str, *, end: bool = False) -> datetime | None:
    """The beginning of a day in the reader's zone, or with `end` that of the next one."""
    if not value:
        return None
    try:
        day = datetime.strptime(value, "%Y-%m-%d").replace(tzinfo=reader.zone)
        return day + timedelta(days=1) if end else day
    except (ValueError, OverflowError):
        raise InputRefused("bad_field", name=name, expected="YYYY-MM-DD") from None

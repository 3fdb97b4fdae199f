"""Keeps erased and hidden words from being learned again by pending work, imports and rebuilds."""

import secrets
from collections.abc import Iterable, Sequence
from datetime import datetime

from thoughtcycle.memory.core import Core
from thoughtcycle.memory.model import MemoryDraft, MemoryRecord, Saved, as_text
from thoughtcycle.memory.redaction import KEY_BYTES, NOTHING, Mask, buried


async def relearned(core: Core, user: str, drafts: Sequence[MemoryDraft]) -> dict[int, MemoryRecord]:
    """Place → what was deleted or its stub, for each draft that only says again what was deleted since.

    What a cycle that is still open tells is said now.
    """
    told = [place for place, draft in enumerate(drafts) if draft.source.cycle is not None]
    tombstones = await core.storage.erasure.tombstones(user) if told else []
    mask = await core.redactors.of(user) if told else NOTHING
    if not tombstones and not mask:
        return {}
    secret = await core.storage.erasure.secret(user, secrets.token_bytes(KEY_BYTES))
    found: dict[int, str] = {}
    for place in told:
        said = (drafts[place].source.words, as_text(drafts[place].content))
        id = str(drafts[place].source.cycle)
        cycle = await core.storage.transcript.cycle(user, id)
        at = cycle.message.at if cycle is not None else None
        if (stone := buried(said, tombstones, secret, cycle=id, at=at)) is not None:
            found[place] = stone.memory
        elif (cycle is None or cycle.closed) and (hidden := hidden_in(said, mask, at)) is not None:
            found[place] = hidden
    records = {one.id: one for one in await core.storage.memories.records(user, list(found.values()))}
    return {place: records[id] for place, id in found.items() if id in records}


def not_again(record: MemoryRecord) -> Saved:
    """What became of a draft that says again what was deleted: nothing."""
    return Saved(record=record, outcome="erased" if record.status == "erased" else "known")


def hidden_in(texts: Iterable[str], mask: Mask, at: datetime | None) -> str | None:
    """The first memory of `mask` that `texts`, said at `at`, tell of."""
    known = mask if at is None else mask.since(at)
    told = [text for text in texts if known.finds(text)]
    return next((one.memory for one in known.traces if any(map(Mask((one,)).finds, told))), None)

"""Keeps erased and hidden words from being learned again by pending work, imports and rebuilds."""

import secrets
from collections.abc import Iterable, Sequence
from datetime import datetime

from thoughtcycle.memory.core import Core
from thoughtcycle.memory.model import MemoryDraft, Saved, as_text
from thoughtcycle.memory.redaction import KEY_BYTES, NOTHING, Mask, buried


async def erased_drafts(core: Core, user: str, drafts: Sequence[MemoryDraft]) -> dict[int, Saved]:
    """Place → outcome, for each draft that only repeats what was deleted since its cycle.

    The words of a cycle that is still open count as said now.
    """
    dated = [place for place, draft in enumerate(drafts) if draft.source.cycle is not None]
    tombstones = await core.storage.erasure.tombstones(user) if dated else []
    mask = await core.redactors.of(user) if dated else NOTHING
    if not tombstones and not mask:
        return {}
    secret = await core.storage.erasure.secret(user, secrets.token_bytes(KEY_BYTES))
    found: dict[int, str] = {}
    for place in dated:
        said = (drafts[place].source.words, as_text(drafts[place].content))
        id = str(drafts[place].source.cycle)
        cycle = await core.storage.transcript.cycle(user, id)
        at = cycle.message.at if cycle is not None else None
        if (stone := buried(said, tombstones, secret, cycle=id, at=at)) is not None:
            found[place] = stone.memory
        elif (cycle is None or cycle.closed) and (hidden := hidden_in(said, mask, at)) is not None:
            found[place] = hidden
    records = {one.id: one for one in await core.storage.memories.records(user, list(found.values()))}
    return {
        place: Saved(record=record, outcome="erased" if record.status == "erased" else "known")
        for place, id in found.items()
        if (record := records.get(id)) is not None
    }


def hidden_in(texts: Iterable[str], mask: Mask, at: datetime | None) -> str | None:
    """The first memory of `mask` that `texts`, said at `at`, tell of."""
    known = mask if at is None else mask.since(at)
    told = [text for text in texts if known.finds(text)]
    return next((one.memory for one in known.traces if any(map(Mask((one,)).finds, told))), None)

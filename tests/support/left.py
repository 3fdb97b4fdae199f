"""What is left of words among all that a memory reads of a user, found by the matcher of the proof."""

from collections.abc import Collection, Iterable
from typing import get_args

from thoughtcycle.memory.memory import Memory
from thoughtcycle.memory.model import STATUSES
from thoughtcycle.memory.storage import DocumentKind
from thoughtcycle.proof.word_search import Word, counts

_PAGE = 500


async def left_of(memory: Memory, user: str, words: Collection[str]) -> list[str]:
    """The places where any of `words` still stands, by their names; [] when nowhere. `survivors` reads the bytes."""
    storage, wanted = memory.core.storage, [Word(word) for word in words]
    records = await storage.memories.listing(user, STATUSES, limit=None, offset=0)
    vectors = await storage.memories.vectors(user, [record.id for record in records])
    closed = (await storage.transcript.cycle_feed(user, 0, model=None)).cycles
    stored: dict[str, Iterable[str]] = {
        "documents": [one.model_dump_json() for one in records],
        "vectors": [one.text for one in vectors],
        "journal": [row.model_dump_json() for row in await storage.memories.journal(user)],
        "transcript": [
            one.model_dump_json() for one in (*closed, *await storage.transcript.open_cycles(user=user))
        ],
        "sheets": await _sheets(memory, user),
        "tombstones": [one.model_dump_json() for one in await storage.erasure.tombstones(user)],
    }
    return [name for name, texts in stored.items() if counts(wanted, "\n".join(texts).encode())]


async def _sheets(memory: Memory, user: str) -> list[str]:
    documents, found = memory.core.storage.documents, []
    for kind in get_args(DocumentKind):
        offset = 0
        while page := await documents.page(user, kind, limit=_PAGE, offset=offset):
            for one in page:
                texts = [text for row in one.entries.values() for text in row]
                found.append(" ".join(filter(None, (one.document, *texts))))
            offset += len(page)
    return [*found, str(await documents.settings(user))]

"""Changes of cycles on MongoDB as whole commits (see ledger).

So changes of closed cycles are numbered in the order in which readers see them, and the tip of a chat moves
with its cycle.
"""

from thoughtcycle.memory.model import Cycle
from thoughtcycle.memory.storage.base.documents import stored_time
from thoughtcycle.memory.storage.mongo.client import Database, Document
from thoughtcycle.memory.storage.mongo.ledger import Ledger, Log, base, insert_new


def cycle_document(cycle: Cycle, version: int, number: int | None, *, worded: int | None = None) -> Document:
    """A stored cycle; `worded` is the version that last changed its words (None: this one)."""
    names = {"_id": cycle.id, "user_id": cycle.user, "chat_id": cycle.chat, "parent": cycle.parent}
    state = {"open": not cycle.closed, "heartbeat": cycle.heartbeat.timestamp(), "formation": cycle.formation}
    return {
        **names,
        **state,
        "opened": cycle.opened_at.timestamp(),
        "version": version,
        "worded": version if worded is None else worded,
        "number": number,
        "document": cycle.model_dump_json(),
    }


def worded_in(cycle: Document) -> int:
    """The version of a stored cycle that last changed its words; old documents lack the field."""
    return int(cycle["worded"] if "worded" in cycle else cycle["version"])


def as_tip(cycle: Cycle, number: int) -> Document:
    """The fields of a chat whose tip is `cycle`."""
    return {"tip": cycle.id, "tipped": number, "updated_at": stored_time(cycle.heartbeat)}


async def _apply_writes(db: Database, log: Log) -> None:
    for entry in log.entries:
        document, id = entry["document"], entry["document"]["_id"]
        if entry["before"] is None:
            await insert_new(db.cycles, [document])
        else:
            await db.cycles.replace_one({"_id": id, "version": entry["before"]}, document)
            if document["number"] is not None:
                await drop_vectors(db, id, worded_in(document))
        if (tip := entry["tip"]) is not None:
            chat = {"chat_id": document["chat_id"], "user_id": log.owner, "tipped": {"$lt": tip["tipped"]}}
            await db.conversations.update_one(chat, {"$set": tip})


async def drop_vectors(db: Database, cycle: str, version: int) -> None:
    """Deletes the vectors of versions before this one."""
    await db.message_vectors.delete_many({"cycle": cycle, "version": {"$lt": version}})


async def _take_back(db: Database, log: Log) -> None:
    """A step that comes too late finds another version; of a user who was forgotten it finds nothing."""
    if log.last <= (end := await base(db, TRANSCRIPTS.collection, log.owner)):
        await sweep_cycles(db, log.owner, end)


async def sweep_cycles(db: Database, owner: str, end: int) -> None:
    """Deletes what `owner` said up to change `end`; open cycles have no number."""
    for number in ({"$lte": end}, None):
        await db.cycles.delete_many({"user_id": owner, "number": number})
    await db.message_vectors.delete_many({"user_id": owner})


TRANSCRIPTS = Ledger("transcripts", _apply_writes, _take_back)
"""The changes of a user's cycles, numbered."""

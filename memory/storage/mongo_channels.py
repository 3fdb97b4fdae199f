"""Links of channel identities in MongoDB: plain functions of a database, each step a single atomic write."""

from datetime import datetime

from pymongo import ReturnDocument

from thoughtcycle.memory.records import ChannelLink
from thoughtcycle.memory.storage.mongo_client import Database, Document
from thoughtcycle.memory.storage.mongo_documents import escaped, unescaped
from thoughtcycle.memory.storage.mongo_epochs import epoch
from thoughtcycle.memory.storage.mongo_ledger import insert_new
from thoughtcycle.prompts.errors import NotAllowed


async def put_code(db: Database, user: str, digest: str, now: datetime, until: datetime) -> None:
    """See ChannelStorage.put_code."""
    began = await epoch(db, user)
    await db.link_codes.delete_many({"user_id": escaped(user)})
    await db.link_codes.delete_many({"until": {"$lte": now.timestamp()}})
    await db.link_codes.insert_one({"_id": digest, "user_id": escaped(user), "until": until.timestamp()})
    if await epoch(db, user) != began:
        await db.link_codes.delete_one({"_id": digest})
        raise NotAllowed("user_forgotten")


async def take_code(db: Database, digest: str, now: datetime) -> str | None:
    """See ChannelStorage.take_code."""
    found = await db.link_codes.find_one_and_delete({"_id": digest})
    return unescaped(found["user_id"]) if found and found["until"] > now.timestamp() else None


async def count_try(db: Database, identity: str, now: datetime, until: datetime) -> tuple[int, datetime]:
    """See ChannelStorage.count_try."""
    await db.link_tries.delete_many({"until": {"$lte": now.timestamp()}})
    key, found = {"_id": identity}, None
    while found is None:  # anew where another process has just cleared it
        await insert_new(db.link_tries, [{**key, "count": 0, "until": until.timestamp()}])
        found = await db.link_tries.find_one_and_update(
            key, {"$inc": {"count": 1}}, return_document=ReturnDocument.AFTER
        )
    return int(found["count"]), datetime.fromtimestamp(found["until"], now.tzinfo)


async def clear_tries(db: Database, identity: str) -> None:
    """See ChannelStorage.clear_tries."""
    await db.link_tries.delete_one({"_id": identity})


async def put_link(db: Database, link: ChannelLink) -> None:
    """See ChannelStorage.put_link. What comes while the user is forgotten is taken back."""
    began = await epoch(db, link.user)
    id = _id(link.channel, link.sender)
    fields = escaped({"_id": id, "user_id": link.user, "channel": link.channel, "sender": link.sender})
    await db.channel_links.replace_one(
        {"_id": fields["_id"]}, {**fields, "at": link.at.isoformat()}, upsert=True
    )
    if await epoch(db, link.user) != began:
        await drop_link(db, link.user, link.channel, link.sender)
        raise NotAllowed("user_forgotten")


async def link(db: Database, channel: str, sender: str) -> ChannelLink | None:
    """See ChannelStorage.link."""
    found = await db.channel_links.find_one({"_id": escaped(_id(channel, sender))})
    return _link(found) if found is not None else None


async def links(db: Database, user: str) -> list[ChannelLink]:
    """See ChannelStorage.channel_links."""
    found = [_link(one) async for one in db.channel_links.find({"user_id": escaped(user)})]
    return sorted(found, key=lambda link: (link.channel, link.sender))


async def drop_link(db: Database, user: str, channel: str, sender: str) -> bool:
    """See ChannelStorage.drop_link."""
    mine = {"_id": escaped(_id(channel, sender)), "user_id": escaped(user)}
    return bool((await db.channel_links.delete_one(mine)).deleted_count)


def _id(channel: str, sender: str) -> str:
    return f"{channel}\x1f{sender}"


def _link(found: Document) -> ChannelLink:
    names = {name: unescaped(found[name]) for name in ("channel", "sender")}
    return ChannelLink(**names, user=unescaped(found["user_id"]), at=datetime.fromisoformat(found["at"]))

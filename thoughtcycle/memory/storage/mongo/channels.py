"""Links of channel identities in MongoDB: each step is a single atomic write."""

from datetime import datetime
from functools import partial

from pymongo import ReturnDocument

from thoughtcycle.memory.model import ChannelLink
from thoughtcycle.memory.storage.base.channels import Channels
from thoughtcycle.memory.storage.mongo.client import Database, Document
from thoughtcycle.memory.storage.mongo.database import Repository, reading, writing
from thoughtcycle.memory.storage.mongo.ledger import insert_new


class MongoChannels(Channels, Repository):
    @writing
    async def put_code(self, db: Database, user: str, digest: str, *, now: datetime, until: datetime) -> None:
        async with self._database.same_epoch(user, lambda: db.link_codes.delete_one({"_id": digest})):
            await db.link_codes.delete_many({"user_id": user})
            await db.link_codes.delete_many({"until": {"$lte": now.timestamp()}})
            await db.link_codes.insert_one({"_id": digest, "user_id": user, "until": until.timestamp()})

    @writing
    async def take_code(self, db: Database, digest: str, now: datetime) -> str | None:
        found = await db.link_codes.find_one_and_delete({"_id": digest})
        return found["user_id"] if found and found["until"] > now.timestamp() else None

    @writing
    async def count_try(
        self, db: Database, identity: str, now: datetime, until: datetime
    ) -> tuple[int, datetime]:
        await db.link_tries.delete_many({"until": {"$lte": now.timestamp()}})
        key, after, found = {"_id": identity}, ReturnDocument.AFTER, None
        while found is None:  # anew where another process has just cleared it
            await insert_new(db.link_tries, [{**key, "count": 0, "until": until.timestamp()}])
            more = {"$inc": {"count": 1}}
            found = await db.link_tries.find_one_and_update(key, more, return_document=after)
        return int(found["count"]), datetime.fromtimestamp(found["until"], now.tzinfo)

    @writing
    async def clear_tries(self, db: Database, identity: str) -> None:
        await db.link_tries.delete_one({"_id": identity})

    @writing
    async def put_link(self, db: Database, link: ChannelLink) -> None:
        key = {"_id": _id(link.channel, link.sender)}
        fields = {"user_id": link.user, "channel": link.channel, "sender": link.sender}
        revert = partial(self.drop_link, link.user, link.channel, link.sender)
        async with self._database.same_epoch(link.user, revert):
            await db.channel_links.replace_one(key, {**key, **fields, "at": link.at.isoformat()}, upsert=True)

    @reading
    async def link(self, db: Database, channel: str, sender: str) -> ChannelLink | None:
        found = await db.channel_links.find_one({"_id": _id(channel, sender)})
        return _link(found) if found is not None else None

    @reading
    async def links(self, db: Database, user: str) -> list[ChannelLink]:
        found = [_link(one) async for one in db.channel_links.find({"user_id": user})]
        return sorted(found, key=lambda link: (link.channel, link.sender))

    @writing
    async def drop_link(self, db: Database, user: str, channel: str, sender: str) -> bool:
        mine = {"_id": _id(channel, sender), "user_id": user}
        return bool((await db.channel_links.delete_one(mine)).deleted_count)


def _id(channel: str, sender: str) -> str:
    return f"{channel}\x1f{sender}"


def _link(found: Document) -> ChannelLink:
    names = {name: found[name] for name in ("channel", "sender")}
    return ChannelLink(**names, user=found["user_id"], at=datetime.fromisoformat(found["at"]))

"""Links of channel identities in SQLite."""

from datetime import datetime
from sqlite3 import Connection

from thoughtcycle.memory.model import ChannelLink
from thoughtcycle.memory.storage.base.channels import Channels
from thoughtcycle.memory.storage.sqlite.database import Repository, reading, writing


class SqliteChannels(Channels, Repository):
    @writing
    def put_code(self, db: Connection, user: str, digest: str, *, now: datetime, until: datetime) -> None:
        self._database.check_epoch(db, user)
        db.execute("DELETE FROM link_codes WHERE user = ? OR until <= ?", (user, now.timestamp()))
        row = (digest, user, until.timestamp())
        db.execute("INSERT INTO link_codes (digest, user, until) VALUES (?, ?, ?)", row)

    @writing
    def take_code(self, db: Connection, digest: str, now: datetime) -> str | None:
        row = db.execute("SELECT user, until FROM link_codes WHERE digest = ?", (digest,)).fetchone()
        db.execute("DELETE FROM link_codes WHERE digest = ?", (digest,))
        return str(row[0]) if row and row[1] > now.timestamp() else None

    @writing
    def count_try(
        self, db: Connection, identity: str, now: datetime, until: datetime
    ) -> tuple[int, datetime]:
        db.execute("DELETE FROM link_tries WHERE until <= ?", (now.timestamp(),))
        insert = "INSERT INTO link_tries (identity, count, until) VALUES (?, 1, ?)"
        more = "ON CONFLICT (identity) DO UPDATE SET count = count + 1"
        db.execute(f"{insert} {more}", (identity, until.timestamp()))
        ((count, ends),) = db.execute("SELECT count, until FROM link_tries WHERE identity = ?", (identity,))
        return int(count), datetime.fromtimestamp(ends, now.tzinfo)

    @writing
    def clear_tries(self, db: Connection, identity: str) -> None:
        db.execute("DELETE FROM link_tries WHERE identity = ?", (identity,))

    @writing
    def put_link(self, db: Connection, link: ChannelLink) -> None:
        self._database.check_epoch(db, link.user)
        row = (link.channel, link.sender, link.user, link.at.isoformat())
        db.execute(
            "INSERT OR REPLACE INTO channel_links (channel, sender, user, at) VALUES (?, ?, ?, ?)", row
        )

    @reading
    def link(self, db: Connection, channel: str, sender: str) -> ChannelLink | None:
        return next(iter(_links(db, "channel = ? AND sender = ?", channel, sender)), None)

    @reading
    def links(self, db: Connection, user: str) -> list[ChannelLink]:
        return _links(db, "user = ? ORDER BY channel, sender", user)

    @writing
    def drop_link(self, db: Connection, user: str, channel: str, sender: str) -> bool:
        query = "DELETE FROM channel_links WHERE user = ? AND channel = ? AND sender = ?"
        return bool(db.execute(query, (user, channel, sender)).rowcount)


def _links(db: Connection, where: str, *values: str) -> list[ChannelLink]:
    rows = db.execute(f"SELECT channel, sender, user, at FROM channel_links WHERE {where}", values)
    return [
        ChannelLink(channel=channel, sender=sender, user=user, at=datetime.fromisoformat(at))
        for channel, sender, user, at in rows
    ]

"""Links of channel identities in SQLite: plain functions of a connection, each run as one transaction."""

import sqlite3
from datetime import datetime

from thoughtcycle.memory.records import ChannelLink


def put_code(db: sqlite3.Connection, user: str, digest: str, now: datetime, until: datetime) -> None:
    """See ChannelStorage.put_code."""
    db.execute("DELETE FROM link_codes WHERE user = ? OR until <= ?", (user, now.timestamp()))
    db.execute(
        "INSERT INTO link_codes (digest, user, until) VALUES (?, ?, ?)", (digest, user, until.timestamp())
    )


def take_code(db: sqlite3.Connection, digest: str, now: datetime) -> str | None:
    """See ChannelStorage.take_code."""
    row = db.execute("SELECT user, until FROM link_codes WHERE digest = ?", (digest,)).fetchone()
    db.execute("DELETE FROM link_codes WHERE digest = ?", (digest,))
    return str(row[0]) if row and row[1] > now.timestamp() else None


def count_try(db: sqlite3.Connection, identity: str, now: datetime, until: datetime) -> tuple[int, datetime]:
    """See ChannelStorage.count_try."""
    db.execute("DELETE FROM link_tries WHERE until <= ?", (now.timestamp(),))
    db.execute(
        "INSERT INTO link_tries (identity, count, until) VALUES (?, 1, ?) "
        "ON CONFLICT (identity) DO UPDATE SET count = count + 1",
        (identity, until.timestamp()),
    )
    count, ends = db.execute("SELECT count, until FROM link_tries WHERE identity = ?", (identity,)).fetchone()
    return int(count), datetime.fromtimestamp(ends, now.tzinfo)


def clear_tries(db: sqlite3.Connection, identity: str) -> None:
    """See ChannelStorage.clear_tries."""
    db.execute("DELETE FROM link_tries WHERE identity = ?", (identity,))


def put_link(db: sqlite3.Connection, link: ChannelLink) -> None:
    """See ChannelStorage.put_link."""
    db.execute(
        "INSERT OR REPLACE INTO channel_links (channel, sender, user, at) VALUES (?, ?, ?, ?)",
        (link.channel, link.sender, link.user, link.at.isoformat()),
    )


def link(db: sqlite3.Connection, channel: str, sender: str) -> ChannelLink | None:
    """See ChannelStorage.link."""
    return next(iter(_links(db, "channel = ? AND sender = ?", channel, sender)), None)


def links(db: sqlite3.Connection, user: str) -> list[ChannelLink]:
    """See ChannelStorage.channel_links."""
    return _links(db, "user = ? ORDER BY channel, sender", user)


def drop_link(db: sqlite3.Connection, user: str, channel: str, sender: str) -> bool:
    """See ChannelStorage.drop_link."""
    query = "DELETE FROM channel_links WHERE user = ? AND channel = ? AND sender = ?"
    return bool(db.execute(query, (user, channel, sender)).rowcount)


def _links(db: sqlite3.Connection, where: str, *values: str) -> list[ChannelLink]:
    rows = db.execute(f"SELECT channel, sender, user, at FROM channel_links WHERE {where}", values)
    return [
        ChannelLink(channel=channel, sender=sender, user=user, at=datetime.fromisoformat(at))
        for channel, sender, user, at in rows
    ]

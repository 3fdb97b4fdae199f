"""Vectors of former embedding models in SQLite: plain functions of a connection."""

import sqlite3


def drop_message_vectors(db: sqlite3.Connection, user: str, keep: str) -> None:
    """See Storage.drop_message_vectors."""
    db.execute(
        "DELETE FROM message_vectors WHERE model != ? AND cycle IN (SELECT id FROM cycles WHERE user = ?)",
        (keep, user),
    )

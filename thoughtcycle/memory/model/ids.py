"""Ids: random, or derived from names."""

from uuid import UUID, uuid4, uuid5

NAMESPACE = UUID("0c5f3a52-7d0e-4b39-9a55-9f6d7d5d1a00")
"""Root of the name-based ids: equal names give equal ids on every machine (RFC 9562, version 5)."""


def new_id() -> str:
    """A random id."""
    return str(uuid4())


def named_id(*names: str) -> str:
    """The id that follows from these names, and from no others.

    Names come from outside: one that holds the separator must not pass for two of somebody else's.
    """
    parts = (name.replace("\x1e", "\x1e0").replace("\x1f", "\x1e1") for name in names)
    return str(uuid5(NAMESPACE, "\x1f".join(parts)))

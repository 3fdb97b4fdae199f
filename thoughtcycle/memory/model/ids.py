"""Ids: random, or derived from names."""

from hashlib import sha1
from uuid import UUID, uuid4

NAMESPACE = UUID("0c5f3a52-7d0e-4b39-9a55-9f6d7d5d1a00")
"""Root of the name-based ids: equal names give equal ids on every machine (RFC 9562, version 5)."""
_ROOT = NAMESPACE.bytes


def new_id() -> str:
    """A random id."""
    return str(uuid4())


def named_id(*names: str) -> str:
    """The id that follows from these names, and from no others.

    Names come from outside: one that holds the separator must not pass for two of somebody else's.
    """
    parts = (name.replace("\x1e", "\x1e0").replace("\x1f", "\x1e1") for name in names)
    # `str(uuid5(NAMESPACE, …))`, written out: each memory saved asks for two.
    bits = bytearray(sha1(_ROOT + "\x1f".join(parts).encode(), usedforsecurity=False).digest()[:16])
    bits[6] = bits[6] & 0x0F | 0x50
    bits[8] = bits[8] & 0x3F | 0x80
    text = bits.hex()
    return f"{text[:8]}-{text[8:12]}-{text[12:16]}-{text[16:20]}-{text[20:]}"

"""Signatures of gateways: HMAC-SHA256 of time and body with the channel's secret."""

import hashlib
import hmac
import re

TOLERANCE = 300
"""Seconds by which the two clocks, and the way, may differ."""

UNKNOWN_SECRET = b"\0" * 32
"""Stands in for the secret of an unknown channel, so that timing tells nothing."""

_TIME = re.compile(r"[0-9]{1,12}")


def sign(secret: bytes, timestamp: str, body: bytes) -> str:
    """The signature: `sha256=` and the hexadecimal HMAC of timestamp, a dot and the body."""
    return "sha256=" + hmac.new(secret, timestamp.encode() + b"." + body, hashlib.sha256).hexdigest()


def verified(secret: bytes | None, timestamp: str, signature: str, body: bytes, now: float) -> bool:
    """Whether the body is signed with this secret, at a time (Unix seconds) not far from `now`."""
    if not _TIME.fullmatch(timestamp):
        return False
    expected = sign(UNKNOWN_SECRET if secret is None else secret, timestamp, body)
    right = hmac.compare_digest(expected.encode(), signature.encode())
    return right and secret is not None and abs(now - int(timestamp)) <= TOLERANCE

"""Tags runs for LangSmith with their step and a keyed hash in place of the user's id."""

import hashlib
import hmac
import secrets
from typing import Literal

from langsmith.run_helpers import get_current_run_tree

_LENGTH = 16
"""Hexadecimal digits of a pseudonym: 64 bits tell users of one deployment apart."""


class Pseudonyms:
    """Names users by HMAC-SHA256 of their ids (RFC 2104): without the key nobody can try ids out."""

    def __init__(self) -> None:
        self._key = secrets.token_bytes(32)

    def use(self, key: str) -> None:
        """Sets the key: processes with the same key use the same names."""
        self._key = key.encode()

    def of(self, user: str) -> str:
        """The name that stands for this user."""
        return hmac.new(self._key, user.encode(errors="replace"), hashlib.sha256).hexdigest()[:_LENGTH]


PSEUDONYMS = Pseudonyms()
"""The pseudonyms of this process."""


def tag_of(user: str) -> str:
    """The tag of the user's runs."""
    return f"user:{PSEUDONYMS.of(user)}"


def tag_run(kind: Literal["step", "action"], user: str) -> None:
    """Tags the running step, if it is traced, with its kind, name and user."""
    run = get_current_run_tree()
    if run is not None:
        run.add_tags([f"{kind}:{run.name}", tag_of(user)])

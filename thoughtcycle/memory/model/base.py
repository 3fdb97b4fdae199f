"""The immutable base of records, and the names of kinds, layers, roles and states."""

from collections.abc import Mapping
from typing import Literal, get_args

from pydantic import BaseModel, ConfigDict

Kind = Literal["bio", "pref", "emo", "obj"]
Layer = Literal["short", "medium", "long", "episodic", "semantic"]
PRIORITIES: Mapping[Layer, float] = {
    "short": 10.0,
    "medium": 7.0,
    "long": 5.0,
    "episodic": 8.0,
    "semantic": 6.0,
}
"""Initial priority of the memories of a layer (LM-6; 5 where it gives none)."""
Role = Literal["user", "assistant", "system"]
Listed = Literal["active", "archived", "superseded", "hidden"]
"""Status of a memory that its user may list: every one but `erased`."""
LISTED: tuple[Listed, ...] = get_args(Listed)


class Frozen(BaseModel):
    """Base of all records: immutable, unknown fields refused."""

    model_config = ConfigDict(frozen=True, extra="forbid")

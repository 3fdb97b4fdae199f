"""What records are made of: the immutable base, and the names of kinds, layers and roles."""

from typing import Literal

from pydantic import BaseModel, ConfigDict

Kind = Literal["bio", "pref", "emo", "obj"]
Layer = Literal["short", "medium", "long", "episodic", "semantic"]
Role = Literal["user", "assistant", "system"]


class Frozen(BaseModel):
    """Base of all records: immutable, unknown fields refused."""

    model_config = ConfigDict(frozen=True, extra="forbid")

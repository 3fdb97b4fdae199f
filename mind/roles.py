"""The model roles and how each is configured (TC-14)."""

from typing import Literal

ModelRole = Literal["reasoning_heavy", "reasoning", "chat", "background"]

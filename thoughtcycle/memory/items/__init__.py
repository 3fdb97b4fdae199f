"""Key-value items that apps keep beside a user's memories."""

from thoughtcycle.memory.items.service import PASSING, Items, Test

__all__ = ["PASSING", "Items", "Test"]

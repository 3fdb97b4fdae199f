"""Files as memories."""

from thoughtcycle.memory.files.extraction import FileLimits, look_at
from thoughtcycle.memory.files.file_types import SUFFIXES, check_described
from thoughtcycle.memory.files.service import Files

__all__ = ["SUFFIXES", "FileLimits", "Files", "check_described", "look_at"]

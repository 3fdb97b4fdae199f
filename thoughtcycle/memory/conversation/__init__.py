"""Conversation memory, profile and settings of a user."""

from thoughtcycle.memory.conversation.loading import (
    HOT,
    DocumentBroken,
    as_stored,
    conversation_of,
    dumped,
    profile_of,
    recounted,
    salvaged,
    settings_of,
    without_cycles,
)
from thoughtcycle.memory.conversation.service import PROFILE, Conversations

__all__ = [
    "HOT",
    "PROFILE",
    "Conversations",
    "DocumentBroken",
    "as_stored",
    "conversation_of",
    "dumped",
    "profile_of",
    "recounted",
    "salvaged",
    "settings_of",
    "without_cycles",
]

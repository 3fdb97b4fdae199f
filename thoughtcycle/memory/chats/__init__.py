"""A user's chats: list, find, rename, delete."""

from thoughtcycle.memory.chats.overview import ChatOverview, KeptChat
from thoughtcycle.memory.chats.service import Chat, Chats, Removed, is_empty, titled

__all__ = [
    "Chat",
    "ChatOverview",
    "Chats",
    "KeptChat",
    "Removed",
    "is_empty",
    "titled",
]

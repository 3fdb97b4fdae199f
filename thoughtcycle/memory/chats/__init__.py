"""A user's chats: list, find, rename, delete."""

from thoughtcycle.memory.chats.service import Chat, Chats, KeptChat, Removed, is_empty, titled

__all__ = ["Chat", "Chats", "KeptChat", "Removed", "is_empty", "titled"]

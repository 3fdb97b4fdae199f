"""Messaging channels linked to users."""

from thoughtcycle.memory.channels.service import ALPHABET, CODE_LIFE, LENGTH, Channels, meant

__all__ = ["ALPHABET", "CODE_LIFE", "LENGTH", "Channels", "meant"]

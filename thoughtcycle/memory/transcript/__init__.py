"""The transcript: chats, cycles, branches."""

from thoughtcycle.memory.transcript.service import Transcript

__all__ = ["Transcript"]

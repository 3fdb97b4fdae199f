"""Linking what a messaging channel calls a sender to a user, by a code that the user carries over (LM-13)."""

import re
import secrets
from datetime import timedelta

from thoughtcycle.errors import InputRefused, TooMuch
from thoughtcycle.memory.core import Core, owned
from thoughtcycle.memory.model import ChannelLink
from thoughtcycle.memory.text import digest

ALPHABET = "0123456789ABCDEFGHJKMNPQRSTVWXYZ"
"""Crockford's base 32: nothing that is read or heard as something else."""
LENGTH = 8
"""40 random bits: with `TRIES` per identity and code life nobody guesses one."""
CODE_LIFE = timedelta(minutes=10)
TRIES = 5
PAUSE = timedelta(hours=1)
"""In so long an identity has so many tries."""

_CHANNEL = re.compile(r"[a-z0-9_-]{1,40}")
_MEANT = str.maketrans({"O": "0", "I": "1", "L": "1", "-": "", " ": ""})


def new_code() -> str:
    """A code, as it is shown: `7K3M-Q0ZD`."""
    code = "".join(secrets.choice(ALPHABET) for _ in range(LENGTH))
    return f"{code[:4]}-{code[4:]}"


def meant(code: str) -> str:
    """A code as it was meant: without spaces and hyphens, O as 0, I and L as 1."""
    return code.upper().translate(_MEANT)


def check_identity(channel: str, sender: str) -> None:
    """InputRefused('channel_name', 'channel_sender') for what names no channel or nobody on it."""
    if not _CHANNEL.fullmatch(channel):
        raise InputRefused("channel_name", channel=repr(channel[:60]))
    if not sender.strip() or sender != sender.strip() or len(sender) > 200 or not sender.isprintable():
        raise InputRefused("channel_sender", channel=channel)


class Channels:
    """Who is who on which channel."""

    def __init__(self, core: Core) -> None:
        self._core = core
        self._clock = core.clock
        self._storage = core.storage

    async def link_code(self, user: str) -> str:
        """A code that makes whoever sends it from a channel this user, once, within `CODE_LIFE`.

        An earlier code of the user ends. Only a hash of it is kept.
        """
        code, now = new_code(), self._clock()
        await self._storage.channels.put_code(owned(user), _hashed(code), now=now, until=now + CODE_LIFE)
        return code

    async def link_channel(self, channel: str, sender: str, code: str) -> str:
        """Makes the sender on that channel the user whose code it is; the user's id.

        Raises InputRefused('link_wrong') for a code that is not, or no longer, one; TooMuch('link_paused')
        after `TRIES` within `PAUSE`, whatever is tried then; InputRefused as `check_identity`.
        """
        check_identity(channel, sender)
        now, identity = self._clock(), digest(f"{channel}\x1f{sender}")
        count, until = await self._storage.channels.count_try(identity, now, now + PAUSE)
        if count > TRIES:
            raise TooMuch("link_paused", seconds=max(1, round((until - now).total_seconds())))
        user = await self._storage.channels.take_code(_hashed(code), now)
        if user is None:
            raise InputRefused("link_wrong")
        await self._storage.channels.put_link(ChannelLink(channel=channel, sender=sender, user=user, at=now))
        await self._storage.channels.clear_tries(identity)
        return user

    async def linked_user(self, channel: str, sender: str) -> str | None:
        """The user whom this sender was linked to; None for a stranger. InputRefused as `check_identity`."""
        check_identity(channel, sender)
        found = await self._storage.channels.link(channel, sender)
        return found.user if found is not None else None

    async def channel_links(self, user: str) -> list[ChannelLink]:
        """The senders who are this user, by channel."""
        return await self._storage.channels.links(owned(user))

    async def unlink_channel(self, user: str, channel: str, sender: str) -> bool:
        """Ends a link; False when the user has no such."""
        return await self._storage.channels.drop_link(owned(user), channel, sender)


def _hashed(code: str) -> str:
    """What is kept and looked for: time tells nothing of a code, only of its hash."""
    return digest(f"link\x1f{meant(code)}")

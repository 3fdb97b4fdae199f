"""Links senders on messaging channels to users, by a code that the user carries over (LM-13)."""

import re
import secrets
from datetime import timedelta

from thoughtcycle.errors import InputRefused, TooMuch
from thoughtcycle.memory.core import Core, owned
from thoughtcycle.memory.model import ChannelLink
from thoughtcycle.memory.text.analyzer import digest

ALPHABET = "0123456789ABCDEFGHJKMNPQRSTVWXYZ"
"""Crockford's base 32: no two characters that look or sound alike."""
LENGTH = 8
"""40 random bits: not guessable with `TRIES` per identity and code life."""
CODE_LIFE = timedelta(minutes=10)
TRIES = 5
PAUSE = timedelta(hours=1)
"""Period in which an identity has `TRIES` tries."""

_CHANNEL = re.compile(r"[a-z0-9_-]{1,40}")
_LOOKALIKES = str.maketrans({"O": "0", "I": "1", "L": "1", "-": "", " ": ""})


def new_code() -> str:
    """A code, as it is shown: `7K3M-Q0ZD`."""
    code = "".join(secrets.choice(ALPHABET) for _ in range(LENGTH))
    return f"{code[:4]}-{code[4:]}"


def meant(code: str) -> str:
    """A code in normal form: without spaces and hyphens, O as 0, I and L as 1."""
    return code.upper().translate(_LOOKALIKES)


def check_identity(channel: str, sender: str) -> None:
    """InputRefused('channel_name', 'channel_sender') for what names no channel or nobody on it."""
    if not _CHANNEL.fullmatch(channel):
        raise InputRefused("channel_name", channel=repr(channel[:60]))
    if not sender.strip() or sender != sender.strip() or len(sender) > 200 or not sender.isprintable():
        raise InputRefused("channel_sender", channel=channel)


class Channels:
    """The links between senders and users."""

    def __init__(self, core: Core) -> None:
        self._clock, self._channels = core.clock, core.storage.channels

    async def link_code(self, user: str) -> str:
        """A code that links its sender on a channel to this user, once, within `CODE_LIFE`.

        It replaces an earlier code of the user. Only its hash is stored.
        """
        code, now = new_code(), self._clock()
        await self._channels.put_code(owned(user), _hashed(code), now=now, until=now + CODE_LIFE)
        return code

    async def link_channel(self, channel: str, sender: str, code: str) -> str:
        """Links the sender to the user of this code; returns the user's id.

        Raises InputRefused('link_wrong') for an unknown or expired code; TooMuch('link_paused')
        after `TRIES` within `PAUSE`, even for a right code; InputRefused as `check_identity`.
        """
        check_identity(channel, sender)
        now, identity = self._clock(), digest(f"{channel}\x1f{sender}")
        count, until = await self._channels.count_try(identity, now, now + PAUSE)
        if count > TRIES:
            raise TooMuch("link_paused", seconds=max(1, round((until - now).total_seconds())))
        user = await self._channels.take_code(_hashed(code), now)
        if user is None:
            raise InputRefused("link_wrong")
        await self._channels.put_link(ChannelLink(channel=channel, sender=sender, user=user, at=now))
        await self._channels.clear_tries(identity)
        return user

    async def linked_user(self, channel: str, sender: str) -> str | None:
        """The user linked to this sender; None for a stranger. Raises InputRefused as `check_identity`."""
        check_identity(channel, sender)
        found = await self._channels.link(channel, sender)
        return found.user if found is not None else None

    async def channel_links(self, user: str) -> list[ChannelLink]:
        """The senders linked to this user, by channel."""
        return await self._channels.links(owned(user))

    async def unlink_channel(self, user: str, channel: str, sender: str) -> bool:
        """Removes a link; False when the user has no such link."""
        return await self._channels.drop_link(owned(user), channel, sender)


def _hashed(code: str) -> str:
    """The stored form of a code: a comparison of hashes leaks nothing of the code by its time."""
    return digest(f"link\x1f{meant(code)}")

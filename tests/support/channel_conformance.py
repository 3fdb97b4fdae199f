"""What every backend must do with links of channel identities. Mixed into a backend's storage test."""

import asyncio
from datetime import timedelta

import pytest

from support.attached import refused
from support.memories import START
from thoughtcycle.errors import NotAllowed
from thoughtcycle.memory.model import ChannelLink
from thoughtcycle.memory.storage import Storage

LATER = START + timedelta(minutes=10)
AFTER = LATER + timedelta(seconds=1)


def link(user: str, sender: str = "+55 11 9\0$") -> ChannelLink:
    return ChannelLink(channel="whatsapp", sender=sender, user=user, at=START)


@pytest.mark.spec("LM-13", "BY-5")
class ChannelConformance:
    """Uses the fixture `storage` of the class that it is mixed into."""

    async def test_a_code_is_taken_once_and_in_time(self, storage: Storage) -> None:
        await storage.channels.put_code("ana\0$", "a" * 64, now=START, until=LATER)
        await storage.channels.put_code("bia", "b" * 64, now=START, until=LATER)
        taken = await asyncio.gather(*(storage.channels.take_code("a" * 64, START) for _ in range(5)))
        assert sorted(taken, key=str) == [None] * 4 + ["ana\0$"]
        assert await storage.channels.take_code("b" * 64, LATER) is None
        assert await storage.channels.take_code("b" * 64, START) is None
        await storage.channels.put_code("ana", "1" * 64, now=START, until=LATER)
        await storage.channels.put_code("ana", "2" * 64, now=START, until=LATER)
        assert await storage.channels.take_code("1" * 64, START) is None
        assert await storage.channels.take_code("2" * 64, START) == "ana"

    async def test_tries_are_counted_until_their_time_is_over(self, storage: Storage) -> None:
        async def tried(identity: str = "x") -> tuple[int, object]:
            return await storage.channels.count_try(identity, START, LATER)

        counts = await asyncio.gather(*(tried() for _ in range(6)))
        assert sorted(count for count, _ in counts) == [1, 2, 3, 4, 5, 6]
        assert {until for _, until in counts} == {LATER}
        assert await tried("y") == (1, LATER)
        await storage.channels.clear_tries("y")
        assert await tried("y") == (1, LATER)
        more = LATER + timedelta(hours=1)
        assert await storage.channels.count_try("x", AFTER, more) == (1, more)

    async def test_a_sender_is_one_user(self, storage: Storage) -> None:
        mine, other = link("ana"), link("ana", "b")
        await storage.channels.put_link(mine)
        await storage.channels.put_link(other)
        assert await storage.channels.link("whatsapp", mine.sender) == mine
        assert await storage.channels.link("telegram", mine.sender) is None
        assert await storage.channels.links("ana") == [mine, other]
        assert await storage.channels.drop_link("bia", "whatsapp", mine.sender) is False
        await storage.channels.put_link(link("bia"))
        assert [one.sender for one in await storage.channels.links("ana")] == ["b"]
        assert await storage.channels.links("bia") == [link("bia")]
        assert await storage.users.listing() == ["ana", "bia"]
        assert await storage.channels.drop_link("bia", "whatsapp", mine.sender) is True
        assert await storage.channels.link("whatsapp", mine.sender) is None

    async def test_links_and_codes_go_with_their_user(self, storage: Storage) -> None:
        await storage.channels.put_link(link("ana"))
        await storage.channels.put_link(link("bia", "b"))
        await storage.channels.put_code("ana", "a" * 64, now=START, until=LATER)
        counts = await storage.users.forget("ana", START)
        assert (counts["channel_links"], counts["link_codes"]) == (1, 1)
        assert (
            await storage.users.traces("ana", []),
            await storage.channels.link("whatsapp", link("ana").sender),
        ) == (
            {},
            None,
        )
        assert await storage.channels.take_code("a" * 64, START) is None
        assert await storage.channels.link("whatsapp", "b") == link("bia", "b")
        for work in (
            lambda: storage.channels.put_link(link("ana")),
            lambda: storage.channels.put_code("ana", "a" * 64, now=START, until=LATER),
        ):
            storage.database.epochs._epochs["ana"] = 0  # type: ignore[attr-defined]
            with refused(NotAllowed, "user_forgotten"):
                await work()
        assert await storage.channels.links("ana") == []

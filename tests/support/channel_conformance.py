"""What every backend must do with links of channel identities. Mixed into a backend's storage test."""

import asyncio
from datetime import timedelta

import pytest

from support.attached import refused
from support.memories import START
from thoughtcycle.memory.records import ChannelLink
from thoughtcycle.memory.storage.base import Storage
from thoughtcycle.prompts.errors import NotAllowed

LATER = START + timedelta(minutes=10)
AFTER = LATER + timedelta(seconds=1)


def link(user: str, sender: str = "+55 11 9\0$") -> ChannelLink:
    return ChannelLink(channel="whatsapp", sender=sender, user=user, at=START)


@pytest.mark.spec("LM-13", "BY-5")
class ChannelConformance:
    """Uses the fixture `storage` of the class that it is mixed into."""

    async def test_a_code_is_taken_once_and_in_time(self, storage: Storage) -> None:
        await storage.put_code("ana\0$", "a" * 64, now=START, until=LATER)
        await storage.put_code("bia", "b" * 64, now=START, until=LATER)
        taken = await asyncio.gather(*(storage.take_code("a" * 64, START) for _ in range(5)))
        assert sorted(taken, key=str) == [None] * 4 + ["ana\0$"]
        assert await storage.take_code("b" * 64, LATER) is None
        assert await storage.take_code("b" * 64, START) is None
        await storage.put_code("ana", "1" * 64, now=START, until=LATER)
        await storage.put_code("ana", "2" * 64, now=START, until=LATER)
        assert await storage.take_code("1" * 64, START) is None
        assert await storage.take_code("2" * 64, START) == "ana"

    async def test_tries_are_counted_until_their_time_is_over(self, storage: Storage) -> None:
        async def tried(identity: str = "x") -> tuple[int, object]:
            return await storage.count_try(identity, START, LATER)

        counts = await asyncio.gather(*(tried() for _ in range(6)))
        assert sorted(count for count, _ in counts) == [1, 2, 3, 4, 5, 6]
        assert {until for _, until in counts} == {LATER}
        assert await tried("y") == (1, LATER)
        await storage.clear_tries("y")
        assert await tried("y") == (1, LATER)
        more = LATER + timedelta(hours=1)
        assert await storage.count_try("x", AFTER, more) == (1, more)

    async def test_a_sender_is_one_user(self, storage: Storage) -> None:
        mine, other = link("ana"), link("ana", "b")
        await storage.put_link(mine)
        await storage.put_link(other)
        assert await storage.link("whatsapp", mine.sender) == mine
        assert await storage.link("telegram", mine.sender) is None
        assert await storage.channel_links("ana") == [mine, other]
        assert await storage.drop_link("bia", "whatsapp", mine.sender) is False
        await storage.put_link(link("bia"))
        assert [one.sender for one in await storage.channel_links("ana")] == ["b"]
        assert await storage.channel_links("bia") == [link("bia")]
        assert await storage.users() == ["ana", "bia"]
        assert await storage.drop_link("bia", "whatsapp", mine.sender) is True
        assert await storage.link("whatsapp", mine.sender) is None

    async def test_links_and_codes_go_with_their_user(self, storage: Storage) -> None:
        await storage.put_link(link("ana"))
        await storage.put_link(link("bia", "b"))
        await storage.put_code("ana", "a" * 64, now=START, until=LATER)
        counts = await storage.forget("ana", START)
        assert (counts["channel_links"], counts["link_codes"]) == (1, 1)
        assert (await storage.traces("ana", []), await storage.link("whatsapp", link("ana").sender)) == (
            {},
            None,
        )
        assert await storage.take_code("a" * 64, START) is None
        assert await storage.link("whatsapp", "b") == link("bia", "b")
        for work in (
            lambda: storage.put_link(link("ana")),
            lambda: storage.put_code("ana", "a" * 64, now=START, until=LATER),
        ):
            storage._epochs._known["ana"] = 0  # type: ignore[attr-defined]
            with refused(NotAllowed, "user_forgotten"):
                await work()
        assert await storage.channel_links("ana") == []

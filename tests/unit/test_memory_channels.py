"""Linking a channel identity to a user by a one-time code (LM-13)."""

from collections.abc import AsyncIterator
from datetime import datetime, timedelta
from pathlib import Path

import pytest

from support.attached import refused
from support.memories import START
from thoughtcycle.errors import InputRefused, NotAllowed, TooMuch
from thoughtcycle.memory.channels.service import ALPHABET, CODE_LIFE, PAUSE, TRIES, meant, new_code
from thoughtcycle.memory.memory import Memory

PHONE = "+55 11 98765-4321"


class Clock:
    def __init__(self) -> None:
        self.now = START

    def __call__(self) -> datetime:
        return self.now


@pytest.fixture
def clock() -> Clock:
    return Clock()


@pytest.fixture
async def memory(tmp_path: Path, clock: Clock) -> AsyncIterator[Memory]:
    async with Memory.open(f"sqlite:///{tmp_path}/m.db", embeddings=None, clock=clock) as memory:
        yield memory


def test_codes_are_readable_and_differ() -> None:
    codes = {new_code() for _ in range(200)}
    assert len(codes) == 200
    assert all(set(meant(code)) <= set(ALPHABET) and len(meant(code)) == 8 for code in codes)
    assert not set("ILOU") & set(ALPHABET)


@pytest.mark.parametrize("written", ["7K3M-Q01D", "7k3mq01d", " 7K3M Q01D ", "7K3M-QOID", "7k3m-qold"])
def test_a_code_is_read_as_it_was_meant(written: str) -> None:
    assert meant(written) == "7K3MQ01D"


@pytest.mark.spec("LM-13")
async def test_a_sender_becomes_a_user_once_it_sent_the_code(memory: Memory) -> None:
    assert await memory.linked_user("whatsapp", PHONE) is None
    code = await memory.link_code("ana")
    assert await memory.link_channel("whatsapp", PHONE, f" {code.lower()} ") == "ana"
    assert await memory.linked_user("whatsapp", PHONE) == "ana"
    assert await memory.linked_user("telegram", PHONE) is None
    with refused(InputRefused, "link_wrong"):
        await memory.link_channel("whatsapp", "another", code)
    (link,) = await memory.channel_links("ana")
    assert (link.channel, link.sender, link.at) == ("whatsapp", PHONE, START)
    assert await memory.unlink_channel("bia", "whatsapp", PHONE) is False
    assert await memory.unlink_channel("ana", "whatsapp", PHONE) is True
    assert await memory.linked_user("whatsapp", PHONE) is None


@pytest.mark.spec("LM-13")
async def test_a_code_ends_by_time_and_by_the_next_one(memory: Memory, clock: Clock) -> None:
    first, second = await memory.link_code("ana"), await memory.link_code("ana")
    with refused(InputRefused, "link_wrong"):
        await memory.link_channel("whatsapp", PHONE, first)
    clock.now += CODE_LIFE
    with refused(InputRefused, "link_wrong"):
        await memory.link_channel("whatsapp", PHONE, second)
    third = await memory.link_code("ana")
    clock.now += CODE_LIFE - timedelta(seconds=1)
    assert await memory.link_channel("whatsapp", PHONE, third) == "ana"


@pytest.mark.spec("LM-13")
async def test_after_five_wrong_tries_an_identity_waits(memory: Memory, clock: Clock) -> None:
    code = await memory.link_code("ana")
    for _ in range(TRIES):
        with refused(InputRefused, "link_wrong"):
            await memory.link_channel("whatsapp", PHONE, "0000-0000")
    with pytest.raises(TooMuch) as paused:
        await memory.link_channel("whatsapp", PHONE, code)
    assert (paused.value.code, paused.value.values) == ("link_paused", {"seconds": 3600})
    assert await memory.link_channel("whatsapp", "another", code) == "ana"
    clock.now += PAUSE
    code = await memory.link_code("ana")
    assert await memory.link_channel("whatsapp", PHONE, code) == "ana"


@pytest.mark.parametrize(
    ("channel", "sender", "code"),
    [
        ("", PHONE, "channel_name"),
        ("Whats App", PHONE, "channel_name"),
        ("../etc", PHONE, "channel_name"),
        ("a" * 41, PHONE, "channel_name"),
        ("whatsapp", "", "channel_sender"),
        ("whatsapp", " ", "channel_sender"),
        ("whatsapp", " x", "channel_sender"),
        ("whatsapp", "a\x1fb", "channel_sender"),
        ("whatsapp", "x" * 201, "channel_sender"),
    ],
)
async def test_what_is_no_identity_is_refused(memory: Memory, channel: str, sender: str, code: str) -> None:
    with refused(InputRefused, code):
        await memory.linked_user(channel, sender)
    with refused(InputRefused, code):
        await memory.link_channel(channel, sender, "x")


async def test_no_code_is_kept_in_clear(memory: Memory, tmp_path: Path) -> None:
    code = await memory.link_code("ana")
    files = b"".join(path.read_bytes() for path in tmp_path.iterdir())
    assert meant(code).encode() not in files and code.encode() not in files


@pytest.mark.spec("LM-13", "BY-4")
async def test_links_are_exported_and_go_with_their_user(memory: Memory, tmp_path: Path) -> None:
    await memory.link_channel("whatsapp", PHONE, await memory.link_code("ana"))
    code = await memory.link_code("ana")
    lines = [line async for line in memory.export("ana")]
    assert [line["sender"] for line in lines if line["line"] == "link"] == [PHONE]
    assert (await memory.forget_user("ana")).left == {}
    assert await memory.linked_user("whatsapp", PHONE) is None
    with refused(InputRefused, "link_wrong"):
        await memory.link_channel("whatsapp", PHONE, code)
    with refused(NotAllowed, "user_missing"):
        await memory.link_code("")

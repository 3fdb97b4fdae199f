"""`thoughtcycle keys` and `thoughtcycle channels` as a person meets them."""

import asyncio
import json
from pathlib import Path

import pytest

from support.command import refused, run
from thoughtcycle.memory.memory import Memory
from thoughtcycle.runtime.auth_settings import digest_of

EN = {"THOUGHTCYCLE_LANGUAGE": "en"}


def test_a_new_key_is_shown_once_with_the_line_that_admits_it(tmp_path: Path) -> None:
    first = json.loads(run("keys", "new", "ana", "--json").stdout)
    name, _, value = first["setting"].partition("=")
    assert value == f"ana:{digest_of(first['key'])}" and first["key"].startswith("tc_")
    both = run("keys", "new", "bob", env=EN | {name: value}).stdout.split()
    assert both[-1].startswith(f"{first['setting']},bob:") and digest_of(both[0]) in both[-1]
    assert "comma" in refused(run("keys", "new", "a,b", env=EN))


@pytest.mark.spec("LM-13")
def test_a_channel_is_linked_listed_and_unlinked(tmp_path: Path) -> None:
    db = tmp_path / "m.db"
    assert "No channel" in run("channels", "list", db=db, env=EN).stdout
    code = run("channels", "link", db=db, env=EN).stdout.split()[0]

    async def link() -> str:
        async with Memory.open(f"sqlite:///{db}", embeddings=None) as memory:
            return await memory.link_channel("whatsapp", "+55 11", code)

    assert asyncio.run(link()) == "ana"
    listed = json.loads(run("channels", "list", "--json", db=db).stdout)
    assert (listed["channel"], listed["sender"]) == ("whatsapp", "+55 11")
    assert "'+55 12'" in refused(run("channels", "unlink", "whatsapp", "+55 12", db=db, env=EN))
    assert "no longer you" in run("channels", "unlink", "whatsapp", "+55 11", db=db, env=EN).stdout
    assert run("channels", "list", "--json", db=db).stdout == ""

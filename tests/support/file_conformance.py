"""What every backend must do with files. Mixed into a backend's storage test."""

import hashlib

import pytest

from support.attached import refused
from support.memories import START, record
from support.storage_conformance import change, new
from thoughtcycle.memory.media import key_of
from thoughtcycle.memory.storage import mongo_files
from thoughtcycle.memory.storage.base import Storage
from thoughtcycle.prompts.errors import NotAllowed

DATA = bytes(range(256)) * 10
"""More than two parts."""
SHA = hashlib.sha256(DATA).hexdigest()


@pytest.mark.spec("LM-15", "BY-5")
class FileConformance:
    """Uses the fixture `storage` of the class that it is mixed into."""

    async def test_files_come_back_byte_for_byte_and_are_each_users_own(
        self, storage: Storage, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.setattr(mongo_files, "PART", 1_000)
        await storage.put_file("ana", SHA, DATA)
        await storage.put_file("ana", SHA, b"something else")  # stays as it is
        await storage.put_file("bia\0$", "f" * 64, b"\0")
        assert await storage.file("ana", SHA) == DATA
        assert dict(await storage.files("ana")) == {SHA: len(DATA)}
        assert await storage.file("bia\0$", SHA) is None
        assert dict(await storage.files("bia\0$")) == {"f" * 64: 1}
        assert await storage.users() == ["ana", "bia\0$"]
        assert (await storage.census("ana")).bytes >= len(DATA)
        assert await storage.drop_file("bia\0$", SHA) is False
        assert await storage.drop_file("ana", SHA) is True
        assert (await storage.file("ana", SHA), dict(await storage.files("ana"))) == (None, {})

    async def test_a_file_stays_while_a_memory_names_it(self, storage: Storage) -> None:
        await storage.put_file("ana", SHA, b"x")
        (one,) = await storage.commit("ana", [new(record("one", key=key_of(SHA)))])
        (two,) = await storage.commit("ana", [new(record("two", status="hidden", key=key_of(SHA)))])
        assert await storage.drop_file("ana", SHA) is False
        assert await storage.drop_file("ana", SHA, without=["one"]) is False
        await storage.commit("ana", [change(two, (), status="erased", key=None)])
        assert await storage.drop_file("ana", SHA) is False
        assert await storage.drop_file("ana", SHA, without=[one.id]) is True

    async def test_files_go_with_their_user_and_come_back_from_no_earlier_epoch(
        self, storage: Storage
    ) -> None:
        await storage.put_file("ana", SHA, b"x")
        await storage.put_file("bia", SHA, b"x")
        assert (await storage.forget("ana", START))["files"] == 1
        assert (await storage.traces("ana", []), await storage.file("ana", SHA)) == ({}, None)
        assert await storage.file("bia", SHA) == b"x"
        storage._epochs._known["ana"] = 0  # type: ignore[attr-defined]
        with refused(NotAllowed, "user_forgotten"):
            await storage.put_file("ana", SHA, b"x")
        assert dict(await storage.files("ana")) == {}

"""What every backend must do with files. Mixed into a backend's storage test."""

import hashlib

import pytest

from support.attached import refused
from support.memories import START, record
from support.storage_conformance import change, new
from thoughtcycle.errors import NotAllowed
from thoughtcycle.memory.model.attachment import key_of
from thoughtcycle.memory.storage import Storage
from thoughtcycle.memory.storage.mongo import files as mongo_files

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
        await storage.files.put("ana", SHA, DATA)
        await storage.files.put("ana", SHA, b"something else")  # stays as it is
        await storage.files.put("bia\x01$", "f" * 64, b"\0")
        assert await storage.files.get("ana", SHA) == DATA
        assert dict(await storage.files.listing("ana")) == {SHA: len(DATA)}
        assert await storage.files.get("bia\x01$", SHA) is None
        assert dict(await storage.files.listing("bia\x01$")) == {"f" * 64: 1}
        assert await storage.users.listing() == ["ana", "bia\x01$"]
        assert (await storage.users.census("ana")).bytes >= len(DATA)
        assert await storage.files.drop("bia\x01$", SHA) is False
        assert await storage.files.drop("ana", SHA) is True
        assert (await storage.files.get("ana", SHA), dict(await storage.files.listing("ana"))) == (None, {})

    async def test_a_file_stays_while_a_memory_names_it(self, storage: Storage) -> None:
        await storage.files.put("ana", SHA, b"x")
        (one,) = await storage.memories.commit("ana", [new(record("one", key=key_of(SHA)))])
        (two,) = await storage.memories.commit("ana", [new(record("two", status="hidden", key=key_of(SHA)))])
        assert await storage.files.drop("ana", SHA) is False
        assert await storage.files.drop("ana", SHA, without=["one"]) is False
        await storage.memories.commit("ana", [change(two, (), status="erased", key=None)])
        assert await storage.files.drop("ana", SHA) is False
        assert await storage.files.drop("ana", SHA, without=[one.id]) is True

    async def test_files_go_with_their_user_and_come_back_from_no_earlier_epoch(
        self, storage: Storage
    ) -> None:
        await storage.files.put("ana", SHA, b"x")
        await storage.files.put("bia", SHA, b"x")
        assert (await storage.users.forget("ana", START))["files"] == 1
        assert (await storage.users.traces("ana", []), await storage.files.get("ana", SHA)) == ({}, None)
        assert await storage.files.get("bia", SHA) == b"x"
        storage.database.epochs._epochs["ana"] = 0  # type: ignore[attr-defined]
        with refused(NotAllowed, "user_forgotten"):
            await storage.files.put("ana", SHA, b"x")
        assert dict(await storage.files.listing("ana")) == {}

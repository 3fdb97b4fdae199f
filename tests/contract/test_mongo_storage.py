"""The MongoDB backend keeps the storage contract, whole commits included."""

from collections.abc import AsyncIterator
from uuid import uuid4

import pytest

from support.mongo import with_database
from support.storage_conformance import StorageConformance
from thoughtcycle.memory.storage.mongo import MongoStorage


class TestMongoStorage(StorageConformance):
    @pytest.fixture
    async def storage(self, mongodb_url: str) -> AsyncIterator[MongoStorage]:
        async with MongoStorage.open(with_database(mongodb_url, f"tc_{uuid4().hex}"), "MongoDB") as storage:
            yield storage

"""The MongoDB backend keeps the storage contract, whole commits included."""

from collections.abc import AsyncIterator

import pytest

from support.channel_conformance import ChannelConformance
from support.databases import new_database
from support.document_conformance import DocumentConformance
from support.file_conformance import FileConformance
from support.item_conformance import ItemConformance
from support.storage_conformance import StorageConformance
from support.transcript_conformance import TranscriptConformance
from support.whole_user_conformance import WholeUserConformance
from thoughtcycle.memory.storage.mongo.storage import MongoStorage


class TestMongoStorage(
    StorageConformance,
    TranscriptConformance,
    WholeUserConformance,
    DocumentConformance,
    FileConformance,
    ChannelConformance,
    ItemConformance,
):
    @pytest.fixture
    async def storage(self, mongodb_url: str) -> AsyncIterator[MongoStorage]:
        async with MongoStorage.open(new_database(mongodb_url), "MongoDB") as storage:
            yield storage

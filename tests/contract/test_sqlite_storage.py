"""The SQLite backend keeps the storage contract."""

from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from support.channel_conformance import ChannelConformance
from support.document_conformance import DocumentConformance
from support.file_conformance import FileConformance
from support.item_conformance import ItemConformance
from support.storage_conformance import StorageConformance
from support.transcript_conformance import TranscriptConformance
from support.whole_user_conformance import WholeUserConformance
from thoughtcycle.memory.storage.sqlite.storage import SqliteStorage


class TestSqliteStorage(
    StorageConformance,
    TranscriptConformance,
    WholeUserConformance,
    DocumentConformance,
    FileConformance,
    ChannelConformance,
    ItemConformance,
):
    @pytest.fixture
    async def storage(self, tmp_path: Path) -> AsyncIterator[SqliteStorage]:
        async with SqliteStorage.open(tmp_path / "memory.db") as storage:
            yield storage

"""Storage in SQLite or MongoDB: one port, opened by URL. A backend is imported only when it is opened."""

from thoughtcycle.memory.storage.base import Storage
from thoughtcycle.memory.storage.base.documents import DocumentKind, DocumentName, Entries, StoredDocument
from thoughtcycle.memory.storage.base.health import CycleState
from thoughtcycle.memory.storage.base.jobs import Jobs
from thoughtcycle.memory.storage.base.memories import (
    Block,
    Conflict,
    Entry,
    ExistingRecords,
    Feed,
    Lookup,
    Memories,
    StoredItem,
    Write,
)
from thoughtcycle.memory.storage.base.transcript import Amended, CycleFeed, Transcript
from thoughtcycle.memory.storage.base.users import Census
from thoughtcycle.memory.storage.factory import open_storage
from thoughtcycle.memory.storage.failures import translated
from thoughtcycle.memory.storage.part_file import (
    check_new,
    lock,
    part_file,
    remove_left_parts,
    scratch_file,
)
from thoughtcycle.memory.storage.serialization import NOT_DELETED
from thoughtcycle.memory.storage.sqlite_file import SqliteConnection, check_integrity, make_private, use_wal
from thoughtcycle.memory.storage.url import MONGO_DATABASE, mongo_time_outs, parse_url

__all__ = [
    "MONGO_DATABASE",
    "NOT_DELETED",
    "Amended",
    "Block",
    "Census",
    "Conflict",
    "CycleFeed",
    "CycleState",
    "DocumentKind",
    "DocumentName",
    "Entries",
    "Entry",
    "ExistingRecords",
    "Feed",
    "Jobs",
    "Lookup",
    "Memories",
    "SqliteConnection",
    "Storage",
    "StoredDocument",
    "StoredItem",
    "Transcript",
    "Write",
    "check_integrity",
    "check_new",
    "lock",
    "make_private",
    "mongo_time_outs",
    "open_storage",
    "parse_url",
    "part_file",
    "remove_left_parts",
    "scratch_file",
    "translated",
    "use_wal",
]

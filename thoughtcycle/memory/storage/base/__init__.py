"""The port to a database: what the memory asks of it, in the memory's own terms."""

from thoughtcycle.memory.storage.base.channels import Channels
from thoughtcycle.memory.storage.base.chats import Chats
from thoughtcycle.memory.storage.base.documents import (
    SETTINGS,
    DocumentKind,
    DocumentName,
    Documents,
    Entries,
    StoredDocument,
    as_document,
    revision_of,
    stored_time,
)
from thoughtcycle.memory.storage.base.erasure import Erasure
from thoughtcycle.memory.storage.base.files import Files
from thoughtcycle.memory.storage.base.health import CycleState, Health
from thoughtcycle.memory.storage.base.jobs import Jobs
from thoughtcycle.memory.storage.base.memories import (
    Block,
    Conflict,
    Entry,
    Feed,
    Memories,
    Names,
    StoredItem,
    Write,
)
from thoughtcycle.memory.storage.base.standing import Asked, Standing
from thoughtcycle.memory.storage.base.storage import Storage
from thoughtcycle.memory.storage.base.transcript import Amended, Begun, CycleFeed, Transcript
from thoughtcycle.memory.storage.base.users import Census, Glimpse, Pulse, Users

__all__ = [
    "SETTINGS",
    "Amended",
    "Asked",
    "Begun",
    "Block",
    "Census",
    "Channels",
    "Chats",
    "Conflict",
    "CycleFeed",
    "CycleState",
    "DocumentKind",
    "DocumentName",
    "Documents",
    "Entries",
    "Entry",
    "Erasure",
    "Feed",
    "Files",
    "Glimpse",
    "Health",
    "Jobs",
    "Memories",
    "Names",
    "Pulse",
    "Standing",
    "Storage",
    "StoredDocument",
    "StoredItem",
    "Transcript",
    "Users",
    "Write",
    "as_document",
    "revision_of",
    "stored_time",
]

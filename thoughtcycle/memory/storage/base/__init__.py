"""The port to a database: one repository for each kind of data, in the memory's own terms."""

from thoughtcycle.memory.storage.base.channels import Channels
from thoughtcycle.memory.storage.base.chats import Chats
from thoughtcycle.memory.storage.base.documents import Documents
from thoughtcycle.memory.storage.base.erasure import Erasure
from thoughtcycle.memory.storage.base.files import Files
from thoughtcycle.memory.storage.base.health import Health
from thoughtcycle.memory.storage.base.jobs import Jobs
from thoughtcycle.memory.storage.base.learned import Learned
from thoughtcycle.memory.storage.base.memories import Memories
from thoughtcycle.memory.storage.base.transcript import Transcript
from thoughtcycle.memory.storage.base.users import Glimpse, Users


class Storage:
    """An open database: documents, vectors, journal and transcript of all users.

    Every method of a repository that names a space or a user touches nothing of another one. All raise
    StorageFailed when the database refuses; then nothing is half-written.
    """

    memories: Memories
    transcript: Transcript
    chats: Chats
    documents: Documents
    jobs: Jobs
    files: Files
    channels: Channels
    erasure: Erasure
    users: Users
    health: Health
    learned: Learned

    def glimpse(self, user: str) -> Glimpse | None:
        """The user's state at this moment, without waiting; None: only a read can tell."""
        return None

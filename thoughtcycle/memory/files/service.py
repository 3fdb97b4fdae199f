"""Stores files as memories that are found by their text (LM-15)."""

import hashlib
from datetime import datetime

from thoughtcycle.errors import InputRefused, MemoryUnknown, StorageFailed
from thoughtcycle.memory.core import Core, explicit, owned
from thoughtcycle.memory.files.extraction import DEFAULT, FileLimits, look_at
from thoughtcycle.memory.model import (
    Attachment,
    MemoryDraft,
    MemoryRecord,
    Source,
    file_of,
    key_of,
    pieces,
)
from thoughtcycle.memory.records import Records
from thoughtcycle.memory.versioning.record_writes import search_keys

_TRIES = 3
"""Writes of a file while another process erases the same one."""


class Files:
    """A user's files, each with the memory that describes it."""

    def __init__(self, core: Core, records: Records) -> None:
        self._core = core
        self._records = records
        self._storage = core.storage
        self.availability = core.availability

    async def attach(
        self,
        user: str,
        name: str,
        data: bytes,
        *,
        caption: str = "",
        claimed: str | None = None,
        cycle: str | None = None,
        limits: FileLimits = DEFAULT,
    ) -> MemoryRecord:
        """Stores an image or a document as a memory, with the text that was extracted from it.

        `name` is the file's, without a folder; `claimed` the media type that came with it, if any. The same
        bytes are the same memory: a new name or caption gives it a new version. Nothing is stored of a file
        that is refused: InputRefused as `extraction.look_at`; StorageFailed while the database is away.
        """
        owned(user)
        found = await look_at(name, data, caption=caption, claimed=claimed, limits=limits)
        return await self.keep_file(user, found, source=Source(cycle=cycle))

    @explicit
    async def keep_file(
        self, user: str, attachment: Attachment, *, source: Source | None = None, said: datetime | None = None
    ) -> MemoryRecord:
        """Stores a file that `look_at` has checked; the bytes first, so that no memory lacks its file.

        Without the embedding model it is found by words alone until its vectors are added.
        """
        content = attachment.content
        known = await self._storage.memories.same(owned(user), identities=(), keys={key_of(content.sha256)})
        if known and not content.caption and file_of(known[0].content):
            content = content.model_copy(update={"caption": known[0].content.get("caption", "")})
        draft = MemoryDraft(
            type=attachment.kind,
            content=content.model_dump(exclude_none=True),
            key=key_of(content.sha256),
            bindings=tuple(dict.fromkeys(pieces(attachment.text))),
            said=said,
            source=source or Source(),
        )
        vectors = await self._core.embed_to_save(search_keys(draft))
        tries = 0
        while True:
            await self._storage.files.put(user, content.sha256, attachment.data)
            (saved,) = await self._records.save(user, [draft], vectors=vectors)
            tries += 1
            if tries == _TRIES or content.sha256 in await self._storage.files.listing(user):
                break
        if saved.outcome == "erased":  # after this cycle began
            await self._storage.files.drop(user, content.sha256)
        return saved.record

    async def file(self, user: str, id: str) -> bytes:
        """The bytes of a memory's file, as they were attached.

        Raises MemoryUnknown for a memory that is missing or hidden, InputRefused('file_none') for one that
        is no file, StorageFailed('file_lost') where the bytes are missing or damaged.
        """
        record = next(iter(await self._storage.memories.records(owned(user), [id])), None)
        if record is None or record.status not in ("active", "archived", "superseded"):
            raise MemoryUnknown(id)
        sha256 = file_of(record.content)
        if sha256 is None:
            raise InputRefused("file_none", id=repr(id))
        data = await self._storage.files.get(user, sha256)
        if data is None or hashlib.sha256(data).hexdigest() != sha256:
            raise StorageFailed("file_lost", name=repr(record.content["name"]))
        return data

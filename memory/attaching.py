"""Attaching: files as memories that are found by their text, and give their bytes back (LM-15)."""

import hashlib
import logging
from abc import abstractmethod
from collections.abc import Mapping, Sequence
from datetime import datetime

import numpy as np

from thoughtcycle.memory.changes import search_keys
from thoughtcycle.memory.engine import owned
from thoughtcycle.memory.extraction import DEFAULT, FileLimits, look_at
from thoughtcycle.memory.media import Attachment, file_of, key_of, pieces, plain
from thoughtcycle.memory.records import MemoryDraft, MemoryRecord, Saved, Source
from thoughtcycle.memory.searching import Searching
from thoughtcycle.prompts.errors import InputRefused, ModelFailed, NotAllowed, StorageFailed

log = logging.getLogger(__name__)

_SEEN = ("active", "archived", "superseded")
_TRIES = 3


class Attaching(Searching):
    """Keeps files beside their memories, each user's own."""

    @abstractmethod
    async def save(
        self, user: str, drafts: Sequence[MemoryDraft], *, vectors: Mapping[str, np.ndarray] | None = None
    ) -> list[Saved]:
        """See Memory.save."""

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
        """Keeps an image or a document as a memory, with the text that was read out of it.

        `name` is the file's, without a folder; `claimed` the media type that came with it, if any. The same
        bytes are the same memory: a new name or caption gives it a new version. Nothing is kept of a file
        that is refused: InputRefused as `extraction.look_at`; StorageFailed while the database is away.
        """
        owned(user)
        found = await look_at(name, data, caption=caption, claimed=claimed, limits=limits)
        return await self.keep_file(user, found, source=Source(cycle=cycle))

    async def keep_file(
        self, user: str, attachment: Attachment, *, source: Source | None = None, said: datetime | None = None
    ) -> MemoryRecord:
        """Keeps a file that `look_at` has looked at; the bytes first, so that no memory lacks its file.

        While the embedding model is out of reach it is found by words alone; `reembed` makes that good.
        """
        if self.waiting:
            raise StorageFailed("memory_away")
        content = attachment.content
        known = await self._storage.same(owned(user), identities=(), keys={key_of(content.sha256)})
        if known and not content.caption and file_of(known[0].content):
            content = content.model_copy(update={"caption": known[0].content.get("caption", "")})
        draft = MemoryDraft(
            type=attachment.kind,
            content=plain(content),
            key=key_of(content.sha256),
            bindings=tuple(dict.fromkeys(pieces(attachment.text))),
            said=said,
            source=source or Source(),
        )
        try:
            vectors = await self.embed(search_keys(draft))
        except ModelFailed as failure:
            log.warning("a file is kept without vectors: %s", failure.code)
            vectors = {}
        for _ in range(_TRIES):
            await self._storage.put_file(user, content.sha256, attachment.data)
            (saved,) = await self.save(user, [draft], vectors=vectors)
            if content.sha256 in await self._storage.files(user):
                break  # else another process was erasing this very file
        if saved.outcome == "erased":  # it was, after this cycle began
            await self._storage.drop_file(user, content.sha256)
        return saved.record

    async def file(self, user: str, id: str) -> bytes:
        """The bytes of a memory's file, as they were attached.

        Raises NotAllowed('memory_unknown') for a memory that is not there or out of sight,
        InputRefused('file_none') for one that is no file, StorageFailed('file_lost') where the bytes are
        missing or damaged.
        """
        record = next(iter(await self._storage.records(owned(user), [id])), None)
        if record is None or record.status not in _SEEN:
            raise NotAllowed("memory_unknown", id=repr(id))
        sha256 = file_of(record.content)
        if sha256 is None:
            raise InputRefused("file_none", id=repr(id))
        data = await self._storage.file(user, sha256)
        if data is None or hashlib.sha256(data).hexdigest() != sha256:
            raise StorageFailed("file_lost", name=repr(record.content["name"]))
        return data

    async def _require_files(self, user: str, drafts: Sequence[MemoryDraft]) -> None:
        """Raises InputRefused('file_content') for a draft that names a file which is not there."""
        named = [(sha256, draft) for draft in drafts if (sha256 := file_of(draft.content)) is not None]
        there = await self._storage.files(user) if named else {}
        for sha256, draft in named:
            if sha256 not in there or draft.key != key_of(sha256):
                raise InputRefused("file_content", name=repr(draft.content["name"]))

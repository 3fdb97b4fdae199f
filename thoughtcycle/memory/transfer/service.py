"""Import: own exports, and conversations of ChatGPT and Claude; idempotent."""

import asyncio
from contextlib import closing
from pathlib import Path
from typing import Literal

from thoughtcycle.memory.core import Core, owned
from thoughtcycle.memory.model import named_id
from thoughtcycle.memory.transcript import Transcript
from thoughtcycle.memory.transfer.import_file import batches, chats, kind_of
from thoughtcycle.memory.transfer.import_foreign import ForeignChat
from thoughtcycle.memory.transfer.import_own import Imported, OwnImport, Progress

_BATCH = 20


class Import:
    """Imports files."""

    def __init__(self, core: Core, transcript: Transcript) -> None:
        self._transcript, self._own_import = transcript, OwnImport(core)
        self._clock = core.clock
        self._storage = core.storage

    async def import_file(
        self, user: str, path: Path, *, progress: Progress = lambda done, total: None
    ) -> Imported:
        """Adds the content of the file at `path` to the data of `user`; existing data stays as it is.

        The file is `export`'s (docs/export.md), or conversations.json of ChatGPT or Claude, or the zip that
        holds it; these become chats whose cycles wait for formation, unless the user has paused. It is read
        twice, first to check that it is complete; the same call resumes an interrupted import. Where ids of
        an export, or the export, belong to another user, new ids are given. Before anything is written it
        raises InputRefused: 'import_unreadable', 'import_unknown', 'import_damaged', 'import_version'.
        """
        owned(user)
        if await asyncio.to_thread(kind_of, path) == "own":
            return await self._own_import.import_own(user, path, progress)
        total = await asyncio.to_thread(lambda: sum(1 for _ in chats(path)))
        done, seen, formation = Imported(), 0, await self._transcript.formation_state(user)
        with closing(chats(path)) as found:
            async for batch in batches(found, _BATCH):
                for chat in batch:
                    await self._add_chat(user, chat, done, formation)
                    seen += 1
                    progress(seen, total)
        return done

    async def _add_chat(
        self, user: str, chat: ForeignChat, done: Imported, formation: Literal["none", "pending"]
    ) -> None:
        """Adds the exchanges as cycles, in their order, unless they are there already."""
        if not chat.exchanges:
            return
        id = named_id("import", user, chat.source, chat.id)
        known = await self._storage.chats.claim(id, user, self._clock(), created=chat.created)
        there = await self._storage.transcript.links(user, [id])
        for one in chat.exchanges:
            cycle = await self._transcript.record_cycle(
                user,
                id,
                one.said,
                one.replied,
                at=one.at,
                channel=f"import:{chat.source}",
                formation=formation,
            )
            done.cycles += cycle.id not in there
        deleted = known.tip is None and there
        if known.title is None and chat.title is not None and not deleted:
            await self._storage.chats.rename(user, id, chat.title)
        done.chats += not there

"""Export: all data of a user as lines, page by page, without hidden content."""

from collections import Counter
from collections.abc import AsyncIterator, Collection

from thoughtcycle.memory.chats import is_empty, titled
from thoughtcycle.memory.conversation import Conversations
from thoughtcycle.memory.core import Core, owned
from thoughtcycle.memory.model import STATUSES, ItemSpace, Status, file_of, item_space
from thoughtcycle.memory.redaction import NOTHING, Mask, without_blanks
from thoughtcycle.memory.transfer.format import (
    OF,
    STORE,
    Line,
    change_line,
    cycle_line,
    file_lines,
    header,
    hidden_line,
    in_order,
    memory_line,
    plain_line,
)
from thoughtcycle.memory.transfer.format_documents import conversation_line, user_line
from thoughtcycle.memory.versioning.branches import ABANDONED

_PAGE = 200
"""Records read at once."""
_HIDDEN: tuple[Status, ...] = ("hidden",)


class Export:
    """Writes all data of a user as an export file."""

    def __init__(self, core: Core, conversations: Conversations) -> None:
        self._conversations = conversations
        self._accesses = core.accesses
        self._clock = core.clock
        self._masks = core.redactors
        self._storage = core.storage

    async def export(self, user: str) -> AsyncIterator[Line]:
        """Everything of `user` as JSON objects, one per line of an export file (docs/export.md).

        A header, each chat with its cycles, conversation memories, profile and settings, memories and former
        versions, their files, the journal, the same of apps' items for the user, and a last line that counts
        them. Hidden memories come without content, their words are masked everywhere. Concurrent changes may
        be included or not; a memory that changes may come twice, the later line counts.
        """
        hidden = await self._storage.memories.listing(owned(user), _HIDDEN, limit=None, offset=0)
        mask = await self._masks.of(user)
        secret = {record.id for record in hidden if record.reason != ABANDONED}
        counted: Counter[str] = Counter()
        named: set[str] = set()
        yield header(user, self._clock())
        for part in (
            self._chats(user, mask),
            self._documents(user),
            self._links(user),
            self._memories(user, mask, secret, named),
            self._files(user, named),
            self._changes(user, mask, secret),
            self._items(item_space(user)),
        ):
            async for line in part:
                counted[line["line"]] += 1
                yield line
        yield {"line": "end", "lines": dict(counted)}  # a file without it is incomplete

    async def _chats(self, user: str, mask: Mask) -> AsyncIterator[Line]:
        after = None
        while chats := await self._storage.chats.conversations(user, after=after, limit=_PAGE):
            for chat in (titled(chat, mask) for chat in chats):
                written = chat.tip is not None
                if written:
                    yield plain_line("chat", chat)
                order = list(in_order(await self._storage.transcript.links(user, [chat.id])))
                for start in range(0, len(order), _PAGE):
                    for cycle in await self._storage.transcript.cycles(user, order[start : start + _PAGE]):
                        if is_empty(cycle):
                            continue  # of a chat that was deleted
                        if not written:
                            yield plain_line("chat", chat)
                        written = True
                        yield cycle_line(mask.cycle(cycle))
            after = chats[-1].id

    async def _links(self, user: str) -> AsyncIterator[Line]:
        for link in await self._storage.channels.links(user):
            yield plain_line("link", link)

    async def _documents(self, user: str) -> AsyncIterator[Line]:
        """Conversation memories, profile and settings; unreadable ones are left out."""
        offset = 0
        while page := await self._storage.documents.page(user, "conversation", limit=_PAGE, offset=offset):
            for memory in await self._conversations.readable(user, page):
                yield conversation_line(without_blanks(memory))
            offset += len(page)
        now = self._clock()
        found = await self._conversations.documents(user, None)
        for record in (found.profile, found.settings):
            if record.revision:
                yield user_line(record, now)

    async def _memories(
        self, user: str, mask: Mask, secret: set[str], named: set[str]
    ) -> AsyncIterator[Line]:
        """The memories; adds the files of visible ones to `named`."""
        after = 0
        while records := await self._storage.memories.listing(user, STATUSES, after=after, limit=_PAGE):
            found = await self._accesses.read(user, [record.id for record in records])
            for record in records:
                if record.status == "hidden" and record.reason != ABANDONED:
                    secret.add(record.id)
                elif (sha256 := file_of(record.content)) is not None:
                    named.add(sha256)
                if record.id in secret and record.status != "erased":
                    yield hidden_line(record)
                elif record.status != "erased":
                    yield memory_line(record, mask, found.get(record.id))
            after = records[-1].revision

    async def _files(self, user: str, named: set[str]) -> AsyncIterator[Line]:
        for sha256 in sorted(named):
            data = await self._storage.files.get(user, sha256)
            for line in file_lines(sha256, data or b""):
                yield line

    async def _items(self, space: ItemSpace) -> AsyncIterator[Line]:
        """Apps' items; the words of a hidden item are not masked in the others."""
        hidden = await self._storage.memories.listing(space, _HIDDEN, limit=None, offset=0)
        secret = {record.id for record in hidden}
        for part in (self._memories(space, NOTHING, secret, set()), self._changes(space, NOTHING, secret)):
            async for line in part:
                yield {**line, OF: STORE}

    async def _changes(self, user: str, mask: Mask, secret: Collection[str]) -> AsyncIterator[Line]:
        after = 0
        while entries := await self._storage.memories.journal(user, after=after, limit=_PAGE):
            for entry in entries:
                yield change_line(entry, mask, entry.memory in secret)
            after = entries[-1].number

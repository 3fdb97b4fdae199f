"""Export: everything of a user as lines, page by page, without what the user had hidden."""

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
    chat_line,
    cycle_line,
    end_line,
    header,
    hidden_line,
    in_order,
    link_line,
    memory_line,
)
from thoughtcycle.memory.transfer.format_documents import conversation_line, own_line
from thoughtcycle.memory.transfer.format_files import file_lines
from thoughtcycle.memory.versioning import REASON

_PAGE = 200
"""Records read at once."""
_HIDDEN: tuple[Status, ...] = ("hidden",)


class Export:
    """What leaves the memory as a file of the user's own."""

    def __init__(self, core: Core, conversations: Conversations) -> None:
        self._core = core
        self._conversations = conversations
        self._accesses = core.accesses
        self._clock = core.clock
        self._masks = core.redactors
        self._storage = core.storage

    async def export(self, user: str) -> AsyncIterator[Line]:
        """Everything of `user` as JSON objects, one per line of an export file (docs/export.md).

        A header, each chat with its cycles, sheets, memories and former versions, their files, the journal,
        the same of what apps keep for the user, and a last line that counts them. Of hidden memories only
        that there are some: their words are blotted out everywhere. What changes meanwhile may be in or not;
        a memory that does may come twice, the later line counts.
        """
        hidden = await self._storage.memories.listing(owned(user), _HIDDEN, limit=None, offset=0)
        mask = await self._masks.of(user)
        secret = {record.id for record in hidden if record.reason != REASON}
        counted: Counter[str] = Counter()
        named: set[str] = set()
        yield header(user, self._clock())
        for part in (
            self._chats(user, mask),
            self._sheets(user),
            self._links(user),
            self._memories(user, mask, secret, named),
            self._files(user, named),
            self._changes(user, mask, secret),
            self._items(item_space(user)),
        ):
            async for line in part:
                counted[line["line"]] += 1
                yield line
        yield end_line(counted)

    async def _chats(self, user: str, mask: Mask) -> AsyncIterator[Line]:
        after = None
        while chats := await self._storage.chats.conversations(user, after=after, limit=_PAGE):
            for chat in (titled(chat, mask) for chat in chats):
                told = chat.tip is not None
                if told:
                    yield chat_line(chat)
                order = list(in_order(await self._storage.transcript.links(user, [chat.id])))
                for start in range(0, len(order), _PAGE):
                    for cycle in await self._storage.transcript.cycles(user, order[start : start + _PAGE]):
                        if is_empty(cycle):
                            continue  # of a chat that was deleted
                        if not told:
                            yield chat_line(chat)
                        told = True
                        yield cycle_line(mask.cycle(cycle))
            after = chats[-1].id

    async def _links(self, user: str) -> AsyncIterator[Line]:
        for link in await self._storage.channels.links(user):
            yield link_line(link)

    async def _sheets(self, user: str) -> AsyncIterator[Line]:
        """What formation made, and what the user has set; what of it cannot be read is left out."""
        offset = 0
        while page := await self._storage.documents.page(user, "conversation", limit=_PAGE, offset=offset):
            for memory in await self._conversations.readable(user, page):
                yield conversation_line(without_blanks(memory))
            offset += len(page)
        now = self._clock()
        found = await self._conversations.documents(user, None)
        if found.profile.revision:
            yield own_line(found.profile, now)
        if found.settings.revision:
            yield own_line(found.settings, now)

    async def _memories(
        self, user: str, mask: Mask, secret: set[str], named: set[str]
    ) -> AsyncIterator[Line]:
        """Adds to `named` the files of those that are shown."""
        after = 0
        while records := await self._storage.memories.listing(user, STATUSES, after=after, limit=_PAGE):
            found = await self._accesses.read(user, [record.id for record in records])
            for record in records:
                if record.status == "hidden" and record.reason != REASON:
                    secret.add(record.id)
                elif (sha256 := file_of(record.content)) is not None:
                    named.add(sha256)
                if record.status != "erased":
                    known = memory_line(record, mask, found.get(record.id))
                    yield hidden_line(record) if record.id in secret else known
            after = records[-1].revision

    async def _files(self, user: str, named: set[str]) -> AsyncIterator[Line]:
        for sha256 in sorted(named):
            data = await self._storage.files.get(user, sha256)
            for line in file_lines(sha256, data or b""):
                yield line

    async def _items(self, space: ItemSpace) -> AsyncIterator[Line]:
        """What a deleted item said is no reason to blot anything out of the others."""
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

"""Erasure in sheets: what was made of erased words, and of a chat that goes, leaves them for good."""

import asyncio
from collections.abc import Collection, Mapping, Sequence

from thoughtcycle.memory.conversation import (
    PROFILE,
    Conversations,
    DocumentBroken,
    conversation_of,
    dumped,
    profile_of,
    recounted,
    without_cycles,
)
from thoughtcycle.memory.core import Core
from thoughtcycle.memory.erasure.document_repair import rebuild
from thoughtcycle.memory.model import ConversationMemory, Cycle, Profile
from thoughtcycle.memory.redaction import Mask, masked, ties, without_blanks
from thoughtcycle.memory.storage import DocumentName, StoredDocument
from thoughtcycle.memory.text.spans import HIDDEN

_PAGE = 200
Readable = ConversationMemory | Profile


class DocumentErasure:
    """Erases from summaries and profiles. Each step may be repeated."""

    def __init__(self, core: Core, conversations: Conversations) -> None:
        self._core = core
        self._conversations = conversations
        self._clock = core.clock
        self._storage = core.storage

    async def redact_sheets(
        self,
        user: str,
        mask: Mask,
        cycles: Sequence[Cycle],
        chats: Sequence[str],
        changed: Collection[str],
    ) -> int:
        """Takes the words of `mask` out of every sheet; how many had some. `changed`: cycles that had.

        The sheets of chats in which a memory was told, shown or deleted, and the profile, become another
        revision in any case: what formation made of the words before is then not stored any more.
        """
        known = {cycle.id: cycle for cycle in cycles}
        concerned = {cycle.chat for cycle in cycles if cycle.id in changed or _concerned(mask, cycle)}
        count = 0
        for start in range(0, len(chats), _PAGE):
            names: list[DocumentName] = [("conversation", chat) for chat in chats[start : start + _PAGE]]
            stored = {one.id: one for one in await self._storage.documents.find(user, names)}
            for name in names:
                touched = name[1] in concerned
                count += await self._redact(user, name, stored.get(name[1]), mask, known, touched)
        return count + await self._redact(
            user, PROFILE, await self._conversations.document(user, PROFILE), mask, known, True
        )

    async def _redact(
        self,
        user: str,
        name: DocumentName,
        sheet: StoredDocument | None,
        mask: Mask,
        cycles: Mapping[str, Cycle],
        touched: bool,
    ) -> bool:
        """Whether there was something of `mask` in the sheet; a broken one goes as a whole."""
        while True:
            if sheet is None or sheet.document is None:
                if touched:
                    await self._storage.documents.drop(user, name, at=self._clock())
                return False
            try:
                before = _record(sheet)
            except DocumentBroken:
                await rebuild(self._storage, sheet, self._clock())
                return True
            after = await asyncio.to_thread(_redacted, before, mask, cycles)
            if after == before and not touched:
                return False
            document, rows = dumped(after, sheet.revision + 1)
            if await self._storage.documents.put(
                user, name, document, before=sheet.revision, at=sheet.updated, entries=rows
            ):
                return after != before
            sheet = await self._conversations.document(user, name)

    async def told_in_sheets(
        self, user: str, mask: Mask, cycles: Sequence[Cycle], chats: Sequence[str]
    ) -> bool:
        """Whether a sheet still tells something of `mask`."""
        known = {cycle.id: cycle for cycle in cycles}
        for sheet in await self._user_sheets(user, chats):
            try:
                before = _record(sheet)
            except DocumentBroken:
                return True
            if await asyncio.to_thread(_masked, before, mask, known) != before:
                return True
        return False

    async def _user_sheets(self, user: str, chats: Sequence[str]) -> list[StoredDocument]:
        """The user's profile and the memories of these chats, as far as there are any."""
        names: list[DocumentName] = [PROFILE, *(("conversation", chat) for chat in chats)]
        found = await self._storage.documents.find(user, names)
        return [sheet for sheet in found if sheet.document is not None]

    async def drop_chat_sheets(self, user: str, chat: str, cycles: Collection[str]) -> None:
        """The memory of a chat goes, and what the profile rests on nowhere else."""
        await self._storage.documents.drop(user, ("conversation", chat), at=self._clock())
        while (
            sheet := await self._conversations.document(user, PROFILE)
        ) is not None and sheet.document is not None:
            try:
                profile = profile_of(sheet, user)
            except DocumentBroken:
                await rebuild(self._storage, sheet, self._clock())
                return
            document = dumped(without_cycles(profile, cycles), sheet.revision + 1)[0]
            if await self._storage.documents.put(
                user, PROFILE, document, before=sheet.revision, at=self._clock()
            ):
                return
        await self._storage.documents.drop(user, PROFILE, at=self._clock())


def _record(sheet: StoredDocument) -> Readable:
    if sheet.kind == "conversation":
        return conversation_of(sheet, sheet.user, sheet.id, sheet.updated)
    return profile_of(sheet, sheet.user)


def _concerned(mask: Mask, cycle: Cycle) -> bool:
    """Whether a cycle has to do with a memory of `mask`, or was redacted before, as by a run that was cut."""
    tied = ties(mask, cycle)
    said = (cycle.message, *cycle.replies)
    return bool((tied.told | tied.deleted | tied.shown) & mask.memories) or any(
        HIDDEN in text.text for text in said
    )


def _masked(before: Readable, mask: Mask, cycles: Mapping[str, Cycle]) -> Readable:
    if isinstance(before, ConversationMemory):
        return masked(before, mask, cycles)
    return masked(before, mask, cycles)


def _redacted(before: Readable, mask: Mask, cycles: Mapping[str, Cycle]) -> Readable:
    """The document without the words of `mask`, for good."""
    after = _masked(before, mask, cycles)
    if after == before:
        return before
    if isinstance(after, ConversationMemory):
        return recounted(without_blanks(after))
    return without_blanks(after)

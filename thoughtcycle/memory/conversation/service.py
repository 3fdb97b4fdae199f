"""Conversation memories, profile and settings of a user, and the cycles that wait for formation."""

import asyncio
import logging
from collections.abc import Callable, Collection, Hashable, Sequence
from dataclasses import dataclass
from typing import Any, Literal, TypeVar

from pydantic import ValidationError

from thoughtcycle.errors import ChatUnknown, InputRefused
from thoughtcycle.memory.conversation.loading import (
    HOT,
    DocumentBroken,
    conversation_of,
    dumped,
    profile_of,
    recounted,
    settings_of,
    without_cycles,
)
from thoughtcycle.memory.core import Core, explicit, owned
from thoughtcycle.memory.model import (
    ConversationMemory,
    Cycle,
    Judgement,
    LayerMark,
    Profile,
    UserSettings,
    check_time_zone,
)
from thoughtcycle.memory.redaction import (
    Mask,
    legible_conversation,
    legible_profile,
    masked,
    suspects,
    unmasked,
)
from thoughtcycle.memory.storage import Conflict, DocumentName, StoredDocument

log = logging.getLogger(__name__)

PROFILE: DocumentName = ("profile", "")
_RECENT = 2
"""Cycles of the recent memory (CM-2)."""
_TRIES = 8
_USERS = 1_000
"""Users whose settings are cached."""

S = TypeVar("S", ConversationMemory, Profile)


@dataclass(frozen=True)
class UserDocuments:
    """A user's documents for a reply, without entries of which nothing may be read."""

    conversation: ConversationMemory | None
    """None where no chat was asked for."""
    profile: Profile
    settings: UserSettings


class Conversations:
    """Reads and writes conversation memories, profiles and settings; hidden words are masked on read."""

    def __init__(self, core: Core) -> None:
        self._clock = core.clock
        self._masks = core.redactors
        self._storage = core.storage
        self.availability = core.availability
        self._settings_cache: dict[str, tuple[Hashable, UserSettings]] = {}

    async def documents(self, user: str, chat: str | None) -> UserDocuments:
        """The documents for a reply; the conversation memory is partial (see `conversation_memory`).

        A broken document counts as absent here, broken settings as paused; `doctor` reports them. A chat of
        another user has none.
        """
        names: list[DocumentName] = [PROFILE] if chat is None else [PROFILE, ("conversation", chat)]
        stored, mask, settings = await asyncio.gather(
            self._storage.documents.find(owned(user), names, parts=HOT),
            self._masks.of(user),
            self.settings(user),
        )
        if mask and chat is not None:
            stored = await self._storage.documents.find(user, names)
        found, now = {one.kind: one for one in stored}, self._clock()
        profile = await self._read(user, mask, _or_empty(found.get("profile"), profile_of, user))
        conversation = None
        if chat is not None:
            stored_memory = found.get("conversation")
            known = _or_empty(stored_memory, lambda one, user: conversation_of(one, user, chat, now), user)
            conversation = legible_conversation(await self._read(user, mask, known))
        return UserDocuments(conversation, legible_profile(profile), settings)

    async def conversation_memory(self, user: str, chat: str, *, partial: bool = False) -> ConversationMemory:
        """The memory of a chat; revision 0 where there is none. Wrong word counts are put right (CM-8).

        `partial`: without the parts that only grow; the whole while the user has hidden words, since masking
        needs it. Raises ChatUnknown, DocumentBroken where it cannot be read.
        """
        parts = HOT if partial else None
        name: DocumentName = ("conversation", chat)
        owner, found, mask = await asyncio.gather(
            self._storage.chats.owner(chat), self.document(owned(user), name, parts), self._masks.of(user)
        )
        if owner not in (None, user):
            raise ChatUnknown(chat)
        if partial and mask:
            found = await self.document(user, name)
        return await self._read(user, mask, await self._with_counts(found, user, chat))

    async def conversation_memories(
        self, user: str, *, limit: int, offset: int = 0
    ) -> list[ConversationMemory]:
        """The memories of the user's chats, the last updated first; broken ones are left out and logged."""
        page = await self._storage.documents.page(owned(user), "conversation", limit=limit, offset=offset)
        return await self.readable(user, page)

    async def readable(self, user: str, found: Sequence[StoredDocument]) -> list[ConversationMemory]:
        """The memories of chats in these documents."""
        mask, memories = await self._masks.of(user), []
        for one in found:
            try:
                known = conversation_of(one, user, one.id, self._clock())
            except DocumentBroken as broken:
                _log_broken(broken)
            else:
                memories.append(await self._read(user, mask, known))
        return memories

    async def keep_conversation_memory(self, memory: ConversationMemory) -> ConversationMemory:
        """Stores the memory of a chat (optimistic lock); returns it with its new revision and time.

        The parts that a partial read left out stay as they are. Masked text that was not changed is stored
        in full. Raises Conflict when it was stored or dropped since it was read, or when other words are
        hidden now than then, ChatUnknown for a chat that is not the user's.
        """
        user, chat = owned(memory.user_id), memory.chat_id
        owner, mask = await asyncio.gather(self._storage.chats.owner(chat), self._masks.of(user))
        if owner != user:
            raise ChatUnknown(chat)
        _check_hidden(memory, mask)
        raw = kept = memory.model_copy(update={"updated_at": self._clock()})
        if mask and memory.revision and not memory.partial:  # a partial memory is never masked
            found = await self.document(user, ("conversation", chat))
            stored = await self._with_counts(found, user, chat)
            read = recounted(await self._read(user, mask, stored))  # maintenance counts the visible words
            raw = await asyncio.to_thread(unmasked, recounted(raw), stored, read)
        revision = await self._keep(("conversation", chat), user, recounted(raw))
        return kept.model_copy(update={"revision": revision})

    async def profile(self, user: str) -> Profile:
        """The cognitive profile (LM-3); empty, revision 0, where there is none. Raises DocumentBroken."""
        stored, mask = await asyncio.gather(self.document(owned(user), PROFILE), self._masks.of(user))
        return await self._read(user, mask, profile_of(stored, user))

    async def keep_profile(self, profile: Profile) -> Profile:
        """Stores the profile as `keep_conversation_memory` does; returns it with its new revision."""
        user = owned(profile.user)
        raw, mask = profile, await self._masks.of(user)
        _check_hidden(profile, mask)
        if mask and profile.revision:
            stored = profile_of(await self.document(user, PROFILE), user)
            raw = await asyncio.to_thread(unmasked, profile, stored, await self._read(user, mask, stored))
        return profile.model_copy(update={"revision": await self._keep(PROFILE, user, raw)})

    async def drop_observed(self, user: str, cycles: Collection[str]) -> None:
        """Removes from the profile what comes from these cycles alone; a broken one stays as it is.

        Raises Conflict after repeated concurrent writes.
        """
        for _ in range(_TRIES if cycles else 0):
            try:
                known = await self.profile(user)
                if (after := without_cycles(known, cycles)) != known:
                    await self.keep_profile(after)
                return
            except DocumentBroken as broken:
                _log_broken(broken)
                return
            except Conflict:
                continue
        if cycles:
            raise Conflict

    async def settings(self, user: str) -> UserSettings:
        """The user's settings, cached; broken settings count as paused."""
        glimpse, cached = self._storage.glimpse(owned(user)), self._settings_cache.get(user)
        mark = glimpse and (glimpse.pulse.forgotten, glimpse.settings)
        if mark is not None and cached is not None and cached[0] == mark:
            return cached[1]
        try:
            found = settings_of(await self._storage.documents.settings(user), user)
        except DocumentBroken as broken:
            _log_broken(broken)
            found = UserSettings(user=user, paused=True)
        if mark is not None:
            self._settings_cache[user] = (mark, found)
            while len(self._settings_cache) > _USERS:
                del self._settings_cache[next(iter(self._settings_cache))]
        return found

    async def preferences(self, user: str) -> UserSettings:
        """`settings` for a reply; during an outage, the defaults."""
        return await self.availability.read(lambda: self.settings(user), UserSettings(user=owned(user)))

    @explicit
    async def change_settings(self, /, user: str, **fields: Any) -> UserSettings:
        """Changes settings (fields of `UserSettings`); the others stay. Each is one of its type or None.

        Raises InputRefused ('preference_unknown', 'preference_value', 'unknown_language',
        'unknown_time_zone'), DocumentBroken.
        """
        names = UserSettings.model_fields.keys() - {"user", "revision"}
        if unknown := fields.keys() - names:
            raise InputRefused("preference_unknown", name=repr(min(unknown)), names=", ".join(sorted(names)))
        try:
            checked = UserSettings(user="-", **fields)
        except ValidationError as error:
            name = str(error.errors()[0]["loc"][0])
            if name == "language":
                raise InputRefused("unknown_language", language=repr(fields[name])) from error
            raise InputRefused("preference_value", name=name, value=repr(fields[name])) from error
        if checked.time_zone is not None:
            check_time_zone(checked.time_zone)
        wanted = {name: getattr(checked, name) for name in fields}
        known = settings_of(await self._storage.documents.settings(owned(user)), user)
        if known.model_copy(update=wanted) == known:
            return known
        return settings_of(await self._storage.documents.change_settings(user, wanted), user)

    async def pending_cycles(self, user: str | None = None, *, limit: int) -> list[Cycle]:
        """Cycles that wait for formation, masked, the oldest first; None: of all users, for maintenance."""
        found = await self._storage.jobs.pending_cycles(None if user is None else owned(user), limit=limit)
        masks = {one: await self._masks.of(one) for one in dict.fromkeys(cycle.user for cycle in found)}
        return await asyncio.to_thread(lambda: [masks[cycle.user].cycle(cycle) for cycle in found])

    async def pending_users(self, *, limit: int) -> list[str]:
        """Users with cycles that wait for formation, the longest wait first."""
        return await self._storage.jobs.pending_users(limit=limit)

    async def form_cycle(
        self,
        user: str,
        cycle_id: str,
        *,
        judgement: Judgement | None,
        marks: Sequence[LayerMark],
        formation: Literal["none", "pending", "done", "failed"],
        expected: Cycle,
        first: bool = False,
    ) -> Cycle | None:
        """Stores the result of formation for a closed cycle; None, and nothing is stored, if it has changed.

        `expected` is the cycle as it was read (masked) and judged: when it was answered again, or its words
        were hidden, brought back or erased meanwhile, it stays pending and is judged again. So does one
        that is not to be learned from (`none`) since it was read. With `first` nothing is stored either
        where another judgement was stored meanwhile.
        """
        mask = await self._masks.of(owned(user))
        took = False

        def change(known: Cycle) -> Cycle:
            nonlocal took
            barred = known.formation == "none" != expected.formation
            seen = mask.cycle(known)
            judged = first and seen.judgement != expected.judgement
            same = seen.message == expected.message and seen.variants == expected.variants
            took = known.closed and not barred and not judged and same
            formed = {"judgement": judgement, "marks": tuple(marks), "formation": formation}
            return known.model_copy(update=formed) if took else known

        amended = await self._storage.transcript.amend_cycle(user, cycle_id, change)
        return amended.cycle if amended is not None and took else None

    async def _keep(self, name: DocumentName, user: str, record: ConversationMemory | Profile) -> int:
        """Writes `record` if the stored revision is still `record.revision`; returns the new revision."""
        before, at = record.revision, self._clock()
        document, rows = dumped(record, before + 1)
        if not await self._storage.documents.put(user, name, document, before=before, at=at, entries=rows):
            raise Conflict
        return before + 1

    async def document(
        self, user: str, name: DocumentName, parts: Collection[str] | None = None
    ) -> StoredDocument | None:
        return next(iter(await self._storage.documents.find(user, [name], parts=parts)), None)

    async def _with_counts(self, found: StoredDocument | None, user: str, chat: str) -> ConversationMemory:
        """The memory of a chat as it is stored, with right word counts."""
        stored = conversation_of(found, user, chat, self._clock())
        if stored.head is None:
            return recounted(stored, [])
        return recounted(stored, await self._storage.transcript.path(user, chat, stored.head, limit=_RECENT))

    async def _read(self, user: str, mask: Mask, record: S) -> S:
        """`record` with hidden words masked."""
        if not mask:
            return record
        ids = await asyncio.to_thread(suspects, record, mask)
        cycles = await self._storage.transcript.cycles(user, sorted(ids)) if ids else []
        by_id = {cycle.id: cycle for cycle in cycles}
        return (await asyncio.to_thread(masked, record, mask, by_id)).without(mask.memories)


def _or_empty(found: StoredDocument | None, read: Callable[[StoredDocument | None, str], S], user: str) -> S:
    """The record of a document; an empty one where the document is broken."""
    try:
        return read(found, user)
    except DocumentBroken as broken:
        _log_broken(broken)
        return read(None, user)


def _log_broken(broken: DocumentBroken) -> None:
    log.warning("a stored document cannot be used: %s", broken.cause)


def _check_hidden(record: ConversationMemory | Profile, mask: Mask) -> None:
    """Raises Conflict if other words are hidden now than when it was read: masked text would be lost."""
    if record.hidden and record.hidden != mask.memories:
        raise Conflict

"""The sheets of a user: memories of chats, profile, settings; and the cycles that wait for formation."""

import asyncio
import logging
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any, Literal, TypeVar

from pydantic import ValidationError

from thoughtcycle.memory.blotting import legible_conversation, legible_profile
from thoughtcycle.memory.engine import Engine, owned
from thoughtcycle.memory.formed import (
    C,
    ConversationMemory,
    ConversationState,
    Profile,
    UserSettings,
)
from thoughtcycle.memory.judgement import Judgement, LayerMark
from thoughtcycle.memory.masking import Mask
from thoughtcycle.memory.records import Cycle
from thoughtcycle.memory.sheet_loading import (
    SheetBroken,
    cautious,
    conversation_of,
    digest_of,
    dumped,
    profile_of,
    recounted,
    settings_of,
    without_cycles,
)
from thoughtcycle.memory.sheet_masking import masked, suspects, unmasked
from thoughtcycle.memory.storage.base import Conflict
from thoughtcycle.memory.storage.sheet_port import Sheet, SheetName
from thoughtcycle.memory.zones import check_time_zone
from thoughtcycle.prompts.errors import InputRefused, NotAllowed

log = logging.getLogger(__name__)

PROFILE: SheetName = ("profile", "")
SETTINGS: SheetName = ("settings", "")
_RECENT = 2
"""Cycles of the recent memory (CM-2)."""
_TRIES = 8
_USERS = 1_000
"""Users whose settings are kept at hand."""
_FIXED = {"user", "revision"}

S = TypeVar("S", ConversationMemory, Profile)


@dataclass(frozen=True)
class Sheets:
    """What the reply path is given of a user; without entries of which nothing may be read."""

    conversation: ConversationState | None
    """None where no chat was asked for."""
    profile: Profile
    settings: UserSettings

    @classmethod
    def empty(cls, user: str, chat: str | None, now: datetime) -> "Sheets":
        """Those of somebody of whom nothing is known."""
        conversation = conversation_of(None, user, chat, now) if chat is not None else None
        return cls(conversation, profile_of(None, user), settings_of(None, user))


class SheetKeeping(Engine):
    """Reads and writes sheets; hidden words are masked wherever something is read."""

    async def sheets(self, user: str, chat: str | None) -> Sheets:
        """What a reply needs, in one query; in two where the chat's memory has to be masked.

        A sheet that is broken counts as absent here, and as paused where it is the settings; `doctor` tells
        of it. A chat of another user's has none.
        """
        names: list[SheetName] = [PROFILE, SETTINGS]
        if chat is not None:
            names.append(("conversation", chat))
        stored, mask = await asyncio.gather(
            self._storage.sheets(owned(user), names, annexes=False), self._masks.of(user)
        )
        found = {sheet.kind: sheet for sheet in stored}
        profile = await self._read(user, mask, self._lenient(found.get("profile"), profile_of, user))
        conversation = None
        if chat is not None:
            known = await self._of_chat(user, chat, found.get("conversation"), mask)
            conversation = legible_conversation(known)
        return Sheets(conversation, legible_profile(profile), self._settings(found.get("settings"), user))

    async def _of_chat(self, user: str, chat: str, sheet: Sheet | None, mask: Mask) -> ConversationState:
        """The memory of a chat whose `sheet` was read without its annex; that of none where it is broken."""
        if sheet is not None and not mask and (digest := digest_of(sheet)) is not None:
            return digest
        now = self._clock()
        stored = await self._sheet(user, ("conversation", chat)) if sheet is not None else None
        known = self._lenient(stored, lambda one, user: conversation_of(one, user, chat, now), user)
        return await self._read(user, mask, known)

    async def conversation_memory(self, user: str, chat: str) -> ConversationMemory:
        """The memory of a chat; revision 0 where there is none. Wrong word counts are put right (CM-8).

        Raises NotAllowed('chat_unknown'), SheetBroken where it cannot be read.
        """
        owner, stored, mask = await asyncio.gather(
            self._storage.owner(chat), self._sheet(owned(user), ("conversation", chat)), self._masks.of(user)
        )
        if owner not in (None, user):
            raise NotAllowed("chat_unknown", id=repr(chat))
        return await self._read(user, mask, await self._recounted(stored, user, chat))

    async def conversation_digest(self, user: str, chat: str) -> ConversationState:
        """`conversation_memory` without what grows with the chat, where that is stored apart.

        All of it while the user has hidden words: to mask these it is needed.
        """
        owner, stored, mask = await asyncio.gather(
            self._storage.owner(chat),
            self._storage.sheets(owned(user), [("conversation", chat)], annexes=False),
            self._masks.of(user),
        )
        digest = digest_of(stored[0]) if stored and owner in (None, user) and not mask else None
        if digest is None:
            return await self.conversation_memory(user, chat)
        return recounted(digest, await self._window(user, digest))

    async def conversation_memories(
        self, user: str, *, limit: int, offset: int = 0
    ) -> list[ConversationMemory]:
        """The memories of the user's chats, the last updated first; broken ones are left out and logged."""
        page = await self._storage.sheet_page(owned(user), "conversation", limit=limit, offset=offset)
        return await self._readable(user, page)

    async def _readable(self, user: str, sheets: Sequence[Sheet]) -> list[ConversationMemory]:
        """The memories of chats on these sheets."""
        mask, found = await self._masks.of(user), []
        for sheet in sheets:
            try:
                known = conversation_of(sheet, user, sheet.id, self._clock())
            except SheetBroken as broken:
                log.warning("a stored sheet cannot be used: %s", broken.cause)
            else:
                found.append(await self._read(user, mask, known))
        return found

    async def keep_conversation_memory(self, memory: C) -> C:
        """Stores the memory of a chat, and gives it with its new revision and time.

        Of a digest the rest stays as it is. What was masked when it was read, and left as it was, is stored
        in full. Raises Conflict when it was stored or dropped since it was read, or read without words while
        others are hidden now, NotAllowed('chat_unknown') for a chat that is not the user's.
        """
        user, chat = owned(memory.user_id), memory.chat_id
        owner, mask = await asyncio.gather(self._storage.owner(chat), self._masks.of(user))
        if owner != user:
            raise NotAllowed("chat_unknown", id=repr(chat))
        _check_hidden(memory, mask)
        kept = memory.model_copy(update={"updated_at": self._clock()})
        raw: ConversationState = kept
        if isinstance(raw, ConversationMemory) and mask and memory.revision:  # a digest was never masked
            stored = await self._raw_conversation(user, chat)
            read = recounted(await self._read(user, mask, stored))  # upkeep counts the words that are left
            raw = await asyncio.to_thread(unmasked, recounted(raw), stored, read)
        revision = await self._keep(("conversation", chat), user, recounted(raw))
        return kept.model_copy(update={"revision": revision})

    async def profile(self, user: str) -> Profile:
        """The cognitive profile (LM-3); empty, revision 0, where there is none. Raises SheetBroken."""
        stored, mask = await asyncio.gather(self._raw_profile(owned(user)), self._masks.of(user))
        return await self._read(user, mask, stored)

    async def keep_profile(self, profile: Profile) -> Profile:
        """Stores the profile, and gives it with its new revision; as `keep_conversation_memory` does."""
        user = owned(profile.user)
        raw, mask = profile, await self._masks.of(user)
        _check_hidden(profile, mask)
        if mask and profile.revision:
            stored = await self._raw_profile(user)
            raw = await asyncio.to_thread(unmasked, profile, stored, await self._read(user, mask, stored))
        return profile.model_copy(update={"revision": await self._keep(PROFILE, user, raw)})

    async def drop_observed(self, user: str, cycles: Collection[str]) -> None:
        """Takes out of the profile what it has from these cycles alone; a broken one stays as it is.

        Raises Conflict when others write all the time.
        """
        for _ in range(_TRIES if cycles else 0):
            try:
                known = await self.profile(user)
            except SheetBroken as broken:
                log.warning("a stored sheet cannot be used: %s", broken.cause)
                return
            after = without_cycles(known, cycles)
            if after == known:
                return
            try:
                await self.keep_profile(after)
            except Conflict:
                continue
            return
        if cycles:
            raise Conflict

    async def settings(self, user: str) -> UserSettings:
        """What the user has set; broken settings count as paused."""
        glimpse, known = self._storage.glimpse(owned(user)), self._settled.get(user)
        mark = glimpse and (glimpse.pulse.forgotten, glimpse.settings)
        if mark is not None and known is not None and known[0] == mark:
            return known[1]
        found = self._settings(await self._sheet(user, SETTINGS), user)
        if mark is not None:
            self._settled[user] = (mark, found)
            while len(self._settled) > _USERS:
                del self._settled[next(iter(self._settled))]
        return found

    async def preferences(self, user: str) -> UserSettings:
        """`settings` for a reply, which an outage does not hold up."""
        return await self.settings(user)

    async def change_settings(self, user: str, **fields: Any) -> UserSettings:
        """Changes settings (fields of `UserSettings`); the others stay. Each is one of its type or None.

        Raises InputRefused ('preference_unknown', 'preference_value', 'unknown_language',
        'unknown_time_zone'), SheetBroken.
        """
        wanted = checked_settings(fields)
        for _ in range(_TRIES):
            known = settings_of(await self._sheet(owned(user), SETTINGS), user)
            changed = known.model_copy(update=wanted)
            if changed == known:
                return known
            try:
                return changed.model_copy(update={"revision": await self._keep(SETTINGS, user, changed)})
            except Conflict:
                continue
        raise Conflict

    async def pending_cycles(self, user: str | None = None, *, limit: int) -> list[Cycle]:
        """Cycles that formation has not looked at yet, masked, the oldest first.

        None: of all users, for those who look after the database.
        """
        found = await self._storage.pending_cycles(owned(user) if user is not None else None, limit=limit)
        masks = {one: await self._masks.of(one) for one in dict.fromkeys(cycle.user for cycle in found)}
        return await asyncio.to_thread(lambda: [masks[cycle.user].cycle(cycle) for cycle in found])

    async def pending_users(self, *, limit: int) -> list[str]:
        """Users who have such cycles, the one who has waited longest first."""
        return await self._storage.pending_users(limit=limit)

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
        """Stores what formation made of a closed cycle; None, and nothing changed, if its words are others.

        `expected` is the cycle as it was read (masked) and judged: when it was answered anew, or what it
        says was hidden, brought back or erased meanwhile, it stays pending and is judged again. So does one
        that is not to be learned from (`none`) since it was read. With `first` nothing changes either where
        another judgement was stored meanwhile.
        """
        mask = await self._masks.of(owned(user))
        took = False

        def change(known: Cycle) -> Cycle:
            nonlocal took
            barred = known.formation == "none" != expected.formation
            seen = mask.cycle(known)
            judged = first and seen.judgement != expected.judgement
            took = known.closed and not barred and not judged and _words(seen) == _words(expected)
            formed = {"judgement": judgement, "marks": tuple(marks), "formation": formation}
            return known.model_copy(update=formed) if took else known

        amended = await self._storage.amend_cycle(user, cycle_id, change)
        return amended.cycle if amended is not None and took else None

    async def _keep(
        self, name: SheetName, user: str, record: ConversationState | Profile | UserSettings
    ) -> int:
        """Stores `record` behind the revision that it tells; its new one."""
        document, annex = dumped(record, record.revision + 1)
        at, before = self._clock(), record.revision
        if not await self._storage.put_sheet(user, name, document, before=before, at=at, annex=annex):
            raise Conflict
        return before + 1

    async def _sheet(self, user: str, name: SheetName) -> Sheet | None:
        return next(iter(await self._storage.sheets(user, [name])), None)

    async def _raw_conversation(self, user: str, chat: str) -> ConversationMemory:
        return await self._recounted(await self._sheet(user, ("conversation", chat)), user, chat)

    async def _recounted(self, sheet: Sheet | None, user: str, chat: str) -> ConversationMemory:
        """The memory of a chat as it is stored, with right word counts."""
        stored = conversation_of(sheet, user, chat, self._clock())
        return recounted(stored, await self._window(user, stored))

    async def _window(self, user: str, memory: ConversationState) -> list[Cycle]:
        """The cycles of its recent memory."""
        chat, head = memory.chat_id, memory.head
        return await self._storage.path(user, chat, head, limit=_RECENT) if head is not None else []

    async def _raw_profile(self, user: str) -> Profile:
        return profile_of(await self._sheet(user, PROFILE), user)

    async def _read(self, user: str, mask: Mask, sheet: S) -> S:
        """`sheet` as it may be read."""
        if not mask:
            return sheet
        ids = await asyncio.to_thread(suspects, sheet, mask)
        cycles = {one.id: one for one in await self._storage.cycles(user, sorted(ids))} if ids else {}
        return (await asyncio.to_thread(masked, sheet, mask, cycles)).without(mask.memories)

    def _settings(self, sheet: Sheet | None, user: str) -> UserSettings:
        try:
            return settings_of(sheet, user)
        except SheetBroken as broken:
            log.warning("a stored sheet cannot be used: %s", broken.cause)
            return cautious(user, sheet.revision if sheet is not None else 0)

    def _lenient(self, sheet: Sheet | None, read: Callable[[Sheet | None, str], S], user: str) -> S:
        """The record of a sheet; of a broken one, that of none."""
        try:
            return read(sheet, user)
        except SheetBroken as broken:
            log.warning("a stored sheet cannot be used: %s", broken.cause)
            return read(None, user)


def _check_hidden(sheet: ConversationState | Profile, mask: Mask) -> None:
    """Raises Conflict where other words are hidden than when `sheet` was read: its gaps cannot be filled."""
    if sheet.hidden and sheet.hidden != mask.memories:
        raise Conflict


def _words(cycle: Cycle) -> tuple[Any, ...]:
    """What was said and done in a cycle."""
    return cycle.id, cycle.message, cycle.variants


def checked_settings(fields: Mapping[str, Any]) -> dict[str, Any]:
    """Changes of settings as they are stored; raises InputRefused as `change_settings` does."""
    names = UserSettings.model_fields.keys() - _FIXED
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
    return {name: getattr(checked, name) for name in fields}

"""Proves an erasure: plants markers, searches, erases them with the words, and searches again (BY-14)."""

import asyncio
from collections.abc import Collection, Sequence
from contextlib import suppress
from dataclasses import dataclass
from datetime import datetime

from thoughtcycle.checkpoints.factory import Saver
from thoughtcycle.errors import ChatUnknown, InputRefused
from thoughtcycle.memory.erasure import Farewell, Receipt
from thoughtcycle.memory.memory import Memory
from thoughtcycle.memory.model import LISTED
from thoughtcycle.memory.storage import parse_url
from thoughtcycle.proof.evidence import Evidence, Scene
from thoughtcycle.proof.markers import new_chat, new_markers, plant
from thoughtcycle.proof.receipt import Act, ProofReceipt, Result, WordHashes
from thoughtcycle.proof.words import words_of
from thoughtcycle.runtime.forgetting import delete_chat, forget_user

PLACES = frozenset(("memories", "journal", "conversations", "cycles", "documents", "files", "checkpoints"))
WRITES = frozenset(("writes", "checkpoint_writes"))
"""Tables and collections in which markers have to be found before: all of `PLACES`, one of `WRITES`."""
_NEWEST = 8
"""Memories and messages of a user who is forgotten, whose words are looked for."""


@dataclass(frozen=True)
class Prover:
    """Erases with a proof. `saver` has to be bound to the memory."""

    memory: Memory
    saver: Saver
    scene: Scene

    async def erase(self, ids: Sequence[str]) -> tuple[Receipt, ProofReceipt]:
        """Erases memories for good as `Memory.erase` does, together with markers, and proves it.

        The chat of the markers is deleted afterwards. Raises MemoryUnknown.
        """
        memory, user, chat, markers = self.memory, self.scene.user, new_chat(), new_markers()
        family = await memory.core.storage.erasure.family(user, ids)
        words = words_of(family)
        hidden = [record.updated for record in family if record.status == "hidden"]
        later = await self._said_since(min(hidden, default=memory.core.clock()))
        try:
            planted = await plant(memory, self.saver, user, chat, markers)
            gone = {*(record.id for record in family), *planted}
            before = await self.scene.search(markers, words, kept=[*later, *await self._staying(gone)])
            receipt = await memory.erase(user, [*ids, *planted])
            after = await self.scene.search(markers, words, kept=[*later, *await self._staying(gone)])
        finally:
            with suppress(ChatUnknown):
                await delete_chat(memory, self.saver, user, chat)
        return receipt, await self._receipt("erase", markers, words, before, after, waits=receipt.waiting > 0)

    async def words_of(self, ids: Sequence[str]) -> list[str]:
        """The words that a proof of erasing these memories looks for."""
        return words_of(await self.memory.core.storage.erasure.family(self.scene.user, ids))

    async def forget_user(self) -> tuple[Farewell, ProofReceipt]:
        """Forgets the user, markers in each place included, and proves it by words of the newest memories."""
        memory, user, markers = self.memory, self.scene.user, new_markers()
        newest = await memory.list(user, statuses=LISTED, limit=_NEWEST)
        cycles = (await memory.core.storage.transcript.cycle_feed(user, 0, model=None)).cycles
        words = words_of(newest, [cycle.message.text for cycle in cycles[-_NEWEST:]])
        await plant(memory, self.saver, user, new_chat(), markers)
        before = await self.scene.search(markers, words)
        farewell = await forget_user(memory, self.saver, user)
        after = await self.scene.search(markers, words)
        return farewell, await self._receipt("forget-user", markers, words, before, after)

    async def check(self, receipt: ProofReceipt, words: Sequence[str]) -> ProofReceipt:
        """Searches again for the markers of a receipt and for `words`, which have to be the receipt's.

        Raises InputRefused: 'proof_word' for another word, 'proof_no_words' without any.
        """
        if receipt.words.hashes and not words:
            raise InputRefused("proof_no_words", count=len(receipt.words.hashes))
        for number, word in enumerate(words, 1):
            if await asyncio.to_thread(receipt.words.hash, word) not in receipt.words.hashes:
                raise InputRefused("proof_word", number=number)
        kept = [*await self._said_since(receipt.at), *await self._staying(())]
        after = await self.scene.search(receipt.markers, words, kept=kept)
        return receipt.model_copy(update={"after": after, "result": _outcome(after)})

    async def _staying(self, gone: Collection[str]) -> list[str]:
        """Ids of the user's memories in use, which may say the words as well."""
        staying = await self.memory.list(self.scene.user, statuses=("active", "archived"))
        return [record.id for record in staying if record.id not in gone]

    async def _said_since(self, at: datetime) -> list[str]:
        """Ids of the cycles that began since then: what they say was said anew."""
        feed = await self.memory.core.storage.transcript.cycle_feed(self.scene.user, 0, model=None)
        return [cycle.id for cycle in feed.cycles if cycle.opened_at > at]

    async def _receipt(
        self,
        act: Act,
        markers: tuple[str, ...],
        words: Sequence[str],
        before: Evidence,
        after: Evidence,
        *,
        waits: bool = False,
    ) -> ProofReceipt:
        seen = _saw_all(before, words)
        return ProofReceipt(
            act=act,
            user=self.scene.user,
            database=parse_url(self.scene.url).place,
            at=self.memory.core.clock(),
            result="blind" if not seen else "waiting" if waits else _outcome(after),
            markers=markers,
            words=await asyncio.to_thread(WordHashes.of, words),
            before=before,
            after=after,
        )


def _outcome(after: Evidence) -> Result:
    return "found" if after.there else "unread" if after.unread else "gone"


def _saw_all(before: Evidence, words: Collection[str]) -> bool:
    """Whether the search found the markers in each place, and any of the words."""
    tables = {one.place.rpartition(": ")[2].partition(".")[0] for one in before.there if one.markers}
    own = not words or any(one.words for one in (*before.there, *before.kept))
    return own and tables >= PLACES and bool(tables & WRITES)

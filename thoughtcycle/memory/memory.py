"""Memory: opens a database, puts the services together, and offers their calls to applications."""

import asyncio
from collections.abc import AsyncIterator, Callable, Iterable
from contextlib import AsyncExitStack, asynccontextmanager
from datetime import datetime
from pathlib import Path
from typing import Self
from zoneinfo import ZoneInfo

from thoughtcycle.memory.channels import Channels
from thoughtcycle.memory.chats import Chats
from thoughtcycle.memory.conversation import Conversations
from thoughtcycle.memory.core import Core
from thoughtcycle.memory.erasure import DocumentErasure, Erasure, Unlearning, UserErasure
from thoughtcycle.memory.files import Files
from thoughtcycle.memory.index import BUDGET, Embedder
from thoughtcycle.memory.items import Items
from thoughtcycle.memory.maintenance import Maintenance, Reembedding
from thoughtcycle.memory.model import MemoryDraft, utc_now
from thoughtcycle.memory.offline import SPOOL_BYTES, Outage, SpooledTranscript
from thoughtcycle.memory.records import Lifecycle, Records, RecordUpkeep
from thoughtcycle.memory.rules.completion import complete
from thoughtcycle.memory.search import Explainer, PassiveRecall, Search
from thoughtcycle.memory.storage import Storage, open_storage, remove_left_parts
from thoughtcycle.memory.transcript import Transcript
from thoughtcycle.memory.transfer import Export, Import
from thoughtcycle.prompts.loader import LANGUAGES


class Memory:
    """A database of memories. Every call takes the user first and touches nobody else's data.

    All raise StorageFailed when the database refuses; then nothing is half-written.
    """

    def __init__(
        self,
        storage: Storage,
        *,
        embeddings: Embedder | None,
        clock: Callable[[], datetime] = utc_now,
        index_bytes: int = BUDGET,
        outage: Outage | None = None,
    ) -> None:
        """`storage` is open and stays the caller's; with an `outage` turns outlive the database."""
        core = Core(storage, embeddings=embeddings, clock=clock, index_bytes=index_bytes, availability=outage)
        self.core = core
        self.conversations = conversations = Conversations(core)
        self.search_service = search = Search(core)
        self.recall = PassiveRecall(core, search)
        self.lifecycle = lifecycle = Lifecycle(core)
        self.records = records = Records(core, lifecycle)
        self.upkeep = RecordUpkeep(core)
        self.transcript = transcript = (
            SpooledTranscript(core, conversations, outage) if outage else Transcript(core, conversations)
        )
        documents = DocumentErasure(core, conversations)
        self.erasure = erasure = Erasure(core, documents)
        self.user_erasure = UserErasure(core)
        self.unlearning = Unlearning(core, conversations, records, transcript)
        self.chat_service = chats = Chats(core, conversations, transcript, documents, erasure)
        self.files = files = Files(core, records)
        self.items = Items(core, search, erasure)
        self.channels = channels = Channels(core)
        maintenance, reembedding = Maintenance(core), Reembedding(core)
        self.queue = core.queue
        self.availability = core.availability
        # one memory
        self.save = records.save
        self.update = records.update
        self.get = records.get
        self.list = records.list
        self.active = records.active
        self.versions = records.versions
        self.history = records.history
        self.accesses = records.accesses
        self.why = Explainer(core).why
        self.pin = lifecycle.pin
        self.unpin = lifecycle.unpin
        self.reinforce = lifecycle.reinforce
        self.merge = lifecycle.merge
        self.archive = lifecycle.archive
        self.restore = lifecycle.restore
        self.attach = files.attach
        self.file = files.file
        # out of sight and back
        self.hide = records.hide
        self.undo = records.undo
        self.erase = erasure.erase
        self.erase_due = erasure.erase_due
        # search
        self.search = search.search
        self.embed = core.embed
        self.embed_to_save = core.embed_to_save
        self.embedding_notice = core.embedding_notice
        # what was said, and what was made of it
        self.record_cycle = transcript.record_cycle
        self.conversation = transcript.conversation
        self.answered = transcript.answered
        self.left_behind = transcript.left_behind
        self.chats = chats.chats
        self.chat = chats.chat
        self.find_chat = chats.find_chat
        self.rename_chat = chats.rename_chat
        self.delete_chat = chats.delete_chat
        self.kept_chats = chats.kept_chats
        self.kept_chat = chats.kept_chat
        self.sheets = conversations.documents
        self.conversation_memory = conversations.conversation_memory
        self.conversation_memories = conversations.conversation_memories
        self.profile = conversations.profile
        self.settings = conversations.settings
        self.change_settings = conversations.change_settings
        # channels
        self.link_code = channels.link_code
        self.link_channel = channels.link_channel
        self.linked_user = channels.linked_user
        self.channel_links = channels.channel_links
        self.unlink_channel = channels.unlink_channel
        # all of a user, and the database
        self.export = Export(core, conversations).export
        self.import_file = Import(core, transcript).import_file
        self.forget_user = self.user_erasure.forget_user
        self.stats = maintenance.stats
        self.doctor = maintenance.doctor
        self.outdated = reembedding.outdated
        self.reembed = reembedding.reembed
        self.embed_lacking = reembedding.embed_lacking

    @classmethod
    @asynccontextmanager
    async def open(
        cls,
        url: str,
        *,
        embeddings: Embedder | None,
        clock: Callable[[], datetime] = utc_now,
        index_bytes: int = BUDGET,
        spool: Path | None = None,
        spool_bytes: int = SPOOL_BYTES,
    ) -> AsyncIterator[Self]:
        """Opens the database that `url` names, creates what is missing, and closes it on leaving.

        `index_bytes`: memory that the indexes of all users may take, and as much again those of messages.
        `spool`: a folder where at most `spool_bytes` of what is said wait while the database is away.
        Raises InputRefused when `url` is not understood, StorageFailed when the database cannot be used.
        """
        await asyncio.to_thread(remove_left_parts)
        async with AsyncExitStack() as stack:
            storage = await stack.enter_async_context(open_storage(url))
            outage = None
            if spool is not None:
                outage = await stack.enter_async_context(
                    Outage.spooled(url, storage, embeddings, spool, spool_bytes)
                )
            memory = cls(storage, embeddings=embeddings, clock=clock, index_bytes=index_bytes, outage=outage)
            try:
                yield memory
            finally:
                await memory.recall.stop_warming()
                await memory.core.accesses.close()

    async def complete(self, user: str, drafts: Iterable[MemoryDraft]) -> list[MemoryDraft]:
        """`drafts` with what they leave open (`rules.completion`), in the user's language and time zone.

        Those that people and models make; `save` itself keeps a draft as it is.
        """
        settings = await self.conversations.preferences(user)
        language, now = settings.language or LANGUAGES[0], self.core.clock()
        if settings.time_zone is not None:
            now = now.astimezone(ZoneInfo(settings.time_zone))
        return await asyncio.to_thread(lambda: [complete(draft, language, now) for draft in drafts])

    @property
    def index_memory(self) -> int:
        """Bytes that the indexes of all users take at the moment, about."""
        return self.core.memory_indexes.nbytes + self.core.message_indexes.nbytes

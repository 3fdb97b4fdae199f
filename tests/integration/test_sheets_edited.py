"""What stands beside the documents of sheets, edited by hand: put right or refused in one line, never lost."""

from datetime import UTC, datetime, timedelta
from typing import Any

import pytest

from support.databases import database_url
from support.memories import WordEmbedder
from thoughtcycle.memory.conversation.loading import DocumentBroken
from thoughtcycle.memory.core.worker import Worker
from thoughtcycle.memory.erasure.service import GRACE
from thoughtcycle.memory.memory import Memory
from thoughtcycle.memory.model import job as jobs
from thoughtcycle.memory.storage.mongo.documents import document_id
from thoughtcycle.memory.storage.mongo.storage import MongoStorage
from thoughtcycle.memory.storage.sqlite.storage import SqliteStorage
from thoughtcycle.mind.rules import RuleMind
from thoughtcycle.nodes.base.services import Services
from thoughtcycle.runtime import upkeep
from thoughtcycle.runtime.upkeep import FORM, enqueue_formation, job_kinds

__all__ = ["database_url"]

START = datetime(2026, 3, 2, 9, tzinfo=UTC)
SAID = ("quero gastar no máximo R$ 350 por mês, prefiro falar por whatsapp", "gosto de jazz")
TRIES = 2
"""Of a job, here."""

CHAT, PROFILE, SETTINGS = "conversation", "profile", "settings"
EDITS: dict[str, tuple[str, dict[str, Any], bool]] = {
    "no-number": (CHAT, {"revision": "three"}, True),
    "negative": (CHAT, {"revision": -2}, True),
    "fraction": (CHAT, {"revision": 1.5}, True),
    "other-number": (CHAT, {"revision": 77}, False),
    "no-time": (CHAT, {"updated": "yesterday"}, False),
    "no-zone": (CHAT, {"updated": "2026-03-01"}, False),
    "dropped": (CHAT, {"document": None}, False),
    "half": (CHAT, {"document": '{"chat_id": '}, True),
    "bytes": (CHAT, {"document": b"\xff\xfe"}, True),
    "somebody-else": (CHAT, {"user": "bia"}, False),
    "other-kind": (CHAT, {"kind": "notes"}, False),
    "other-name": (CHAT, {"id": "nowhere"}, False),
    "profile": (PROFILE, {"revision": "one"}, True),
    "settings": (SETTINGS, {"revision": "one"}, True),
}
"""User → kind of the document, what somebody writes into it, and whether it can no longer be read."""
ALIKE = {"negative", "half", "bytes", "other-kind"}
"""Not repeated on MongoDB."""
MONGODB = {
    "an-object": (CHAT, {"document": {"half": [1, 2]}}, True),
    "more-fields": (CHAT, {"colour": "red"}, False),
    "no-user": (CHAT, {"user": None}, False),
    "chat-of-another": (CHAT, {"chat": "c-bia"}, False),
}
FIELDS = {"user": "user_id", "updated": "updated_at", "id": "name", "chat": "chat_id"}


async def edit(memory: Memory, user: str, kind: str, change: dict[str, Any]) -> None:
    """What somebody does with an editor of databases."""
    storage, id = memory.core.storage, f"c-{user}" if kind == CHAT else ""
    if isinstance(storage, MongoStorage):
        fields = {FIELDS.get(name, name): value for name, value in change.items()}
        if kind == SETTINGS:
            edited = await storage.database.db.settings.update_one({"_id": user}, {"$set": fields})
        else:
            key = {"_id": document_id(user, (kind, id))}  # type: ignore[arg-type]
            edited = await storage.database.db.documents.update_one(key, {"$set": fields})
        assert edited.matched_count == 1
    else:
        assert isinstance(storage, SqliteStorage)
        ((field, value),) = change.items()
        query, key = f"UPDATE documents SET {field} = ? WHERE user = ? AND kind = ? AND id = ?", (kind, id)
        if kind == SETTINGS:
            query, key = f"UPDATE settings SET {field} = ? WHERE user = ?", ()
        await storage.database.write(lambda db: db.execute(query, (value, user, *key)).rowcount)


async def say(memory: Memory, users: Any, texts: tuple[str, ...], day: int = 0) -> None:
    for user in users:
        for place, text in enumerate(texts):
            at = START + timedelta(days=day, hours=place)
            await memory.record_cycle(user, f"c-{user}", text, "Certo.", at=at, channel="test")


async def drained(memory: Memory, now: list[datetime], times: int = 1) -> None:
    known = job_kinds(Services(memory, RuleMind(), clock=lambda: now[0]), GRACE)
    for _ in range(times):
        await Worker(memory.queue, {FORM: known[FORM]}, look=lambda: enqueue_formation(memory)).drain()
        now[0] += timedelta(minutes=15)


@pytest.mark.spec("CM-8", "CM-7", "BY-5")
async def test_sheets_edited_by_hand_are_put_right_or_refused_and_never_lost(
    database_url: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(upkeep, "ATTEMPTS", TRIES)
    monkeypatch.setattr(jobs, "ATTEMPTS", TRIES)
    edits = EDITS
    if database_url.startswith("mongodb"):
        edits = {user: edit for user, edit in EDITS.items() if user not in ALIKE} | MONGODB
    now = [START + timedelta(days=9)]
    async with Memory.open(database_url, embeddings=None, clock=lambda: now[0]) as memory:
        await say(memory, edits, SAID)
        if "settings" in edits:
            await memory.change_settings("settings", language="pt")
        await drained(memory, now)
        before = {user: await memory.conversation_memory(user, f"c-{user}") for user in edits}
        for user, (kind, change, _) in edits.items():
            await edit(memory, user, kind, change)
    async with Memory.open(database_url, embeddings=WordEmbedder(), clock=lambda: now[0]) as memory:
        await readable(memory, edits)
        await say(memory, [*edits, "bia"], ("odeio coentro",), day=1)
        await drained(memory, now, TRIES + 1)
        assert (await memory.conversation_memory("bia", "c-bia")).total_cycles == 1
        assert [one.chat_id for one in await memory.conversation_memories("bia", limit=9)] == ["c-bia"]
        await memory.doctor(mend=True)
        for dead in await memory.queue.listing(list(edits), ["dead"]):
            assert await memory.queue.retry(dead) is not None
        await drained(memory, now)
        assert await memory.doctor() == []
        for user in edits:
            await whole(memory, user, before[user])


async def readable(memory: Memory, edits: dict[str, tuple[str, dict[str, Any], bool]]) -> None:
    """A turn is given what can be read; who asks for a sheet that cannot be gets one line."""
    for user, (kind, _, broken) in edits.items():
        chat = f"c-{user}"
        assert (await memory.sheets(user, chat)).conversation is not None
        if not broken or kind == SETTINGS:
            await memory.conversation_memory(user, chat)
            continue
        with pytest.raises(DocumentBroken) as refused:
            await (memory.profile(user) if kind == PROFILE else memory.conversation_memory(user, chat))
        text = refused.value.text("pt")
        assert "\n" not in text and "doctor --repair" in text, user
        if kind == SETTINGS:
            assert (await memory.settings(user)).paused, "nothing is learned while consent cannot be read"


async def whole(memory: Memory, user: str, before: Any) -> None:
    """Everything is there again: what was told before, and what was said since."""
    known = await memory.conversation_memory(user, before.chat_id)
    assert [entry.value for entry in (await memory.profile(user)).entries] == ["whatsapp"], user
    if user == "settings":  # what was said while it could not be read whether that is allowed is not learned
        settings = await memory.settings(user)
        assert (settings.paused, settings.language) == (False, "pt")
        assert known.critical_data == before.critical_data
        return
    assert before.critical_data and set(before.critical_data) < set(known.critical_data), user
    assert known.total_cycles == len(SAID) + 1, user
    assert len(known.old_memory) == 1 and not known.old_memory[0].pending_summarization, user
    assert "Odeia coentro" in {one.text for one in await memory.list(user)}, user

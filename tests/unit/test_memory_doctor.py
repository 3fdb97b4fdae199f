"""The doctor sees what does not fit together, repairs what can be repaired, and leaves the rest alone."""

from collections.abc import Callable

import pytest

from support.engines import memory
from support.memories import said, step
from thoughtcycle.memory.maintenance.doctor import of_journal, of_transcript
from thoughtcycle.memory.memory import Memory
from thoughtcycle.memory.model import REPAIRABLE, Conversation, IntegrityIssue, MemoryDraft, Source, utc_now
from thoughtcycle.memory.storage import CycleState
from thoughtcycle.memory.storage.mongo.storage import MongoStorage
from thoughtcycle.memory.storage.sqlite.storage import SqliteStorage
from thoughtcycle.prompts.loader import texts

__all__ = ["memory"]


async def filled(memory: Memory) -> str:
    """A chat with two cycles and a memory with its former version; the id of the memory."""
    parent = None
    for number in range(2):
        cycle = await memory.transcript.open_cycle(
            "ana", "chat", said("oi", f"{number}"), parent=parent, channel="cli"
        )
        await memory.transcript.close_cycle(
            "ana", cycle.id, execution="e", messages=[said("olá")], steps=[step()]
        )
        parent = cycle.id
        draft = MemoryDraft(content=f"cidade {number}", key="city", source=Source(cycle=cycle.id))
        (saved,) = await memory.save("ana", [draft])
    return saved.record.id


async def broken(memory: Memory, sql: str, mongo: Callable[[MongoStorage], object]) -> None:
    """Breaks what is stored, behind the memory's back."""
    storage = memory.core.storage
    if isinstance(storage, SqliteStorage):
        await storage.database.write(lambda db: db.execute(sql))
    else:
        assert isinstance(storage, MongoStorage)
        await mongo(storage)  # type: ignore[misc]


CHAT = {"chat_id": "chat"}
BREAKAGES = {
    "vector_missing": ("DELETE FROM vectors", lambda s: s.database.db.vectors.delete_many({})),
    "vector_stray": (
        "UPDATE memories SET document = json_set(document, '$.vectorIds', json('[]'))",
        lambda s: s.database.db.memories.update_many({}, {"$set": {"vectorIds": []}}),
    ),
    "tip_missing": (
        "UPDATE conversations SET tip = 'nobody'",
        lambda s: s.database.db.conversations.update_one(CHAT, {"$set": {"tip": "nobody"}}),
    ),
    "chat_missing": ("", lambda s: s.database.db.conversations.delete_one(CHAT)),
    "file_stray": (
        "INSERT INTO files (user, hash, data) VALUES ('ana', 'lost', x'00')",
        lambda s: s.files.put("ana", "lost", b"x"),
    ),
    "cycle_number": (
        "UPDATE cycles SET number = 1",
        lambda s: s.database.db.cycles.update_many({}, {"$set": {"number": 1}}),
    ),
}


@pytest.mark.spec("BY-4")
@pytest.mark.parametrize("code", sorted(REPAIRABLE))
async def test_what_can_be_repaired_is_repaired(memory: Memory, code: str) -> None:
    id = await filled(memory)
    assert await memory.doctor() == []
    sql, mongo = BREAKAGES[code]
    if not sql and isinstance(memory.core.storage, SqliteStorage):
        pytest.skip("foreign keys forbid it")
    if memory.core.embeddings is None and "vector" in code:
        pytest.skip("there are no vectors")
    await broken(memory, sql, mongo)
    assert {flaw.code for flaw in await memory.doctor("ana")} == {code}
    assert await memory.doctor(mend=True) == []
    assert [cycle.message.id for cycle in await memory.conversation("ana", "chat")] == ["0", "1"]
    assert [hit.record.id for hit in await memory.search("ana", "cidade")] == [id]
    before = await memory.stats("ana")
    assert await memory.doctor("ana", mend=True) == []
    assert await memory.stats("ana") == before


async def test_a_lost_row_of_the_journal_is_told_and_left(database_url: str) -> None:
    async with Memory.open(database_url, embeddings=None) as memory:
        await filled(memory)
        await broken(
            memory,
            "DELETE FROM journal WHERE number = 2",
            lambda s: s.database.db.journal.delete_one({"number": 2}),
        )
        assert {flaw.code for flaw in await memory.doctor("ana", mend=True)} == {"journal_gap", "revision"}


async def test_what_belongs_to_nothing_is_told_and_deleted(memory: Memory) -> None:
    await filled(memory)
    storage = memory.core.storage
    if isinstance(storage, SqliteStorage):
        rows = (
            "INSERT INTO message_vectors VALUES ('nobody', 'm', 'd', x'00')",
            "INSERT INTO accesses VALUES ('nobody', 'ana', 1, '')",
            "INSERT INTO conversation_entries VALUES (77, 'ledger', 0, '{}')",
        )

        def orphan() -> None:
            storage.database._connection.execute("PRAGMA foreign_keys = OFF")
            for row in rows:
                storage.database._connection.execute(row)
            storage.database._connection.execute("PRAGMA foreign_keys = ON")

        storage.database._executor.submit(orphan).result()
    else:
        assert isinstance(storage, MongoStorage)
        vector = {"_id": "v", "cycle": "nobody", "user_id": "ana", "model": "m", "digest": "d", "version": 1}
        await storage.database.db.message_vectors.insert_one(vector)
        await storage.database.db.accesses.insert_one(
            {"_id": "nobody", "memoriesId": "ana", "count": 1, "last": ""}
        )
    told = {flaw.values["told"] for flaw in await memory.doctor()} - {"1 × conversation_entries → documents"}
    assert told == {"1 × accesses → memories", "1 × message_vectors → cycles"}
    assert await memory.doctor(mend=True) == []


async def test_a_damaged_file_is_told(memory: Memory) -> None:
    if not isinstance(memory.core.storage, SqliteStorage):
        pytest.skip("the server looks after its own files")
    await filled(memory)
    storage = memory.core.storage

    def orphan() -> None:
        storage.database._connection.execute("PRAGMA foreign_keys = OFF")
        storage.database._connection.execute("UPDATE cycles SET chat = 'nowhere' WHERE parent IS NULL")
        storage.database._connection.execute("PRAGMA foreign_keys = ON")

    storage.database._executor.submit(orphan).result()
    assert {flaw.code for flaw in await memory.doctor()} == {"database", "chat_missing"}
    assert await memory.doctor(mend=True) == []


@pytest.mark.parametrize(
    ("revisions", "last", "currents", "keys", "expected"),
    [
        ({"a": 1}, {"a": 1}, {}, {"k": 1}, []),
        ({"a": 2}, {"a": 1}, {}, {}, ["revision"]),
        ({"a": 1}, {}, {}, {}, ["revision"]),
        ({}, {"a": 1}, {}, {}, ["memory_missing"]),
        ({"a": 1}, {"a": 1}, {"a": "b"}, {}, ["version_lost"]),
        ({"a": 1, "b": 2}, {"a": 1, "b": 2}, {"a": "b"}, {"k": 2}, ["key_twice"]),
    ],
)
def test_documents_and_journal(revisions, last, currents, keys, expected):  # type: ignore[no-untyped-def]
    assert [flaw.code for flaw in of_journal(revisions, last, currents, keys)] == expected


@pytest.mark.parametrize(
    ("tip", "states", "expected"),
    [
        ("a", [CycleState("a", "chat", False, 1)], []),
        (None, [CycleState("a", "chat", True, None)], []),
        ("b", [CycleState("a", "chat", False, 1)], ["tip_missing"]),
        ("a", [CycleState("a", "other", False, 1)], ["tip_missing", "chat_missing"]),
        ("a", [CycleState("a", "chat", False, None)], ["cycle_number"]),
        ("a", [CycleState("a", "chat", True, 1)], ["cycle_number"]),
    ],
)
def test_chats_and_cycles(tip, states, expected):  # type: ignore[no-untyped-def]
    chat = Conversation(id="chat", user="ana", tip=tip, created=utc_now(), updated=utc_now())
    assert [flaw.code for flaw in of_transcript({"chat": chat}, states)] == expected


def test_every_flaw_has_a_line() -> None:
    assert texts("en", "doctor").sections.keys() >= REPAIRABLE
    assert "'x'" in IntegrityIssue("key_twice", {"key": "'x'"}).text("pt")


async def test_stats_count_only_one_s_own(memory: Memory) -> None:
    await filled(memory)
    await memory.save("bia", [MemoryDraft(content="outra", kind="bio")])
    mine = await memory.stats("ana")
    assert dict(mine.memories) == {("active", None): 1, ("superseded", None): 1}
    assert (mine.chats, mine.cycles, mine.changes) == (1, 2, 3)
    assert mine.bytes > 0
    assert (await memory.stats("nobody")).memories == {}

"""Plants words that nobody ever said in each place that holds words, by the product's own ways."""

import secrets
from collections.abc import Sequence
from datetime import datetime

from langchain_core.messages import AIMessage, HumanMessage
from langchain_core.runnables import RunnableConfig
from langgraph.checkpoint.base import Checkpoint, empty_checkpoint

from thoughtcycle.checkpoints.factory import Saver
from thoughtcycle.memory.memory import Memory
from thoughtcycle.memory.model import (
    CriticalDatum,
    Cycle,
    CycleMessage,
    Judgement,
    LedgerEntry,
    MemoryDraft,
    MemoryRecord,
    OldCycle,
    Period,
    PreservedData,
    ProfileEntry,
    Source,
    Step,
    new_id,
)
from thoughtcycle.memory.storage import Conflict
from thoughtcycle.nodes.base.turn import short_form

LONGER_THAN_A_PAGE = 5_000
"""Letters; a page of SQLite has 4,096 bytes."""
_TRIES = 8
_SYLLABLES = [first + second for first in "bdfgklmnprtvz" for second in "aeiou"]


def new_markers() -> tuple[str, str]:
    """Two random words, the second longer than a page, that nothing takes for a key or a password."""
    return _word(16), _word(LONGER_THAN_A_PAGE)


def new_chat() -> str:
    """The id of the chat in which markers are planted."""
    return f"proof-{new_id()}"


def _word(letters: int) -> str:
    return "".join(secrets.choice(_SYLLABLES) for _ in range(letters // 2))


async def plant(memory: Memory, saver: Saver, user: str, chat: str, words: tuple[str, str]) -> list[str]:
    """Says, learns, changes, summarises and shows two marker words in a chat of their own.

    They stand in a memory with key, tags, search contexts and a former version, in the journal, in a file,
    in a cycle with steps and judgement, in the chat's title and memory, in the profile, and in a state of the
    thread with its writes. Jobs hold ids only, and the spool is empty while the database is there. Gives the
    ids of the memories and their former versions. All of it goes with the chat.
    """
    said = " ".join(words)
    cycle = await _say(memory, user, chat, said)
    draft = MemoryDraft(
        content=f"1: {said}",
        key=f"proof_{words[0]}",
        bindings=(words[0],),
        tags=(words[0],),
        source=Source(cycle=cycle.id, words=said),
    )
    (saved,) = await memory.save(user, [draft])
    record = await memory.update(user, saved.record.id, content=f"2: {said}", cycle=cycle.id, words=said)
    file = await memory.attach(user, f"{words[0]}.txt", said.encode(), caption=words[0], cycle=cycle.id)
    shown = [record.id, file.id]
    await _answer(memory, user, cycle, said, shown)
    await memory.rename_chat(user, chat, words[0])
    await _summarise(memory, user, cycle, said)
    await _observe(memory, user, cycle, said)
    await _store_state(saver, user, chat, said, cycle.opened_at, record)
    return [one.id for one in await memory.core.storage.erasure.family(user, shown)]


async def _say(memory: Memory, user: str, chat: str, said: str) -> Cycle:
    message = CycleMessage(id=new_id(), role="user", text=said, at=memory.core.clock())
    return await memory.transcript.open_cycle(user, chat, message, parent=None, channel="proof")


async def _answer(memory: Memory, user: str, cycle: Cycle, said: str, found: Sequence[str]) -> None:
    step = Step(action="MemorySave", input=said, outcome=said, status="done", found=[*found])
    reply = CycleMessage(id=new_id(), role="assistant", text=said, at=memory.core.clock())
    closed = await memory.transcript.close_cycle(
        user, cycle.id, execution=new_id(), messages=[reply], steps=[step], formation="none", shown=found
    )
    assert closed is not None
    judgement = Judgement(importance=0, summary=said, preserved=PreservedData(decisions=(said,)))
    await memory.conversations.form_cycle(
        user, cycle.id, judgement=judgement, marks=(), formation="none", expected=closed
    )


async def _summarise(memory: Memory, user: str, cycle: Cycle, said: str) -> None:
    at, ids, data = cycle.message.at, (cycle.id,), PreservedData(decisions=(said,))
    old = OldCycle(
        cycle_id=cycle.id,
        timestamp=at,
        summary=said,
        preserved_data=data,
        original_word_count=2,
        summary_word_count=2,
    )
    known = await memory.conversation_memory(user, cycle.chat)
    planted = {
        "working": said,
        "working_cycles": ids,
        "old_memory": (old,),
        "periods": (Period(cycle_ids=ids, since=at, until=at, summary=said, word_count=2),),
        "ledger": (LedgerEntry(cycle_id=cycle.id, timestamp=at, preserved_data=data),),
        "critical_data": (CriticalDatum(kind="declared_preferences", text=said, cycle=cycle.id, at=at),),
    }
    await memory.conversations.keep_conversation_memory(known.model_copy(update=planted))


async def _observe(memory: Memory, user: str, cycle: Cycle, said: str) -> None:
    """Adds to the profile; the entry goes with its cycle."""
    at, key = cycle.message.at, said.partition(" ")[0]
    entry = ProfileEntry(key=key, value=said, confidence=0.0, cycles=(cycle.id,), created=at, updated=at)
    for left in reversed(range(_TRIES)):
        known = await memory.profile(user)
        try:
            planted = known.model_copy(update={"entries": (*known.entries, entry)})
            await memory.conversations.keep_profile(planted)
            return
        except Conflict:  # formation writes it, too
            if not left:
                raise


async def _store_state(
    saver: Saver, user: str, chat: str, said: str, at: datetime, record: MemoryRecord
) -> None:
    state = {
        "user_id": user,
        "at": at.isoformat(),
        "messages": [HumanMessage(said), AIMessage(said)],
        "window": [{"role": "user", "content": said}],
        "recalled": [short_form(record)],
        "briefing": {"text": said},
    }
    config: RunnableConfig = {"configurable": {"thread_id": chat, "checkpoint_ns": ""}}
    checkpoint: Checkpoint = {**empty_checkpoint(), "channel_values": state}
    stored = await saver.aput(config, checkpoint, {"source": "loop", "step": 0, "parents": {}}, {})
    await saver.aput_writes(stored, [("messages", [AIMessage(said)])], new_id())

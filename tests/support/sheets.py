"""Makers of sheets for tests: two exchanges, and what formation could have made of them."""

from dataclasses import replace

from support.memories import START, said
from thoughtcycle.memory.conversation.loading import HOT, conversation_of, dumped
from thoughtcycle.memory.memory import Memory
from thoughtcycle.memory.model import Cycle, MemoryDraft, MemoryRecord, Source
from thoughtcycle.memory.model.conversation import (
    ConversationMemory,
    LedgerEntry,
    OldCycle,
    Period,
    Profile,
    ProfileEntry,
)
from thoughtcycle.memory.model.judgement import (
    CriticalDatum,
    FoundFact,
    Judgement,
    Mood,
    Preserved,
    PreservedData,
)
from thoughtcycle.memory.storage import StoredDocument

DOG = "Minha cachorra se chama Luna e custa R$ 350 por mês"
PLAN = "Quero juntar R$ 5.000 até dezembro"


async def talk(memory: Memory, text: str = DOG, chat: str = "chat", user: str = "ana") -> Cycle:
    """One closed cycle, pending."""
    before = await memory.conversation(user, chat, limit=1)
    parent = before[-1].id if before else None
    message = said(text, id=text[:20])
    opened = await memory.transcript.open_cycle(user, chat, message, parent=parent, channel="cli")
    reply = said(f"Entendi: {text}", f"r{text[:20]}", "assistant")
    closed = await memory.transcript.close_cycle(user, opened.id, execution="e", messages=[reply], steps=[])
    assert closed is not None
    return closed


async def dog(memory: Memory, cycle: Cycle) -> MemoryRecord:
    """The memory that the dog is Luna."""
    draft = MemoryDraft(content="Cachorra: Luna", source=Source(cycle=cycle.id, words=DOG))
    (kept,) = await memory.save("ana", [draft])
    return kept.record


def judgement(cycle: str) -> Judgement:
    """What was found in the cycle of DOG."""
    return Judgement(
        importance=60,
        summary="O usuário tem uma cachorra chamada Luna.",
        facts=(FoundFact(content="Cachorra: Luna", words=DOG), FoundFact(content="Gosta de jazz")),
        preserved=PreservedData(
            numerical_values=(Preserved(said="R$ 350", normalised="350"),),
            decisions=("Cuidar da Luna.", "Mudar de casa."),
        ),
        critical=(CriticalDatum(kind="configured_limits", text=DOG, cycle=cycle, at=START, values=("350",)),),
        mood=Mood(name="feliz", topic="luna"),
    )


def sheet(told: Cycle, other: Cycle) -> ConversationMemory:
    """The memory of a chat in which both were said."""
    data = PreservedData(numerical_values=(Preserved(said="R$ 350", normalised="350"),))
    plan = PreservedData(numerical_values=(Preserved(said="R$ 5.000", normalised="5000"),))
    summary = "Tem uma cachorra chamada Luna."
    return ConversationMemory(
        chat_id="chat",
        user_id="ana",
        old_memory=(
            OldCycle(
                cycle_id=told.id,
                timestamp=told.message.at,
                summary=summary,
                preserved_data=data,
                original_word_count=20,
                summary_word_count=5,
            ),
            OldCycle(
                cycle_id=other.id,
                timestamp=other.message.at,
                summary="Junta dinheiro. Pensa na Luna.",
                preserved_data=plan,
                original_word_count=20,
                summary_word_count=5,
            ),
        ),
        periods=(
            Period(
                cycle_ids=(told.id, other.id),
                since=told.message.at,
                until=other.message.at,
                summary="Falou de Luna. Falou de dinheiro.",
                word_count=6,
            ),
        ),
        ledger=(LedgerEntry(cycle_id=told.id, timestamp=told.message.at, preserved_data=data),),
        critical_data=(
            CriticalDatum(kind="configured_limits", text=DOG, cycle=told.id, at=told.message.at),
            CriticalDatum(kind="financial_goals", text=PLAN, cycle=other.id, at=other.message.at),
        ),
        working="Fala de Luna. Quer juntar dinheiro.",
        head=other.id,
        total_cycles=2,
        created_at=START,
        updated_at=START,
    )


def stored(memory: ConversationMemory, revision: int = 1) -> StoredDocument:
    """The document and entries of a memory, all of it or a part."""
    text, rows = dumped(memory, revision)
    return StoredDocument(memory.user_id, "conversation", memory.chat_id, revision, START, text, entries=rows)


def read(found: StoredDocument, *, partial: bool = False) -> ConversationMemory:
    """The memory that these say."""
    entries = {part: rows for part, rows in found.entries.items() if part in HOT or not partial}
    return conversation_of(replace(found, entries=entries, partial=partial), found.user, found.id, START)


def profile(told: Cycle, other: Cycle) -> Profile:
    """A profile that rests on both."""
    times = {"created": told.message.at, "updated": told.message.at}
    entries = (
        ProfileEntry(key="cachorra", value="Luna", confidence=0.7, cycles=(told.id,), **times),
        ProfileEntry(key="canal", value="e-mail", confidence=0.7, cycles=(other.id,), **times),
    )
    return Profile(user="ana", entries=entries, moods=((told.id, Mood(name="feliz", topic="luna")),))


async def taken_in(memory: Memory, user: str) -> None:
    """Formation in small: what was said goes into judgement, memory of the chat and profile as it is."""
    for cycle in await memory.conversations.pending_cycles(user, limit=3):
        text, at = cycle.message.text, cycle.message.at
        datum = CriticalDatum(kind="important_decisions", text=text, cycle=cycle.id, at=at)
        found = Judgement(
            importance=50, summary=text, facts=(FoundFact(content=text, words=text),), critical=(datum,)
        )
        await memory.conversations.form_cycle(
            user, cycle.id, judgement=found, marks=(), formation="done", expected=cycle
        )
        known = await memory.conversation_memory(user, cycle.chat)
        entry = OldCycle(
            cycle_id=cycle.id, timestamp=at, summary=text, original_word_count=1, summary_word_count=1
        )
        made = {
            "old_memory": (*known.old_memory, entry),
            "critical_data": (*known.critical_data, datum),
            "working": f"{known.working}\n{text}"[-300:],
            "head": cycle.id,
        }
        await memory.conversations.keep_conversation_memory(known.model_copy(update=made))
        habits = await memory.profile(user)
        habit = ProfileEntry(
            key=f"key {len(habits.entries)}",
            value=text,
            confidence=0.7,
            cycles=(cycle.id,),
            created=at,
            updated=at,
        )
        await memory.conversations.keep_profile(
            habits.model_copy(update={"entries": (*habits.entries, habit)})
        )

"""The memory of a conversation as an agent gets it: as one text and as one object (CM-10; pure)."""

from collections.abc import Iterator, Sequence
from typing import Any

from thoughtcycle.memory.model import CRITICAL, ConversationMemory, Cycle, CycleMessage
from thoughtcycle.memory.rules.word_budget import Volume, counted, cycle_words, reply_text, usage
from thoughtcycle.prompts.loader import Language, Texts, texts


def as_object(memory: ConversationMemory, recent: Sequence[Cycle], volume: Volume) -> dict[str, Any]:
    """Recent cycles byte for byte, old summaries, critical data, counts; plain JSON under SPEC's names.

    `recent`: the complete cycles of the window, oldest first. Word counts are made anew (CM-8).
    """
    whole = counted(memory, recent)
    plain = whole.model_dump(mode="json", exclude={"critical_data", "working", "periods", "revision"})
    return {
        "chat_id": plain["chat_id"],
        "user_id": plain["user_id"],
        "recent_memory": [_recent(cycle) for cycle in recent],
        "working_memory": whole.working,
        "old_memory": plain["old_memory"],
        "periods": [period.model_dump(mode="json") for period in whole.periods],
        "ledger": plain["ledger"],
        "critical_data": {
            kind: [
                datum.model_dump(mode="json", exclude={"kind"})
                for datum in whole.critical_data
                if datum.kind == kind
            ]
            for kind in CRITICAL
        },
        "metadata": {
            name: plain[name]
            for name in (
                "total_cycles",
                "total_word_count",
                "last_compression",
                "compression_count",
                "created_at",
                "updated_at",
            )
        },
        "usage_percent": usage(whole, volume),
        "stuck": whole.stuck,
    }


def _recent(cycle: Cycle) -> dict[str, Any]:
    return {
        "cycle_id": cycle.id,
        "timestamp": cycle.message.at.isoformat(),
        "user_message": cycle.message.text,
        "ai_response": reply_text(cycle),
        "word_count": cycle_words(cycle),
    }


def as_text(memory: ConversationMemory, recent: Sequence[Cycle], volume: Volume, language: Language) -> str:
    """The same for reading: critical data, the state of things, what was before, the last exchanges."""
    whole = counted(memory, recent)
    said = texts(language, "conversation")
    blocks = [block for block in _blocks(whole, recent, said) if block]
    share = said.fill(
        "usage",
        words=whole.total_word_count,
        limit=volume.words,
        percent=f"{usage(whole, volume):g}",
        cycles=whole.total_cycles,
        compressions=whole.compression_count,
    )
    return "\n\n".join([f"{said['title']}\n{share}", *(blocks or [said["empty"]])])


def _blocks(memory: ConversationMemory, recent: Sequence[Cycle], said: Texts) -> Iterator[str]:
    for kind in CRITICAL:
        lines = [
            f"- {datum.text} ({datum.at:%Y-%m-%d})" for datum in memory.critical_data if datum.kind == kind
        ]
        yield _block(said[kind], lines)
    yield _block(said["working"], [memory.working] if memory.working else [])
    old = [f"- {one.since:%Y-%m-%d} … {one.until:%Y-%m-%d}: {one.summary}" for one in memory.periods]
    for entry in memory.old_memory:
        pending = f"{said['pending']} " if entry.pending_summarization else ""
        old.append(f"- {entry.timestamp:%Y-%m-%d}: {pending}{entry.summary}")
    yield _block(said["old"], old)
    spoken = [
        f"{said['user' if one.role == 'user' else 'assistant']}: {one.text}" for one in _messages(recent)
    ]
    yield _block(said["recent"], spoken)


def _messages(recent: Sequence[Cycle]) -> Iterator[CycleMessage]:
    for cycle in recent:
        yield cycle.message
        yield from cycle.replies


def _block(heading: str, lines: Sequence[str]) -> str:
    return "\n".join([f"{heading}:", *lines]) if lines else ""

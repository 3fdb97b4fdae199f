"""Renders a conversation memory for an agent: as one text and as one JSON object (CM-10; pure)."""

from collections.abc import Iterator, Sequence
from typing import Any

from thoughtcycle.memory.model import CRITICAL, ConversationMemory, Cycle
from thoughtcycle.memory.rules.word_budget import (
    WordBudget,
    cycle_words,
    reply_text,
    usage_percent,
    with_word_counts,
)
from thoughtcycle.prompts.loader import Language, Texts, texts

_METADATA = [
    "total_cycles",
    "total_word_count",
    "last_compression",
    "compression_count",
    "created_at",
    "updated_at",
]


def render_object(memory: ConversationMemory, recent: Sequence[Cycle], budget: WordBudget) -> dict[str, Any]:
    """Recent cycles verbatim, old summaries, critical data and counts, as plain JSON.

    `recent`: the complete cycles of the window, oldest first. Word counts are made anew (CM-8).
    """
    whole = with_word_counts(memory, recent)
    plain = whole.model_dump(mode="json")
    return {
        "chat_id": plain["chat_id"],
        "user_id": plain["user_id"],
        "recent_memory": [_recent(cycle) for cycle in recent],
        "working_memory": plain["working"],
        "old_memory": plain["old_memory"],
        "periods": plain["periods"],
        "ledger": plain["ledger"],
        "critical_data": {
            kind: [
                {name: value for name, value in datum.items() if name != "kind"}
                for datum in plain["critical_data"]
                if datum["kind"] == kind
            ]
            for kind in CRITICAL
        },
        "metadata": {name: plain[name] for name in (*_METADATA, "created_at", "updated_at")},
        "usage_percent": usage_percent(whole, budget),
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


def render_text(
    memory: ConversationMemory, recent: Sequence[Cycle], budget: WordBudget, language: Language
) -> str:
    """The same as text: critical data, working summary, old summaries, the last exchanges."""
    whole = with_word_counts(memory, recent)
    said = texts(language, "conversation")
    blocks = [block for block in _blocks(whole, recent, said) if block]
    share = said.fill(
        "usage",
        words=whole.total_word_count,
        limit=budget.words,
        percent=f"{usage_percent(whole, budget):g}",
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
    messages = (one for cycle in recent for one in (cycle.message, *cycle.replies))
    spoken = [f"{said['user' if one.role == 'user' else 'assistant']}: {one.text}" for one in messages]
    yield _block(said["recent"], spoken)


def _block(heading: str, lines: Sequence[str]) -> str:
    return "\n".join([f"{heading}:", *lines]) if lines else ""

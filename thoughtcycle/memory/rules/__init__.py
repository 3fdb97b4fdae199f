"""The rules of memory: what is kept, summarised, compressed, and when it fades (pure)."""

from thoughtcycle.memory.rules.compression import (
    Piece,
    RollUp,
    Shorten,
    apply_roll_up,
    apply_shortening,
    finish_compression,
    next_step,
)
from thoughtcycle.memory.rules.decay import (
    FORGOTTEN_STRENGTH,
    DuplicateFinder,
    archive_reason,
    last_use,
    priority_by_use,
    strength,
    time_since_said,
)
from thoughtcycle.memory.rules.layer_rules import is_event, layer_marks, preferences_in
from thoughtcycle.memory.rules.preserved_data import figures, live_critical_data
from thoughtcycle.memory.rules.profile import recurring_mood, with_mood, with_observation
from thoughtcycle.memory.rules.relevance_filter import Verdict, filter_exchange, filter_message, filter_reply
from thoughtcycle.memory.rules.rendering import render_object, render_text
from thoughtcycle.memory.rules.window import (
    WINDOW_CYCLES,
    WORKING_SUMMARY_EVERY,
    branch_end,
    follow_branch,
    missing_cycles,
    with_working,
    working_due,
)
from thoughtcycle.memory.rules.word_budget import (
    WordBudget,
    compression_due,
    recent_words,
    reply_text,
    usage_percent,
    with_word_counts,
)

__all__ = [
    "FORGOTTEN_STRENGTH",
    "WINDOW_CYCLES",
    "WORKING_SUMMARY_EVERY",
    "DuplicateFinder",
    "Piece",
    "RollUp",
    "Shorten",
    "Verdict",
    "WordBudget",
    "apply_roll_up",
    "apply_shortening",
    "archive_reason",
    "branch_end",
    "compression_due",
    "figures",
    "filter_exchange",
    "filter_message",
    "filter_reply",
    "finish_compression",
    "follow_branch",
    "is_event",
    "last_use",
    "layer_marks",
    "live_critical_data",
    "missing_cycles",
    "next_step",
    "preferences_in",
    "priority_by_use",
    "recent_words",
    "recurring_mood",
    "render_object",
    "render_text",
    "reply_text",
    "strength",
    "time_since_said",
    "usage_percent",
    "with_mood",
    "with_observation",
    "with_word_counts",
    "with_working",
    "working_due",
]

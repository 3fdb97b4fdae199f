"""The rules of memory: what is kept, summarised, compressed, and when it fades (pure)."""

from thoughtcycle.memory.rules.compression import (
    Piece,
    RollUp,
    Shorten,
    finished,
    next_step,
    rolled_up,
    shortened,
)
from thoughtcycle.memory.rules.decay import (
    FORGOTTEN,
    Sketches,
    age,
    last_use,
    past_its_time,
    priority_by_use,
    strength,
)
from thoughtcycle.memory.rules.layer_rules import is_event, marks_of, preferences_in
from thoughtcycle.memory.rules.preserved_data import figures, of_live
from thoughtcycle.memory.rules.profile import felt, observed, recurring
from thoughtcycle.memory.rules.relevance_filter import Verdict, of_exchange, of_message, of_reply
from thoughtcycle.memory.rules.rendering import as_object, as_text
from thoughtcycle.memory.rules.window import (
    EVERY,
    WINDOW,
    aged,
    missing,
    since_head,
    with_working,
    working_due,
)
from thoughtcycle.memory.rules.word_budget import (
    Volume,
    compression_due,
    counted,
    recent_words,
    reply_text,
    usage,
)

__all__ = [
    "EVERY",
    "FORGOTTEN",
    "WINDOW",
    "Piece",
    "RollUp",
    "Shorten",
    "Sketches",
    "Verdict",
    "Volume",
    "age",
    "aged",
    "as_object",
    "as_text",
    "compression_due",
    "counted",
    "felt",
    "figures",
    "finished",
    "is_event",
    "last_use",
    "marks_of",
    "missing",
    "next_step",
    "observed",
    "of_exchange",
    "of_live",
    "of_message",
    "of_reply",
    "past_its_time",
    "preferences_in",
    "priority_by_use",
    "recent_words",
    "recurring",
    "reply_text",
    "rolled_up",
    "shortened",
    "since_head",
    "strength",
    "usage",
    "with_working",
    "working_due",
]

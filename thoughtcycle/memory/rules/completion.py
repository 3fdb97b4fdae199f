"""Completes what a draft leaves open: kind, key, weight, tags, time, the days of its dates (pure)."""

from datetime import datetime
from typing import Any

from thoughtcycle.language.facts import fact_behind, tells_past
from thoughtcycle.language.parse import annotate, detect_language
from thoughtcycle.memory.model import MemoryDraft
from thoughtcycle.memory.rules.layer_rules import tags_of
from thoughtcycle.prompts.loader import Language

FEELING = 0.7
"""Weight of a feeling, and intensity of a mood, for which nothing tells how strong it is."""


def complete(draft: MemoryDraft, language: Language, now: datetime) -> MemoryDraft:
    """`draft` with what it leaves open, whoever made it; idempotent. `language`: where its text shows none.

    Kind, key and weight are those of the fact that the language rules read in its text or in the words behind
    it; without such a fact they stay open. Relative dates are followed by the day that they mean, read at
    `draft.said`, else at `now`, the time in the user's zone (BY-11).
    """
    if draft.type not in ("text", "json"):
        return draft
    said = draft.said or now
    content = dated(draft.content, language, said)
    update: dict[str, Any] = {"content": content, "said": said}
    if isinstance(content, str):
        spoken, source = detect_language(content, language), draft.source
        own = draft.key is None and source.speaker == "user"
        fact = fact_behind(content, source.words, spoken, said) if own else None
        if fact:
            update |= {"kind": draft.kind or fact.kind, "key": fact.key}
        if "weight" not in draft.model_fields_set and (fact or draft.kind == "emo"):
            update["weight"] = fact.weight if fact else FEELING
        update["tags"] = tuple(dict.fromkeys((*draft.tags, *tags_of(content))))
    return draft.model_copy(update=update)


def dated(content: Any, language: Language, said: datetime) -> Any:
    """`content` with each relative date in its texts followed by the day that it means (BY-11)."""
    if isinstance(content, dict):
        return {name: dated(value, language, said) for name, value in content.items()}
    if isinstance(content, list):
        return [dated(value, language, said) for value in content]
    if not isinstance(content, str):
        return content
    spoken = detect_language(content, language)
    return annotate(content, spoken, said, past=tells_past(content, spoken))

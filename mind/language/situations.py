"""What an everyday situation calls for: whoever is going to cook is reminded of tastes and diet (HM-9)."""

from thoughtcycle.mind.language.detect import detect_language
from thoughtcycle.mind.language.fold import fold
from thoughtcycle.mind.language.patterns import compiled
from thoughtcycle.mind.language.topics import topic_context
from thoughtcycle.prompts.loader import Language, word_lists

READ = 2_000
"""Characters of a message that are looked at."""


def situation_contexts(text: str, language: Language) -> tuple[str, ...]:
    """The search context of each topic that the message's situation touches; () for none."""
    spoken = detect_language(text, language)
    folded = fold(text, spoken, limit=READ)
    found: dict[str, None] = {}
    for topics, pattern in word_lists(spoken, "language/situations")["situation"].items():
        if compiled(rf"(?<!\w)(?:{pattern})(?!\w)", spoken).search(folded.text):
            for topic in topics.split("_"):
                found.setdefault(topic_context(topic, spoken))
    return tuple(found)

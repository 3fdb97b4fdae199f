"""Cause, duration and intensity of a feeling (HM-4: a reaction is kept by its topic and intensity)."""

from thoughtcycle.language.parse import Folded, compiled, phrase, slug, without_article
from thoughtcycle.prompts.loader import Language, word_lists

WEAK, NORMAL, STRONG = 0.4, 0.7, 0.9


def feeling_topic(folded: Folded, start: int, end: int, language: Language) -> str:
    """The slug of what causes the feeling, from what follows the mood; empty when nothing is named."""
    words = word_lists(language, "language/feelings")
    named = (compiled(words[name], language).search(folded.text, start, end) for name in ("because", "cause"))
    cause = next(filter(None, named), None)
    if cause is None:
        return ""
    a, b = phrase(folded, cause.end(), end, language)
    a, b = without_article(folded, a, b, language)
    return slug(folded.original(a, b), language, words=4)


def momentary(mood: str, text: str, topic: str, language: Language) -> bool:
    """Whether a mood such as tiredness comes and goes: nothing causes it, and nothing says that it lasts."""
    words = word_lists(language, "language/feelings")
    if mood not in words["momentary"] or compiled(words["lasting"], language).search(text):
        return False
    return not topic or topic in words["no_cause"]


def intensity(text: str, language: Language) -> float:
    """The weight of a feeling by the words around it."""
    words = word_lists(language, "language/feelings")
    if compiled(words["weak"], language).search(text):
        return WEAK
    return STRONG if compiled(words["strong"], language).search(text) else NORMAL

"""Whether a message asks to keep nothing of itself or of what was said before it, or to undo a change."""

from functools import cache

from thoughtcycle.mind.language.fold import fold
from thoughtcycle.mind.language.patterns import compiled
from thoughtcycle.prompts.loader import LANGUAGES, Language, word_lists

LONGEST = 200
"""Characters of a message that says nothing but that."""


@cache
def _pattern(name: str, language: Language) -> str:
    return str(word_lists(language, "language/clauses")[name])


def unsays(text: str) -> bool:
    """Whether a message says, in any language, that it is not to be kept: "don't remember this: …"."""
    return any(
        compiled(_pattern("not_kept", language), language).search(fold(text, language).text)
        for language in LANGUAGES
    )


def unsays_last(text: str) -> bool:
    """Whether a message says that and nothing else, so that it means what was said before it."""
    return len(text) <= LONGEST and any(_alone(text, language) for language in LANGUAGES)


def undoes_last(text: str) -> bool:
    """Whether a message says, in any language, nothing but that the last change shall be taken back."""
    return len(text) <= LONGEST and any(
        compiled(str(word_lists(language, "language/social")["undo_last"]), language).fullmatch(
            fold(text, language).text.strip(" .,!;?…")
        )
        for language in LANGUAGES
    )


def _alone(text: str, language: Language) -> bool:
    folded = fold(text, language).text.strip(" .,!;?…")
    if "?" in text and not compiled(_pattern("not_kept_asked", language), language).search(folded):
        return False
    return compiled(_pattern("not_kept_alone", language), language).fullmatch(folded) is not None

"""Labels of moods and habits in each language."""

from typing import Literal

from thoughtcycle.prompts.loader import Language, texts


def label_of(kind: Literal["mood", "habit"], name: str, language: Language) -> str:
    """The words for a mood (`anxious`), or for a key or value of a habit (`time_preference`, `morning`).

    `name` itself, without underscores, where the texts have none, as for an hour.
    """
    words, section = texts(language, "formation/patterns"), f"{kind}.{name}"
    return words[section] if section in words else name.replace("_", " ")

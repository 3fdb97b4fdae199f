"""What the entries of a profile are called in each language."""

from thoughtcycle.prompts.loader import Language, texts


def habit_label(name: str, language: Language) -> str:
    """The words for a language-neutral key or value of a habit (`time_preference`, `morning`).

    `name` itself, without underscores, for one that the texts do not know, such as an hour.
    """
    words, section = texts(language, "formation/patterns"), f"habit.{name}"
    return words[section] if section in words else name.replace("_", " ")

"""What a mood is called in each language."""

from thoughtcycle.prompts.loader import Language, texts


def mood_label(name: str, language: Language) -> str:
    """The word for a language-neutral mood (`anxious`); `name` itself for one that the texts do not know."""
    words, section = texts(language, "formation/patterns"), f"mood.{name}"
    return words[section] if section in words else name.replace("_", " ")

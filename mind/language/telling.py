"""Whether a message tells something of its user: what the funnel needs to know of grammar, as booleans."""

from dataclasses import dataclass
from datetime import datetime

from thoughtcycle.mind.language.clauses import parse
from thoughtcycle.mind.language.detect import detect_language
from thoughtcycle.mind.language.understanding import understand
from thoughtcycle.prompts.loader import Language


@dataclass(frozen=True)
class Telling:
    """What the grammar of a message says about its worth."""

    personal: bool
    """It states a fact about the user, takes one back, or asks to note something down."""
    unsaid: bool
    """It takes itself back: a joke, or not to be kept."""
    forgets: bool
    """It asks to forget something and tells nothing else."""


def telling(text: str, language: Language, now: datetime) -> Telling:
    """Reads a message; `language` decides where its words do not. Linear in the length of `text`."""
    found = understand(text, language=language, now=now)
    personal = bool(found.facts or found.retractions)
    unsaid = parse(text, detect_language(text, language)).unsaid
    return Telling(personal, unsaid, forgets=bool(found.targets) and not personal)

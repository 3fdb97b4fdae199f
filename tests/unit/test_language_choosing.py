"""An answer that picks one of the things listed, and what picks none."""

import pytest

from thoughtcycle.language.intents.choice import parse_choice
from thoughtcycle.prompts.loader import Language


@pytest.mark.spec("TC-11")
@pytest.mark.parametrize(
    ("language", "text", "place"),
    [
        ("pt", "a primeira", 0),
        ("pt", "O primeiro!", 0),
        ("pt", "acho que a segunda, por favor", 1),
        ("pt", "número 2", 1),
        ("pt", "a 3ª", 2),
        ("pt", "esquece a última", 2),
        ("pt", "a quarta", None),
        ("pt", "a primeira vez que fui a Roma", None),
        ("pt", "nenhuma", None),
        ("pt", "", None),
        ("en", "the first one", 0),
        ("en", "First.", 0),
        ("en", "the 2nd, please", 1),
        ("en", "number 3", 2),
        ("en", "delete the last one", 2),
        ("en", "the fourth", None),
        ("en", "my first dog was Rex", None),
        ("en", "neither", None),
        ("en", "the first one " * 1000, None),
    ],
)
def test_what_is_picked_of_three(language: Language, text: str, place: int | None) -> None:
    assert parse_choice(text, 3, language) == place


def test_of_nothing_nothing_is_picked() -> None:
    assert parse_choice("the last one", 0, "en") is None

"""Situations of everyday life bring the topics that they call for to mind."""

from pathlib import Path

import pytest

from support.graphs import lab
from thoughtcycle.language.parse.topics import situation_contexts
from thoughtcycle.prompts.loader import Language


@pytest.mark.spec("HM-9")
@pytest.mark.parametrize(
    ("text", "language", "contexts"),
    [
        ("vou cozinhar o jantar", "pt", ("alimentação", "alergia")),
        ("o que faço pro ALMOÇO?", "pt", ("alimentação", "alergia")),
        ("preciso comprar um tênis", "pt", ("orçamento", "meta")),
        ("any dinner ideas?", "en", ("food", "allergy")),
        ("what gift should I get her?", "en", ("family", "schedule")),
        ("o céu é azul", "pt", ()),
        ("a cooked-up story", "en", ("food", "allergy")),
        ("scooking", "en", ()),
    ],
)
def test_contexts_of_a_situation(text: str, language: Language, contexts: tuple[str, ...]) -> None:
    assert situation_contexts(text, language) == contexts


@pytest.mark.spec("HM-9")
@pytest.mark.parametrize(
    ("told", "asked", "brought"),
    [
        ("não gosto de coentro", "vou cozinhar o jantar", "coentro"),
        ("I'm allergic to peanuts", "any dinner ideas?", "peanuts"),
    ],
)
async def test_a_situation_brings_what_matters_to_mind(
    tmp_path: Path, told: str, asked: str, brought: str
) -> None:
    async with lab(tmp_path) as talk:
        await talk.say(told, "before")
        values = await talk.say(asked, "later")
        assert (
            brought
            in (await talk.graph.aget_state({"configurable": {"thread_id": "later"}})).values["briefing"][
                "text"
            ]
        )
        assert values["recalled"]

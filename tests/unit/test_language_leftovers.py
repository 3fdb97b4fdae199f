"""Clauses that lean on another one, and several facts in one clause: moves, shared homes, any favourite."""

from datetime import datetime

import pytest

from thoughtcycle.language.intents.understanding import Understanding, understand
from thoughtcycle.prompts.loader import Language

NOW = datetime(2026, 11, 21, 10, 0)


def read(text: str, language: Language) -> Understanding:
    return understand(text, language=language, now=NOW)


def told(text: str, language: Language) -> dict[str, str]:
    return {fact.key: fact.content for fact in read(text, language).facts}


@pytest.mark.spec("HM-4", "HM-6")
@pytest.mark.parametrize(
    ("language", "message", "facts", "denied"),
    [
        ("en", "I don't live in Leeds anymore, I'm in York now", {"home": "Lives in York"}, "home"),
        ("en", "I no longer live in Leeds. Now I'm in York", {}, "home"),
        ("en", "i don't live in leeds anymore, i'm in york now", {"home": "Lives in york"}, "home"),
        ("en", "I no longer work at Monzo, I'm at Barclays now", {"work": "Works at Barclays"}, "work"),
        ("en", "I don't live in Leeds anymore, I'm in a hurry now", {}, "home"),
        ("en", "i don't live in leeds anymore, i'm in trouble now", {}, "home"),
        ("pt", "não moro mais em Leeds, agora tô em York", {"home": "Mora em York"}, "home"),
        ("pt", "não moro mais em leeds, agora to em york", {"home": "Mora em york"}, "home"),
        ("pt", "Não moro mais em Santos, estou no Rio agora", {"home": "Mora no Rio"}, "home"),
        ("pt", "não trabalho mais no Nubank, agora tô no Itaú", {"work": "Trabalha no Itaú"}, "work"),
        ("pt", "não moro mais em leeds, to em crise agora", {}, "home"),
    ],
)
def test_who_lives_elsewhere_now_tells_where(
    language: Language, message: str, facts: dict[str, str], denied: str
) -> None:
    assert told(message, language) == facts
    assert [each.key for each in read(message, language).retractions] == [denied]


@pytest.mark.spec("HM-4")
@pytest.mark.parametrize(
    ("language", "message", "facts"),
    [
        (
            "pt",
            "moro em Santos com a minha namorada Júlia",
            {
                "home": "Mora em Santos",
                "household": "Mora com a sua namorada Júlia",
                "family:girlfriend:julia": "Namorada: Júlia",
            },
        ),
        ("pt", "moro com meus pais em Natal", {"home": "Mora em Natal", "household": "Mora com seus pais"}),
        ("pt", "moro em casa com quintal", {"home": "Mora em casa"}),
        (
            "en",
            "I live in Santa Cruz with my girlfriend Julia",
            {
                "home": "Lives in Santa Cruz",
                "household": "Lives with their girlfriend Julia",
                "family:girlfriend:julia": "Girlfriend: Julia",
            },
        ),
        (
            "en",
            "I live with my parents in Leeds",
            {"home": "Lives in Leeds", "household": "Lives with their parents"},
        ),
        ("en", "I live in a house with a garden", {"home": "Lives in a house"}),
        ("en", "if I lived in Leeds with my wife Ana I'd be happy", {}),
    ],
)
def test_where_and_with_whom_are_two_facts(language: Language, message: str, facts: dict[str, str]) -> None:
    assert told(message, language) == facts


@pytest.mark.spec("BY-3")
@pytest.mark.parametrize(
    ("language", "message"),
    [
        ("pt", "quais são minhas coisas preferidas?"),
        ("pt", "quais as minhas coisas favoritas?"),
        ("en", "what are my favourite things?"),
        ("en", "what's my favorite stuff?"),
    ],
)
def test_any_favourite_asks_for_all_preferences(language: Language, message: str) -> None:
    asked = read(message, language)
    assert asked.asked and asked.asked_keys == ("favorite", "taste", "preference")


def test_a_favourite_of_one_category_stays_one() -> None:
    assert read("qual minha cor preferida?", "pt").asked_keys == ("favorite:color",)
    assert read("apague minhas coisas favoritas", "pt").forget_keys == ("favorite",)


@pytest.mark.spec("HM-6", "CM-7")
@pytest.mark.parametrize(
    ("language", "message", "key", "content"),
    [
        ("pt", "Limite de uber: 80 por mês", "limit:uber", "Limite de uber: 80 por mês"),
        ("pt", "meu limite de uber é R$ 90", "limit:uber", "Limite de uber: R$ 90"),
        ("pt", "limite de gastos: 500", "limit:gasto", "Limite de gastos: 500"),
        ("en", "my uber limit is $80 a month", "limit:uber", "Limit for uber: $80 a month"),
        ("en", "Pizza limit: 50 a month", "limit:pizza", "Limit for Pizza: 50 a month"),
    ],
)
def test_a_limit_says_of_what_it_is(language: Language, message: str, key: str, content: str) -> None:
    assert told(message, language) == {key: content}

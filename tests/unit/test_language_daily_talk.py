"""How people tell of themselves and of others in passing, in English and Portuguese; and what is no fact."""

from datetime import datetime

import pytest

from thoughtcycle.language.intents.understanding import understand
from thoughtcycle.language.parse.folding import fold
from thoughtcycle.prompts.loader import Language

NOW = datetime(2026, 11, 21, 10, 0)

TOLD: tuple[tuple[Language, str, str], ...] = (
    # work
    ("en", "I run a tiny restaurant near the port", "Runs a tiny restaurant near the port"),
    ("en", "I teach chemistry", "Teaches chemistry"),
    ("en", "my work is in advertising", "Works in advertising"),
    ("en", "started at Nokia last week", "Works at Nokia, began last week (week of 2026-11-09)"),
    ("en", "I do evening shifts at a call centre", "Does evening shifts at a call centre"),
    ("en", "my startup builds drones", "Their startup builds drones"),
    ("en", "I report to Ingrid", "Reports to Ingrid"),
    ("en", "I used to play the cello", "Used to play the cello"),
    ("pt", "arranjei um trampo na Natura mês passado", "Trabalha na Natura, começou mês passado (2026-10)"),
    ("pt", "tenho um salão em Olinda", "Tem um salão em Olinda"),
    ("pt", "nossa empresa vende aquários", "Sua empresa vende aquários"),
    ("pt", "me formei em letras", "Formação: letras"),
    # people, by kin and by name
    ("en", "my husband's a welder", "Husband is a welder"),
    ("en", "my cousin's moving to Bergen", "Cousin is moving to Bergen"),
    ("en", "Ruth is allergic to penicillin", "Ruth is allergic to penicillin"),
    ("en", "Hugo turned 9 yesterday", "Hugo turned 9 yesterday (2026-11-20)"),
    ("en", "Hugo isn't 8, he's 9", "Hugo is 9"),
    ("en", "Pickle is our parrot", "Pickle is their parrot"),
    ("en", "my kids are 3, 5 and 9", "Kids are 3, 5 and 9"),
    ("en", "we've been together since 2011", "Together since 2011"),
    ("pt", "a Dora é alérgica a mel", "Dora é alérgica a mel"),
    ("pt", "o Davi fez 9 anos ontem", "Davi fez 9 anos ontem (2026-11-20)"),
    ("pt", "minha tia vem morar aqui em março", "Tia vem morar aqui em março"),
    ("pt", "sou noivo da Olga", "Noivo da Olga"),
    # body, food, habits
    ("en", "I'm on thyroid meds", "Takes thyroid meds"),
    ("en", "I get a rash from wool", "Gets a rash from wool"),
    ("en", "I drink three coffees a day", "Drinks three coffees a day"),
    ("en", "I usually have dinner at 9", "Usually has dinner at 9"),
    ("en", "I'm 5 foot 9", "Height: 5 foot 9"),
    ("pt", "tomo quatro cafés por dia", "Toma quatro cafés por dia"),
    # limits, decisions, wishes
    ("en", "nothing above 70 euros please", "Limit: nothing above 70 euros"),
    ("en", "keep it under 45 minutes", "Limit: keep it under 45 minutes"),
    ("en", "I'm done with night shifts", "Done with night shifts"),
    ("en", "I won't be going to the fair", "Will not be going to the fair"),
    ("en", "don't use slang with me", "Request: don't use slang with me"),
    ("pt", "posso pagar no máximo 90 no conserto", "Limite: posso pagar no máximo 90 no conserto"),
    ("pt", "a gente decidiu mudar de escola", "Decidiu mudar de escola"),
    # journeys and dates
    ("en", "we're off to Oslo on Friday", "Off to Oslo on Friday (2026-11-27)"),
    ("en", "my lease ends in June", "Lease: in June"),
    ("en", "band practice is every Tuesday", "Band practice: every Tuesday"),
    ("en", "I crashed the van on Monday", "Crashed the van on Monday (2026-11-16)"),
    ("pt", "indo pra Natal em janeiro", "Vai pra Natal em janeiro"),
    ("pt", "bati a moto quarta", "Bateu a moto quarta (2026-11-18)"),
    ("pt", "o médico adiou minha consulta pra terça", "Consulta: terça (2026-11-24)"),
    ("en", "$90 max for the gift", "Limit: $90 max for the gift"),
    ("en", "I'm capping my coffee at two cups, 2 a day", "Limit: capping my coffee at two cups, 2 a day"),
    ("en", "it's official, we're moving to Bergen", "Moving to Bergen"),
    ("en", "my dog Otto had surgery today", "Dog Otto had surgery today (2026-11-21)"),
    ("en", "our two dogs are Salt and Pepper", "Dogs: Salt and Pepper"),
    ("en", "my landlady approved our lease for May", "Their landlady approved their lease for May"),
    # feelings
    ("en", "absolutely exhausted from the night shifts", "Absolutely exhausted from the night shifts"),
    ("en", "it scares me that the fever won't drop", "It scares them that the fever won't drop"),
    ("en", "it's been so hard since the fire", "It's been so hard since the fire"),
    ("en", "I'm absolutely terrified about the biopsy", "Absolutely terrified about the biopsy"),
    ("pt", "sinto falta da minha irmã", "Sente falta de sua irmã"),
)


@pytest.mark.spec("HM-4")
@pytest.mark.parametrize(("language", "message", "content"), TOLD)
def test_what_is_told_in_passing(language: Language, message: str, content: str) -> None:
    facts = understand(message, language=language, now=NOW).facts
    assert [fact.content for fact in facts] == [content]


@pytest.mark.parametrize(
    ("language", "message"),
    [
        ("en", "Ratatouille is one of my favourites"),
        ("en", "my wife's bike"),
        ("en", "the meeting's agenda"),
        ("en", "we don't go often"),
        ("en", "I've been doing good"),
        ("en", "She is allergic to peanuts"),
        ("en", "going to bed"),
        ("en", "a couple of times I found coins"),
        ("en", "our dogs had a blast"),
        ("en", "I'm going to the shop on Friday night with your list?"),
        ("pt", "ele é alérgico a amendoim"),
        ("pt", "passei mal"),
        ("pt", "vou dormir"),
    ],
)
def test_what_is_no_fact_of_the_user(language: Language, message: str) -> None:
    assert understand(message, language=language, now=NOW).facts == ()


@pytest.mark.parametrize(
    ("text", "folded"),
    [
        ("my wife's a pilot", "my wife is a pilot"),
        ("my wife’s a pilot", "my wife is a pilot"),
        ("the meeting's been moved", "the meeting has been moved"),
        ("my wife's painting hangs here", "my wife's painting hangs here"),
        ("Dad's 60", "dad is 60"),
        ("Dad's 60th", "dad's 60th"),
    ],
)
def test_a_verb_behind_an_apostrophe(text: str, folded: str) -> None:
    found = fold(text, "en")
    assert found.text == folded and found.original(0, len(folded)) == text

"""What a new fact is to what is known: the same in other words, newer, or another thing; never by likeness alone."""

import time

import pytest

from thoughtcycle.language.facts.reconciliation import Claim, Relation, reconcile
from thoughtcycle.language.facts.statements import parse_statement
from thoughtcycle.prompts.loader import Language


def relation(fact: str, known: str, language: Language) -> tuple[str, str]:
    found = reconcile(Claim(fact), [Claim(known, id="old")], language)
    return found.relation, found.broader if found.relation == "same" else ""


@pytest.mark.spec("HM-6")
@pytest.mark.parametrize(
    ("language", "known", "fact", "broader"),
    [
        ("en", "Doesn't like meat", "Is vegetarian", "fact"),
        ("en", "Is vegetarian", "Doesn't eat meat", "known"),
        ("pt", "Não gosta de carne", "É vegetariana", "fact"),
        ("pt", "É vegetariano", "Não come carne", "known"),
        ("pt", "Não come camarão", "Não come frutos do mar", "fact"),
        ("en", "Doesn't eat seafood", "Doesn't eat shrimp", "known"),
        ("en", "Likes bananas", "Likes fruit", "fact"),
        ("en", "Plays an instrument", "Plays the piano", "fact"),
        ("en", "Is vegetarian", "Is vegan", "fact"),
        ("pt", "Tem um gato", "Tem um gato chamado Tom", "fact"),
        ("pt", "Odeia coentro", "Não gosta de coentro", "known"),
        ("en", "Lives in Leeds", "Resides in Leeds", "known"),
        ("pt", "É alérgico a amendoim", "Tem alergia a amendoim", "known"),
        ("en", "Wants to save $10,000 for a trip", "Goal: put aside 10k to travel", "known"),
        ("pt", "Parou de fumar", "Não fuma", "known"),
        ("en", "Prefers tea to coffee", "Likes tea more than coffee", "known"),
    ],
)
def test_the_same_in_other_words_is_merged_into_the_broader(
    language: Language, known: str, fact: str, broader: str
) -> None:
    assert relation(fact, known, language) == ("same", broader)


@pytest.mark.spec("HM-6")
@pytest.mark.parametrize(
    ("language", "known", "fact"),
    [
        ("pt", "Gosta de café", "Não gosta de café"),
        ("en", "Loves dogs", "Hates dogs"),
        ("en", "Is vegetarian", "Eats meat"),
        ("pt", "É vegetariana", "Voltou a comer carne"),
        ("en", "Lives in Leeds", "Lives in York"),
        ("pt", "Limite de R$ 500 em restaurantes", "Limite de R$ 700 em restaurantes"),
        ("en", "The flight is at 10pm", "The flight is at 8pm"),
        ("pt", "A cor favorita é verde", "A cor favorita é azul"),
        ("en", "Prefers tea to coffee", "Prefers coffee to tea"),
        ("pt", "Toma ritalina", "Parou de tomar ritalina"),
        ("en", "Is single", "Is married"),
        ("en", "Collects stamps", "Sold the stamp collection"),
        ("pt", "Joga vôlei aos sábados", "meu vôlei passou para domingo"),
        ("en", "His son is 3", "his son turned 4"),
        ("pt", "Acorda às 6h", "Acorda às 7h"),
    ],
)
def test_what_cannot_both_hold_makes_the_older_past(language: Language, known: str, fact: str) -> None:
    assert relation(fact, known, language)[0] == "newer"


@pytest.mark.spec("HM-6")
@pytest.mark.parametrize(
    ("language", "known", "fact"),
    [
        ("pt", "Mora em Lisboa", "Quer morar em Lisboa"),
        ("en", "Has a cat called Tom", "Has a cat called Mia"),
        ("en", "Her sister lives in Glasgow", "Her brother lives in Glasgow"),
        ("pt", "É alérgico a amendoim", "O filho é alérgico a amendoim"),
        ("en", "Likes cooking", "Can't cook"),
        ("pt", "Gosta de maçã", "Não gosta de banana"),
        ("en", "Favourite team is Boston", "Favourite city is Boston"),
        ("pt", "Trabalha em Santos", "Mora em Santos"),
        ("en", "Lives in Leeds", "Ana lives in Leeds"),
        ("pt", "O gato persegue o vizinho", "O vizinho persegue o gato"),
        ("en", "Doesn't drink alcohol", "Doesn't drink milk"),
        ("pt", "Viajou para o Canadá", "vou mudar para o Canadá"),
        ("pt", "Bebe cerveja", "Tem um bebê"),
        ("pt", "Passou no concurso", "Passou mal no concurso"),
        ("en", "Is afraid of dogs", "I have a dog now"),
        ("en", "", "Likes tea"),
        ("pt", "Gosta de chá", "👍"),
    ],
)
def test_what_only_looks_alike_is_left_alone(language: Language, known: str, fact: str) -> None:
    assert relation(fact, known, language) == ("unrelated", "")


@pytest.mark.spec("HM-6")
@pytest.mark.parametrize(
    ("language", "known", "fact", "right"),
    [
        ("pt", ["Mora em Santos", "Trabalha no Nubank", "Tem um gato"], "saí do Nubank", "1"),
        ("pt", ["Namora o Pedro", "Mora em Santos"], "terminei com o Pedro", "0"),
        ("en", ["Lives in Leeds", "Works at Monzo", "Has a cat"], "I left Monzo", "1"),
        ("en", ["Smokes", "Drinks beer", "Likes tea"], "I quit drinking", "1"),
        ("en", ["The project uses Postgres", "The project is called Ara"], "the project uses Mongo now", "0"),
    ],
)
def test_a_change_finds_its_memory_among_others(
    language: Language, known: list[str], fact: str, right: str
) -> None:
    candidates = [Claim(each, id=str(number)) for number, each in enumerate(known)]
    assert reconcile(Claim(fact), candidates, language) == Relation("newer", right)


def test_a_change_that_could_be_about_two_is_about_none() -> None:
    known = [Claim("Trabalha com a Ana", id="0"), Claim("Mora com a Ana", id="1")]
    assert reconcile(Claim("terminei com a Ana"), known, "pt").relation == "unrelated"


def test_the_words_tell_a_change_that_the_fact_leaves_out() -> None:
    known = [Claim("The project uses Postgres", id="0")]
    fact = "The project uses Mongo"
    assert reconcile(Claim(fact), known, "en").relation == "unrelated"
    assert reconcile(Claim(fact, words="the project uses Mongo now"), known, "en").relation == "newer"


def test_the_same_key_is_the_same_slot() -> None:
    known = [Claim("Works as a nurse", key="work", id="0")]
    assert reconcile(Claim("Drives a taxi", key="work"), known, "en") == Relation("newer", "0")
    assert reconcile(Claim("Is a nurse", key="work"), known, "en") == Relation("same", "0")
    notes = [Claim("Gate code 12", key="note:gate", id="0")]
    assert reconcile(Claim("Call the plumber", key="note:gate"), notes, "en").relation == "unrelated"


def test_nothing_known_is_unrelated() -> None:
    assert reconcile(Claim("Likes tea"), [], "en") == Relation("unrelated")


def test_a_relative_date_counts_as_what_it_was_resolved_to() -> None:
    said = parse_statement("Dentist on Tuesday (2026-11-24)", "en")
    assert said.values == {("date", "2026-11-24")}


@pytest.mark.parametrize("language", ["pt", "en"])
def test_a_whole_book_costs_no_more_than_a_page(language: Language) -> None:
    start = time.thread_time()
    reconcile(Claim("não gosta de " * 100_000), [Claim("gosta de chá " * 100_000, id="0")], language)
    assert time.thread_time() - start < 6

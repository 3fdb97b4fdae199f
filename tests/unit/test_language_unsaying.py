"""What is not to be remembered: the message itself, or what was said before it."""

import pytest

from thoughtcycle.language.intents.requests import asks_not_to_keep, asks_not_to_keep_last

ALONE = [
    "não lembre disso",
    "Não guarde isso, por favor.",
    "por favor, não anote isso",
    "nao precisa lembrar disso",
    "não salva isso não",
    "não é para guardar isso",
    "não quero que você guarde isso",
    "na verdade, não registre o que eu disse",
    "isso fica entre nós",
    "deixa isso em off",
    "pode não guardar isso?",
    "don't remember this",
    "Don't remember that, please.",
    "please don't save this",
    "actually, do not store that",
    "no need to remember that",
    "you don't need to remember this",
    "can you not save that?",
    "that was off the record",
    "off the record",
    "dont note that down",
]
WITH_CONTENT = [
    "não lembre disso: traí a dieta",
    "traí a dieta, mas não guarde isso",
    "don't remember this: I cheated on my diet",
    "I cheated on my diet, but don't save that",
]
NEITHER = [
    "não lembro disso",
    "eu não lembro o nome dele",
    "você não lembra disso?",
    "não esqueça disso",
    "lembre disso",
    "I don't remember this",
    "I do not remember that song",
    "don't forget this",
    "remember this",
    "do you not remember that?",
    "esquece isso",
    "forget that",
    "",
]


@pytest.mark.spec("BY-10")
@pytest.mark.parametrize("text", ALONE)
def test_said_alone_it_means_what_was_said_before(text: str) -> None:
    assert asks_not_to_keep_last(text)


@pytest.mark.spec("BY-10")
@pytest.mark.parametrize("text", WITH_CONTENT)
def test_with_content_it_means_that(text: str) -> None:
    assert asks_not_to_keep(text) and not asks_not_to_keep_last(text)


@pytest.mark.parametrize("text", NEITHER)
def test_what_only_sounds_like_it_is_something_else(text: str) -> None:
    assert not asks_not_to_keep_last(text)


def test_a_long_text_is_not_said_alone() -> None:
    assert not asks_not_to_keep_last("please " * 50_000 + "don't remember this")

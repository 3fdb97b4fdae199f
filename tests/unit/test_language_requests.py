"""Requests to the memory: what is asked, what is to be forgotten – and never more than was said."""

from datetime import datetime

import pytest

from thoughtcycle.language.intents.understanding import understand

NOW = datetime(2026, 11, 21, 10, 0)


@pytest.mark.parametrize(
    ("message", "asked", "keys"),
    [
        ("O que você sabe sobre minha alimentação?", ("alimentação",), ("diet", "taste", "allergy")),
        ("What do you know about my diet?", ("diet",), ("diet", "taste", "allergy")),
        ("Qual é o meu nome?", ("nome",), ("name",)),
        ("What's my name?", ("name",), ("name",)),
        ("me diz meu nome", ("nome",), ("name",)),
        ("onde eu moro?", ("casa",), ("home", "household")),
        ("quanto eu ganho?", ("salário",), ("money:salary",)),
        ("quanto dinheiro eu ganho?", ("salário", "dinheiro"), ("money:salary", "money", "goal", "limit")),
        ("how much do i make?", ("salary",), ("money:salary",)),
        ("how much money do I make?", ("salary", "money"), ("money:salary", "money", "goal", "limit")),
        ("how much is my budget?", ("budget",), ("limit",)),
        ("qual é o orçamento da viagem?", ("orçamento da viagem",), ("limit", "date")),
        ("what's the budget for the trip?", ("budget for the trip",), ("limit", "date")),
        ("what do u know abt me?", ("*",), ()),
        ("wat do you know about me", ("*",), ()),
        ("oq vc sabe sobre mim?", ("*",), ()),
        ("remind me where I live", ("home",), ("home", "household")),
        ("eu gosto de coentro?", ("coentro",), ("taste:coentro",)),
        ("do I like cilantro?", ("cilantro",), ("taste:cilantro",)),
        ("eu sou vegetariano?", ("alimentação",), ("diet",)),
        ("qual a minha cor favorita?", ("cor favorita",), ("favorite:color",)),
        ("como se chama minha irmã?", ("irmã",), ("family:sister", "family:siblings")),
        ("o que você sabe sobre a Clara?", ("Clara",), ()),
        ("when is Tom getting married?", ("Tom getting married",), ()),
        ("what's the wifi password?", ("wifi password",), ()),
        ("qual a senha do wifi?", ("senha do wifi",), ()),
        ("quando é a reunião?", ("reunião",), ("date",)),
        ("onde eu estacionei?", ("estacionei",), ()),
        ("o que você sabe sobre mim?", ("*",), ()),
        ("me conta tudo que você sabe", ("*",), ()),
        ("what did we talk about?", ("*",), ()),
        ("lembra de mim?", ("*",), ()),
        ("what do you know about me?", ("*",), ()),
    ],
)
@pytest.mark.spec("TC-8")
def test_asked(message: str, asked: tuple[str, ...], keys: tuple[str, ...]) -> None:
    found = understand(message, language="pt", now=NOW)
    assert (found.asked, found.asked_keys) == (asked, keys)
    assert (found.facts, found.forget, found.beyond) == ((), (), False)


@pytest.mark.parametrize(
    ("message", "forget", "keys", "final"),
    [
        ("Esqueça meu nome.", ("nome",), ("name",), False),
        ("Forget my name.", ("name",), ("name",), False),
        ("apague definitivamente meu nome", ("nome",), ("name",), True),
        ("delete my name for good", ("name",), ("name",), True),
        ("esqueça meu nome e minha idade", ("nome", "idade"), ("name", "age"), False),
        ("esqueça que eu odeio coentro", ("coentro",), ("taste:coentro",), False),
        ("forget that I live in Lisbon", ("home",), ("home",), False),
        ("quero que você esqueça meu salário", ("salário",), ("money:salary",), False),
        ("esqueça minha consulta", ("consulta",), ("date",), False),
        ("apaga o que eu disse sobre o projeto Apollo", ("projeto Apollo",), ("project",), False),
        ("esqueça tudo", ("*",), (), False),
        ("esqueça tudo sobre mim", ("*",), (), False),
        ("forget everything about me forever", ("*",), (), True),
        ("forget that", ("@last",), (), False),
        ("esquece isso", ("@last",), (), False),
        ("apaga isso por favor", ("@last",), (), False),
        ("permanently delete that", ("@last",), (), True),
    ],
)
@pytest.mark.spec("TC-11", "BY-9")
def test_forget(message: str, forget: tuple[str, ...], keys: tuple[str, ...], final: bool) -> None:
    found = understand(message, language="pt", now=NOW)
    assert (found.forget, found.forget_keys, found.final) == (forget, keys, final)
    assert found.facts == ()


@pytest.mark.parametrize(
    "message",
    [
        "esqueça tudo sobre minha alimentação",
        "esquece tudo que eu falei sobre coentro",
        "apague tudo sobre o meu trabalho",
        "forget everything I said about cilantro",
        "delete everything about my work",
    ],
)
def test_everything_about_something_is_not_everything(message: str) -> None:
    forget = understand(message, language="pt", now=NOW).forget
    assert forget
    assert "*" not in forget


@pytest.mark.parametrize(
    "message",
    [
        "não apague nada",
        "não esqueça meu nome",
        "esquece",
        "deixa pra lá",
        "esquece, deixa pra lá",
        "não esquece isso",
        "don't forget that",
        "I can't forget that",
        "did you forget that?",
        "never mind",
        "você esqueceu meu nome?",
        "eu esqueci meu guarda-chuva",
        "se eu pedir pra esquecer meu nome, você esquece?",
        'ele disse "esqueça tudo sobre mim"',
        "apaga a luz",
        "como faço pra te apagar?",
        "don't delete anything",
        "did you forget my name?",
        "I forgot my umbrella",
        "if I ask you to forget my name, will you?",
        'she said "forget everything about me"',
        "never forget to breathe",
    ],
)
@pytest.mark.spec("BY-9")
def test_nothing_is_forgotten_by_accident(message: str) -> None:
    found = understand(message, language="pt", now=NOW)
    assert (found.forget, found.forget_keys, found.final) == ((), (), False)


def test_forgetting_and_telling_in_one_message() -> None:
    found = understand("esqueça meu nome, agora me chamo João", language="pt", now=NOW)
    assert found.forget_keys == ("name",)
    assert [fact.content for fact in found.facts] == ["Nome: João"]


@pytest.mark.parametrize(
    ("message", "keys", "denied"),
    [
        ("Na verdade agora eu como peixe, não sou mais vegetariano.", ["diet"], ["diet"]),
        ("Actually I eat fish now, I'm not vegetarian anymore.", ["diet"], ["diet"]),
        ("não sou mais vegetariano", [], ["diet"]),
        ("I no longer work at Acme", [], ["work"]),
        ("não gosto mais de coentro", [], ["taste:coentro"]),
        ("I used to be vegetarian, now I eat meat", ["diet"], ["diet"]),
        ("não moro mais em Lisboa, me mudei para Berlim", ["home"], ["home"]),
        ("I moved to Berlin", ["home"], []),
        ("não, meu nome é Paulo", ["name"], []),
        ("no, my name is Paul", ["name"], []),
        ("mudei de emprego, agora trabalho na Nubank", ["work"], []),
        ("scratch that, my name is Paul", ["name"], []),
        ("me separei", ["marital"], ["family:spouse", "family:partner"]),
        ("my wife and I split up", ["marital"], ["family:wife", "family:spouse"]),
        ("parei de comer carne", ["diet"], []),
        ("I used to hate mushrooms but I love them now", ["taste:mushroom"], ["taste:mushroom"]),
        ("no I'm 30", ["age"], []),
    ],
)
@pytest.mark.spec("HM-6")
def test_corrections(message: str, keys: list[str], denied: list[str]) -> None:
    found = understand(message, language="pt", now=NOW)
    assert found.correction
    assert [fact.key for fact in found.facts] == keys
    assert [retraction.key for retraction in found.retractions] == denied
    assert all(retraction.words in message for retraction in found.retractions)


@pytest.mark.parametrize(
    ("message", "content"),
    [
        ("Na verdade agora eu como peixe, não sou mais vegetariano.", "Come peixe, não é mais vegetariano"),
        ("Actually I eat fish now, I'm not vegetarian anymore.", "Eats fish, no longer vegetarian"),
    ],
)
def test_a_change_names_what_it_replaces(message: str, content: str) -> None:
    assert [fact.content for fact in understand(message, language="pt", now=NOW).facts] == [content]


@pytest.mark.parametrize(
    "message",
    ["não sou alérgico a nada", "I'm not allergic to anything", "cansei de você", "I got tired of you"],
)
def test_a_retraction_never_widens_to_a_whole_topic(message: str) -> None:
    assert understand(message, language="pt", now=NOW).retractions == ()

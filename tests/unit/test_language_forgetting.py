"""What a request to forget names: a topic, one thing by its words, somebody or something of them."""

from datetime import datetime

import pytest

from thoughtcycle.language.intents.forgetting import Target
from thoughtcycle.language.intents.understanding import understand

NOW = datetime(2026, 11, 21, 10, 0)


@pytest.mark.parametrize(
    ("message", "target"),
    [
        ("esquece o dentista", Target("dentista", ("date",), "dentista", one=True)),
        ("forget about the dentist", Target("dentist", ("date",), "dentist", one=True)),
        (
            "esquece a consulta no dentista",
            Target("consulta no dentista", ("date",), "consulta no dentista", one=True),
        ),
        (
            "forget the doctor's appointment",
            Target("doctor's appointment", ("date",), "doctor's appointment", one=True),
        ),
        (
            "esquece a consulta de amanhã que eu marquei",
            Target("consulta", ("date",), "consulta", one=True),
        ),
        (
            "forget the meeting with Bob I booked",
            Target("meeting with Bob", ("date",), "meeting with Bob", one=True),
        ),
        ("esquece minhas consultas", Target("consultas", ("date",), "consulta")),
        ("esquece as reuniões com o Beto", Target("reuniões com o Beto", ("date",), "reuniao com o Beto")),
        ("forget all of my meetings", Target("meetings", ("date",), "meeting")),
        (
            "esquece o que eu disse sobre o cardiologista",
            Target("cardiologista", ("date",), "cardiologista"),
        ),
        ("esquece meu trabalho", Target("trabalho", ("work",))),
        ("forget my job", Target("job", ("work",))),
        ("forget the name of my company", Target("company", ("work",))),
        ("esquece o nome da empresa", Target("empresa", ("work",))),
        ("esquece meu salário", Target("salário", ("money:salary",))),
        ("forget how much I make", Target("salary", ("money:salary",))),
        ("esquece onde eu moro", Target("casa", ("home", "household"))),
        ("forget where I live", Target("home", ("home", "household"))),
        ("esquece minha meta", Target("meta", ("goal",), one=True)),
        ("forget my goals", Target("goals", ("goal",))),
        ("esquece o projeto Apollo", Target("projeto Apollo", ("project",), "Apollo", one=True)),
        ("esquece minha irmã", Target("irmã", ("family:sister",), one=True)),
        ("forget my sister Ann", Target("sister Ann", ("family:sister",), "Ann", one=True)),
        (
            "esquece o aniversário da minha irmã",
            Target("aniversário da minha irmã", ("family:sister",), aspect="birthday"),
        ),
        (
            "forget my sister's birthday",
            Target("sister's birthday", ("family:sister",), aspect="birthday"),
        ),
        ("esquece o Beto", Target("Beto", words="Beto")),
        ("esquece o carnaval de rua", Target("carnaval de rua", words="carnaval de rua", one=True)),
        ("esquece o coentro", Target("coentro", ("taste:coentro", "allergy:coentro", "diet:coentro"))),
    ],
)
@pytest.mark.spec("TC-11")
def test_one_thing(message: str, target: Target) -> None:
    assert understand(message, language="pt", now=NOW).targets == (target,)


@pytest.mark.parametrize(
    ("message", "contexts"),
    [
        ("esquece meu nome e o dentista", ("nome", "dentista")),
        ("forget my name, my job and the dentist", ("name", "job", "dentist")),
        ("apaga o Beto e a Ana", ("Beto", "Ana")),
    ],
)
def test_several_things(message: str, contexts: tuple[str, ...]) -> None:
    found = understand(message, language="pt", now=NOW)
    assert tuple(target.context for target in found.targets) == contexts == found.forget


@pytest.mark.parametrize(
    "message",
    [
        "quero apagar tudo",
        "Oi! Quero apagar tudo.",
        "quero que você esqueça tudo sobre mim",
        "gostaria de apagar todos os meus dados",
        "queria apagar tudo o que você sabe de mim",
        "preciso apagar meus dados",
        "quero apagar todas as minhas memórias",
        "eu gostaria que você apagasse tudo sobre mim",
        "você pode esquecer tudo o que eu te disse?",
        "apaga minha memória toda",
        "zera a memória",
        "quero deletar tudo para sempre",
        "I want to delete everything",
        "please wipe my data",
        "I want you to forget everything about me",
        "I'd like to delete all my data",
        "I need to delete all of my data",
        "I want to erase all my memories",
        "I want all my data deleted",
        "I want everything you know about me gone",
        "let's delete everything",
        "remove all my personal data",
        "please delete all my personal information",
        "reset your memory",
    ],
)
@pytest.mark.spec("TC-11", "BY-9")
def test_everything(message: str) -> None:
    assert understand(message, language="pt", now=NOW).targets == (Target("*"),)


@pytest.mark.parametrize(
    "message",
    [
        "meu chefe quer apagar tudo do servidor",
        "quero apagar tudo do meu celular antigo",
        "Meu celular está cheio. Quero apagar tudo.",
        '"Quero apagar tudo", disse meu chefe.',
        "minha mãe disse: quero apagar tudo",
        'o cliente falou "quero apagar tudo"',
        "traduza: quero apagar tudo",
        "não quero apagar tudo",
        "e se eu quiser apagar tudo?",
        "ele quer que eu apague tudo",
        "quero apagar tudo e recomeçar",
        "quero esquecer tudo e viajar",
        "quero apagar meus dados do cadastro da loja",
        "preciso esquecer o trabalho um pouco",
        "quero limpar a casa",
        "limpa a memória do celular",
        "esqueci o alarme da casa ligado",
        "I want to delete everything on my old phone",
        "my boss wants to delete everything on the server",
        "My phone is full. I want to delete everything.",
        '"I want to delete everything," said my boss.',
        "translate: I want to delete everything",
        "I don't want to delete everything",
        "what if I want to delete everything?",
        "he wants me to wipe my data from the laptop",
        'the button says "wipe my data"',
        "please don't wipe my data",
        "I want to delete my data from Facebook",
        "I want everything gone from my garage",
        "I want to forget the past",
        "I need to clear the memory of my phone",
        "my wife wants me to forget everything",
    ],
)
@pytest.mark.spec("BY-9")
def test_talk_about_deleting_is_no_request(message: str) -> None:
    assert understand(message, language="pt", now=NOW).targets == ()


@pytest.mark.parametrize(
    ("message", "words"),
    [
        ("esqueça a placa do carro", "placa do carro"),
        ("gostaria que você apagasse a placa do carro", "placa do carro"),
        ("esquece o alarme da casa", "alarme da casa"),
        ("esqueça meu CPF", "CPF"),
        ("esquece a cor do meu carro", "cor do meu carro"),
        ("queria que esquecesse o nome da minha ex", "nome da minha ex"),
        ("esquece o endereço da minha ex", "endereço da minha ex"),
        ("esquece o carro do meu pai", "carro do meu pai"),
        ("forget the car's license plate", "car's license plate"),
        ("forget the house alarm", "house alarm"),
        ("I need you to forget the house alarm", "house alarm"),
        ("forget my passport number", "passport number"),
        ("forget the color of my car", "color of my car"),
        ("forget my dad's car", "dad's car"),
        ("forget the address of my office", "address of my office"),
    ],
)
@pytest.mark.spec("TC-11")
def test_a_thing_is_not_the_topic_that_it_names(message: str, words: str) -> None:
    """Neither the home goes with its alarm nor a passport with a licence plate."""
    (target,) = understand(message, language="pt", now=NOW).targets
    assert (target.context, target.keys, target.words) == (words, (), words)


@pytest.mark.parametrize(
    ("message", "keys"),
    [
        ("esquece o nome da empresa", ("work",)),
        ("esquece meu emprego na padaria", ("work",)),
        ("esquece meu trabalho de garçom", ("work",)),
        ("esquece meus problemas de saúde", ("health", "allergy")),
        ("esquece o endereço da minha casa", ("home", "household")),
        ("quero apagar meu endereço da sua memória", ("home", "household")),
        ("forget my home address", ("home", "household")),
        ("forget my job at the bakery", ("work",)),
        ("forget my health issues", ("health", "allergy")),
        ("I want to delete my address from your memory", ("home", "household")),
    ],
)
@pytest.mark.spec("TC-11")
def test_a_topic_with_what_tells_more_of_it(message: str, keys: tuple[str, ...]) -> None:
    (target,) = understand(message, language="pt", now=NOW).targets
    assert target.keys == keys

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

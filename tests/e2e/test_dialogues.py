"""Whole conversations without a key, each told by a person who comes back: what is said and what is kept."""

import subprocess
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest

from support.command import run
from support.graphs import lab


def cli(*args: str, stdin: str = "", db: Path | str) -> subprocess.CompletedProcess[str]:
    return run(*args, "--user", "pedro", stdin=stdin, db=db)


PT = (
    "Meu nome é Pedro, sou vegetariano e odeio coentro.",
    "O que você sabe sobre minha alimentação?",
    "Na verdade agora eu como peixe, não sou mais vegetariano.",
    "Esqueça meu nome.",
    "Qual é o meu nome?",
    "Bom dia!",
    ("Pedro", "vegetariano", "coentro", "peixe", "nome"),
)
EN = (
    "My name is Peter, I'm a vegetarian and I hate coriander.",
    "What do you know about my diet?",
    "Actually I eat fish now, I'm not a vegetarian anymore.",
    "Forget my name.",
    "What is my name?",
    "Good morning!",
    ("Peter", "vegetarian", "coriander", "fish", "name"),
)


@pytest.mark.spec("TC-2", "TC-3", "TC-6", "TC-7", "TC-8", "TC-9", "TC-10", "TC-11", "BY-3")
@pytest.mark.parametrize("told", [PT, EN], ids=["pt", "en"])
def test_the_dialogue_across_processes(told: tuple[Any, ...], database_url: str) -> None:
    tell, ask, correct, forget, ask_name, greet, (name, diet, herb, fish, name_word) = told
    db = database_url
    first = cli("chat", stdin=f"{tell}\n", db=db)
    assert first.returncode == 0, first.stderr
    assert all(word.casefold() in first.stdout.casefold() for word in (name, diet, herb))
    assert len(cli("memories", "list", "--json", db=db).stdout.splitlines()) == 3

    second = cli("chat", "--chat", "two", stdin="\n".join([ask, correct, forget, ask_name, greet]), db=db)
    known, corrected, forgotten, unknown, greeted = second.stdout.splitlines()
    assert diet in known.casefold() and herb in known.casefold() and name not in known
    assert fish in corrected
    assert name not in forgotten and name_word in forgotten.casefold()
    assert unknown.rstrip().endswith("?") and name not in unknown
    assert greeted

    kept = cli("memories", "list", "--json", db=db).stdout
    assert len(kept.splitlines()) == 2 and name not in kept and fish in kept
    everything = cli("memories", "list", "--all", "--json", db=db).stdout
    assert '"superseded"' in everything and '"hidden"' in everything
    searched = (
        cli("memories", "search", name_word, db=db).stdout + cli("memories", "search", name, db=db).stdout
    )
    assert name not in searched
    assert name not in cli("chat", stdin=f"/lembrar {name_word}\n{ask_name}\n", db=db).stdout

    undone = cli("memories", "undo", db=db)
    assert undone.returncode == 0 and name in cli("memories", "list", db=db).stdout


@dataclass(frozen=True)
class Told:
    """A conversation: messages with words that the reply must (or, with `-`, must not) contain; what is kept."""

    name: str
    turns: tuple[tuple[str, tuple[str, ...]], ...]
    kept: int
    holds: tuple[str, ...] = ()
    lacks: tuple[str, ...] = field(default=())


DIALOGUES = (
    Told(
        "pt typos",
        (("oi, meu nome eh Joao e eu moro em Recife", ("joao",)), ("onde eu moro?", ("recife",))),
        2,
    ),
    Told(
        "pt work",
        (("trabalho como engenheira na Petrobras", ()), ("com o que eu trabalho?", ("petrobras",))),
        1,
    ),
    Told(
        "pt job change",
        (
            ("trabalho na Vivo", ()),
            ("mudei de emprego, agora trabalho na Nubank", ("nubank",)),
            ("onde eu trabalho?", ("nubank", "-vivo")),
        ),
        1,
        ("Nubank",),
        ("Vivo",),
    ),
    Told("pt family", (("minha irmã se chama Ana", ("ana",)), ("como se chama minha irmã?", ("ana",))), 1),
    Told("pt third person", (("meu chefe disse que odeia café", ()), ("do que eu não gosto?", ("?",))), 0),
    Told(
        "pt hypothetical",
        (("se eu fosse vegano seria mais saudável", ()), ("talvez eu me mude pra Lisboa um dia", ())),
        0,
    ),
    Told("pt quote", (('ele falou "eu moro em Paris"', ()), ("onde eu moro?", ("?", "-paris"))), 0),
    Told("pt negation", (("não é que eu goste de pagode", ()),), 0),
    Told(
        "pt goal",
        (
            ("Quero economizar R$ 5.000 até junho", ("5.000",)),
            ("quais são meus objetivos?", ("5.000", "junho")),
        ),
        1,
    ),
    Told(
        "pt limit",
        (
            ("Me avise se gastar mais de R$ 500 em restaurantes", ("500",)),
            ("qual é o meu limite de gastos?", ("500",)),
        ),
        1,
    ),
    Told(
        "pt note",
        (
            ("lembra que a senha do portão é azul com estrela", ("portão",)),
            ("o que você sabe sobre o portão?", ("portão", "•")),
            ("qual é a senha do portão?", ("azul",)),
        ),
        1,
    ),
    Told("pt repeat", (("sou vegetariano", ()), ("sou vegetariano", ())), 1),
    Told(
        "pt everything",
        (("me chamo Bia e tenho 34 anos", ()), ("o que você sabe sobre mim?", ("bia", "34"))),
        2,
    ),
    Told(
        "pt forget taste",
        (
            ("adoro jazz e odeio sertanejo", ()),
            ("esquece que eu odeio sertanejo", ("-jazz",)),
            ("que música eu gosto?", ("jazz",)),
        ),
        1,
        ("jazz",),
        ("sertanejo",),
    ),
    Told(
        "pt separation",
        (("sou casado com a Maria", ("maria",)), ("me separei", ())),
        2,
        ("Não mais: Casado com a Maria",),
    ),
    Told(
        "pt forget somebody",
        (
            ("minha irmã se chama Ana e meu irmão se chama Beto", ("ana", "beto")),
            ("esqueça o que eu disse sobre Beto", ("-ana",)),
            ("esqueça o que eu disse sobre dinossauros", ("?",)),
        ),
        1,
        ("Ana",),
        ("Beto",),
    ),
    Told(
        "pt small talk",
        (("oi", ()), ("tudo bem?", ()), ("kkkk boa", ()), ("obrigado!", ()), ("tchau", ())),
        0,
    ),
    Told(
        "pt beyond",
        (("quem descobriu o Brasil?", ("regras",)), ("escreve um poema sobre o mar", ("regras",))),
        0,
    ),
    Told("en typos", (("hi im Sam n i live in Leeds", ("sam",)), ("where do i live", ("leeds",))), 2),
    Told(
        "en moved",
        (
            ("I live in Madrid", ()),
            ("I moved to Berlin", ("berlin",)),
            ("where do I live?", ("berlin", "-madrid")),
        ),
        1,
        ("Berlin",),
        ("Madrid",),
    ),
    Told("en pets", (("my dog is called Rex", ("rex",)), ("what is my dog's name?", ("rex",))), 1),
    Told("en third person", (("my boss says he hates mondays", ()), ("what do I hate?", ("?",))), 0),
    Told("en hypothetical", (("if I were vegan I'd miss cheese", ()), ("maybe I'll move to Rome", ())), 0),
    Told("en allergy", (("i'm allergic to peanuts btw", ("peanut",)), ("any allergies?", ("peanut",))), 1),
    Told(
        "en decision",
        (("I decided to cancel my gym membership", ("gym",)), ("what did I decide?", ("gym",))),
        1,
    ),
    Told(
        "en no longer",
        (("I like coffee", ()), ("I don't like coffee anymore", ()), ("do I like coffee?", ("coffee",))),
        1,
    ),
    Told("en forget unknown", (("forget my birthday", ("?",)),), 0),
    Told(
        "en beyond",
        (("who won the world cup in 1998?", ("rules",)), ("translate hello to french", ("rules",))),
        0,
    ),
)


@pytest.mark.spec("BY-3", "HM-4")
@pytest.mark.parametrize("told", DIALOGUES, ids=lambda told: told.name)
async def test_dialogues(told: Told, tmp_path: Path) -> None:
    async with lab(tmp_path) as cycle:
        for number, (message, words) in enumerate(told.turns):
            said = (await cycle.answer(message, f"chat {number}")).casefold()
            for word in words:
                if word.startswith("-"):
                    assert word[1:] not in said, (message, said)
                else:
                    assert word in said, (message, said)
        kept = [record.text for record in await cycle.memory.list("ana")]
        assert len(kept) == told.kept, kept
        assert all(any(word in text for text in kept) for word in told.holds)
        assert not any(word in text for text in kept for word in told.lacks)

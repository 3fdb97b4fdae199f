"""Conversations without a key about forgetting, correcting and asking back: what is said and what is kept."""

from dataclasses import dataclass
from pathlib import Path

import pytest

from support.graphs import lab


@dataclass(frozen=True)
class Told:
    """Messages with words that the reply must (or, with `-`, must not) contain; all that is kept in the end."""

    language: str
    turns: tuple[tuple[str, tuple[str, ...]], ...]
    kept: frozenset[str]


def dialogue(language: str, *turns: tuple[str, ...], kept: tuple[str, ...]) -> Told:
    return Told(language, tuple((turn[0], turn[1:]) for turn in turns), frozenset(kept))


FORGETTING = (
    dialogue(
        "pt",
        ("trampo de enfermeiro no hospital São Lucas",),
        ("amanhã tenho consulta no dentista às 14h",),
        ("esquece o dentista", "dentista", "-trabalho"),
        ("esquece a consulta no dentista", "?", "-esqueci"),
        kept=("Trabalha de enfermeiro no hospital São Lucas",),
    ),
    dialogue(
        "en",
        ("I work as a teacher",),
        ("I have a doctor's appointment on 5 May at 3pm",),
        ("I have a dentist appointment on 6 May",),
        ("forget about the dentist", "dentist", "-work"),
        ("forget the doctor's appointment", "doctor", "-work"),
        ("forget the doctor's appointment", "?", "-i forgot"),
        kept=("Works as a teacher",),
    ),
    dialogue(
        "pt",
        ("tenho consulta no dentista dia 5",),
        ("tenho consulta com o cardiologista dia 8",),
        ("esquece a consulta", "qual devo esquecer", "dentista", "cardiologista"),
        ("esquece o que eu disse sobre o cardiologista", "esqueci", "cardiologista"),
        kept=("Consulta no dentista dia 5",),
    ),
    dialogue(
        "en",
        ("I have a meeting with Bob on 5 May",),
        ("I have a meeting with Ann on 6 May",),
        ("forget the meeting", "which one", "bob", "ann"),
        ("forget the meeting with Sue", "?", "-i forgot"),
        ("forget my meeting with Bob", "i forgot", "bob"),
        kept=("Meeting with Ann on 6 May",),
    ),
    dialogue(
        "pt",
        ("minha irmã se chama Ana",),
        ("minha irmã se chama Bia",),
        ("minha irmã Ana faz aniversário dia 5 de maio",),
        ("esquece minha irmã", "qual devo esquecer", "ana", "bia"),
        ("esquece o aniversário da minha irmã", "esqueci", "aniversário"),
        ("esquece minha irmã Bia", "esqueci", "bia"),
        kept=("Irmã: Ana",),
    ),
    dialogue(
        "pt",
        ("tenho consulta no dentista dia 5",),
        ("tenho consulta com o cardiologista dia 8",),
        ("esquece a consulta", "qual devo esquecer", "dentista", "cardiologista"),
        ("a terceira", "-esqueci"),
        ("esquece a consulta", "qual devo esquecer"),
        ("a primeira", "esqueci", "-dentista", "-cardiologista"),
        ("a primeira", "-esqueci"),
        kept=("Consulta com o cardiologista dia 8",),
    ),
    dialogue(
        "en",
        ("I have a meeting with Bob on 5 May",),
        ("I have a meeting with Ann on 6 May",),
        ("the first one", "-i forgot"),
        ("forget the meeting", "which one", "bob", "ann"),
        ("the last one, please", "i forgot", "-bob", "-ann"),  # Ann, who was told last, is listed first
        kept=("Meeting with Ann on 6 May",),
    ),
    dialogue(
        "en",
        ("my rent is $900",),
        ("I make $4,500 a month",),
        ("forget my salary and my name", "salary", "-name"),
        kept=("Rent: $900",),
    ),
    dialogue(
        "pt",
        ("sou dentista",),
        ("tenho dentista dia 5 de maio",),
        ("esquece meu trabalho", "trabalho"),
        kept=("Dentista dia 5 de maio",),
    ),
)


CORRECTING = (
    dialogue(
        "pt",
        ("tenho um cachorro chamado Rex",),
        ("Na verdade meu cachorro se chama Loki", "loki", "-rex"),
        ("Meu cachorro na verdade se chama Max", "max"),
        ("qual o nome do meu cachorro?", "max", "-loki"),
        kept=("Cachorro: Max",),
    ),
    dialogue(
        "en",
        ("my dog is called Rex",),
        ("actually my dog is called Loki", "loki"),
        ("my dog is actually called Bob", "bob"),
        ("my cat is called Tom",),
        ("no wait, my cat's name is Kit", "kit"),
        ("actually, I also have a dog called Zed", "zed"),
        kept=("Dog: Bob", "Cat: Kit", "Has a dog called Zed"),
    ),
    dialogue(
        "en",
        ("my sister's name is Ann",),
        ("my sister's name is Bea",),
        ("sorry, my sister's name is Cleo",),
        kept=("Sister: Ann", "Sister: Bea", "Sister: Cleo"),
    ),
    dialogue(
        "pt",
        ("tenho consulta no dentista dia 20/12 às 14h",),
        ("a consulta mudou pra 21/12 às 9h", "atualizei"),
        ("remarquei a consulta pras 10h", "atualizei"),
        ("tenho consulta com o cardiologista dia 28/12",),
        ("a consulta mudou pra 29/12", "qual mudou", "dentista", "cardiologista"),
        kept=("Consulta no dentista: 21/12 10h", "Consulta com o cardiologista dia 28/12"),
    ),
    dialogue(
        "en",
        ("my flight to Rome is on December 18 at 6pm",),
        ("the flight moved to December 20 at 8", "updated", "december 20"),
        ("the meeting was moved to December 3 at 9", "saved"),
        kept=("Flight to Rome: December 20 at 8", "Meeting: December 3 at 9"),
    ),
    dialogue(
        "pt",
        ("odeio coentro",),
        ("nao gosto mais de coentro... quer dizer, agora eu gosto", "gosta de coentro"),
        kept=("Gosta de coentro",),
    ),
    dialogue(
        "en",
        ("I hate cilantro",),
        ("I don't like cilantro anymore... I mean, now I do", "likes cilantro"),
        kept=("Likes cilantro",),
    ),
)


COLLOQUIAL = (
    dialogue(
        "pt",
        ("tenho uma cachorra chamada Mel e um gato chamado Tobias", "mel", "tobias"),
        ("peraí, o gato se chama Tomás na verdade", "atualizei", "tomás"),
        ("esquece a Mel", "esqueci", "mel"),
        ("tenho reunião com o Paulo dia 20/12 às 10h e dentista dia 21/12 às 15h", "paulo", "dentista"),
        ("a reunião com o Paulo passou pra 22/12", "atualizei", "-dentista"),
        ("esquece as reuniões", "esqueci"),
        ("o que eu tenho na agenda?", "dentista", "-paulo"),
        ("minha namorada se chama Júlia",),
        ("minha namorada não se chama Júlia, é Juliana", "atualizei", "juliana"),
        kept=("Gato: Tomás", "Dentista dia 21/12 às 15h", "Namorada: Juliana"),
    ),
    dialogue(
        "en",
        ("i've got a dog called Biscuit and a cat named Pepper", "biscuit", "pepper"),
        ("wait the cat is called Peppa actually", "updated", "peppa"),
        ("forget about Biscuit pls", "i forgot", "biscuit"),
        ("i have a meeting with Paul on May 5 at 10 and a dentist appointment on May 6", "paul", "dentist"),
        ("the meeting with Paul got pushed to May 8", "updated", "-dentist"),
        ("forget all my meetings", "i forgot"),
        ("what's on my calendar?", "dentist", "-paul"),
        ("my girlfriend is called Kate",),
        ("my girlfriend isn't called Kate, it's Katie", "updated", "katie"),
        kept=("Cat: Peppa", "Dentist appointment on May 6", "Girlfriend: Katie"),
    ),
)


ANSWERING = (
    dialogue(
        "pt",
        ("tenho 2 filhos: Lucas de 7 e Bia de 4",),
        ("Como se chamam meus filhos?", "lucas", "bia"),
        ("o orçamento da viagem é 2 mil euros",),
        ("qual é o orçamento da viagem?", "2 mil euros"),
        ("desfaz", "thoughtcycle memories undo"),
        kept=("Tem 2 filhos: Lucas de 7 e Bia de 4", "Orçamento da viagem: 2 mil euros"),
    ),
    dialogue(
        "en",
        ("I have two kids: Lucas, 7, and Bia, 4",),
        ("What are my kids' names?", "lucas", "bia"),
        ("I make $4,500 a month",),
        ("how much do i make?", "$4,500"),
        ("my budget for the trip is 2,000 euros",),
        ("how much is my budget?", "2,000 euros", "trip"),
        ("undo", "thoughtcycle memories undo"),
        ("can you undo the last change?", "thoughtcycle memories undo"),
        kept=(
            "Has two kids: Lucas, 7, and Bia, 4",
            "Earns $4,500 a month",
            "Budget for the trip: 2,000 euros",
        ),
    ),
    dialogue(
        "pt",
        ("Meu filho Davi faz 6 anos em março.",),
        ("Corrigindo: meu filho faz 7 anos.", "davi faz 7 anos"),
        kept=("Filho Davi faz 7 anos em março",),
    ),
    dialogue(
        "en",
        ("My son Leo turns six in March.",),
        ("Correction: my son turns seven in March.", "leo turns seven"),
        ("My son Max turns nine in May.",),
        ("Correction: my son turns ten in May.", "-updated"),
        kept=("Son Leo turns seven in March", "Son Max turns nine in May", "Son turns ten in May"),
    ),
    dialogue("pt", ("Meu chefe é o João e ele é muito chato", "-chato"), kept=("Chefe: João",)),
    dialogue(
        "pt",
        ("minha gata se chama Mimi",),
        ("desfaz isso", "esqueci: gata: mimi"),
        ("desfaça", "thoughtcycle memories undo"),
        ("meu cachorro se chama Rex",),
        ("oi",),
        ("desfaz isso", "thoughtcycle memories undo"),
        kept=("Cachorro: Rex",),
    ),
    dialogue(
        "en",
        ("I live in Bath",),
        ("my cat is called Felix",),
        ("undo that", "forgot: cat: felix"),
        ("I moved to Leeds",),
        ("undo", "back to: lives in bath"),
        ("my dog is called Rex",),
        ("forget my dog",),
        ("undo that please", "brought back: dog: rex"),
        ("hello",),
        ("undo that", "thoughtcycle memories undo"),
        kept=("Lives in Bath", "Dog: Rex"),
    ),
    dialogue("pt", ("moro em Recife. " + "Pois é. " * 4_000, "guardei", "20000"), kept=("Mora em Recife",)),
    dialogue("en", ("remember that " + "la " * 400, "shortened"), kept=("La " + "la " * 165 + "la…",)),
)


async def told(dialogue: Told, folder: Path) -> None:
    async with lab(folder) as cycle:
        for message, words in dialogue.turns:
            said = (await cycle.answer(message, language=dialogue.language)).casefold()
            for word in words:
                assert (word.lstrip("-") in said) is not word.startswith("-"), (message, said)
        assert {record.text for record in await cycle.memory.list("ana")} == dialogue.kept


@pytest.mark.spec("TC-11")
@pytest.mark.parametrize("dialogue", FORGETTING, ids=lambda each: f"{each.language} {each.turns[0][0]}")
async def test_forgetting_hits_only_what_was_named(dialogue: Told, tmp_path: Path) -> None:
    await told(dialogue, tmp_path)


@pytest.mark.spec("TC-10", "HM-6")
@pytest.mark.parametrize(
    "dialogue", (*CORRECTING, *COLLOQUIAL), ids=lambda each: f"{each.language} {each.turns[0][0]}"
)
async def test_a_correction_supersedes_what_it_corrects(dialogue: Told, tmp_path: Path) -> None:
    await told(dialogue, tmp_path)


@pytest.mark.spec("TC-15", "BY-1")
async def test_a_changed_memory_names_the_cycle_and_words_of_its_change(tmp_path: Path) -> None:
    async with lab(tmp_path) as cycle:
        await cycle.say("sou vegetariano")
        await cycle.say("Na verdade agora eu como peixe, não sou mais vegetariano.")
        await cycle.say("odeio coentro")
        await cycle.say("não odeio mais coentro")
        exchanges = await cycle.memory.conversation("ana", "t", limit=10)
        sources = {record.key: record.source for record in await cycle.memory.list("ana")}
        assert sources["diet"].cycle == exchanges[1].id and sources["diet"].words == "eu como peixe"
        assert sources["taste:coentro"].cycle == exchanges[3].id
        assert sources["taste:coentro"].words == "não odeio mais coentro"


@pytest.mark.spec("TC-8", "BY-3")
@pytest.mark.parametrize("dialogue", ANSWERING, ids=lambda each: f"{each.language} {each.turns[0][0][:40]}")
async def test_what_was_told_is_answered(dialogue: Told, tmp_path: Path) -> None:
    await told(dialogue, tmp_path)

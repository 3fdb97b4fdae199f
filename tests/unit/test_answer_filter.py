"""Of the memories of a topic those that the question means, and what a person expects of short dialogues."""

from pathlib import Path

import pytest

from support.graphs import lab
from thoughtcycle.memory.model import Recalled
from thoughtcycle.nodes.actions.answer_filter import answering_memories
from thoughtcycle.prompts.loader import Language


def memory(content: str, key: str) -> Recalled:
    return Recalled(id=content, content=content, kind=None, key=key, at="2026-11-21", revision=1)


TASTES = ("taste:mushroom", "Hates mushrooms"), ("taste:hiking", "Loves hiking")
GOSTOS = ("taste:cogumelo", "Odeia cogumelo"), ("taste:trilha", "Adora trilha")
PEOPLE = ("birthday", "Birthday: May 5th"), ("family:daughter:anika:birthday", "Daughter Anika: 3 March")
MEETING = (("date:meeting", "Meeting: tomorrow (2026-11-23)"),)
JOBS = ("work", "No longer: Works at a bank"), ("work:schedule", "Works nights")


@pytest.mark.parametrize(
    ("question", "language", "known", "keys", "left"),
    [
        ("what do I dislike?", "en", TASTES, ("taste",), ["Hates mushrooms"]),
        ("what do I like?", "en", TASTES, ("taste",), ["Loves hiking"]),
        ("what are my hobbies?", "en", TASTES, ("hobby", "taste"), ["Loves hiking"]),
        ("what about my tastes?", "en", TASTES, ("taste",), ["Hates mushrooms", "Loves hiking"]),
        ("o que eu odeio?", "pt", GOSTOS, ("taste",), ["Odeia cogumelo"]),
        ("do que eu gosto?", "pt", GOSTOS, ("taste",), ["Adora trilha"]),
        ("what do I dislike?", "en", TASTES[1:], ("taste",), ["Loves hiking"]),
        ("when is Anika's birthday?", "en", PEOPLE, (), ["Daughter Anika: 3 March"]),
        ("when is Bob's birthday?", "en", PEOPLE, (), []),
        ("is the meeting on Monday?", "en", MEETING, ("date",), ["Meeting: tomorrow (2026-11-23)"]),
        ("Hey Sofia, when is the meeting?", "en", MEETING, ("date",), ["Meeting: tomorrow (2026-11-23)"]),
        ("que dia é a reunião, Sofia?", "pt", MEETING, ("date",), ["Meeting: tomorrow (2026-11-23)"]),
        ("WHEN IS THE MEETUP", "en", MEETING, ("date",), ["Meeting: tomorrow (2026-11-23)"]),
        ("where do I work?", "en", JOBS, ("work",), ["Works nights"]),
        ("where do I work?", "en", JOBS[:1], ("work",), ["No longer: Works at a bank"]),
    ],
)
def test_what_a_question_means(
    question: str,
    language: Language,
    known: tuple[tuple[str, str], ...],
    keys: tuple[str, ...],
    left: list[str],
) -> None:
    memories = [memory(content, key) for key, content in known]
    assert [each["content"] for each in answering_memories(question, memories, language, keys)] == left


DIALOGUES: dict[Language, tuple[tuple[str, str], ...]] = {
    "en": (
        ("Going to Lisbon in July", "going to lisbon in july"),
        ("our cat is called Biscuit", "cat: biscuit"),
        ("my boss is Linda Park", "boss: linda park"),
        ("I've been married to Tom for six years", "married to tom"),
        ("I love hiking", "loves hiking"),
        ("when am I going on a trip?", "lisbon"),
        ("do I have any pets?", "biscuit"),
        ("who's my boss?", "linda park"),
        ("what's my husband's name?", "tom"),
        ("what are my hobbies?", "hiking"),
        ("actually, the trip is in August", "going to lisbon: in august"),
        ("when is my trip?", "know this: going to lisbon: in august."),
        ("we're flying on the 22nd instead", "going to lisbon: on the 22nd"),
        ("when is my flight?", "lisbon: on the 22nd"),
        ("I play badminton on Wednesdays", "plays badminton on wednesdays"),
        ("I don't play badminton anymore", "no longer: plays badminton"),
        ("where does Lorna live?", "can you tell me"),
    ),
    "pt": (
        ("minha chefe é a Linda Prado", "chefe: linda prado"),
        ("nossa gata se chama Biscoito", "gata: biscoito"),
        ("sou casada com o Tiago há seis anos", "tiago"),
        ("quem é minha chefe?", "linda prado"),
        ("eu tenho bicho de estimação?", "biscoito"),
        ("como se chama meu marido?", "tiago"),
        ("dirijo um Gol", "dirige um gol"),
        ("vendi meu carro", "não mais: dirige um gol"),
    ),
}


@pytest.mark.spec("TC-8", "BY-3")
@pytest.mark.parametrize("language", DIALOGUES)
async def test_a_question_needs_none_of_the_words_it_is_answered_with(
    language: Language, tmp_path: Path
) -> None:
    async with lab(tmp_path) as cycle:
        for message, expected in DIALOGUES[language]:
            said = (await cycle.answer(message, language=language)).casefold()
            assert expected in said, (message, said)

"""Deletion is asked for: what is deleted at once, what is asked back first, and undone as a whole (TC-11, BY-9)."""

import json
from pathlib import Path

import pytest

from support.databases import new_database
from support.dialogue import HEAVY, REASON, TALK
from support.fake_openai import FakeOpenAI
from support.graphs import Lab, lab
from thoughtcycle.memory.memory import Memory
from thoughtcycle.memory.model import MemoryDraft, Source
from thoughtcycle.nodes.base.limits import Limits

FACTS = {
    "pt": ("Moro em Recife.", "Meu nome é Rui.", "Sou vegetariano.", "Tenho um gato chamado Tom."),
    "en": ("I live in Bath.", "My name is Ray.", "I am a vegetarian.", "I have a cat called Tom."),
}
MONGODB = "mongodb"


@pytest.fixture
def url(request: pytest.FixtureRequest, tmp_path: Path) -> str:
    """A database of the kind that the test is parametrised with, SQLite where it is not."""
    if getattr(request, "param", "") == MONGODB:
        return new_database(request.getfixturevalue("mongodb_url"))
    return f"sqlite:///{tmp_path}/lab.db"


async def texts(memory: Memory) -> set[str]:
    return {record.text for record in await memory.list("ana")}


async def many(talk: Lab, count: int = 22) -> None:
    drafts = [MemoryDraft(content=f"Receita {n}", key=f"note:{n}") for n in range(count)]
    await talk.memory.save("ana", drafts)


@pytest.mark.spec("TC-11", "BY-9")
@pytest.mark.parametrize(
    ("url", "everything", "no", "kept", "yes", "undo"),
    [
        ("sqlite", "apaga tudo", "não", "nada foi apagado", "sim", "Desfaz isso"),
        (MONGODB, "apaga tudo", "não", "nada foi apagado", "sim", "desfaça"),
        ("sqlite", "delete everything", "no", "nothing was deleted", "yes", "Undo that"),
        (
            "sqlite",
            "forget everything you know about me",
            "no, keep it",
            "nothing",
            "yes please",
            "bring it all back",
        ),
        ("sqlite", "quero apagar tudo", "não", "nada foi apagado", "sim", "Desfaz isso"),
        ("sqlite", "please wipe my data", "no", "nothing was deleted", "yes", "Undo that"),
        ("sqlite", "esquece tudo", "não apaga nada", "nada foi apagado", "pode apagar", "traz tudo de volta"),
    ],
    indirect=["url"],
)
async def test_everything_is_asked_once_and_comes_back_in_one_step(
    tmp_path: Path, url: str, everything: str, no: str, kept: str, yes: str, undo: str
) -> None:
    async with lab(tmp_path, url=url, limits=Limits(recalled=5)) as talk:
        await many(talk)
        known = await texts(talk.memory)
        asked = await talk.say(everything)
        assert "22" in asked["messages"][-1].text and asked["messages"][-1].text.count("?") == 1
        assert kept in await talk.answer(no)
        assert await texts(talk.memory) == known
        await talk.say(everything)
        assert "22" in await talk.answer(yes)
        assert await texts(talk.memory) == set()
        await talk.say(undo)
        assert await texts(talk.memory) == known


@pytest.mark.spec("BY-9")
async def test_one_undo_of_the_command_line_brings_back_what_one_request_deleted(tmp_path: Path) -> None:
    async with lab(tmp_path) as talk:
        await many(talk)
        (newest, *_) = known = await talk.memory.list("ana")
        await talk.say("apaga tudo")
        await talk.say("sim")
        await talk.memory.save("ana", [MemoryDraft(content="Agora", key=newest.key)])
        assert (await talk.memory.undo("ana")).others == ()  # the newest change: what was said since
        back = await talk.memory.undo("ana")
        assert back.record is not None and len(back.others) == 21
        assert await texts(talk.memory) == {record.text for record in known}


async def test_what_has_its_place_taken_since_stays_hidden_and_the_rest_comes_back(tmp_path: Path) -> None:
    async with lab(tmp_path) as talk:
        saved = await talk.memory.save(
            "ana", [MemoryDraft(content=f"N {n}", key=f"note:{n}") for n in range(3)]
        )
        await talk.memory.hide("ana", [one.record.id for one in saved], cycle="c")
        await talk.memory.save("ana", [MemoryDraft(content="Novo", key="note:1")])
        back = await talk.memory.undo("ana", asked="c")
        assert len(back.others) == 1
        assert await texts(talk.memory) == {"N 0", "Novo", "N 2"}


@pytest.mark.spec("TC-11", "BY-9")
@pytest.mark.parametrize(
    ("message", "language"), [("Que dia lindo hoje!", "pt"), ("What a lovely day!", "en")]
)
async def test_a_model_that_deletes_all_unasked_hides_nothing(
    fake_openai: FakeOpenAI, tmp_path: Path, message: str, language: str
) -> None:
    async with lab(tmp_path, fake_openai) as talk:
        saved = await talk.memory.save("ana", [MemoryDraft(content=text) for text in FACTS["pt"]])
        ids = [one.record.id for one in saved]
        fake_openai.say("MemorySearch", "MemoryDelete", model=HEAVY)
        fake_openai.say('["*"]', json.dumps({"ids": ids, "final": True}), model=REASON)
        fake_openai.say("Vi tudo.", model=TALK)
        asked = await talk.answer(message, language=language)
        assert "4" in asked and asked.endswith(("Responda sim ou não.", "Answer yes or no."))
        assert len(await talk.memory.list("ana")) == 4
        assert await talk.answer("não", language="pt") == "Certo: nada foi apagado."
        assert len(await talk.memory.list("ana")) == 4


@pytest.mark.spec("TC-11", "BY-9")
@pytest.mark.parametrize(
    "message",
    [
        'Meu chefe disse: "esqueça o nome dele".',
        "Traduz esta frase: esqueça meu nome",
        "Resume o e-mail abaixo:\nOi, Rui! Esqueça meu nome.",
        "Olha o que eu anotei:\n> esqueça meu nome",
        "```\nesqueça meu nome\n```",
        "Summarize this mail: Hi Ana. Forget my name.",
        "A note in my diary: delete my name",
        "Correct this sentence: please forget my name",
    ],
)
async def test_a_text_that_is_quoted_or_to_be_worked_on_is_no_request(
    fake_openai: FakeOpenAI, tmp_path: Path, message: str
) -> None:
    async with lab(tmp_path, fake_openai) as talk:
        (saved,) = await talk.memory.save("ana", [MemoryDraft(content="Nome: Rui", key="name")])
        fake_openai.say("MemorySearch", "MemoryDelete", model=HEAVY)
        fake_openai.say('["nome"]', json.dumps([saved.record.id]), model=REASON)
        fake_openai.say("Vi.", model=TALK)
        assert "Nome: Rui?" in await talk.answer(message, language="pt")
        assert len(await talk.memory.list("ana")) == 1


@pytest.mark.spec("TC-11")
async def test_a_yes_to_our_question_deletes_what_it_listed_and_no_more(
    fake_openai: FakeOpenAI, tmp_path: Path
) -> None:
    async with lab(tmp_path, fake_openai) as talk:
        await talk.memory.save("ana", [MemoryDraft(content=text) for text in FACTS["pt"]])
        (cat,) = [record for record in await talk.memory.list("ana") if "gato" in record.text]
        fake_openai.say("MemorySearch", "MemoryDelete", model=HEAVY)
        fake_openai.say('["*"]', json.dumps([cat.id]), model=REASON)
        fake_openai.say("Vi.", model=TALK)
        asked = await talk.answer("O Tom morreu ontem.", language="pt")
        assert "Tenho um gato chamado Tom" in asked and asked.endswith("Responda sim ou não.")
        requests = len(fake_openai.requests)
        assert "Esqueci" in await talk.answer("Sim!")
        assert len(fake_openai.requests) == requests, "consent is not for a model to decide"
        assert len(await talk.memory.list("ana")) == 3
        assert "gato" in await talk.answer("desfaz isso")


@pytest.mark.spec("BY-9")
@pytest.mark.parametrize(
    ("told", "forget", "undo", "said"),
    [
        ("Moro em Recife.", "apague definitivamente onde eu moro", "desfaz isso", "definitivo não volta"),
        ("I live in Bath.", "delete where I live for good", "undo that", "does not come back"),
    ],
)
async def test_one_memory_is_erased_for_good_unasked_and_does_not_come_back(
    tmp_path: Path, told: str, forget: str, undo: str, said: str
) -> None:
    async with lab(tmp_path) as talk:
        await talk.say(told)
        done = await talk.say(forget)
        assert "asked" not in [step["status"] for step in done["steps"]]
        assert said in await talk.answer(undo)
        assert await talk.memory.list("ana") == []


@pytest.mark.spec("TC-11")
async def test_anything_else_than_yes_or_no_leaves_the_question_behind(tmp_path: Path) -> None:
    async with lab(tmp_path) as talk:
        for text in FACTS["en"]:
            await talk.say(text)
        await talk.say("delete everything")
        await talk.say("hello")
        await talk.say("yes")
        assert len(await talk.memory.list("ana")) == 4


@pytest.mark.spec("BY-9")
async def test_in_incognito_a_yes_is_understood_too(tmp_path: Path) -> None:
    async with lab(tmp_path) as talk:
        for text in FACTS["en"]:
            await talk.say(text, thread="other")
        await talk.say("delete everything", incognito=True)
        await talk.say("yes", incognito=True)
        assert await talk.memory.list("ana") == []


SCOPES = [
    # told, asked to forget, left
    (
        ("Sou alérgico a amendoim.", "Tomo losartana todo dia."),
        "apague o que você sabe sobre minha saúde",
        set(),
    ),
    (("Sou alérgico a amendoim.", "Tomo losartana todo dia."), "esqueça meus problemas de saúde", set()),
    (("I'm allergic to peanuts.", "I take metformin every day."), "forget all about my health", set()),
    (("I'm allergic to peanuts.", "I take metformin every day."), "delete my health information", set()),
    (
        ("Anota: o telefone do seu Jorge é 3222-1144", "Anota: seu Jorge é meu porteiro"),
        "apaga o telefone do seu jorge",
        {"Seu Jorge é meu porteiro"},
    ),
    (
        ("Anota: o celular da Dona Maria é 99123-4567", "Anota: Dona Maria faz bolos"),
        "esquece o número da dona maria",
        {"Dona Maria faz bolos"},
    ),
    (
        ("Remember that Mr. Jones's phone number is 555-0199", "Remember that Mr. Jones plays chess"),
        "delete mr. jones's number",
        {"Mr. Jones plays chess"},
    ),
    (
        ("Remember that Paula's email is p@x.org", "Remember that Paula's phone is 555-0144"),
        "forget the email of Paula",
        {"Paula's phone is 555-0144"},
    ),
    (("I weigh 92 kg.", "I live in Bath."), "delete my weight for good", {"Lives in Bath"}),
    (("My weight is 92 kg.", "I live in Bath."), "forget my weight", {"Lives in Bath"}),
    (("Peso 92 quilos.", "Moro em Natal."), "apaga meu peso para sempre", {"Mora em Natal"}),
    (("Adoro comer jiló frito aos domingos.",), "Esqueça que adoro comer jiló frito", set()),
    (("Adoro comer X.",), "Esqueça que adoro comer X", set()),
    (("I love eating pierogi with my aunt.",), "Forget that I love eating pierogi", set()),
    (("I live in Bath.",), "forget what I just said", set()),
    (("Moro em Natal.",), "esquece o que eu acabei de falar", set()),
    (("Moro em Natal.",), "apaga o que acabei de dizer", set()),
    (
        ("Guarde: a placa do meu carro é ABC1D23.", "Anota que meu passaporte é FX123456"),
        "esqueça a placa do carro",
        {"Passaporte: FX123456"},
    ),
    (
        ("Moro na Rua das Flores 12.", "Guarde que o alarme da casa é azul"),
        "esquece o alarme da casa",
        {"Mora na Rua das Flores 12"},
    ),
    (
        ("I live in Bath.", "Remember that the house alarm is blue"),
        "forget the house alarm",
        {"Lives in Bath"},
    ),
]


@pytest.mark.spec("BY-9", "TC-11")
@pytest.mark.parametrize(
    ("told", "forget", "left"), SCOPES, ids=[f"{each[1]} {each[0][0]}" for each in SCOPES]
)
async def test_the_meaning_tells_what_goes(
    tmp_path: Path, told: tuple[str, ...], forget: str, left: set[str]
) -> None:
    async with lab(tmp_path) as talk:
        for text in told:
            await talk.say(text)
        assert len(await talk.memory.list("ana")) == len(told)
        said = await talk.answer(forget)
        assert await texts(talk.memory) == left, said


@pytest.mark.spec("BY-9", "TC-11")
@pytest.mark.parametrize(
    ("told", "forget", "topics", "ask"),
    [
        (
            SCOPES[0][0],
            "apague o que você sabe sobre minha saúde",
            ("saúde", "alergia"),
            "sou alérgico a quê?",
        ),
        (
            SCOPES[2][0],
            "delete what you know about my health",
            ("health", "allergy"),
            "what am I allergic to?",
        ),
    ],
)
async def test_a_topic_goes_whole_and_is_told_by_its_kinds(
    tmp_path: Path, told: tuple[str, ...], forget: str, topics: tuple[str, ...], ask: str
) -> None:
    async with lab(tmp_path) as talk:
        for text in told:
            await talk.say(text)
        said = await talk.answer(forget)
        assert all(topic in said for topic in topics)
        answer = await talk.answer(ask)
        for word in ("amendoim", "losartana", "peanut", "metformin"):
            assert word not in said and word not in answer


@pytest.mark.spec("BY-9", "TC-11")
async def test_the_topic_told_is_never_a_binding_of_what_was_deleted(
    fake_openai: FakeOpenAI, tmp_path: Path
) -> None:
    async with lab(tmp_path, fake_openai) as talk:
        draft = MemoryDraft(content="Senha do cofre: 7788", bindings=("7788", "cofre"), kind="bio")
        (saved,) = await talk.memory.save("ana", [draft])
        fake_openai.say("MemorySearch", "MemoryDelete", "Finish", model=HEAVY)
        fake_openai.say('["cofre"]', json.dumps([saved.record.id]), model=REASON)
        fake_openai.say("Achei.", "Apaguei.", "Feito.", model=TALK)
        values = await talk.say("Esqueça a senha do cofre.", language="pt")
        assert (
            "7788" not in json.dumps(values["steps"][-2:]) and "sobre você" in values["steps"][1]["outcome"]
        )


@pytest.mark.spec("BY-9", "TC-11")
async def test_the_topic_told_is_never_a_tag_that_somebody_chose(tmp_path: Path) -> None:
    async with lab(tmp_path) as talk:
        draft = MemoryDraft(content="Tem um carro amarelo", bindings=("carro",), tags=("zoroastro", "health"))
        await talk.memory.save("ana", [draft])
        values = await talk.say("Apague definitivamente que tenho um carro amarelo.", language="pt")
        assert values["steps"][-2]["outcome"].endswith("sobre: saúde.")
        await talk.memory.erasure.finish_erasing("ana")
        assert await talk.memory.list("ana") == []
        (cycle,) = await talk.memory.conversation("ana", "t")
        assert "zoroastro" not in repr(cycle)


@pytest.mark.spec("BY-9")
@pytest.mark.parametrize(
    ("told", "forget"), [("Moro em Natal.", "esquece isso"), ("I live in Bath.", "forget that")]
)
async def test_what_was_learned_in_the_background_is_the_last_thing_told_too(
    tmp_path: Path, told: str, forget: str
) -> None:
    async with lab(tmp_path) as talk:
        await talk.say("oi")
        (cycle,) = await talk.memory.conversation("ana", "t", limit=1)
        draft = MemoryDraft(content=told, source=Source(cycle=cycle.id, words=told))
        await talk.memory.save("ana", [draft])
        await talk.say(forget)
        assert await talk.memory.list("ana") == []


@pytest.mark.spec("TC-11", "BY-9")
@pytest.mark.parametrize(
    ("facts", "forget", "language"),
    [
        (
            {"Alérgico a amendoim": "allergy:amendoim", "Toma losartana": "health:losartana"},
            "apague o que você sabe sobre minha saúde",
            "pt",
        ),
        (
            {"Allergic to nuts": "allergy:nut", "Has asthma": "health:asthma"},
            "delete my health information",
            "en",
        ),
        ({"Telefone do seu Jorge: 3222-1144": None}, "apaga o telefone do seu jorge", "pt"),
        ({"Weight: 92 kg": None}, "delete my weight for good", "en"),
        ({"Adora comer X": None}, "Esqueça que adoro comer X", "pt"),
    ],
)
async def test_what_was_asked_for_a_model_deletes_at_once_and_a_topic_whole(
    fake_openai: FakeOpenAI, tmp_path: Path, facts: dict[str, str | None], forget: str, language: str
) -> None:
    async with lab(tmp_path, fake_openai) as talk:
        drafts = [MemoryDraft(content=text, key=key) for text, key in facts.items()]
        first, *_ = await talk.memory.save("ana", [*drafts, MemoryDraft(content="Mora em Natal", key="home")])
        fake_openai.say("MemorySearch", "MemoryDelete", "Finish", model=HEAVY)
        fake_openai.say('["*"]', json.dumps([first.record.id]), model=REASON)
        fake_openai.say("Vi.", "Apaguei.", "Feito.", model=TALK)
        await talk.say(forget, language=language)
        assert await texts(talk.memory) == {"Mora em Natal"}

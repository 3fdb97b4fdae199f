"""What the user does not want remembered: said with it, or said alone after it, in both languages (BY-10)."""

import json
from pathlib import Path

import pytest

from support.databases import new_database
from support.fake_openai import FakeOpenAI
from support.graphs import Lab, lab, replies
from thoughtcycle.graph.formation import compile_formation
from thoughtcycle.memory.model import Cycle
from thoughtcycle.nodes.base.context import Context
from thoughtcycle.nodes.base.services import Services
from thoughtcycle.runtime.upkeep import create_worker

CASES = [
    ("Quero economizar R$ 5.000 até junho.", "não lembre disso", "fica na memória", "5.000"),
    ("I want to save $5,000 by June.", "don't remember that", "stays in memory", "5,000"),
]
MONGODB = "mongodb"
BOTH = pytest.mark.parametrize("url", ["sqlite", MONGODB], indirect=True)
TALK = ["Sou vegetariana.", "Moro em Recife.", "Trabalho com design.", "Tenho dois gatos."]


async def understood(talk: Lab) -> None:
    await create_worker(Services(talk.memory, talk.mind)).drain()


async def kept(talk: Lab, user: str = "ana") -> str:
    """All that was learned, in any form."""
    memory = talk.memory
    records = [record.text for record in await memory.list(user)]
    sheets = await memory.sheets(user, "t")
    plain = [
        sheets.conversation.model_dump_json() if sheets.conversation else "",
        sheets.profile.model_dump_json(),
    ]
    return json.dumps([records, plain], ensure_ascii=False)


async def last(talk: Lab, back: int = 1) -> Cycle:
    return (await talk.memory.conversation("ana", "t", limit=back))[0]


@pytest.fixture
def url(request: pytest.FixtureRequest, tmp_path: Path) -> str:
    """A database of the kind that the test is parametrised with, SQLite where it is not."""
    if getattr(request, "param", "") == MONGODB:
        return new_database(request.getfixturevalue("mongodb_url"))
    return f"sqlite:///{tmp_path}/lab.db"


@pytest.mark.spec("BY-10")
@pytest.mark.parametrize(
    ("said", "unsay", "told", "amount", "formed", "url"),
    [
        *((*case, formed, "sqlite") for case in CASES for formed in (False, True)),
        (*CASES[1], True, MONGODB),
    ],
    indirect=["url"],
)
async def test_said_alone_it_takes_back_what_was_said_before(
    tmp_path: Path, url: str, said: str, unsay: str, told: str, amount: str, formed: bool
) -> None:
    async with lab(tmp_path, url=url) as talk:
        await talk.say("Sou vegetariana.")
        await talk.say(said)
        if formed:
            await understood(talk)
            assert amount in await kept(talk)
        assert told in await talk.answer(unsay)
        assert amount not in await kept(talk)
        before = await last(talk, 2)
        assert before.message.text and before.formation == "none"
        for text in TALK:
            await talk.say(text)
        await understood(talk)
        assert amount not in await kept(talk)
        assert "egetariana" in await kept(talk)


@pytest.mark.spec("BY-10")
@pytest.mark.parametrize(
    ("said", "amount", "url"),
    [
        ("não lembre disso: quero economizar R$ 5.000 até junho", "5.000", "sqlite"),
        ("I want to save $5,000 by June, but don't save that", "5,000", "sqlite"),
        ("don't remember this: I decided to sell my car for $9,000", "9,000", "sqlite"),
        ("não lembre disso: quero economizar R$ 5.000 até junho", "5.000", MONGODB),
    ],
    indirect=["url"],
)
async def test_said_with_it_nothing_of_it_is_learned(
    tmp_path: Path, url: str, said: str, amount: str
) -> None:
    async with lab(tmp_path, url=url) as talk:
        values = await talk.say(said)
        assert not [step for step in values["steps"] if step["action"] == "MemorySave"]
        assert "memória" in replies(values) or "memory" in replies(values)
        for text in TALK:
            await talk.say(text)
        await understood(talk)
        assert amount not in await kept(talk)
        old = (await talk.memory.conversation_memory("ana", "t")).old_memory[0]
        assert old.summary.startswith("(") and not old.preserved_data.numerical_values


@pytest.mark.spec("BY-10")
@BOTH
async def test_what_the_exchange_changed_says_again_what_it_said(tmp_path: Path, url: str) -> None:
    async with lab(tmp_path, url=url) as talk:
        await talk.say("Moro em Recife.")
        await talk.say("Me mudei para Olinda.")
        assert "Olinda" in await kept(talk)
        await talk.say("não guarde isso, por favor")
        records = await talk.memory.list("ana")
        assert [record.text for record in records] == ["Mora em Recife"]


@pytest.mark.spec("BY-10")
@BOTH
async def test_a_formation_under_way_is_taken_back_in_its_turn(tmp_path: Path, url: str) -> None:
    async with lab(tmp_path, url=url) as talk:
        await talk.say(CASES[0][0])
        cycle = await last(talk)
        formation = compile_formation(Services(talk.memory, talk.mind))
        steps = formation.astream(
            {"cycle_id": cycle.id}, context=Context(user_id="ana"), stream_mode="updates"
        )
        seen = []
        with pytest.raises(Exception) as failure:
            async for step in steps:
                seen += step
                if "age" in seen and len(seen) == seen.index("age") + 1:
                    await talk.say("não lembre disso")
        assert type(failure.value).__name__ == "Conflict"
        await formation.ainvoke({"cycle_id": cycle.id}, context=Context(user_id="ana"))
        assert "5.000" not in await kept(talk)
        again = await talk.memory.transcript.cycle("ana", cycle.id)
        assert again is not None and again.formation == "none"


@pytest.mark.spec("BY-10")
async def test_no_model_is_asked(tmp_path: Path, fake_openai: FakeOpenAI) -> None:
    async with lab(tmp_path, fake_openai) as talk:
        fake_openai.say("Finish", model="heavy")
        fake_openai.say("Certo.", model="talk")
        await talk.say("Quero economizar R$ 5.000 até junho.")
        asked = len(fake_openai.requests)
        assert "fica na memória" in await talk.answer("não lembre disso")
        assert len(fake_openai.requests) == asked
        assert await talk.memory.conversations.pending_cycles("ana", limit=9) == []


@pytest.mark.spec("BY-10")
async def test_a_model_cannot_save_what_is_not_to_be_kept(tmp_path: Path, fake_openai: FakeOpenAI) -> None:
    async with lab(tmp_path, fake_openai) as talk:
        fake_openai.say("MemorySave", "Finish", model="heavy")
        fake_openai.say("Certo.", model="talk")
        values = await talk.say("não lembre disso: meu PIN é 4321")
        assert [step["action"] for step in values["steps"]] == ["Finish"]
        assert await talk.memory.list("ana") == []


async def test_with_nothing_before_it_says_so(tmp_path: Path) -> None:
    async with lab(tmp_path) as talk:
        assert "Não há nada" in await talk.answer("não lembre disso", language="pt")
        assert "nothing before" in await talk.answer("don't remember that", "other", incognito=True)


@pytest.mark.spec("BY-10")
@pytest.mark.parametrize(
    ("thread", "url"), [("t", "sqlite"), ("another", "sqlite"), ("another", MONGODB)], indirect=["url"]
)
async def test_it_is_shown_nowhere_unasked(tmp_path: Path, url: str, thread: str) -> None:
    async with lab(tmp_path, url=url) as talk:
        await talk.memory.change_settings("ana", smart_context=True)
        await talk.say("Comi uma pizza de calabresa ontem à noite.")
        await talk.say("não lembre disso: paguei a pizza com o cartão da firma")
        await talk.say("Vi um filme sobre pinguins.")
        await talk.say("não guarde isso")
        for text in TALK:
            await talk.say(text)
        await understood(talk)
        await talk.memory.recall.embed_messages("ana")

        async def shown(query: str) -> list[str]:
            found = await talk.memory.recall.recollect(
                "ana", query, thread, memories=5, messages=20, others=others
            )
            return [hit.text for hit in found.messages if hit.role == "user"]

        async def others() -> int:
            return 50

        assert "Comi uma pizza de calabresa ontem à noite." in await shown("pizza de calabresa")
        assert not [text for text in await shown("pizza cartão da firma") if "firma" in text]
        assert not [text for text in await shown("filme sobre pinguins") if "pinguins" in text]


@pytest.mark.spec("BY-10")
@pytest.mark.parametrize(
    "said", ["não lembre disso: comprei um piano vermelho", "I bought a red piano, don't remember that"]
)
async def test_it_is_no_excerpt_before_it_was_judged_either(tmp_path: Path, said: str) -> None:
    async with lab(tmp_path) as talk:
        await talk.say("Toquei piano quando era pequena.")
        await talk.say(said)
        for text in TALK:
            await talk.say(text)
        for thread in ("t", "another"):
            await talk.say("Falamos de piano?", thread, smart_context=True)
            state = await talk.graph.aget_state({"configurable": {"thread_id": thread}})
            briefing = state.values["briefing"]
            told = f"{briefing['text']} {briefing['session']}"
            assert "piano quando era pequena" in told
            assert "vermelho" not in told and "red" not in told.split()

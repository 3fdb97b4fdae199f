"""Secrets in a conversation: told in passing they are neither kept nor said back, kept on request they are masked."""

import asyncio
import json
from collections.abc import AsyncIterator

import pytest
from typer.testing import CliRunner

from support.dialogue import HEAVY, REASON, TALK
from support.fake_openai import FakeOpenAI
from support.graphs import Lab, lab
from thoughtcycle.cli.main import app
from thoughtcycle.integrations.tool_service import ToolRefused, ToolRequest, ToolService
from thoughtcycle.memory.memory import Memory
from thoughtcycle.memory.model import MemoryDraft
from thoughtcycle.memory.text.secrets import MARK
from thoughtcycle.nodes.base.limits import Limits
from thoughtcycle.web.api import memories as api

pytestmark = pytest.mark.spec("BY-10")

PASSING = [
    ("Minha senha do banco é Tigre#9982, não conta pra ninguém.", "Tigre#9982", "não guardei"),
    ("my password is hunter2!X", "hunter2!X", "did not keep"),
    ("troquei a senha do cofre por 7788", "7788", "não guardei"),
    ("my password is correct horse battery staple", "horse battery", "did not keep"),
]
ASKED = [
    (
        "Guarde: senha do banco é 9988",
        "e a placa?",
        "qual é a senha do banco?",
        "qual é a senha do cofre?",
        "9988",
    ),
    (
        "Please remember: the garage code is 4711#",
        "and the licence plate?",
        "What is the garage code?",
        "What is the gate code?",
        "4711",
    ),
]


@pytest.fixture
async def cycle(database_url: str, tmp_path: object) -> AsyncIterator[Lab]:
    async with lab(tmp_path, url=database_url) as opened:  # type: ignore[arg-type]
        yield opened


@pytest.mark.parametrize(("said", "secret", "line"), PASSING)
async def test_a_secret_told_in_passing_is_neither_kept_nor_said_back(
    cycle: Lab, said: str, secret: str, line: str
) -> None:
    answer = await cycle.answer(said)
    assert line in answer and secret not in answer and answer.count(line) == 1
    await cycle.understand()
    assert await cycle.memory.list("ana") == []


async def test_what_stands_beside_a_secret_is_kept(cycle: Lab) -> None:
    answer = await cycle.answer(
        "Moro em Recife. Minha senha do banco é Tigre#9982. Lembre que gosto de jazz."
    )
    assert "Recife" in answer and "jazz" in answer and "não guardei" in answer and "Tigre" not in answer
    await cycle.understand()
    kept = [record.text for record in await cycle.memory.list("ana")]
    assert len(kept) == 2 and "Tigre" not in str(kept)


@pytest.mark.parametrize(("said", "other", "asked", "elsewhere", "secret"), ASKED)
async def test_a_secret_kept_on_request_is_shown_only_to_who_asks_for_it(
    cycle: Lab, said: str, other: str, asked: str, elsewhere: str, secret: str
) -> None:
    answer = await cycle.answer(said)
    assert MARK in answer and secret not in answer and "não guardei" not in answer
    (kept,) = await cycle.memory.list("ana")
    assert secret in kept.text
    for question in (other, elsewhere):
        assert secret not in str(await cycle.answer(question)), question
    assert secret in await cycle.answer(asked)
    state = {"configurable": {"thread_id": "t"}}
    await cycle.answer(other)
    assert secret not in str((await cycle.graph.aget_state(state)).values["recalled"])


@pytest.mark.parametrize(
    ("said", "secret"),
    [
        ("Remember my password is hunter2!X.", "hunter2!X"),
        ("Lembra que a senha do wifi é Qu1nta.do.Vale!", "Qu1nta.do.Vale"),
        ("Please remember: the garage code is 4711#", "4711#"),
    ],
)
async def test_a_secret_is_kept_whole(cycle: Lab, said: str, secret: str) -> None:
    await cycle.answer(said)
    (kept,) = await cycle.memory.list("ana")
    assert kept.text.endswith(secret) and secret in kept.source.words


@pytest.mark.parametrize("forget", ["forget the garage code", "forget the garage code 4711#"])
async def test_a_kept_secret_is_forgotten_without_being_said(cycle: Lab, forget: str) -> None:
    await cycle.answer("Please remember: the garage code is 4711#")
    assert "4711" not in await cycle.answer(forget)
    assert await cycle.memory.list("ana") == []


@pytest.mark.parametrize(
    ("said", "kept"),
    [
        ("A senha do wifi é girassol77, guarda isso", True),
        ("Anota aí:\nsenha do wifi: girassol77", True),
        ("Lembre que gosto de jazz. A senha do wifi é girassol77", False),
        ("A senha do wifi é girassol77", False),
    ],
)
async def test_a_model_saves_and_changes_secrets_only_where_the_user_asks_for_it(
    tmp_path: object, fake_openai: FakeOpenAI, said: str, kept: bool
) -> None:
    async with lab(tmp_path, fake_openai) as cycle:  # type: ignore[arg-type]
        (saved,) = await cycle.memory.save(
            "ana", [MemoryDraft(content="O wifi é da praia", bindings=("wifi",))]
        )
        item = {"type": "text", "content": "A senha do wifi é girassol77", "bindings": ["wifi", "girassol77"]}
        change = {"_id": saved.record.id, "content": "O wifi da praia: senha girassol77"}
        fake_openai.say("MemorySave", "MemorySearch", "MemoryUpdate", "Finish", model=HEAVY)
        fake_openai.say(json.dumps([item]), '["wifi"]', json.dumps([change]), model=REASON)
        fake_openai.say("Certo.", "Achei.", "Feito.", "Pronto.", model=TALK)
        answer = await cycle.answer(said, language="pt")
        texts = [record.text for record in await cycle.memory.list("ana")]
        assert ("girassol77" in str(texts)) is kept
        assert ("não guardei" in answer) is not kept
        assert "girassol77" not in str([record.bindings for record in await cycle.memory.list("ana")])


def test_the_command_shows_no_secret_that_is_not_asked_for(database_url: str) -> None:
    async def kept() -> str:
        async with Memory.open(database_url, embeddings=None) as memory:
            (saved,) = await memory.save("ana", [MemoryDraft(content="Senha do banco: 9988")])
            await memory.update("ana", saved.record.id, content="A senha do banco é 7766")
            return saved.record.id

    def shown(*args: str) -> str:
        done = CliRunner().invoke(app, ["memories", *args, "--user", "ana", "--db", database_url])
        assert done.exit_code == 0, done.output
        return done.output

    id = asyncio.run(kept())
    for args in (
        ("list",),
        ("show", id, "--json"),
        ("history", id),
        ("why", id, "--json"),
        ("search", "banco"),
    ):
        output = shown(*args)
        assert "9988" not in output and "7766" not in output, args
    assert "7766" in shown("search", "senha do banco") and "7766" in shown("show", id, "--reveal")


async def test_a_tool_saves_no_secret_that_the_user_does_not_ask_to_keep(tmp_path: object) -> None:
    async with lab(tmp_path) as cycle:  # type: ignore[arg-type]
        service, told = ToolService("pt", Limits()), "A senha do wifi é girassol77"
        for message, kept in ((told, False), (f"Guarde: {told}", True)):
            request = ToolRequest("ana", message=message)
            if not kept:
                with pytest.raises(ToolRefused):
                    await service.save(cycle.memory, request, content=told, topics=[])
                continue
            await service.save(cycle.memory, request, content=told, topics=["wifi", "girassol77"])
        (record,) = await cycle.memory.list("ana")
        assert (record.text, record.bindings) == (told, ("wifi",))
        for query, message, revealed in (
            ("wifi", "e o wifi?", False),
            ("wifi", "qual a senha do wifi?", True),
        ):
            answer = await service.search(cycle.memory, ToolRequest("ana", message=message), query=query)
            assert ("girassol77" in answer.text) is revealed


async def test_the_api_masks_what_nobody_asked_for(tmp_path: object) -> None:
    async with lab(tmp_path) as cycle:  # type: ignore[arg-type]
        (saved,) = await cycle.memory.save("ana", [MemoryDraft(content="A senha do wifi é girassol77")])
        id, user, memory = saved.record.id, "ana", cycle.memory
        for told in (
            await api.show(id, user, memory),
            await api.history(id, user, memory),
            await api.why(id, user, memory),
            await api.search(user, memory, "wifi"),
        ):
            assert "girassol77" not in str(told)
        assert "girassol77" in str(await api.show(id, user, memory, reveal=True))
        assert "girassol77" in str(await api.search(user, memory, "senha do wifi"))

"""The mind over models, through the real client, against a server that misbehaves on demand."""

import asyncio
import io
import logging
import time
import traceback
from typing import Annotated, Any, Literal, TypedDict

import pytest
from langchain_core.language_models import GenericFakeChatModel
from langchain_core.messages import AIMessage, AnyMessage, HumanMessage
from langgraph.config import get_stream_writer
from langgraph.graph import START, StateGraph, add_messages

from support.fake_openai import (
    DIMENSIONS,
    Behaviour,
    FakeOpenAI,
    Hang,
    Raw,
    Recorded,
    Reply,
    Status,
    ToolCall,
)
from support.leaping import PATIENCE
from support.minds import events_of, question, view
from thoughtcycle.errors import ModelFailed, ModelUnreadable
from thoughtcycle.mind import failures
from thoughtcycle.mind.base import ActionCard
from thoughtcycle.mind.embeddings import build_embeddings
from thoughtcycle.mind.llm import LLMMind
from thoughtcycle.mind.model_call import ModelSlot
from thoughtcycle.mind.model_settings import ROLES, Endpoint, ModelSettings
from thoughtcycle.nodes.name_decision import decision
from thoughtcycle.prompts.loader import LANGUAGES

KEY = "sk-hidden-0123456789"
pytestmark = pytest.mark.usefixtures("silence_passes")


@pytest.fixture(scope="module", autouse=True)
def _imported(fake_openai_server):
    """The client imports much on its first call, which shall not count."""

    async def call() -> None:
        warm = ModelSettings(openai_base_url=fake_openai_server.url)
        mind, embeddings = LLMMind.from_settings(warm), build_embeddings(warm)
        fake_openai_server.say("a", "b")
        await mind.ask(question("chat"), view())
        await mind.reply(question("chat"), view(), chat_history=True)
        await mind.aclose()
        assert embeddings is not None
        await embeddings.aembed_query("a")
        await embeddings.aclose()

    asyncio.run(call())


@pytest.fixture(autouse=True)
def _short_pauses(monkeypatch):
    monkeypatch.setattr(failures, "PAUSE", 0.01)


def settings(url: str, **values: Any) -> ModelSettings:
    patient = {role: {"timeout": PATIENCE} for role in (*ROLES, "embedding", "fallback")}
    for name, more in values.items():
        patient[name] = {**patient[name], **more}
    return ModelSettings(openai_api_key=KEY, openai_base_url=url, model="gpt-main", **patient)


@pytest.fixture
async def mind(fake_openai):
    mind = LLMMind.from_settings(settings(fake_openai.url))
    yield mind
    await mind.aclose()


@pytest.fixture
async def backed(fake_openai):
    mind = LLMMind.from_settings(settings(fake_openai.url, fallback={"model": "gpt-spare"}))
    yield mind
    await mind.aclose()


ASK = question("reasoning", list[str])
CARDS = (ActionCard("MemorySearch", "algo falta"), ActionCard("Finish", "nada falta"))
REPLY = question("chat")


async def failure_of(call) -> ModelFailed:
    with pytest.raises(ModelFailed) as failed:
        await call
    return failed.value


# --- asking ---


async def test_an_answer_is_parsed_and_its_cost_noted(mind, fake_openai):
    fake_openai.say('<think>hm</think>```json\n["nome"]\n```')
    seen = view()
    assert await mind.ask(ASK, seen) == ["nome"]
    (usage,) = seen.usage
    assert (usage.role, usage.model, usage.output) == ("reasoning", "gpt-main", 3)
    assert usage.input > 10
    assert fake_openai.requests[0].text("user").endswith("</data>\n\nQual é o meu nome?")
    assert not fake_openai.requests[0].stream


@pytest.mark.spec("TC-14")
async def test_each_role_asks_its_own_server_and_model():
    with FakeOpenAI() as one, FakeOpenAI() as two:
        chosen = settings(
            one.url,
            reasoning_heavy={"model": "heavy", "effort": "high"},
            reasoning={"model": "light"},
            chat={"base_url": two.url, "model": "talker", "api_key": "sk-two"},
        )
        mind = LLMMind.from_settings(chosen)
        one.answer = two.answer = lambda request: "ok"
        for role in ("reasoning_heavy", "reasoning", "background"):
            assert await mind.ask(question(role), view()) == "ok"
        await mind.reply(REPLY, view(), chat_history=True)
        await mind.aclose()
        assert [each.model for each in one.requests] == ["heavy", "light", "light"]
        assert [each.body.get("reasoning_effort") for each in one.requests] == ["high", "low", "low"]
        assert {each.authorization for each in one.requests} == {f"Bearer {KEY}"}
        assert [(each.model, each.authorization) for each in two.requests] == [("talker", "Bearer sk-two")]


async def test_a_server_of_ones_own_needs_no_key(fake_openai):
    mind = LLMMind.from_settings(ModelSettings(openai_api_key=None, openai_base_url=fake_openai.url))
    fake_openai.say("ok")
    assert await mind.ask(question("chat"), view()) == "ok"
    await mind.aclose()


async def test_without_key_and_address_nothing_is_sent(monkeypatch):
    monkeypatch.delenv("OPENAI_API_KEY", raising=False)
    monkeypatch.delenv("OPENAI_BASE_URL", raising=False)
    mind = LLMMind.from_settings(ModelSettings(chat={"base_url": "http://127.0.0.1:9/v1"}))
    failure = await failure_of(mind.ask(ASK, view()))
    assert failure.code == "model_key"
    await mind.aclose()


ASK_FAILURES = [
    (Status(401), "model_key", 1),
    (Status(403), "model_key", 1),
    (Status(404), "model_address", 1),
    (Status(400), "model_request", 1),
    (Status(429), "model_limit", 2),
    (Status(429, retry_after="60"), "model_limit", 1),
    (Status(500), "model_down", 2),
    (Status(503), "model_down", 2),
    (Hang(), "model_timeout", 2),
    (Reply('["nome"]', cut_after=1), "model_cut", 2),
    (Reply('["nome", "cidade"]', end_after=1), "model_cut", 2),
    (Reply('["nome"', finish="length"), "model_length", 1),
    (Reply('["nome"]', finish="content_filter"), "model_withheld", 1),
    (Raw(f"<html>{KEY}</html>"), "model_protocol", 1),
    ('["nome" "cidade"]', "model_answer", 2),
    ('{"a": 1}', "model_answer", 2),
]


@pytest.mark.parametrize(("behaviour", "code", "requests"), ASK_FAILURES, ids=lambda value: str(value)[:40])
async def test_every_failure_is_told_by_its_cause(mind, fake_openai, caplog, behaviour, code, requests):
    caplog.set_level(logging.DEBUG, "thoughtcycle")
    fake_openai.say(behaviour, behaviour)
    failure = await failure_of(mind.ask(ASK, view()))
    assert failure.code == code
    assert len(fake_openai.requests) == requests
    told = io.StringIO()
    traceback.print_exception(failure, file=told)
    for text in (*map(failure.text, LANGUAGES), told.getvalue(), caplog.text):
        assert KEY not in text
        assert "raw body" not in text
    assert all(fake_openai.host in failure.text(language) for language in LANGUAGES)


async def test_nobody_at_the_address():
    with FakeOpenAI() as gone:
        url = gone.url
    mind = LLMMind.from_settings(settings(url))
    assert (await failure_of(mind.ask(ASK, view()))).code == "model_unreachable"
    assert (await failure_of(mind.reply(REPLY, view(), chat_history=True))).code == "model_unreachable"
    await mind.aclose()


@pytest.mark.parametrize(
    "first", [Status(500), Status(429, retry_after="0.05"), Hang(), Reply("[", cut_after=1)]
)
async def test_a_passing_failure_is_survived(mind, fake_openai, first):
    fake_openai.say(first, '["nome"]')
    assert await mind.ask(ASK, view()) == ["nome"]


async def test_retry_after_is_waited_for(mind, fake_openai):
    fake_openai.say(Status(429, retry_after="0.1"), '["nome"]')
    await mind.ask(ASK, view())
    assert fake_openai.requests[1].at - fake_openai.requests[0].at >= 0.1


async def test_the_time_out_is_total_not_per_read(mind, fake_openai, leap):
    """Nothing is waited for as long as the time-out; all together take longer."""
    fake_openai.say(Reply("um dois três quatro", hang_after=3))
    start = time.monotonic()
    reply = await mind.reply(REPLY, view(), chat_history=True, on_text=lambda _: leap(0.4 * PATIENCE))
    assert (reply.text, reply.additional_kwargs["cut"]) == ("um dois três", True)
    assert time.monotonic() - start < PATIENCE / 2


async def test_one_request_to_repair_shows_the_problem(mind, fake_openai):
    seen = view()
    fake_openai.say('["nome" "cidade"]', '["nome", "cidade"]')
    assert await mind.ask(ASK, seen) == ["nome", "cidade"]
    repair = fake_openai.requests[1]
    assert "não pôde ser usada: not valid JSON" in repair.text("user")
    assert repair.text("assistant") == '["nome" "cidade"]'
    assert len(seen.usage) == 2


@pytest.mark.spec("TC-14")
@pytest.mark.parametrize("behaviour", [Status(500), Status(401), Hang()], ids=str)
async def test_the_fallback_takes_over_when_the_model_is_down(backed, fake_openai, caplog, behaviour):
    fake_openai.say(behaviour, behaviour, model="gpt-main")
    fake_openai.say('["nome"]', model="gpt-spare")
    seen = view()
    assert await backed.ask(ASK, seen) == ["nome"]
    assert seen.usage[0].model == "gpt-spare"
    assert "the fallback model takes over" in caplog.text
    assert KEY not in caplog.text


async def test_when_the_fallback_is_down_too_its_failure_is_told(backed, fake_openai):
    fake_openai.say(Status(500), Status(500), model="gpt-main")
    fake_openai.say(Status(401), model="gpt-spare")
    failure = await failure_of(backed.ask(ASK, view()))
    assert failure.code == "model_key"
    assert failure.values["role"] == "fallback"


# --- parameters that not every model takes ---

ITEM_FORM = {"type": "array", "items": {"type": "string"}}
OPTIONAL = ("temperature", "reasoning_effort", "response_format")


def sent(request: Recorded) -> list[str]:
    return [name for name in OPTIONAL if name in request.body]


@pytest.mark.spec("TC-14")
async def test_extractions_ask_for_a_form_and_replies_only_for_little_effort(mind, fake_openai):
    fake_openai.say('{"items": ["nome"]}', "Olá!", "MemorySearch")
    assert await mind.ask(ASK, view()) == ["nome"]
    await mind.reply(REPLY, view(), chat_history=True)
    await mind.ask(decision(CARDS), view(actions=CARDS))
    extracting, replying, deciding = fake_openai.requests
    assert (extracting.body["temperature"], extracting.body["reasoning_effort"]) == (0, "low")
    form = extracting.body["response_format"]["json_schema"]
    assert form["strict"] is True and form["schema"]["properties"] == {"items": ITEM_FORM}
    assert sent(replying) == ["reasoning_effort"]
    action = deciding.body["response_format"]["json_schema"]["schema"]["properties"]["action"]
    assert action == {"type": "string", "enum": ["MemorySearch", "Finish"]}


@pytest.mark.spec("TC-14")
@pytest.mark.parametrize(
    ("status", "message", "left"),
    [
        (400, "Unsupported value: 'temperature' does not support 0 with this model.", OPTIONAL[1:]),
        (400, "Unrecognized request argument supplied: reasoning_effort", (OPTIONAL[0], OPTIONAL[2])),
        (400, '"llama3" does not support thinking', (OPTIONAL[0], OPTIONAL[2])),
        (400, "This model does not support response format `json_schema`.", OPTIONAL[:2]),
        (400, "This response_format type is unavailable now", OPTIONAL[:2]),
        (422, "extra_forbidden: body.reasoning_effort", (OPTIONAL[0], OPTIONAL[2])),
        (500, "failed to parse grammar", OPTIONAL[:2]),
    ],
)
async def test_what_a_model_refuses_by_name_is_left_out_from_then_on(
    mind, fake_openai, caplog, status, message, left
):
    fake_openai.say(Status(status, message=message), '["nome"]', '["nome"]', '["nome"]')
    assert await mind.ask(ASK, view()) == ["nome"]
    assert await mind.ask(question("background", list[str]), view()) == ["nome"]  # the same model
    assert [tuple(sent(each)) for each in fake_openai.requests] == [OPTIONAL, left, left]
    assert caplog.text.count("goes without") == 1
    assert KEY not in caplog.text


async def test_a_model_that_refuses_all_of_them_one_by_one_is_asked_all_the_same(mind, fake_openai):
    def picky(request: Recorded) -> Behaviour:
        wrong = sent(request)
        return Status(400, message=f"unknown field {wrong[-1]}") if wrong else '["nome"]'

    fake_openai.answer = picky
    assert await mind.ask(ASK, view()) == ["nome"]
    assert (await mind.reply(REPLY, view(), chat_history=True)).text == '["nome"]'
    assert [len(sent(each)) for each in fake_openai.requests] == [3, 2, 1, 0, 0]


async def test_an_effort_that_was_set_is_sent_until_the_model_refuses_it(fake_openai):
    mind = LLMMind.from_settings(settings(fake_openai.url, chat={"effort": "high"}))
    fake_openai.say("a", Status(400, message="reasoning_effort is not supported"), "b", "c")
    for _ in range(3):
        await mind.reply(REPLY, view(), chat_history=True)
    efforts = [each.body.get("reasoning_effort") for each in fake_openai.requests]
    assert efforts == ["high", "high", None, None]
    await mind.aclose()


async def test_a_refusal_that_names_none_of_them_is_told(mind, fake_openai):
    fake_openai.say(Status(400, message="the prompt is not to our taste"))
    assert (await failure_of(mind.ask(ASK, view()))).code == "model_request"
    assert len(fake_openai.requests) == 1


async def test_a_call_instead_of_text_is_an_answer(mind, fake_openai):
    """Models tuned for tools call one that nobody offered: the content is null."""
    call = ToolCall("MemorySearch", {"contexts": ["nome"]})
    fake_openai.say(Reply(calls=(call,), finish="tool_calls"), Reply(calls=(call,), finish="tool_calls"))
    assert await mind.ask(ASK, view()) == ["nome"]
    assert await mind.ask(decision(CARDS), view(actions=CARDS)) == "MemorySearch"
    assert len(fake_openai.requests) == 2


async def test_an_empty_answer_is_asked_again_and_an_empty_reply_too(mind, fake_openai):
    fake_openai.say("", '["nome"]', "", "Olá!", "", "")
    assert await mind.ask(ASK, view()) == ["nome"]
    assert (await mind.reply(REPLY, view(), chat_history=True)).text == "Olá!"
    assert isinstance(await failure_of(mind.reply(REPLY, view(), chat_history=True)), ModelUnreadable)


# --- replying ---


@pytest.mark.spec("TC-1", "TC-13")
async def test_a_reply_streams_and_carries_the_envelope(mind, fake_openai):
    said: list[str] = []
    seen = view()
    fake_openai.say("<think>segredo</think>\n\nOlá, Ana!")
    reply = await mind.reply(REPLY, seen, chat_history=False, on_text=said.append)
    assert reply.text == "".join(said) == "Olá, Ana!"
    assert reply.additional_kwargs == {"chat_history": False, "modal": "text"}
    assert fake_openai.requests[0].stream
    assert [each.output for each in seen.usage] == [3]


@pytest.mark.parametrize(
    ("behaviour", "code", "requests"),
    [
        (Status(401), "model_key", 1),
        (Status(404), "model_address", 1),
        (Status(429), "model_limit", 2),
        (Status(500), "model_down", 2),
        (Hang(), "model_timeout", 2),
        (Reply("Olá", hang_after=0), "model_timeout", 2),
        (Reply("Olá", cut_after=0), "model_cut", 2),
        (Reply("Olá", end_after=0), "model_cut", 2),
        (Reply("<think>muito longo", finish="length"), "model_length", 1),
        (Reply("<think>segredo </think> Olá", cut_after=1), "model_cut", 2),
        (Raw("<html>"), "model_protocol", 1),
    ],
    ids=lambda value: str(value)[:40],
)
async def test_a_failure_before_the_first_token_says_nothing(mind, fake_openai, behaviour, code, requests):
    said: list[str] = []
    fake_openai.say(behaviour, behaviour)
    failure = await failure_of(mind.reply(REPLY, view(), chat_history=True, on_text=said.append))
    assert (failure.code, len(fake_openai.requests), said) == (code, requests, [])


@pytest.mark.parametrize(
    "behaviour",
    [
        Reply("um dois três", cut_after=2),
        Reply("um dois três", end_after=2),
        Reply("um dois três", hang_after=2),
        Reply("um dois", finish="length"),
    ],
    ids=lambda value: str(value)[:60],
)
async def test_a_failure_after_the_first_token_ends_the_reply_marked_cut(
    backed, fake_openai, leap, behaviour
):
    said: list[str] = []

    def hear(text: str) -> None:
        said.append(text)
        if len(said) == behaviour.hang_after:
            leap()

    fake_openai.say(behaviour)
    reply = await backed.reply(REPLY, view(), chat_history=True, on_text=hear)
    assert reply.text == "".join(said) == "um dois"
    assert reply.additional_kwargs == {"chat_history": True, "modal": "text", "cut": True}
    assert len(fake_openai.requests) == 1  # neither retry nor fallback


async def test_before_the_first_token_the_reply_is_tried_again_and_handed_over(backed, fake_openai):
    fake_openai.say(Status(500), Reply("Olá", cut_after=0), model="gpt-main")
    fake_openai.say("Olá, Ana!", model="gpt-spare")
    reply = await backed.reply(REPLY, view(), chat_history=True)
    assert reply.text == "Olá, Ana!"
    assert "cut" not in reply.additional_kwargs
    assert reply.response_metadata["model_name"] == "gpt-spare"


async def test_a_cancelled_reply_leaves_what_was_said(mind, fake_openai):
    said: list[str] = []
    spoken = asyncio.Event()

    def hear(text: str) -> None:
        said.append(text)
        if len(said) == 2:
            spoken.set()

    fake_openai.say(Reply("um dois três", hang_after=2))
    task = asyncio.create_task(mind.reply(REPLY, view(), chat_history=True, on_text=hear))
    await spoken.wait()
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task
    assert said == ["um", " dois"]


# --- inside a graph ---


class State(TypedDict):
    messages: Annotated[list[AnyMessage], add_messages]


def graph_of(mind: LLMMind):
    async def node(state: State) -> State:
        get_stream_writer()("status")
        found = await mind.ask(ASK, view())
        assert found == ["segredo"]
        return {"messages": [await mind.reply(REPLY, view(), chat_history=True, modal="text")]}

    builder = StateGraph(State)
    builder.add_node("node", node)
    builder.add_edge(START, "node")
    return builder.compile()


async def streamed(graph) -> list[tuple[str, Any]]:
    given = {"messages": [HumanMessage("oi")]}
    return [part async for part in graph.astream(given, stream_mode=["messages", "custom", "values"])]


@pytest.mark.spec("TC-4", "TC-13")
async def test_only_the_reply_reaches_the_message_stream(mind, fake_openai):
    fake_openai.say('["segredo" "x"]', '["segredo"]', "<think>segredo</think>Olá, Ana querida!")
    parts = await streamed(graph_of(mind))
    seen = [payload for mode, payload in parts if mode == "messages"]
    assert [chunk.text for chunk, _ in seen if chunk.text] == ["Olá,", " Ana", " querida!"]
    assert "segredo" not in str(seen)
    assert {chunk.id for chunk, _ in seen} == {parts[-1][1]["messages"][-1].id}
    assert all((meta["chat_history"], meta["modal"]) == (True, "text") for _, meta in seen)
    assert all(not chunk.additional_kwargs for chunk, _ in seen)
    assert [payload for mode, payload in parts if mode == "custom"] == ["status"]


@pytest.mark.spec("TC-13")
async def test_retries_and_fallback_are_invisible_in_the_message_stream(backed, fake_openai):
    fake_openai.say('["segredo"]', Status(500), Reply("x", cut_after=0), model="gpt-main")
    fake_openai.say("Olá, Ana!", model="gpt-spare")
    seen = [payload for mode, payload in await streamed(graph_of(backed)) if mode == "messages"]
    assert "".join(chunk.text for chunk, _ in seen) == "Olá, Ana!"
    assert len({chunk.id for chunk, _ in seen}) == 1


@pytest.mark.spec("TC-13")
async def test_the_first_token_leaves_at_once(mind, fake_openai):
    """The model does not go on before it has arrived."""
    fake_openai.say('["segredo"]', Reply("um dois três quatro", hold_after=1))
    arrived = []
    given = {"messages": [HumanMessage("oi")]}
    async with asyncio.timeout(PATIENCE / 2):
        async for chunk, _ in graph_of(mind).astream(given, stream_mode="messages"):
            if chunk.text:
                arrived.append(chunk.text)
                fake_openai.go_on()
    assert arrived == ["um", " dois", " três", " quatro"]


async def test_the_newer_event_protocol_shows_the_same(mind, fake_openai):
    fake_openai.say('["segredo"]', "Olá, Ana!")
    run = await events_of(graph_of(mind))
    texts = []
    async for message in run.messages:
        texts += [piece async for piece in message.text]
    assert texts == ["Olá,", " Ana!"]


async def test_a_cut_reply_is_marked_in_the_newer_protocol_too(mind, fake_openai):
    fake_openai.say('["segredo"]', Reply("um dois três", cut_after=2))
    run = await events_of(graph_of(mind))
    async for message in run.messages:
        _ = [piece async for piece in message.text]
    state = await run.output()
    assert state["messages"][-1].additional_kwargs["cut"] is True


# --- injected models ---


def fake_model(*answers: str) -> GenericFakeChatModel:
    return GenericFakeChatModel(messages=iter([AIMessage(text) for text in answers]))


@pytest.mark.spec("TC-14")
async def test_any_chat_model_can_be_injected():
    models = {role: fake_model('["a"]') for role in ("reasoning_heavy", "reasoning")}
    mind = LLMMind({**models, "chat": fake_model("Olá, Ana!")})
    assert await mind.ask(ASK, view()) == ["a"]
    said: list[str] = []
    reply = await mind.reply(REPLY, view(), chat_history=True, on_text=said.append)
    assert reply.text == "".join(said) == "Olá, Ana!"
    assert len(said) > 1
    await mind.aclose()


async def test_an_injected_fallback_and_an_unexpected_error(caplog):
    class Broken(GenericFakeChatModel):
        def _generate(self, *args: Any, **values: Any) -> Any:
            raise ZeroDivisionError

        _stream = _generate

    broken = Broken(messages=iter(()))
    models = dict.fromkeys(("reasoning_heavy", "reasoning", "chat"), broken)
    mind = LLMMind(models, fallback=fake_model('["a"]', "Olá!"))
    assert await mind.ask(ASK, view()) == ["a"]
    assert (await mind.reply(REPLY, view(), chat_history=True)).text == "Olá!"
    failure = await failure_of(LLMMind(models).ask(ASK, view()))
    assert failure.code == "model_unknown"
    assert isinstance(failure.__cause__, ZeroDivisionError)


def test_a_missing_role_is_said_at_once():
    with pytest.raises(ValueError, match="reasoning_heavy"):
        LLMMind({"chat": fake_model()})


async def test_an_answer_that_is_one_of_a_few_names(mind, fake_openai):
    fake_openai.say("Finish!", '"Finish"')
    assert await mind.ask(question("reasoning_heavy", Literal["Finish"]), view()) == "Finish"


# --- embeddings ---


@pytest.mark.spec("TC-8", "TC-14")
async def test_embeddings_of_a_server(fake_openai):
    embeddings = build_embeddings(settings(fake_openai.url, embedding={"model": "embedder"}))
    assert embeddings is not None
    assert embeddings.name == f"embedder@{fake_openai.host}"
    rows = await embeddings.aembed_documents(["um gato", "dois gatos"])
    assert [len(row) for row in rows] == [DIMENSIONS, DIMENSIONS]
    assert await embeddings.aembed_query("um gato") == rows[0]
    request = fake_openai.requests[0]
    assert request.body["input"] == ["um gato", "dois gatos"]  # text, not token numbers
    await embeddings.aclose()


@pytest.mark.parametrize(
    ("behaviour", "code"),
    [
        (Status(401), "model_key"),
        (Status(404), "model_address"),
        (Status(429), "model_limit"),
        (Status(500), "model_down"),
        (Hang(), "model_timeout"),
        (Raw("<html>"), "model_unknown"),
    ],
    ids=str,
)
async def test_failures_of_embeddings(fake_openai, behaviour, code):
    embeddings = build_embeddings(settings(fake_openai.url, embedding={"model": "embedder"}))
    assert embeddings is not None
    fake_openai.say(behaviour, behaviour, model="embedder")
    failure = await failure_of(embeddings.aembed_query("a"))
    assert failure.code == code
    assert failure.values["setting"] == "THOUGHTCYCLE_EMBEDDING"
    assert KEY not in "".join(traceback.format_exception(failure))
    await embeddings.aclose()


async def test_a_passing_failure_of_embeddings_is_survived(fake_openai):
    embeddings = build_embeddings(settings(fake_openai.url))
    assert embeddings is not None
    fake_openai.say(Status(500), model="text-embedding-3-small")
    assert len(await embeddings.aembed_query("a")) == DIMENSIONS
    await embeddings.aclose()


async def test_a_seat_that_many_ask_at_once_is_built_once() -> None:
    built: list[GenericFakeChatModel] = []

    def build() -> GenericFakeChatModel:
        time.sleep(0.05)  # as reading certificates does
        built.append(GenericFakeChatModel(messages=iter([])))
        return built[-1]

    slot = ModelSlot(Endpoint("chat", "gpt-x"), build)
    models = await asyncio.gather(*(slot.model() for _ in range(20)))
    assert len(built) == 1 and all(model is built[0] for model in models)


async def test_warming_a_mind_without_a_key_leaves_the_failure_to_the_first_question(
    caplog: pytest.LogCaptureFixture,
) -> None:
    mind = LLMMind.from_settings(ModelSettings(_env_file=None, model="gpt-x"))
    await mind.warm()
    assert "model_key" in caplog.text
    with pytest.raises(ModelFailed) as failure:
        await mind.ask(question("chat"), view())
    assert failure.value.code == "model_key"
    await mind.aclose()

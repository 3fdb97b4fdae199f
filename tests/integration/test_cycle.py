"""The life of a cycle: opened before anything is answered, closed with one write, branched, stopped, refused."""

import asyncio
import json
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest
from langchain_core.messages import AIMessage, HumanMessage

from support.dialogue import HEAVY, REASON, TALK
from support.fake_openai import FakeOpenAI, Hang, Reply, Status
from support.graphs import Lab, lab, replies
from support.memories import pragma
from thoughtcycle.errors import InputRefused, NotAllowed
from thoughtcycle.memory.model import Cycle
from thoughtcycle.nodes.base.context import Context
from thoughtcycle.nodes.base.limits import Limits
from thoughtcycle.nodes.base.state import State


async def told(cycle: Lab, thread: str = "t", user: str = "ana") -> list[Cycle]:
    return await cycle.memory.conversation(user, thread, limit=100)


def place(thread: str = "t") -> dict[str, Any]:
    return {"configurable": {"thread_id": thread}}


@pytest.mark.spec("TC-2", "CM-1", "BY-1")
async def test_cycles_form_a_chain_with_all_that_was_said(tmp_path: Path) -> None:
    async with lab(tmp_path) as cycle:
        for text in ("Meu nome é Pedro", "Qual é o meu nome?"):
            await cycle.say(text)
        first, second = await told(cycle)
        assert (first.parent, second.parent) == (None, first.id)
        assert first.message.text == "Meu nome é Pedro" and first.channel == "chat"
        assert [message.chat_history for message in first.replies] == [True, False]
        assert [step["action"] for step in first.variants[-1].steps] == ["MemorySave", "Finish"]
        assert first.formation == second.formation == "pending"


@pytest.mark.spec("TC-15", "BY-1")
async def test_a_memory_names_its_cycle_and_words(tmp_path: Path) -> None:
    async with lab(tmp_path) as cycle:
        await cycle.say("Oi! Meu nome é Pedro e odeio coentro.")
        (exchange,) = await told(cycle)
        for record in await cycle.memory.list("ana"):
            assert record.source.cycle == exchange.id and record.source.words in exchange.message.text


@pytest.mark.spec("BY-1")
async def test_a_crashed_turn_is_closed_by_the_next(tmp_path: Path, fake_openai: FakeOpenAI) -> None:
    async with lab(tmp_path, fake_openai) as cycle:
        fake_openai.say("MemorySearch", model=HEAVY)
        fake_openai.say('["nome"]', model=REASON)
        fake_openai.say("Nada encontrado.", model=TALK)
        fake_openai.say(Hang(), model=HEAVY)
        running = asyncio.create_task(cycle.say("Qual é o meu nome?"))
        async with asyncio.timeout(60):
            while len([request for request in fake_openai.requests if request.model == HEAVY]) < 2:
                await asyncio.sleep(0.01)
        running.cancel()
        with pytest.raises(asyncio.CancelledError):
            await running
        assert await told(cycle) == [], "it is not closed"
        fake_openai.say("Finish", model=HEAVY)
        fake_openai.say("Olá de novo.", model=TALK)
        await cycle.say("Oi?")
        first, second = await told(cycle)
        assert [message.text for message in first.replies] == ["Nada encontrado."]
        assert first.variants[-1].cut and second.parent == first.id


@pytest.mark.spec("BY-1", "TC-13")
async def test_a_stopped_reply_is_kept_as_far_as_it_was_said(tmp_path: Path, fake_openai: FakeOpenAI) -> None:
    async with lab(tmp_path, fake_openai) as cycle:
        fake_openai.say("Finish", model=HEAVY)
        fake_openai.say(Reply("um dois três quatro cinco", hang_after=3), model=TALK)
        heard: list[str] = []

        async def listen() -> None:
            stream = cycle.graph.astream(
                {"messages": [HumanMessage("conte")]},
                place(),
                context=Context(user_id="ana", language="pt"),
                stream_mode="messages",
            )
            async for chunk, _ in stream:
                heard.append(chunk.text)

        listening = asyncio.create_task(listen())
        async with asyncio.timeout(60):
            while "".join(heard) != "um dois três":
                await asyncio.sleep(0.01)
        listening.cancel()
        with pytest.raises(asyncio.CancelledError):
            await listening
        (left,) = await cycle.memory.core.storage.transcript.open_cycles(user="ana", chat="t")
        assert [(step["status"], text.text) for _, step, text in left.progress if text] == [
            ("cut", "um dois três")
        ]
        assert left.message.text == "conte"


@pytest.mark.spec("BY-1")
async def test_regenerating_adds_a_variant(tmp_path: Path, fake_openai: FakeOpenAI) -> None:
    async with lab(tmp_path, fake_openai) as cycle:
        fake_openai.say("Finish", model=HEAVY)
        fake_openai.say("Primeira.", "Segunda.", model=TALK)
        await cycle.say("Olá", language="pt")
        states = [state async for state in cycle.graph.aget_state_history(place())]
        before = next(state for state in states if state.next == ("Finish",))
        context = Context(user_id="ana", language="pt")
        values = await cycle.graph.ainvoke(None, before.config, context=context)
        assert replies(values) == "Segunda."
        (exchange,) = await told(cycle)
        assert [variant.messages[-1].text for variant in exchange.variants] == ["Primeira.", "Segunda."]


@pytest.mark.spec("BY-1")
async def test_editing_opens_a_sibling_and_hides_what_the_left_path_taught(tmp_path: Path) -> None:
    async with lab(tmp_path) as cycle:
        await cycle.say("Olá, tudo bem?")
        await cycle.say("Moro em Recife")
        states = [state async for state in cycle.graph.aget_state_history(place())]
        start = next(
            state
            for state in states
            if state.next == ("__start__",)
            and len(state.values.get("messages", [])) < 4
            and state.metadata
            and state.metadata["step"] > 0
        )
        context = Context(user_id="ana", language="pt")
        edited = {"messages": [HumanMessage("Moro em Olinda")]}
        await cycle.graph.ainvoke(edited, start.config, context=context)
        assert [record.text for record in await cycle.memory.list("ana")] == ["Mora em Olinda"]
        live = await told(cycle)
        assert [exchange.message.text for exchange in live] == ["Olá, tudo bem?", "Moro em Olinda"]
        hidden = await cycle.memory.list("ana", statuses=("hidden",))
        assert [(record.text, record.reason) for record in hidden] == [("Mora em Recife", "abandoned")]

        old = next(state for state in states if state.next == ())
        await cycle.graph.ainvoke({"messages": [HumanMessage("Onde eu moro?")]}, old.config, context=context)
        assert "Mora em Recife" in [record.text for record in await cycle.memory.list("ana")]


@pytest.mark.spec("BY-5", "CM-1")
async def test_another_users_chat_is_refused_before_anything(tmp_path: Path) -> None:
    async with lab(tmp_path) as cycle:
        await cycle.say("Meu nome é Pedro")
        for incognito in (False, True):
            with pytest.raises(NotAllowed, match="another user"):
                await cycle.say("Qual é o meu nome?", user_id="eve", incognito=incognito)
        assert len(await told(cycle)) == 1 and await cycle.memory.list("eve") == []


@pytest.mark.spec("LM-10")
async def test_lembrar_answers_without_a_model(tmp_path: Path, fake_openai: FakeOpenAI) -> None:
    async with lab(tmp_path, fake_openai) as cycle:
        fake_openai.say("MemorySave", "Finish", model=HEAVY)
        fake_openai.say(json.dumps([{"content": "Nome: Pedro", "bindings": ["nome"]}]), model=REASON)
        fake_openai.say("Guardei.", "Pronto.", model=TALK)
        await cycle.say("Meu nome é Pedro", language="pt")
        calls = len([request for request in fake_openai.requests if request.model != "embed"])
        assert "Nome: Pedro" in await cycle.answer("/lembrar nome", "other", language="pt")
        assert "Nome: Pedro" in await cycle.answer("/remember", "other", language="en")
        assert "nada" in await cycle.answer("/lembrar dinossauros", "other", language="pt")
        assert len([request for request in fake_openai.requests if request.model != "embed"]) == calls
        assert {exchange.formation for exchange in await told(cycle, "other")} == {"none"}


async def test_the_state_stays_small_and_every_update_has_a_place_in_it(tmp_path: Path) -> None:
    async with lab(tmp_path, limits=Limits(state_messages=8)) as cycle:
        for number in range(8):
            await cycle.say(f"Bom dia número {number}")
        values = (await cycle.graph.aget_state(place())).values
        assert len(values["messages"]) <= 8
        assert len(await told(cycle)) == 8
        updates = cycle.graph.astream(
            {"messages": [HumanMessage("Meu nome é Pedro")]},
            place(),
            context=Context(user_id="ana"),
            stream_mode="updates",
        )
        async for update in updates:
            for node in update.values():  # type: ignore[union-attr]
                assert (node or {}).keys() <= State.__annotations__.keys()
        json.dumps({key: value for key, value in values.items() if key != "messages"})


@pytest.mark.parametrize(
    ("text", "expected"),
    [("", "vazia"), (" \n ", "vazia"), ("\x00\x01PK\x03", "binários"), ("x" * 1_000_000, "1000000")],
)
async def test_an_unusable_message_is_refused_politely(text: str, expected: str, tmp_path: Path) -> None:
    async with lab(tmp_path) as cycle:
        values = await cycle.say(text, language="pt")
        assert expected in replies(values) and [type(m) for m in values["messages"]] == [AIMessage]
        assert await told(cycle) == []
        assert "Pedro" in await cycle.answer("Meu nome é Pedro", language="pt")


@pytest.mark.spec("BY-11")
@pytest.mark.parametrize("bad", [{"language": "xx"}, {"time_zone": "Mars/Base"}, {"max_steps": 0}])
async def test_a_bad_context_fails_in_one_line(bad: dict[str, Any], tmp_path: Path) -> None:
    async with lab(tmp_path) as cycle:
        with pytest.raises(InputRefused) as refused:
            await cycle.say("oi", **bad)
        assert "\n" not in str(refused.value)


@pytest.mark.spec("TC-14")
@pytest.mark.usefixtures("silence_passes")
@pytest.mark.parametrize(
    ("behaviour", "expected"),
    [
        (Status(401), "chave"),
        (Status(404), ""),
        (Status(429, retry_after="0"), ""),
        (Status(500), ""),
        (Hang(), ""),
        (Reply("MemorySearch", cut_after=0), ""),
        (Reply("MemorySearch", end_after=1), ""),
    ],
    ids=["401", "404", "429", "500", "hangs", "cut", "ends early"],
)
async def test_a_failing_decision_ends_the_cycle_politely(
    behaviour: Any, expected: str, tmp_path: Path, fake_openai: FakeOpenAI
) -> None:
    async with lab(tmp_path, fake_openai) as cycle:
        fake_openai.say(behaviour, behaviour, behaviour, model=HEAVY)
        values = await cycle.say("Meu nome é Pedro", language="pt")
        said = replies(values)
        assert expected in said and said.count("\n") == 0 and "sk-test-secret" not in said
        (exchange,) = await told(cycle)
        assert exchange.closed and not exchange.replies[-1].chat_history
        assert await cycle.memory.list("ana") == []


@pytest.mark.spec("TC-9", "TC-15")
@pytest.mark.parametrize(
    ("answer", "kept"),
    [
        ('[{"type": "text", "content": "Nome', ["Nome: Pedro"]),
        ("I saved it for you!", ["Nome: Pedro"]),
        ('[{"type": "text"}]', ["Nome: Pedro"]),
        ("", ["Nome: Pedro"]),
        ("[]", []),
        ("null", []),
    ],
)
async def test_instead_of_an_unusable_extraction_the_rules_save(
    answer: str, kept: list[str], tmp_path: Path, fake_openai: FakeOpenAI
) -> None:
    """Half a content is never kept; "nothing" is an answer."""
    async with lab(tmp_path, fake_openai) as cycle:
        fake_openai.say("MemorySave", "Finish", model=HEAVY)
        fake_openai.say(*[answer] * (2 if kept else 1), model=REASON)
        fake_openai.say("Certo.", "Fim.", model=TALK)
        values = await cycle.say("Meu nome é Pedro", language="pt")
        assert replies(values) == "Certo. Fim." and fake_openai.left == 0
        found = await cycle.memory.list("ana", statuses=("active", "hidden"))
        assert [record.text for record in found] == kept
        assert values["steps"][0].get("by") == ("rules" if kept else None)


@pytest.mark.spec("TC-13")
async def test_a_reply_that_breaks_off_is_kept_and_marked(tmp_path: Path, fake_openai: FakeOpenAI) -> None:
    async with lab(tmp_path, fake_openai) as cycle:
        fake_openai.say("Finish", model=HEAVY)
        fake_openai.say(Reply("um dois três quatro", cut_after=2), model=TALK)
        values = await cycle.say("conte", language="pt")
        assert replies(values).startswith("um dois A resposta acima foi interrompida")
        assert values["steps"][-1]["status"] == "cut"
        assert (await told(cycle))[0].variants[-1].cut


async def test_a_full_disk_while_saving(tmp_path: Path) -> None:
    async with lab(tmp_path) as cycle:
        await cycle.say("Meu nome é Pedro", language="pt")
        await pragma(cycle.memory, "max_page_count = 1")
        long = "lembre que " + "x y z " * 3_000
        values = await cycle.say(long, language="pt")
        assert "espaço" in replies(values)
        assert [record.text for record in await cycle.memory.list("ana")] == ["Nome: Pedro"]
        await pragma(cycle.memory, "max_page_count = 1000000")
        assert "Pedro" in await cycle.answer("Qual é o meu nome?", language="pt")


@pytest.mark.spec("TC-15")
async def test_embeddings_out_of_reach_leave_keyword_search(tmp_path: Path, fake_openai: FakeOpenAI) -> None:
    async with lab(tmp_path, fake_openai) as cycle:
        fake_openai.say("MemorySave", "Finish", "MemorySearch", "Finish", model=HEAVY)
        fake_openai.say(
            json.dumps([{"content": "Nome: Pedro", "bindings": ["nome"]}]), '["nome"]', model=REASON
        )
        fake_openai.say("Guardei.", "Pronto.", "Achei.", "Pedro.", model=TALK)
        await cycle.say("Meu nome é Pedro", language="pt")
        fake_openai.say(*[Status(500)] * 12, model="embed")
        values = await cycle.say("Qual é o meu nome?", "other", language="pt")
        assert values["steps"][0]["status"] == "done" and replies(values) == "Achei. Pedro."


@pytest.mark.spec("HM-1", "CM-2")
async def test_the_window_is_the_last_two_cycles(tmp_path: Path, fake_openai: FakeOpenAI) -> None:
    async with lab(tmp_path, fake_openai) as cycle:
        for number in range(4):
            fake_openai.say("Finish", model=HEAVY)
            fake_openai.say(f"resposta {number}", model=TALK)
            await cycle.say(f"pergunta {number}", language="pt")
        last = [request for request in fake_openai.requests if request.model == TALK][-1].body["messages"]
        history = [each["content"] for each in last[1:-1]]
        assert history == ["pergunta 1", "resposta 1", "pergunta 2", "resposta 2"]


@pytest.mark.spec("TC-11")
async def test_what_was_deleted_is_masked_in_later_prompts(tmp_path: Path, fake_openai: FakeOpenAI) -> None:
    async with lab(tmp_path, fake_openai) as cycle:
        fake_openai.say("MemorySave", "Finish", model=HEAVY)
        fake_openai.say(json.dumps([{"content": "Nome: Pedro", "bindings": ["nome"]}]), model=REASON)
        fake_openai.say("Guardei.", "Pronto.", model=TALK)
        await cycle.say("Meu nome é Pedro.", language="pt")
        (record,) = await cycle.memory.list("ana")
        fake_openai.say("MemoryDelete", "Finish", model=HEAVY)
        fake_openai.say(json.dumps([record.id]), model=REASON)
        fake_openai.say("Apaguei.", "Feito.", model=TALK)
        values = await cycle.say("Esqueça meu nome.", language="pt")
        assert values["recalled"] == []
        fake_openai.reset()
        fake_openai.say("Finish", model=HEAVY)
        fake_openai.say("Não sei.", model=TALK)
        await cycle.say("Qual é o meu nome?", language="pt")
        assert all("Pedro" not in json.dumps(request.body) for request in fake_openai.requests)


@pytest.mark.spec("TC-11")
async def test_what_another_thread_deleted_or_changed_is_not_shown_as_it_was(tmp_path: Path) -> None:
    async with lab(tmp_path) as cycle:
        await cycle.say("Moro em Recife e adoro jazz")
        home, music = sorted(await cycle.memory.list("ana"), key=lambda record: record.key or "")
        await cycle.memory.update("ana", home.id, content="Mora em Natal")
        await cycle.memory.hide("ana", [music.id])
        values = await cycle.say("Bom dia!")
        assert [memory["content"] for memory in values["recalled"]] == ["Mora em Natal"]


@pytest.mark.spec("BY-3")
async def test_nothing_leaves_the_machine(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    tried: list[object] = []

    def refuse(*args: object) -> None:
        tried.append(args)
        raise OSError("no network in this test")

    monkeypatch.setattr("socket.getaddrinfo", refuse)
    monkeypatch.setattr("socket.socket.connect", refuse)
    async with lab(tmp_path) as cycle:
        await cycle.say("Meu nome é Pedro")
        assert "Pedro" in await cycle.answer("Qual é o meu nome?", "other")
    assert tried == []


@pytest.mark.spec("TC-11")
async def test_forget_that_takes_back_what_was_kept_last_in_this_chat(tmp_path: Path) -> None:
    async with lab(tmp_path) as cycle:
        await cycle.say("Moro em Recife", "other")
        await cycle.say("Adoro jazz")
        await cycle.say("Bom dia!")
        assert "nada" in await cycle.answer("esquece isso", "a third chat")
        await cycle.say("esquece isso")
        assert [record.text for record in await cycle.memory.list("ana")] == ["Mora em Recife"]


@pytest.mark.parametrize(
    "text", ["gosto de {}", "my dog is called {}", "moro em {}", "my budget for the {} is 20 euros"]
)
async def test_a_word_without_end_is_no_failure(text: str, tmp_path: Path) -> None:
    async with lab(tmp_path) as cycle:
        values = await cycle.say(text.format("a" * 3_000))
        assert replies(values) and "[" not in replies(values)
        for record in await cycle.memory.list("ana"):
            assert all(len(binding) <= 200 for binding in record.bindings)


@pytest.mark.spec("BY-11")
async def test_a_message_is_kept_with_the_zone_it_was_said_in(tmp_path: Path) -> None:
    async with lab(tmp_path) as ana:
        await ana.say("oi", time_zone="America/Sao_Paulo")
        (cycle,) = await ana.memory.conversation("ana", "t")
    assert cycle.message.at.utcoffset() == timedelta(hours=-3)

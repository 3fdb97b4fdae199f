"""Deciding with tools: one streamed call that acts or answers, through the real client against a real server."""

import asyncio
import json
import warnings
from collections import defaultdict
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest
from langchain_core.messages import AIMessage, HumanMessage

from support.fake_openai import FakeOpenAI, Reply, Status, ToolCall
from support.graphs import Lab, lab, one_model, replied
from thoughtcycle.mind.llm import LLMMind
from thoughtcycle.nodes.base.context import Context
from thoughtcycle.runtime.turn_runner import stream

CONTENT = [{"content": "Nome: Pedro", "bindings": ["nome"]}]
SAVE = ToolCall("MemorySave", {"memories": CONTENT})
SEARCH = ToolCall("MemorySearch", {"contexts": ["nome"]})


@asynccontextmanager
async def tools_lab(folder: Path, server: FakeOpenAI, **given: Any) -> AsyncIterator[Lab]:
    """A lab whose model serves all roles; the server applies the rules of chat templates."""
    server.strict = True
    mind = LLMMind.from_settings(one_model(server, **given))
    async with lab(folder, server, mind=mind, explain="auto") as opened:
        yield opened


@dataclass
class Heard:
    """What listeners got of one turn."""

    ids: set[str | None] = field(default_factory=set)
    text: str = ""
    flags: set[Any] = field(default_factory=set)
    tool_pieces: int = 0
    pieces: int = 0
    values: dict[str, Any] = field(default_factory=dict)


async def listen(cycle: Lab, text: str, **context: Any) -> Heard:
    """One turn as `messages` and `values` show it."""
    heard = Heard()
    parts = cycle.graph.astream(
        {"messages": [HumanMessage(text)]},
        {"configurable": {"thread_id": "t"}},
        context=Context(**{"user_id": "ana", "language": "pt", **context}),
        stream_mode=["messages", "values"],
    )
    async for mode, data in parts:
        if mode == "values":
            heard.values = data  # type: ignore[assignment]
            continue
        chunk, metadata = data
        heard.ids.add(chunk.id)  # type: ignore[union-attr]
        heard.text += chunk.text  # type: ignore[union-attr]
        heard.pieces += bool(chunk.text)  # type: ignore[union-attr]
        heard.tool_pieces += len(getattr(chunk, "tool_call_chunks", ()))
        heard.flags.add((metadata["chat_history"], metadata["modal"]))  # type: ignore[index]
    return heard


def chats(server: FakeOpenAI) -> int:
    return len([request for request in server.requests if request.model == "talk"])


def steps(heard: Heard) -> list[tuple[str, str]]:
    return [(step["action"], step["status"]) for step in heard.values["steps"]]


@pytest.mark.spec("TC-4", "TC-6", "TC-13")
async def test_a_greeting_takes_one_call_and_streams_as_it_comes(
    tmp_path: Path, fake_openai: FakeOpenAI
) -> None:
    async with tools_lab(tmp_path, fake_openai) as cycle:
        fake_openai.say("Olá! Tudo bem com você?")
        heard = await listen(cycle, "Oi, bom dia!")
        (said,) = replied(heard.values)
        assert chats(fake_openai) == 1 and fake_openai.requests[-1].stream
        assert heard.text == said.text == "Olá! Tudo bem com você?"
        assert heard.ids == {said.id} and heard.pieces > 1 and heard.flags == {(False, "text")}
        assert said.additional_kwargs == {"chat_history": False, "modal": "text"}
        assert steps(heard) == [("Finish", "done")]
        (exchange,) = await cycle.memory.conversation("ana", "t", limit=5)
        assert [reply.text for reply in exchange.replies] == [said.text]
        assert {tool["function"]["name"] for tool in fake_openai.requests[-1].body["tools"]} == {
            "MemorySearch",
            "MemorySave",
            "MemoryUpdate",
            "MemoryDelete",
        }


@pytest.mark.spec("TC-4", "TC-9", "TC-13")
async def test_a_told_fact_is_saved_by_a_call_with_its_input(tmp_path: Path, fake_openai: FakeOpenAI) -> None:
    async with tools_lab(tmp_path, fake_openai) as cycle:
        fake_openai.say(SAVE, "Prazer, Pedro! Anotei seu nome.")
        heard = await listen(cycle, "Meu nome é Pedro.")
        (said,) = replied(heard.values)
        assert chats(fake_openai) == 2 and heard.ids == {said.id}
        assert heard.text == said.text == "Prazer, Pedro! Anotei seu nome." and heard.tool_pieces == 0
        assert steps(heard) == [("MemorySave", "done"), ("Finish", "done")]
        assert [record.text for record in await cycle.memory.list("ana")] == ["Nome: Pedro"]


@pytest.mark.spec("TC-4", "TC-8", "TC-13")
async def test_text_before_a_call_begins_the_one_reply(tmp_path: Path, fake_openai: FakeOpenAI) -> None:
    async with tools_lab(tmp_path, fake_openai) as cycle:
        fake_openai.say(SAVE, "Anotei.")
        await listen(cycle, "Meu nome é Pedro.")
        fake_openai.say(Reply("Vou procurar na memória.", calls=(SEARCH,)), "Você se chama Pedro.")
        heard = await listen(cycle, "Como eu me chamo?")
        (said,) = replied(heard.values)
        assert said.text == heard.text == "Vou procurar na memória.\n\nVocê se chama Pedro."
        assert heard.ids == {said.id} and heard.tool_pieces == 0
        assert steps(heard) == [("MemorySearch", "done"), ("Finish", "done")]
        last = fake_openai.requests[-1].body["messages"]
        assert [each["role"] for each in last] == ["system", "user", "assistant", "user", "assistant", "tool"]
        assert last[4]["content"] == "Vou procurar na memória." and "Nome: Pedro" in last[5]["content"]


@pytest.mark.spec("TC-13")
async def test_events_show_no_token_twice(tmp_path: Path, fake_openai: FakeOpenAI) -> None:
    async with tools_lab(tmp_path, fake_openai) as cycle:
        fake_openai.say(Reply("Um momento.", calls=(SAVE,)), "Anotei, Pedro.")
        texts: dict[str, str] = defaultdict(str)
        events = cycle.graph.astream_events(
            {"messages": [HumanMessage("Meu nome é Pedro.")]},
            {"configurable": {"thread_id": "t"}},
            context=Context(user_id="ana", language="pt"),
            version="v2",
        )
        async for event in events:
            if event["event"] == "on_chat_model_stream":
                chunk = event["data"]["chunk"]
                assert not chunk.tool_call_chunks
                texts[chunk.id] += chunk.text
        assert list(texts.values()) == ["Um momento.\n\nAnotei, Pedro."]


@pytest.mark.spec("TC-4")
async def test_what_is_sent_keeps_its_beginning(tmp_path: Path, fake_openai: FakeOpenAI) -> None:
    async with tools_lab(tmp_path, fake_openai) as cycle:
        for text in ("Oi!", "Tudo bem?", "Que dia é hoje?"):
            fake_openai.say("Tudo certo por aqui.")
            await listen(cycle, text)
        first, second, third = (r.body["messages"] for r in fake_openai.requests if r.model == "talk")
        assert first[0] == second[0] == third[0], "the system message does not change"
        assert [each["role"] for each in third] == ["system", *["user", "assistant"] * 2, "user"]
        assert third[1]["content"] == "Oi!" and third[3]["content"] == "Tudo bem?"
        assert third[-1]["content"].endswith("Que dia é hoje?") and "<data>" in third[-1]["content"]
        assert "<data>" not in third[0]["content"]


@pytest.mark.spec("TC-1")
async def test_the_reply_is_one_message_of_the_state(tmp_path: Path, fake_openai: FakeOpenAI) -> None:
    async with tools_lab(tmp_path, fake_openai) as cycle:
        fake_openai.say(Reply("Um momento.", calls=(SAVE,)), "Anotei.")
        heard = await listen(cycle, "Meu nome é Pedro.")
        assert [type(each) for each in heard.values["messages"]] == [HumanMessage, AIMessage]
        state = await cycle.graph.aget_state({"configurable": {"thread_id": "t"}})
        assert state.values["calls"] == []


async def kept(cycle: Lab) -> dict[str, str]:
    """Content of each active memory to its id."""
    return {record.text: record.id for record in await cycle.memory.list("ana")}


async def told(cycle: Lab, server: FakeOpenAI) -> str:
    """Keeps the name in a turn; the id of its memory."""
    server.say(SAVE, "Anotei.")
    await listen(cycle, "Meu nome é Pedro.")
    return (await kept(cycle))["Nome: Pedro"]


@pytest.mark.spec("TC-4", "TC-9")
@pytest.mark.parametrize("numbered", [True, False])
async def test_several_calls_run_in_the_order_given(
    numbered: bool, tmp_path: Path, fake_openai: FakeOpenAI
) -> None:
    async with tools_lab(tmp_path, fake_openai) as cycle:
        food = ToolCall("MemorySave", {"memories": [{"content": "Gosta de manga", "bindings": ["comida"]}]})
        fake_openai.say(Reply(calls=(SEARCH, SAVE, food), numbered=numbered), "Anotei tudo.")
        heard = await listen(cycle, "Meu nome é Pedro e gosto de manga.")
        assert [name for name, _ in steps(heard)] == ["MemorySearch", "MemorySave", "MemorySave", "Finish"]
        assert set(await kept(cycle)) == {"Nome: Pedro", "Gosta de manga"} and chats(fake_openai) == 2
        last = fake_openai.requests[-1].body["messages"]
        assert [each["role"] for each in last[2:]] == ["assistant", "tool"] * 3


@pytest.mark.spec("TC-4", "TC-10")
async def test_a_call_with_an_id_not_recalled_yet_is_refused_and_told_so(
    tmp_path: Path, fake_openai: FakeOpenAI
) -> None:
    async with tools_lab(tmp_path, fake_openai) as cycle:
        change = ToolCall("MemoryUpdate", {"memories": [{"_id": "unseen", "content": "Nome: Ana"}]})
        fake_openai.say(Reply(calls=(change, SEARCH)), "Não achei seu nome.")
        heard = await listen(cycle, "Na verdade meu nome é Ana.")
        assert steps(heard)[:2] == [("MemoryUpdate", "refused"), ("MemorySearch", "nothing")]
        results = [each for each in fake_openai.requests[-1].body["messages"] if each["role"] == "tool"]
        assert "não" in results[0]["content"] and len(results) == 2


@pytest.mark.spec("TC-7")
async def test_a_question_after_a_search_in_vain_is_recorded_as_question(
    tmp_path: Path, fake_openai: FakeOpenAI
) -> None:
    async with tools_lab(tmp_path, fake_openai) as cycle:
        fake_openai.say(SEARCH, "Não sei ainda. Como você se chama?")
        heard = await listen(cycle, "Qual é o meu nome?")
        assert steps(heard) == [("MemorySearch", "nothing"), ("Question", "done")]
        (said,) = replied(heard.values)
        assert said.additional_kwargs["chat_history"] is True and heard.ids == {said.id}
        assert heard.flags == {(False, "text")}
        (exchange,) = await cycle.memory.conversation("ana", "t", limit=5)
        assert exchange.replies[-1].chat_history


WRITTEN = [
    '<tool_call>\n{"name": "MemorySave", "arguments": {"memories": [{"content": "Nome: Pedro"}]}}\n</tool_call>',
    '```json\n{"name": "MemorySave", "arguments": {"memories": [{"content": "Nome: Pedro"}]}}\n```',
    '{"tool": "memory_save", "input": {"memories": [{"content": "Nome: Pedro"}]}}',
    '[TOOL_CALLS][{"name": "MemorySave", "arguments": {"memories": [{"content": "Nome: Pedro"}]}}]',
    '<function=MemorySave>{"memories": [{"content": "Nome: Pedro"}]}</function>',
    'MemorySave({"memories": [{"content": "Nome: Pedro"}]})',
    'Certo. <tool_call>{"name": "MemorySave", "arguments": "{\\"memories\\": [\\"Nome: Pedro\\"]}"}</tool_call>',
]


@pytest.mark.spec("TC-4", "TC-13")
@pytest.mark.parametrize("text", WRITTEN)
async def test_a_call_written_as_text_is_read_as_a_call_and_not_shown(
    text: str, tmp_path: Path, fake_openai: FakeOpenAI
) -> None:
    async with tools_lab(tmp_path, fake_openai) as cycle:
        fake_openai.say(text, "Anotei.")
        heard = await listen(cycle, "Meu nome é Pedro.")
        assert set(await kept(cycle)) == {"Nome: Pedro"}
        assert heard.text in ("Anotei.", "Certo. Anotei.") and chats(fake_openai) == 2


@pytest.mark.spec("TC-13")
@pytest.mark.parametrize(
    "text",
    [
        "Memória é o que guardo de você.",
        "```python\nprint(1)\n```\nÉ assim.",
        "[1] é o primeiro item < [2].",
        "Finish é uma palavra inglesa.",
        "{x} é o conjunto que só tem x.",
        "2 < 3 e <b> é negrito.",
    ],
)
async def test_a_reply_that_looks_like_a_call_is_shown_whole(
    text: str, tmp_path: Path, fake_openai: FakeOpenAI
) -> None:
    async with tools_lab(tmp_path, fake_openai) as cycle:
        fake_openai.say(text)
        heard = await listen(cycle, "Fale-me disso, por favor.")
        assert heard.text == text and steps(heard) == [("Finish", "done")]


@pytest.mark.spec("TC-4")
async def test_a_name_alone_is_a_call_whose_input_is_asked_for(
    tmp_path: Path, fake_openai: FakeOpenAI
) -> None:
    async with tools_lab(tmp_path, fake_openai) as cycle:
        fake_openai.say("MemorySave", '[{"content": "Nome: Pedro"}]', "Finish", "Anotei.")
        heard = await listen(cycle, "Meu nome é Pedro.")
        assert heard.text == "Anotei." and set(await kept(cycle)) == {"Nome: Pedro"}


@pytest.mark.spec("TC-4")
async def test_arguments_that_are_no_json_are_asked_for(tmp_path: Path, fake_openai: FakeOpenAI) -> None:
    async with tools_lab(tmp_path, fake_openai) as cycle:
        fake_openai.say(ToolCall("MemorySave", '{"memories": ['), '[{"content": "Nome: Pedro"}]', "Anotei.")
        await listen(cycle, "Meu nome é Pedro.")
        fake_openai.say(ToolCall("MemorySearch", "{'contexts': ['nome',]}"), "Pedro.")
        heard = await listen(cycle, "Qual é o meu nome mesmo?")
        assert steps(heard)[0] == ("MemorySearch", "done") and heard.text == "Pedro."


REFUSALS = [
    (Status(400, message='"auto" tool choice requires --enable-auto-tool-choice'), True),
    (Status(404, message="No endpoints found that support tool use"), True),
    (Status(422, message="tools: extra fields not permitted"), True),
    (Status(500, message="tools param requires --jinja flag"), True),
    (Status(501, message="function calling is not implemented"), True),
    (Status(400, message="bad request"), False),
    (Reply(""), False),
]


@pytest.mark.spec("TC-4", "TC-14")
@pytest.mark.parametrize(("refusal", "lasting"), REFUSALS)
async def test_a_server_without_tools_is_asked_by_names_at_once(
    refusal: Any, lasting: bool, tmp_path: Path, fake_openai: FakeOpenAI, caplog: pytest.LogCaptureFixture
) -> None:
    async with tools_lab(tmp_path, fake_openai) as cycle:
        fake_openai.say(refusal, "Finish", "Olá!")
        heard = await listen(cycle, "Oi!")
        assert heard.text == "Olá!" and chats(fake_openai) == 3 and steps(heard) == [("Finish", "done")]
    assert caplog.text.count("goes without tools") == lasting
    fake_openai.reset()
    async with tools_lab(tmp_path, fake_openai) as cycle:  # another process: the database knows
        fake_openai.say(*(("Finish", "Olá!") if lasting else ("Olá!",)))
        assert (await listen(cycle, "Oi!")).text == "Olá!" and fake_openai.left == 0
        assert ("tools" in fake_openai.requests[-1].body) is not lasting


@pytest.mark.spec("TC-14")
async def test_where_tools_are_insisted_on_the_refusal_is_told(
    tmp_path: Path, fake_openai: FakeOpenAI
) -> None:
    async with tools_lab(tmp_path, fake_openai, decisions="tools") as cycle:
        fake_openai.say(Status(400, message="does not support tools"))
        heard = await listen(cycle, "Oi!")
        assert "THOUGHTCYCLE_DECISIONS" in heard.text


@pytest.mark.spec("TC-4", "TC-9", "TC-11")
@pytest.mark.parametrize("order", ["Lembre que meu nome é Pedro.", "Esqueça o meu nome."])
async def test_an_order_that_brings_no_call_is_asked_by_names(
    order: str, tmp_path: Path, fake_openai: FakeOpenAI
) -> None:
    async with tools_lab(tmp_path, fake_openai) as cycle:
        fake_openai.say("Claro, feito!", "Finish", "Certo.")
        heard = await listen(cycle, order)
        assert "feito" not in heard.text and chats(fake_openai) == 3
        fake_openai.say("Finish", "Olá!")
        assert (await listen(cycle, "Oi!")).text == "Olá!", "the model is asked by names from then on"


@pytest.mark.spec("TC-4")
async def test_a_model_of_its_own_for_decisions_decides_by_names(
    tmp_path: Path, fake_openai: FakeOpenAI
) -> None:
    async with lab(tmp_path, fake_openai) as cycle:
        fake_openai.say("Finish", model="heavy")
        fake_openai.say("Olá!", model="talk")
        assert await cycle.answer("Oi!", language="pt") == "Olá!"
        assert not any("tools" in request.body for request in fake_openai.requests)


@pytest.mark.spec("TC-11", "BY-5")
async def test_a_deletion_nobody_asked_for_is_asked_about_first(
    tmp_path: Path, fake_openai: FakeOpenAI
) -> None:
    async with tools_lab(tmp_path, fake_openai) as cycle:
        id = await told(cycle, fake_openai)
        fake_openai.say(
            Reply("Um momento.", calls=(ToolCall("MemoryDelete", {"ids": [id], "final": True}), SEARCH))
        )
        heard = await listen(cycle, "O que acha do tempo de hoje?")
        assert steps(heard) == [("MemoryDelete", "asked"), ("Question", "done")]
        (said,) = replied(heard.values)
        assert heard.ids == {said.id} and "Nome: Pedro" in said.text and said.text.startswith("Um momento.")
        assert set(await kept(cycle)) == {"Nome: Pedro"}
        await listen(cycle, "sim")
        assert await kept(cycle) == {}


@pytest.mark.spec("TC-11")
async def test_what_was_asked_for_is_forgotten(tmp_path: Path, fake_openai: FakeOpenAI) -> None:
    async with tools_lab(tmp_path, fake_openai) as cycle:
        id = await told(cycle, fake_openai)
        fake_openai.say(ToolCall("MemoryDelete", {"ids": [id]}), "Esqueci.")
        heard = await listen(cycle, "Esqueça meu nome.")
        assert await kept(cycle) == {} and heard.text == "Esqueci."
        assert "Pedro" not in str(fake_openai.requests[-1].body["messages"][-1])


@pytest.mark.spec("TC-4")
async def test_out_of_steps_the_last_call_can_only_answer(tmp_path: Path, fake_openai: FakeOpenAI) -> None:
    async with tools_lab(tmp_path, fake_openai) as cycle:
        looks = [ToolCall("MemorySearch", {"contexts": [f"assunto {number}"]}) for number in range(2)]
        fake_openai.say(*looks, "Parei por aqui.")
        heard = await listen(cycle, "Procure para sempre.", max_steps=2)
        assert heard.text == "Parei por aqui." and "tools" not in fake_openai.requests[-1].body


@pytest.mark.spec("TC-13", "BY-1")
async def test_a_reply_that_breaks_off_is_marked(tmp_path: Path, fake_openai: FakeOpenAI) -> None:
    async with tools_lab(tmp_path, fake_openai) as cycle:
        fake_openai.say(Reply("um dois três quatro", cut_after=2))
        heard = await listen(cycle, "Conte até dez.")
        assert steps(heard) == [("Finish", "cut")]
        (exchange,) = await cycle.memory.conversation("ana", "t", limit=5)
        assert exchange.variants[-1].cut and exchange.replies[0].text == "um dois"


@pytest.mark.spec("TC-4")
async def test_a_transient_failure_before_the_first_token_is_tried_again(
    tmp_path: Path, fake_openai: FakeOpenAI
) -> None:
    async with tools_lab(tmp_path, fake_openai) as cycle:
        fake_openai.say(Status(503), "Olá!")
        assert (await listen(cycle, "Oi!")).text == "Olá!" and chats(fake_openai) == 2


@pytest.mark.spec("TC-5", "BY-10")
async def test_incognito_offers_no_tool_that_writes(tmp_path: Path, fake_openai: FakeOpenAI) -> None:
    async with tools_lab(tmp_path, fake_openai) as cycle:
        fake_openai.say("Certo.")
        await listen(cycle, "Meu nome é Pedro.", incognito=True)
        offered = {tool["function"]["name"] for tool in fake_openai.requests[-1].body["tools"]}
        assert offered == {"MemorySearch", "MemoryDelete"} and await kept(cycle) == {}


async def wire(cycle: Lab, text: str) -> list[dict[str, Any]]:
    """A turn as the page and the CLI get it."""
    place = {"configurable": {"thread_id": "t"}}
    context = Context(user_id="ana", language="pt")
    return [part async for part in stream(cycle.graph, HumanMessage(text), place, context, [])]


@pytest.mark.spec("TC-1", "TC-7", "TC-13")
async def test_the_whole_message_comes_once_with_the_true_flag(
    tmp_path: Path, fake_openai: FakeOpenAI
) -> None:
    async with tools_lab(tmp_path, fake_openai) as cycle:
        fake_openai.say(Reply("Vou ver.", calls=(SEARCH,)), "Não sei. Como você se chama?")
        parts = await wire(cycle, "Qual é o meu nome?")
        texts = [part for part in parts if part["modal"] == "text"]
        (whole,) = (part for part in texts if not part.get("delta"))
        assert whole is texts[-1] and whole["chat-history"] is True
        assert "".join(part["content"] for part in texts[:-1]) == whole["content"]
        assert {part["id"] for part in texts} == {whole["id"]}


@pytest.mark.spec("TC-13", "BY-1")
async def test_a_begun_reply_is_whole_when_the_next_call_fails(
    tmp_path: Path, fake_openai: FakeOpenAI
) -> None:
    async with tools_lab(tmp_path, fake_openai) as cycle:
        fake_openai.say(Reply("Vou ver.", calls=(SEARCH,)), Status(401))
        parts = await wire(cycle, "Qual é o meu nome?")
        whole = [part["content"] for part in parts if part["modal"] == "text" and not part.get("delta")]
        assert sorted(text.startswith("Vou ver.") for text in whole) == [False, True]
        (exchange,) = await cycle.memory.conversation("ana", "t", limit=5)
        assert exchange.replies[0].text == "Vou ver." and len(exchange.replies) == 2
        state = await cycle.graph.aget_state({"configurable": {"thread_id": "t"}})
        assert not any("begun" in message.additional_kwargs for message in state.values["messages"])


@pytest.mark.spec("TC-13", "BY-1")
async def test_a_stopped_reply_is_kept_with_its_beginning(tmp_path: Path, fake_openai: FakeOpenAI) -> None:
    async with tools_lab(tmp_path, fake_openai) as cycle:
        fake_openai.say(Reply("Vou ver.", calls=(SEARCH,)), Reply("um dois três quatro", hang_after=2))
        heard: list[str] = []

        async def hear() -> None:
            async for chunk, _ in cycle.graph.astream(
                {"messages": [HumanMessage("Qual é o meu nome?")]},
                {"configurable": {"thread_id": "t"}},
                context=Context(user_id="ana", language="pt"),
                stream_mode="messages",
            ):
                heard.append(chunk.text)

        hearing = asyncio.create_task(hear())
        async with asyncio.timeout(60):
            while not "".join(heard).endswith("dois"):
                await asyncio.sleep(0.01)
        hearing.cancel()
        with pytest.raises(asyncio.CancelledError):
            await hearing
        (left,) = await cycle.memory.core.storage.transcript.open_cycles(user="ana", chat="t")
        assert [text.text for _, _, text in left.progress if text] == ["Vou ver.\n\num dois"]


@pytest.mark.spec("TC-13")
async def test_the_newer_protocol_shows_one_message(tmp_path: Path, fake_openai: FakeOpenAI) -> None:
    async with tools_lab(tmp_path, fake_openai) as cycle:
        fake_openai.say(Reply("Vou ver.", calls=(SAVE,)), "Anotei.")
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            run = await cycle.graph.astream_events(
                {"messages": [HumanMessage("Meu nome é Pedro.")]},
                {"configurable": {"thread_id": "t"}},
                context=Context(user_id="ana", language="pt"),
                version="v3",
            )
        said = [(message.message_id, await message.text) async for message in run.messages]
        assert [text for _, text in said] == ["Vou ver.", "\n\nAnotei."]
        assert len({id for id, _ in said}) == 1


@pytest.mark.spec("TC-9")
async def test_where_actions_explain_themselves_each_has_its_text(
    tmp_path: Path, fake_openai: FakeOpenAI
) -> None:
    async with tools_lab(tmp_path, fake_openai) as cycle:
        fake_openai.say(SAVE, "Guardei seu nome.", "Prazer!")
        heard = await listen(cycle, "Meu nome é Pedro.", explain_actions="on")
        assert [said.text for said in replied(heard.values)] == ["Guardei seu nome.", "Prazer!"]


@pytest.mark.spec("TC-4")
async def test_calls_are_shown_in_the_form_of_their_tools(tmp_path: Path, fake_openai: FakeOpenAI) -> None:
    async with tools_lab(tmp_path, fake_openai) as cycle:
        id = await told(cycle, fake_openai)
        change = ToolCall("MemoryUpdate", {"memories": [{"_id": id[:8], "content": "Nome: Pedro Lima"}]})
        fake_openai.say(Reply(calls=(SEARCH, change)), "Corrigi.")
        await listen(cycle, "Na verdade me chamo Pedro Lima.")
        messages = fake_openai.requests[-1].body["messages"]
        made = [call["function"] for each in messages for call in each.get("tool_calls", ())]
        assert [json.loads(each["arguments"]) for each in made] == [SEARCH.arguments, change.arguments]


@pytest.mark.spec("TC-4")
async def test_a_server_that_takes_no_results_of_tools_answers_by_names(
    tmp_path: Path, fake_openai: FakeOpenAI
) -> None:
    async with tools_lab(tmp_path, fake_openai) as cycle:
        refusal = Status(400, message="Only user and assistant roles are supported, not tool_calls")
        fake_openai.say(Reply("Um momento.", calls=(SEARCH,)), refusal, "Finish", "Não sei ainda.")
        heard = await listen(cycle, "Qual é o meu nome?")
        assert [said.text for said in replied(heard.values)] == ["Um momento.", "Não sei ainda."]
        assert not any("begun" in said.additional_kwargs for said in replied(heard.values))


@pytest.mark.spec("TC-6")
async def test_an_offer_of_the_last_reply_is_seen_by_the_decision(
    tmp_path: Path, fake_openai: FakeOpenAI
) -> None:
    async with tools_lab(tmp_path, fake_openai, decisions="names") as cycle:
        fake_openai.say("Finish", "Posso guardar que prefere trem?")
        await listen(cycle, "Avião me cansa.")
        fake_openai.say("MemorySave", '["Prefere trem"]', "Finish", "Guardei.")
        await listen(cycle, "Sim, por favor.")
        decision = [request for request in fake_openai.requests if request.model == "talk"][2]
        assert "Posso guardar que prefere trem?" in str(decision.body["messages"])
        assert "Prefere trem" in await kept(cycle)


@pytest.mark.spec("TC-4")
async def test_a_call_that_led_to_nothing_leaves_the_answer_to_the_model(
    tmp_path: Path, fake_openai: FakeOpenAI
) -> None:
    async with tools_lab(tmp_path, fake_openai) as cycle:
        broken = ToolCall("MemoryUpdate", '{"memories": [')
        fake_openai.say(Reply("Um momento.", calls=(broken,)), "não sei", "não sei", "Não mudei nada.")
        heard = await listen(cycle, "O tempo virou.")
        (said,) = replied(heard.values)
        assert said.text == heard.text == "Um momento.\n\nNão mudei nada." and heard.ids == {said.id}

"""The memory tools in a `ToolNode`: whose memory they touch, what they may change, how they refuse."""

import logging
from collections.abc import AsyncIterator, Callable
from pathlib import Path
from typing import Any

import pytest
from langchain_core.messages import AIMessage, HumanMessage, ToolMessage
from langchain_core.utils.function_calling import convert_to_openai_tool
from langgraph.graph import START, MessagesState, StateGraph
from langgraph.prebuilt import ToolNode

from support.scripted_model import calls
from thoughtcycle.errors import ModelTransient, NotAllowed, StorageFull
from thoughtcycle.integrations.loop_bridge import in_background, run_blocking
from thoughtcycle.integrations.tools import memory_tools
from thoughtcycle.memory.memory import Memory
from thoughtcycle.memory.model.records import MemoryDraft
from thoughtcycle.mind.lexical import LexicalEmbeddings
from thoughtcycle.nodes.base.context import Context
from thoughtcycle.nodes.base.limits import Limits

ANA, BIA = Context(user_id="ana"), Context(user_id="bia")
CITY = MemoryDraft(content="Lives in Lisbon", kind="bio", bindings=("home", "city"))


@pytest.fixture
async def memory(tmp_path: Path) -> AsyncIterator[Memory]:
    async with Memory.open(f"sqlite:///{tmp_path}/m.db", embeddings=LexicalEmbeddings()) as opened:
        yield opened


def graph_of(memory: Any, **options: Any) -> Any:
    graph = StateGraph(MessagesState, context_schema=Context)
    graph.add_node("tools", ToolNode(memory_tools(memory, language="en", **options)))
    graph.add_edge(START, "tools")
    return graph.compile()


class Talk:
    """One conversation: what was called in it so far."""

    def __init__(self, memory: Any, who: Context = ANA, **options: Any) -> None:
        self.graph, self.who = graph_of(memory, **options), who
        self.messages: list[Any] = [HumanMessage("I live in Porto. I left Lisbon.")]

    async def call(self, name: str, **arguments: Any) -> ToolMessage:
        self.messages.append(calls(name, **arguments))
        values = await self.graph.ainvoke({"messages": self.messages}, context=self.who)
        self.messages.append(values["messages"][-1])
        return self.messages[-1]


def id_in(message: ToolMessage) -> str:
    return message.text.split("[")[1].split("]")[0]


@pytest.mark.spec("BY-6", "BY-5")
def test_the_model_is_offered_four_tools_and_no_user(tmp_path: Path) -> None:
    for language in ("pt", "en"):
        with in_background(Memory.open(f"sqlite:///{tmp_path}/m.db", embeddings=None)) as memory:
            offered = [
                convert_to_openai_tool(tool)["function"]
                for tool in memory_tools(memory, language=language)  # type: ignore[arg-type]
            ]
        assert {each["name"]: [*each["parameters"]["properties"]] for each in offered} == {
            "search_memory": ["query"],
            "save_memory": ["content", "topics"],
            "update_memory": ["id", "content"],
            "delete_memory": ["ids"],
        }
        for each in offered:
            assert each["description"]
            assert all(one["description"] for one in each["parameters"]["properties"].values())


@pytest.mark.spec("BY-6", "TC-8", "TC-9", "TC-10", "TC-11")
async def test_search_save_update_delete_and_undo(memory: Memory) -> None:
    talk = Talk(memory)
    saved = await talk.call("save_memory", content="Lives in Lisbon", topics=["home", "home"])
    assert "Saved" in saved.text and saved.status == "success"
    found = await talk.call("search_memory", query="home")
    assert id_in(found) == id_in(saved) and "Lives in Lisbon" in found.text
    changed = await talk.call("update_memory", id=id_in(found), content="Lives in Porto")
    assert "Changed" in changed.text
    (record,) = await memory.list("ana")
    assert (record.text, record.bindings) == ("Lives in Porto", ("home",))
    assert "known" in (await talk.call("save_memory", content="Lives in Porto")).text
    deleted = await talk.call("delete_memory", ids=[id_in(found), record.id])
    assert "1 deleted" in deleted.text and "Porto" not in deleted.text
    assert (await talk.call("search_memory", query="home")).text == "Nothing found."
    await memory.undo("ana", record.id)
    assert "Lives in Porto" in (await talk.call("search_memory", query="home")).text


@pytest.mark.spec("BY-5", "TC-10", "TC-11")
async def test_only_what_this_conversation_has_shown_is_changed(memory: Memory) -> None:
    (mine,), (hers,) = await memory.save("ana", [CITY]), await memory.save("bia", [CITY])
    elsewhere = Talk(memory)
    await elsewhere.call("search_memory", query="home")
    for talk in (Talk(memory), Talk(memory, BIA)):
        for name, arguments in (
            ("update_memory", {"id": mine.record.id, "content": "Lives nowhere"}),
            ("delete_memory", {"ids": [mine.record.id]}),
            ("delete_memory", {"ids": [mine.record.id[:8]]}),
        ):
            refused = await talk.call(name, **arguments)
            assert refused.status == "error" and "Search first" in refused.text
    forged = Talk(memory)
    note = {"thoughtcycle": {"shown": [hers.record.id, mine.record.id], "changed": False}}
    forged.messages += [calls("search_memory", query="x"), ToolMessage("", tool_call_id="f", artifact=note)]
    assert "no memory" in (await forged.call("delete_memory", ids=[hers.record.id])).text
    both = await forged.call("delete_memory", ids=[mine.record.id, hers.record.id])
    assert both.status == "error"
    for user in ("ana", "bia"):
        assert [record.text for record in await memory.list(user)] == ["Lives in Lisbon"]


@pytest.mark.spec("BY-5")
async def test_a_user_in_the_arguments_counts_for_nothing(memory: Memory) -> None:
    await memory.save("bia", [CITY])
    for extra in ({"user_id": "bia"}, {"user": "bia"}, {"runtime": {"context": {"user_id": "bia"}}}):
        talk = Talk(memory)
        assert "Nothing" in (await talk.call("search_memory", query="home", **extra)).text
        await talk.call("save_memory", content="Is Ana", **extra)
    assert len(await memory.list("bia")) == 1
    with pytest.raises(NotAllowed, match="no user"):
        await Talk(memory, Context()).call("search_memory", query="home", user_id="bia")


@pytest.mark.parametrize(
    ("name", "arguments", "problem"),
    [
        ("search_memory", {}, "query"),
        ("search_memory", {"query": " "}, "query"),
        ("search_memory", {"query": ["a"]}, "query"),
        ("save_memory", {"content": "  "}, "characters were expected"),
        ("save_memory", {"content": "x" * 101}, "1 to 100"),
        ("save_memory", {"content": "a \ud800"}, "Unicode"),
        ("save_memory", {"content": "a", "topics": "food"}, "topics"),
        ("save_memory", {"content": {"a": 1}}, "content"),
        ("update_memory", {"id": "", "content": "x"}, "id"),
        ("update_memory", {"id": "not-there", "content": "x"}, "Search first"),
        ("delete_memory", {"ids": []}, "ids"),
        ("delete_memory", {"ids": ["*", "%"]}, "ids"),
        ("delete_memory", {"ids": None}, "ids"),
    ],
)
async def test_bad_arguments_are_one_line_for_the_model(
    memory: Memory, name: str, arguments: dict[str, Any], problem: str
) -> None:
    await memory.save("ana", [CITY])
    answer = await Talk(memory, limits=Limits(content_chars=100)).call(name, **arguments)
    assert answer.status == "error" and problem in answer.text and "\n" not in answer.text
    assert [record.text for record in await memory.list("ana")] == ["Lives in Lisbon"]


async def test_failures_of_the_memory_are_one_line_without_internals(
    memory: Memory, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    def failing(failure: Exception) -> Callable[..., Any]:
        async def fail(*_: Any, **__: Any) -> None:
            raise failure

        return fail

    monkeypatch.setattr(memory, "save", failing(StorageFull("m.db")))
    answer = await Talk(memory).call("save_memory", content="x")
    assert answer.status == "error" and "right now" in answer.text and "m.db" not in answer.text
    monkeypatch.undo()
    await memory.save("ana", [CITY])
    away = ModelTransient("model_unreachable", role="embedding", model="e", url="u", setting="S")
    monkeypatch.setattr(LexicalEmbeddings, "aembed_query", failing(away))
    with caplog.at_level(logging.WARNING):
        assert "Lisbon" in (await Talk(memory).call("search_memory", query="Lives in Lisbon")).text
    assert "model_unreachable" in caplog.text


@pytest.mark.spec("BY-10")
async def test_incognito_reads_and_may_delete_but_keeps_nothing(memory: Memory) -> None:
    await memory.save("ana", [CITY])
    talk = Talk(memory, Context(user_id="ana", incognito=True))
    found = await talk.call("search_memory", query="home")
    for name, arguments in (("save_memory", {}), ("update_memory", {"id": id_in(found)})):
        assert "incognito" in (await talk.call(name, content="New", **arguments)).text
    await talk.call("delete_memory", ids=[id_in(found)])
    assert await memory.list("ana") == [] and await memory.accesses("ana", [id_in(found)]) == {}


def test_tools_without_an_event_loop(tmp_path: Path) -> None:
    with in_background(Memory.open(f"sqlite:///{tmp_path}/m.db", embeddings=None)) as memory:
        graph = graph_of(memory, single_user="ana")
        two = AIMessage(
            "",
            tool_calls=[
                {"name": "save_memory", "args": {"content": text}, "id": text}
                for text in ("Lives in Porto", "Likes jazz")
            ],
        )
        values = graph.invoke({"messages": [two]})
        assert [each.status for each in values["messages"][1:]] == ["success"] * 2
        assert len(run_blocking(memory, lambda there: there.list("ana"))) == 2

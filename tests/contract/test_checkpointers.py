"""Both savers keep LangGraph's contract for checkpointers, and a bounded history beside it."""

import asyncio
import logging
import operator
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Annotated, Any, TypedDict
from uuid import uuid4

import pytest
from langchain_core.messages import AIMessage, AnyMessage, HumanMessage
from langchain_core.runnables import RunnableConfig
from langgraph.checkpoint.conformance import checkpointer_test, validate
from langgraph.checkpoint.conformance.test_utils import (
    generate_checkpoint,
    generate_config,
    generate_metadata,
)
from langgraph.graph import START, StateGraph
from langgraph.graph.message import add_messages

from support.blocking import no_blocking
from support.talking import Saver, State, say, stored, talk, thread, words
from thoughtcycle.checkpoints.factory import open_checkpointer
from thoughtcycle.checkpoints.mongodb import MongoSaver
from thoughtcycle.checkpoints.sqlite import SqliteSaver


@pytest.fixture(params=["sqlite", "mongodb"])
def database(request: pytest.FixtureRequest, tmp_path: Path) -> str:
    if request.param == "sqlite":
        return f"sqlite:///{tmp_path}/folder/thoughts.db"
    return str(request.getfixturevalue("mongodb_url"))


@pytest.fixture
async def saver(database: str) -> AsyncIterator[Saver]:
    async with open_checkpointer(database) as opened:
        yield opened


async def test_conformance(database: str) -> None:
    """All eight capabilities of LangGraph's own suite."""

    @checkpointer_test(name=database)
    async def opened() -> AsyncIterator[Saver]:
        async with open_checkpointer(database) as saver:
            yield saver

    report = await validate(opened)
    assert {name: result.failures for name, result in report.results.items() if not result.passed} == {}
    assert sorted(report.results) == [
        "copy_thread",
        "delete_for_runs",
        "delete_thread",
        "get_tuple",
        "list",
        "prune",
        "put",
        "put_writes",
    ]


async def test_many_turns_leave_the_last_five(saver: Saver) -> None:
    turns, steps = (200, 5) if isinstance(saver, SqliteSaver) else (20, 5)
    config = thread()
    put = config
    for turn in range(turns):
        for step in range(steps):
            metadata = generate_metadata("loop" if step else "input", turn * steps + step)
            put["configurable"].setdefault("checkpoint_ns", "")
            put = await saver.aput(put, generate_checkpoint(), metadata, {})
            await saver.aput_writes(put, [("messages", f"turn {turn}")], str(uuid4()))
    assert await stored(saver, config) == 5 * steps + 1
    assert await count_writes(saver, config) == 5 * steps + 1


async def count_writes(saver: Saver, config: RunnableConfig) -> int:
    thread_id = config["configurable"]["thread_id"]
    if isinstance(saver, MongoSaver):
        return await asyncio.to_thread(saver.writes_collection.count_documents, {"thread_id": thread_id})
    rows = await saver.conn.execute_fetchall("SELECT count(*) FROM writes WHERE thread_id = ?", (thread_id,))
    return int(next(iter(rows))[0])


@pytest.mark.parametrize("durability", ["sync", "async", "exit"])
async def test_a_graph_stays_bounded_with_every_durability(saver: Saver, durability: Any) -> None:
    graph, config, sizes = talk(saver), thread(), []
    for turn in range(9):
        await graph.ainvoke({"messages": [HumanMessage(str(turn))]}, config, durability=durability)
        sizes.append(await stored(saver, config))
    per_turn = 1 if durability == "exit" else 4
    assert sizes[-1] == sizes[-2] == 5 * per_turn + 1
    assert len(await words(graph, config)) == 18


async def test_each_of_the_last_five_turns_can_be_regenerated(saver: Saver) -> None:
    graph, config = talk(saver), thread()
    await say(graph, config, *"abcdefgh")
    asked = [
        at
        async for at in graph.aget_state_history(config)
        if at.metadata is not None and at.metadata["source"] == "input"
    ]
    assert len(asked) == 5
    for at in asked:
        before = len(at.values["messages"])
        again = await graph.ainvoke(None, at.config, durability="async")
        assert len(again["messages"]) == before + 2
        assert again["messages"][-1].text == f"to {again['messages'][-2].text}"
    assert await words(graph, config) == ["a", "to a", "b", "to b", "c", "to c", "d", "to d"]


async def test_the_oldest_kept_turn_can_be_edited_and_the_branch_goes_on(saver: Saver) -> None:
    graph, config = talk(saver), thread()
    await say(graph, config, *"abcdefgh")
    asked = [at async for at in graph.aget_state_history(config) if at.next == ("__start__",)]
    first = asked[-1].parent_config
    assert first is not None
    await graph.ainvoke({"messages": [HumanMessage("D")]}, first, durability="async")
    assert (await words(graph, config))[-4:] == ["c", "to c", "D", "to D"]
    await say(graph, config, "E", "F")
    assert (await words(graph, config))[-6:] == ["D", "to D", "E", "to E", "F", "to F"]
    live = [at async for at in graph.aget_state_history(config) if at.next == ("__start__",)]
    assert any(at.tasks[0].result["messages"][-1].text == "D" for at in live if at.tasks[0].result)


async def test_a_state_edited_by_hand_is_a_fork_that_goes_on(saver: Saver) -> None:
    graph, config = talk(saver), thread()
    await say(graph, config, *"abcdefg")
    oldest = [at async for at in graph.aget_state_history(config)][-1]
    fork = await graph.aupdate_state(
        oldest.config, {"messages": [HumanMessage("X", id="x")]}, as_node="think"
    )
    await graph.ainvoke(None, fork, durability="async")
    assert (await words(graph, config))[-2:] == ["X", "to X"]
    await say(graph, config, "Y")
    assert (await words(graph, config))[-4:] == ["X", "to X", "Y", "to Y"]


async def test_subgraphs_are_bounded_and_one_with_its_own_memory_keeps_it(saver: Saver) -> None:
    """The one with its own memory is called in the first and the last turn only."""

    class Counted(TypedDict):
        messages: Annotated[list[AnyMessage], add_messages]
        calls: Annotated[int, operator.add]

    def part(checkpointer: Any) -> Any:
        builder = StateGraph(Counted)
        builder.add_node("count", lambda state: {"calls": 1, "messages": [AIMessage(str(state["calls"]))]})
        builder.add_edge(START, "count")
        return builder.compile(checkpointer=checkpointer)

    builder = StateGraph(State)
    builder.add_node("forgetful", part(None))
    builder.add_node("lasting", part(True))
    builder.add_conditional_edges(
        START, lambda state: "lasting" if state["messages"][-1].text == "count" else "forgetful"
    )
    graph, config = builder.compile(checkpointer=saver), thread()
    await say(graph, config, "count", *"abcdefgh")
    size = await stored(saver, config)
    await say(graph, config, *"ijk")
    assert await stored(saver, config) == size
    await say(graph, config, "count")
    assert (await words(graph, config))[-1] == "1"


async def test_a_rolled_back_run_leaves_the_state_before_it(saver: Saver) -> None:
    graph, config = talk(saver), thread()
    await say(graph, config, "a")
    run = str(uuid4())
    await say(graph, {**config, "metadata": {"run_id": run}}, "b")
    assert (await words(graph, config))[-1] == "to b"
    await saver.adelete_for_runs([run])
    assert await words(graph, config) == ["a", "to a"]
    await say(graph, config, "c")
    assert await words(graph, config) == ["a", "to a", "c", "to c"]


async def test_a_copied_thread_goes_its_own_way(saver: Saver) -> None:
    graph, config, copy = talk(saver), thread(), thread()
    await say(graph, config, "a", "b")
    await saver.acopy_thread(config["configurable"]["thread_id"], copy["configurable"]["thread_id"])
    await say(graph, copy, "c")
    assert await words(graph, config) == ["a", "to a", "b", "to b"]
    assert await words(graph, copy) == ["a", "to a", "b", "to b", "c", "to c"]


@pytest.mark.parametrize(("strategy", "remain"), [("keep_latest", 1), ("delete", 0), ("delete_all", 0)])
async def test_prune(saver: Saver, strategy: str, remain: int) -> None:
    graph, config = talk(saver), thread()
    await say(graph, config, "a", "b")
    await saver.aprune([config["configurable"]["thread_id"]], strategy=strategy)
    assert await stored(saver, config) == remain
    assert len(await words(graph, config)) == 4 * remain


async def test_an_unknown_way_of_pruning_is_refused(saver: Saver) -> None:
    with pytest.raises(ValueError, match="keep_latest"):
        await saver.aprune(["t"], strategy="everything")


async def test_a_reader_of_the_history_may_write_meanwhile(saver: Saver) -> None:
    graph, config = talk(saver), thread()
    await say(graph, config, "a", "b")
    async with asyncio.timeout(60):
        async for at in graph.aget_state_history(config):
            await graph.aupdate_state(at.config, {"steps": [{"seen": True}]}, as_node="answer")
    assert await stored(saver, config) == 16


async def test_writes_come_back_in_the_order_of_their_tasks(saver: Saver) -> None:
    put = await saver.aput(generate_config(), generate_checkpoint(), generate_metadata(), {})
    for task, path in [("t1", "~c"), ("t3", "~a"), ("t2", "~b")]:
        await saver.aput_writes(put, [("one", task), ("two", task)], task, path)
    found = await saver.aget_tuple(put)
    assert found is not None and found.pending_writes is not None
    assert [write[:2] for write in found.pending_writes] == [
        (task, channel) for task in ("t3", "t2", "t1") for channel in ("one", "two")
    ]


async def test_listing_keeps_to_thread_checkpoint_and_metadata(saver: Saver) -> None:
    put = await saver.aput(generate_config(), generate_checkpoint(), generate_metadata(tags=["a"]), {})
    await saver.aput({**put}, generate_checkpoint(), generate_metadata(step=1), {})
    thread_id = put["configurable"]["thread_id"]
    anywhere = {"configurable": {"thread_id": thread_id}}
    assert await stored(saver, anywhere) == 2
    assert await stored(saver, put) == 1
    assert [at.metadata["step"] async for at in saver.alist(anywhere, filter={"step": 1})] == [1]
    assert [at async for at in saver.alist(anywhere, filter={"step": 0, "source": "x"})] == []
    assert [at async for at in saver.alist(anywhere, limit=0)] == []


@pytest.mark.parametrize("durability", ["sync", "async"])
async def test_nothing_blocks_the_loop(database: str, durability: Any) -> None:
    with no_blocking():
        async with open_checkpointer(database) as saver:
            graph, config = talk(saver), thread()
            for text in "abcdefg":
                await graph.ainvoke({"messages": [HumanMessage(text)]}, config, durability=durability)
            assert await stored(saver, config) == 21
            await saver.acopy_thread(config["configurable"]["thread_id"], "copy")
            await saver.aprune(["copy"])
            await saver.adelete_for_runs(["none"])
            await saver.adelete_thread(config["configurable"]["thread_id"])
            assert await words(graph, config) == []


async def test_the_sync_methods_serve_other_threads(saver: Saver) -> None:
    graph, config = talk(saver), thread()
    await say(graph, {**config, "metadata": {"run_id": "sync-run"}}, "a")
    name = config["configurable"]["thread_id"]
    copy = {"configurable": {"thread_id": f"{name}-copy"}}
    await asyncio.to_thread(saver.copy_thread, name, f"{name}-copy")
    await asyncio.to_thread(saver.prune, [f"{name}-copy"])
    assert await stored(saver, copy) == 1
    await asyncio.to_thread(saver.delete_for_runs, ["sync-run"])
    assert await stored(saver, config) == await stored(saver, copy) == 0


async def test_messages_and_plain_state_load_without_a_warning(
    saver: Saver, caplog: pytest.LogCaptureFixture
) -> None:
    graph, config = talk(saver), thread()
    with caplog.at_level(logging.WARNING):
        await say(graph, config, "olá")
        assert await words(graph, config) == ["olá", "to olá"]
    assert caplog.records == []


async def test_reopened_it_goes_on(database: str) -> None:
    config = thread()
    for text in ("a", "b"):
        async with open_checkpointer(database) as saver:
            await say(talk(saver), config, text)
    async with open_checkpointer(database) as saver:
        assert await words(talk(saver), config) == ["a", "to a", "b", "to b"]

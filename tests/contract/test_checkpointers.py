"""Both savers keep LangGraph's contract for checkpointers, and a bounded history beside it."""

import asyncio
import gc
import logging
import operator
import sqlite3
import subprocess
import sys
from collections.abc import AsyncIterator, Callable
from contextlib import AbstractAsyncContextManager
from pathlib import Path
from typing import Annotated, Any, TypedDict
from uuid import uuid4

import aiosqlite
import pytest
from langchain_core.messages import AIMessage, AnyMessage, HumanMessage
from langchain_core.runnables import RunnableConfig
from langgraph.checkpoint.conformance import checkpointer_test, validate
from langgraph.checkpoint.conformance.test_utils import (
    generate_checkpoint,
    generate_config,
    generate_metadata,
)
from langgraph.graph import END, START, StateGraph
from langgraph.graph.message import add_messages
from langgraph.graph.state import CompiledStateGraph

from support.blocking import no_blocking
from support.mongo import with_database
from thoughtcycle.graph.checkpoints.factory import open_checkpointer
from thoughtcycle.graph.checkpoints.mongodb import MongoSaver
from thoughtcycle.graph.checkpoints.sqlite import SqliteSaver
from thoughtcycle.prompts.errors import InputRefused, StorageFailed

Saver = SqliteSaver | MongoSaver
Opener = Callable[..., AbstractAsyncContextManager[Saver]]


@pytest.fixture(params=["sqlite", "mongodb"])
def database(request: pytest.FixtureRequest, tmp_path: Path) -> str:
    if request.param == "sqlite":
        return f"sqlite:///{tmp_path}/folder/thoughts.db"
    return str(request.getfixturevalue("mongodb_url"))


@pytest.fixture
async def saver(database: str) -> AsyncIterator[Saver]:
    async with open_checkpointer(database) as opened:
        yield opened


class State(TypedDict):
    messages: Annotated[list[AnyMessage], add_messages]
    steps: list[dict[str, Any]]


def answer(state: State) -> dict[str, Any]:
    return {
        "messages": [AIMessage(f"to {state['messages'][-1].text}", additional_kwargs={"modal": "text"})],
        "steps": [{"action": "finish", "input": None}],
    }


def talk(saver: Saver) -> CompiledStateGraph[Any, Any, Any, Any]:
    """Two steps a turn: one that writes nothing and one that answers."""
    builder = StateGraph(State)
    builder.add_node("think", lambda state: {"steps": []})
    builder.add_node("answer", answer)
    builder.add_edge(START, "think")
    builder.add_edge("think", "answer")
    builder.add_edge("answer", END)
    return builder.compile(checkpointer=saver)


def thread() -> RunnableConfig:
    return {"configurable": {"thread_id": str(uuid4())}}


async def say(graph: CompiledStateGraph[Any, Any, Any, Any], config: RunnableConfig, *texts: str) -> None:
    for text in texts:
        await graph.ainvoke({"messages": [HumanMessage(text)]}, config, durability="async")


async def words(graph: CompiledStateGraph[Any, Any, Any, Any], config: RunnableConfig) -> list[str]:
    return [message.text for message in (await graph.aget_state(config)).values.get("messages", [])]


async def stored(saver: Saver, config: RunnableConfig) -> int:
    return len([found async for found in saver.alist(config)])


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
    async with asyncio.timeout(10):
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


_WRITER = """
import asyncio, sys
from thoughtcycle.graph.checkpoints.factory import open_checkpointer
from langgraph.checkpoint.conformance.test_utils import (
    generate_checkpoint, generate_config, generate_metadata
)

async def main(url, thread):
    async with open_checkpointer(url) as saver:
        for step in range(25):
            source = "input" if step % 2 == 0 else "loop"
            put = await saver.aput(
                generate_config(thread), generate_checkpoint(), generate_metadata(source, step), {}
            )
            await saver.aput_writes(put, [("messages", thread)], "task")

asyncio.run(main(*sys.argv[1:]))
"""


async def test_processes_share_one_new_sqlite_file(tmp_path: Path) -> None:
    """All create it at the same time and write at the same time; nobody fails, nothing is lost."""
    url = f"sqlite:///{tmp_path}/new/shared.db"
    writers = [
        await asyncio.create_subprocess_exec(
            sys.executable, "-c", _WRITER, url, f"t{number}", stderr=subprocess.PIPE
        )
        for number in range(3)
    ]
    for writer in writers:
        _, errors = await writer.communicate()
        assert writer.returncode == 0, errors.decode()
    async with open_checkpointer(url) as saver:
        assert [await stored(saver, generate_config(f"t{number}")) for number in range(3)] == [9, 9, 9]


async def test_two_savers_on_one_sqlite_file_see_each_other(tmp_path: Path) -> None:
    url, config = f"sqlite:///{tmp_path}/shared.db", thread()
    async with open_checkpointer(url) as one, open_checkpointer(url) as other:
        await say(talk(one), config, "a")
        await say(talk(other), config, "b")
        await asyncio.gather(
            *(say(talk(saver), thread(), *"xyz") for saver in (one, other) for _ in range(3))
        )
        assert await words(talk(one), config) == ["a", "to a", "b", "to b"]


async def test_a_cancelled_write_leaves_no_lock_behind(tmp_path: Path) -> None:
    path = tmp_path / "shared.db"
    async with open_checkpointer(f"sqlite:///{path}") as saver:
        for ticks in range(12):
            put = asyncio.create_task(
                saver.aput(generate_config(), generate_checkpoint(), generate_metadata("input"), {})
            )
            for _ in range(ticks):
                await asyncio.sleep(0)
            put.cancel()
            await asyncio.gather(put, return_exceptions=True)
            async with saver.lock:
                assert not saver.conn.in_transaction


async def test_a_run_is_found_by_index(tmp_path: Path) -> None:
    async with open_checkpointer(f"sqlite:///{tmp_path}/thoughts.db") as saver:
        assert isinstance(saver, SqliteSaver)
        for sql, index in [
            ("SELECT checkpoint_id FROM checkpoints WHERE run_id = 'r'", "checkpoints_by_run"),
            (
                "SELECT checkpoint_id, source, step FROM checkpoints WHERE thread_id = 't'",
                "checkpoints_by_turn",
            ),
        ]:
            plan = str([row[3] for row in await saver.conn.execute_fetchall(f"EXPLAIN QUERY PLAN {sql}")])
            assert index in plan


async def test_what_a_turn_said_is_not_in_the_file_after_its_checkpoints_are_gone(tmp_path: Path) -> None:
    path = tmp_path / "thoughts.db"
    async with open_checkpointer(f"sqlite:///{path}") as saver:
        config = thread()
        await say(talk(saver), config, "a-very-particular-word")
        await saver.adelete_thread(config["configurable"]["thread_id"])
    assert b"a-very-particular-word" not in path.read_bytes()
    assert not path.with_name("thoughts.db-wal").exists()


async def test_a_database_of_the_plain_library_is_taken_over(tmp_path: Path) -> None:
    """And the library still reads and writes what this saver extended."""
    from langgraph.checkpoint.sqlite.aio import AsyncSqliteSaver

    path, run = tmp_path / "old.db", str(uuid4())
    async with AsyncSqliteSaver.from_conn_string(str(path)) as old:
        put = await old.aput(generate_config("t"), generate_checkpoint(), generate_metadata(run_id=run), {})
    async with open_checkpointer(f"sqlite:///{path}") as saver:
        await saver.aput(put, generate_checkpoint(), generate_metadata(step=1), {})
        await saver.adelete_for_runs([run])
        assert await stored(saver, generate_config("t")) == 1
    async with AsyncSqliteSaver.from_conn_string(str(path)) as old:
        await old.aput(generate_config("t"), generate_checkpoint(), generate_metadata(step=2), {})
        assert len([found async for found in old.alist(generate_config("t"))]) == 2


async def refused(use: Callable[[], Any]) -> StorageFailed:
    with pytest.raises(StorageFailed) as failure:
        await use()
    for language in ("pt", "en"):
        assert failure.value.text(language)
    return failure.value


async def put_one(saver: Saver) -> None:
    await saver.aput(
        generate_config(), generate_checkpoint(channel_values={"text": "x" * 90_000}), generate_metadata(), {}
    )


async def open_and_put(url: str) -> None:
    async with open_checkpointer(url) as saver:
        await put_one(saver)


async def test_a_locked_file_is_told(tmp_path: Path) -> None:
    path = tmp_path / "thoughts.db"
    async with open_checkpointer(f"sqlite:///{path}") as saver:
        assert isinstance(saver, SqliteSaver)
        await saver.conn.execute("PRAGMA busy_timeout = 20")
        with sqlite3.connect(path, isolation_level=None) as other:
            other.execute("BEGIN IMMEDIATE")
            assert (await refused(lambda: put_one(saver))).code == "storage_locked"
            other.execute("ROLLBACK")
        other.close()
        await put_one(saver)


async def test_a_full_disk_is_told_and_nothing_is_half_written(tmp_path: Path) -> None:
    async with open_checkpointer(f"sqlite:///{tmp_path}/thoughts.db") as saver:
        assert isinstance(saver, SqliteSaver)
        await saver.conn.execute("PRAGMA max_page_count = 20")
        assert (await refused(lambda: put_one(saver))).code == "storage_full"
        assert not saver.conn.in_transaction
        assert [found async for found in saver.alist(None)] == []


async def test_a_readonly_file_is_told(tmp_path: Path) -> None:
    path = tmp_path / "thoughts.db"
    await open_and_put(f"sqlite:///{path}")
    async with aiosqlite.connect(f"file:{path}?mode=ro", uri=True) as connection:
        saver = SqliteSaver(connection, place=str(path))
        failure = await refused(lambda: put_one(saver))
    assert failure.code == "storage_readonly"
    assert str(path) in failure.text("pt")


async def test_a_file_that_is_no_database_is_told(tmp_path: Path) -> None:
    path = tmp_path / "thoughts.db"
    path.write_bytes(b"not a database " * 1000)
    assert (await refused(lambda: open_and_put(f"sqlite:///{path}"))).code == "storage_corrupt"


async def test_a_folder_in_the_place_of_the_file_is_told(tmp_path: Path) -> None:
    assert (await refused(lambda: open_and_put(f"sqlite:///{tmp_path}"))).code == "storage_unavailable"
    gc.collect()  # the failed connection must not complain later


async def test_a_file_in_the_place_of_the_folder_is_told(tmp_path: Path) -> None:
    (tmp_path / "folder").write_text("")
    assert (
        await refused(lambda: open_and_put(f"sqlite:///{tmp_path}/folder/x.db"))
    ).code == "storage_unavailable"


async def test_a_mongodb_that_is_away_is_told_without_its_password() -> None:
    url = "mongodb://ana:secret@127.0.0.1:9/thoughts?serverSelectionTimeoutMS=50"
    failure = await refused(lambda: open_and_put(url))
    assert failure.code == "storage_unavailable"
    assert "secret" not in str(failure)
    assert "127.0.0.1:9" in str(failure)


async def test_the_database_of_the_url_is_used(mongodb_url: str) -> None:
    address = mongodb_url.rpartition("/")[0]
    async with open_checkpointer(mongodb_url) as saver:
        assert isinstance(saver, MongoSaver)
        assert saver.db.name == mongodb_url.rpartition("/")[2]
    async with open_checkpointer(address) as saver:
        assert isinstance(saver, MongoSaver)
        assert saver.db.name == "thoughtcycle"
    assert with_database(f"{address}/x?a=b", "y") == f"{address}/y?a=b"


async def test_ids_that_are_no_text_never_reach_a_query(mongodb_url: str) -> None:
    async with open_checkpointer(mongodb_url) as saver:
        with pytest.raises(ValueError, match="string"):
            await saver.aget_tuple({"configurable": {"thread_id": {"$ne": ""}}})


@pytest.mark.parametrize("url", ["", "thoughts.db", "sqlite:///", "postgres://ana:secret@host/x"])
async def test_an_address_of_another_form_is_refused(url: str) -> None:
    with pytest.raises(InputRefused) as refusal:
        async with open_checkpointer(url):
            pass
    assert refusal.value.code == "database_url"
    assert "secret" not in str(refusal.value)

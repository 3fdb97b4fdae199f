"""What our store adds to LangGraph's: owners, history, undo, erasure, items that run out, event loops."""

import asyncio
from collections.abc import AsyncIterator, Callable, Collection
from datetime import timedelta
from functools import partialmethod
from pathlib import Path
from typing import Any

import pytest
from langchain.agents import create_agent
from langchain.tools import ToolRuntime, tool
from langchain_core.messages import AIMessage
from langgraph.graph import START as BEGIN
from langgraph.graph import MessagesState, StateGraph
from langgraph.runtime import Runtime
from langgraph.store.base import (
    GetOp,
    InvalidNamespaceError,
    ListNamespacesOp,
    MatchCondition,
    PutOp,
    SearchOp,
    TTLConfig,
)

from support.left import left_of
from support.memories import Clock, WordEmbedder
from support.scripted_model import ScriptedModel, calls
from thoughtcycle.errors import InputRefused, NotAllowed
from thoughtcycle.integrations.store import OwnerRule, ThoughtCycleStore
from thoughtcycle.memory.index.memory_index import ItemCache
from thoughtcycle.memory.memory import Memory
from thoughtcycle.memory.model.namespace import item_space

pytestmark = pytest.mark.spec("BY-6")

FIRST: OwnerRule = lambda namespace: namespace[0]  # noqa: E731
SECOND: OwnerRule = lambda namespace: namespace[1]  # noqa: E731


def deep(levels: int) -> dict[str, Any]:
    value: dict[str, Any] = {}
    for _ in range(levels):
        value = {"a": value}
    return value


@pytest.fixture
async def memory(tmp_path: Path) -> AsyncIterator[Memory]:
    async with Memory.open(f"sqlite:///{tmp_path}/m.db", embeddings=WordEmbedder(), clock=Clock()) as opened:
        yield opened


@pytest.mark.spec("BY-5")
async def test_items_of_one_owner_are_nowhere_in_anothers(memory: Memory) -> None:
    store = ThoughtCycleStore(memory, owner=FIRST)
    await store.aput(("ana", "facts"), "k", {"text": "segredo quimera"})
    await store.aput(("bia", "facts"), "k", {"text": "outra coisa"})
    assert [item.value["text"] for item in await store.asearch(("bia",), query="segredo quimera")] == [
        "outra coisa"
    ]
    assert await store.asearch(("bia",), filter={"text": "segredo quimera"}) == []
    assert len(await store.asearch(("ana",), filter={"text": {"$ne": "outra coisa"}})) == 1
    assert await store.alist_namespaces(prefix=("bia",)) == [("bia", "facts")]
    assert await store.aget(("bia", "ana"), "k") is None
    assert await store.ahistory(("bia", "facts"), "k") == []
    await store.adelete(("bia", "facts"), "k")
    assert await store.aget(("ana", "facts"), "k") is not None


NOBODY: list[tuple[OwnerRule, Callable[[ThoughtCycleStore], Any]]] = [
    (FIRST, lambda store: store.asearch(())),
    (FIRST, lambda store: store.alist_namespaces()),
    (FIRST, lambda store: store.alist_namespaces(prefix=("*", "facts"))),
    (FIRST, lambda store: store.alist_namespaces(suffix=("facts",))),
    (SECOND, lambda store: store.asearch(("facts",))),
    (SECOND, lambda store: store.aput(("facts",), "k", {})),
    (SECOND, lambda store: store.alist_namespaces(prefix=("facts", "*"))),
    (lambda namespace: " ", lambda store: store.aget(("a",), "k")),
    (lambda namespace: None, lambda store: store.aget(("a",), "k")),  # type: ignore[arg-type,return-value]
    (lambda namespace: {"a": "ana"}[namespace[0]], lambda store: store.aget(("b",), "k")),
    (FIRST, lambda store: store.aget(("a" * 201,), "k")),
    (FIRST, lambda store: store.aget((str(item_space("ana")),), "k")),
    (FIRST, lambda store: store.abatch([PutOp(("ana",), "k", {"n": 1}), PutOp((), "k", {})])),
]


@pytest.mark.spec("BY-5")
async def test_where_no_owner_can_be_told_nothing_is_done(memory: Memory) -> None:
    for rule, call in NOBODY:
        with pytest.raises(NotAllowed):
            await call(ThoughtCycleStore(memory, owner=rule))
    assert await memory.upkeep.users() == []


async def test_a_prefix_with_wildcards_still_names_its_owner(memory: Memory) -> None:
    store = ThoughtCycleStore(memory, owner=SECOND)
    await store.aput(("facts", "ana", "x"), "k", {"n": 1})
    await store.aput(("facts", "bia", "x"), "k", {"n": 1})
    asked = ListNamespacesOp((MatchCondition("prefix", ("facts", "ana", "*")),))
    assert await store.abatch([asked]) == [[("facts", "ana", "x")]]


@pytest.mark.parametrize(
    "value",
    [{"n": float("nan")}, {"x": object()}, {"x": {1, 2}}, {"x": "\ud800"}, deep(101)],
    ids=["nan", "object", "set", "surrogate", "deep"],
)
async def test_what_is_no_json_is_refused_before_anything_is_put(memory: Memory, value: Any) -> None:
    store = ThoughtCycleStore(memory, owner="ana")
    with pytest.raises(InputRefused):
        await store.abatch([PutOp(("a",), "good", {"n": 1}), PutOp(("a",), "bad", value)])
    assert await store.asearch(()) == []
    with pytest.raises(InputRefused):
        await store.aget(("a\ud800",), "k")
    await store.aput(("a",), "deep", deep(100))
    assert (await store.asearch(("a",)))[0].value == deep(100)


@pytest.mark.parametrize("ttl", ["5", float("nan"), float("inf"), True], ids=repr)
async def test_a_time_to_live_is_a_number_of_minutes(memory: Memory, ttl: Any) -> None:
    store = ThoughtCycleStore(memory, owner="ana")
    with pytest.raises(InputRefused, match=r"minut"):
        await store.abatch([PutOp(("a",), "good", {"n": 1}), PutOp(("a",), "bad", {"n": 1}, ttl=ttl)])
    for number, minutes in enumerate((1e300, 10**400, 0.5, -1)):
        await store.aput(("a",), str(number), {"n": number}, ttl=minutes)
    assert [item.key for item in await store.asearch(("a",))] == ["2", "1", "0"]


async def test_operations_by_themselves_name_namespaces_as_the_methods_do(memory: Memory) -> None:
    store = ThoughtCycleStore(memory, owner="ana")
    suffix = (MatchCondition("suffix", ("b.c",)),)
    for op in (GetOp((1,), "k"), PutOp(("a.b",), "k", {}), SearchOp(("",)), ListNamespacesOp(suffix)):  # type: ignore[arg-type]
        with pytest.raises(InvalidNamespaceError):
            await store.abatch([PutOp(("a",), "good", {"n": 1}), op])
    assert await store.asearch((), limit=10**30, offset=0) == [] == await store.asearch(("a",), offset=10**30)
    await store.aput(("a",), "k", {"n": 1})
    assert (
        len(await store.asearch((), limit=10**30))
        == 1
        == len(await store.asearch((), filter={"n": 1}, limit=10**30))
    )


async def test_a_search_that_is_given_up_leaves_the_next_one_right(memory: Memory) -> None:
    store = ThoughtCycleStore(memory, owner="ana")
    await store.abatch([PutOp(("a",), str(number), {"n": number % 2}) for number in range(20)])
    given_up = [asyncio.create_task(store.asearch(("a",), filter={"n": 1}, limit=20)) for _ in range(3)]
    for turn, task in enumerate(given_up):
        for _ in range(2 * turn):
            await asyncio.sleep(0)
        task.cancel()
    assert len(await store.asearch(("a",), filter={"n": 1}, limit=20)) == 10
    both = await asyncio.gather(
        *(store.asearch(("a",), filter={"n": number % 2}, limit=20) for number in range(8)),
        *(store.aput(("a",), f"new {number}", {"n": 2}) for number in range(8)),
    )
    assert [len(found) for found in both[:8]] == [10] * 8
    assert len(await store.asearch(("a",), filter={"n": 2})) == 8


HUGE = 10**400
ODD_FILTERS: list[tuple[dict[str, Any], set[str]]] = [
    ({"n": {"$gt": 0}}, {"one", "huge"}),
    ({"n": {"$lte": HUGE}}, {"one", "huge"}),
    ({"n": {"$lt": HUGE}}, {"one"}),
    ({"n": {"$gte": "1e3"}}, {"huge"}),
    ({"n": {"$gt": None}}, set()),
    ({"n": {"$gt": "many"}}, set()),
    ({"n": {"$gt": [0]}}, set()),
    ({"n": HUGE}, {"huge"}),
    ({"n": {"deep": {"$gt": 0}}}, set()),
]


async def test_what_is_no_number_is_neither_above_nor_below(memory: Memory) -> None:
    store = ThoughtCycleStore(memory, owner="ana")
    for key, value in (("one", 1), ("huge", HUGE), ("text", "x"), ("none", None), ("list", [1])):
        await store.aput(("a",), key, {"n": value})
    await store.aput(("a",), "absent", {})
    for wanted, keys in ODD_FILTERS:
        assert {item.key for item in await store.asearch(("a",), filter=wanted)} == keys, wanted
    for unknown in ({"n": {"$in": [1]}}, {"x": {"y": {"$gt": 1, "z": 2}}}):
        with pytest.raises(InputRefused):
            await store.asearch(("nothing", "there"), filter=unknown)


async def test_a_filter_sees_what_any_process_put_and_no_callers_changes(
    memory: Memory, tmp_path: Path
) -> None:
    store = ThoughtCycleStore(memory, owner="ana")
    for number in range(6):
        await store.aput(("a",), str(number), {"n": number, "odd": number % 2 == 1, "in": {"x": 0}})

    async def odd(**more: Any) -> list[str]:
        return [item.key for item in await store.asearch(("a",), filter={"odd": True}, **more)]

    (mine,) = await store.asearch(("a",), filter={"in": {"x": 0}}, limit=1)
    mine.value["in"]["x"] = mine.value["odd"] = 7
    assert len(await store.asearch(("a",), filter={"in": {"x": 0}})) == 6
    assert await odd() == ["5", "3", "1"]
    async with Memory.open(f"sqlite:///{tmp_path}/m.db", embeddings=None, clock=memory.core.clock) as other:
        elsewhere = ThoughtCycleStore(other, owner="ana")
        await elsewhere.aput(("a",), "3", {"odd": False})
        await elsewhere.aput(("a",), "0", {"odd": True})
        await elsewhere.adelete(("a",), "1")
    assert await odd() == ["0", "5"] and await odd(offset=1) == ["5"] and await odd(limit=1) == ["0"]
    assert await odd(query="odd") == ["0", "5"] or await odd(query="odd") == ["5", "0"]
    await store.aundo(("a",), "1")
    assert await odd() == ["1", "0", "5"]


async def test_pages_leave_out_what_ran_out(memory: Memory) -> None:
    clock = memory.core.clock
    assert isinstance(clock, Clock)
    store = ThoughtCycleStore(memory, owner="ana", ttl={"refresh_on_read": False})
    for number in range(12):
        await store.aput(("a",), str(number), {"n": number, "even": number % 2 == 0}, ttl=1 + number % 3 * 5)
    clock.now += timedelta(minutes=3)
    there = [str(number) for number in reversed(range(12)) if number % 3]
    for size in (1, 3, 12):
        pages = [await store.asearch(("a",), limit=size, offset=start) for start in range(0, 12, size)]
        assert [item.key for page in pages for item in page] == there
    even = [str(number) for number in reversed(range(12)) if number % 3 and number % 2 == 0]
    found = await store.asearch(("a",), filter={"even": True}, offset=1)
    assert [item.key for item in found] == even[1:]


@pytest.mark.parametrize("room", [64_000_000, 0])
async def test_a_filter_reads_items_once_as_far_as_there_is_room(
    memory: Memory, monkeypatch: pytest.MonkeyPatch, room: int
) -> None:
    monkeypatch.setattr(ItemCache, "__init__", partialmethod(ItemCache.__init__, most=room))
    store = ThoughtCycleStore(memory, owner="ana")
    await store.abatch([PutOp(("a",), str(number), {"n": number}) for number in range(50)])
    read: list[int] = []
    memories, items = memory.core.storage.memories, memory.core.storage.memories.items

    async def counting(space: str, *, ids: Collection[str] = (), keys: Collection[str] = ()) -> Any:
        read.append(len(ids))
        return await items(space, ids=ids, keys=keys)

    monkeypatch.setattr(memories, "items", counting)
    for _ in range(2):
        assert [item.key for item in await store.asearch(("a",), filter={"n": {"$lt": 2}})] == ["1", "0"]
    await store.aput(("a",), "0", {"n": 99})
    assert [item.key for item in await store.asearch(("a",), filter={"n": {"$lt": 2}})] == ["1"]
    assert read == ([50, 2, 2, 1, 1] if room else [50, 2, 50, 2, 50, 1])


@pytest.mark.spec("BY-1", "BY-9")
async def test_history_undo_and_erasure(memory: Memory) -> None:
    store = ThoughtCycleStore(memory, owner=FIRST)
    where = ("ana", "facts")
    for text in ("mora no Recife", "mora em Olinda", "mora em Natal"):
        await store.aput(where, "home", {"text": text})
    old = await store.ahistory(where, "home")
    assert [item.value["text"] for item in old] == ["mora em Olinda", "mora no Recife"]
    assert old[0].updated_at > old[1].updated_at
    undone = await store.aundo(where, "home")
    assert undone is not None and undone.value["text"] == "mora em Olinda"
    await store.adelete(where, "home")
    assert await store.aget(where, "home") is None and await store.asearch(where, query="Olinda") == []
    await store.aput(where, "home", {"text": "sem casa"})
    assert await store.aundo(where, "home") is None
    back = await store.aundo(where, "home")
    assert back is not None and back.value["text"] == "mora em Olinda"
    await store.adelete(where, "home")
    receipt = await store.aerase(where, "home")
    assert (receipt.user, receipt.left) == ("ana", ()) and receipt.memories
    for word in ("Recife", "Olinda", "Natal"):
        assert await left_of(memory, item_space("ana"), [word]) == []
    assert await store.aundo(where, "home") is None and await store.ahistory(where, "home") == []
    assert (await store.aerase(where, "never")).memories == 0


TTLS: list[tuple[TTLConfig | None, dict[str, Any], bool | None, bool]] = [
    (None, {}, None, True),
    (None, {"ttl": 10}, None, True),
    (None, {"ttl": 10}, False, False),
    (None, {"ttl": None}, None, True),
    ({"default_ttl": 10}, {}, None, True),
    ({"default_ttl": 10}, {}, False, False),
    ({"default_ttl": 10, "refresh_on_read": False}, {}, None, False),
    ({"default_ttl": 10, "refresh_on_read": False}, {}, True, True),
    ({"default_ttl": 10}, {"ttl": None}, False, True),
    ({"default_ttl": 1}, {"ttl": 100}, False, True),
]


@pytest.mark.parametrize("look", ["get", "search"])
async def test_items_run_out_unless_they_are_read(memory: Memory, look: str) -> None:
    """Read after six minutes, looked for after twelve."""
    clock = memory.core.clock
    assert isinstance(clock, Clock)
    for number, (config, put, refresh, there) in enumerate(TTLS):
        store, where = ThoughtCycleStore(memory, owner="ana", ttl=config), (look, str(number))
        await store.aput(where, "k", {"n": number}, **put)
        for _ in range(2):
            clock.now += timedelta(minutes=6)
            if look == "get":
                found = await store.aget(where, "k", refresh_ttl=refresh) is not None
            else:
                found = bool(await store.asearch(where, refresh_ttl=refresh))
        assert found is there, TTLS[number]


async def test_what_ran_out_is_erased_by_a_sweep_and_may_be_put_again(memory: Memory) -> None:
    store = ThoughtCycleStore(memory, owner=FIRST, ttl={"default_ttl": 1})
    clock = memory.core.clock
    assert isinstance(clock, Clock)
    await store.aput(("ana",), "k", {"text": "quimera"})
    await store.aput(("bia",), "k", {"text": "fica"}, ttl=None)
    clock.now += timedelta(minutes=2)
    assert await store.asearch(("ana",), query="quimera") == []
    await store.aput(("ana",), "again", {"text": "quimera"})
    assert (await store.asweep_ttl(), await store.asweep_ttl()) == (1, 0)
    assert await store.aundo(("ana",), "k") is None
    assert [item.key for item in await store.asearch(("ana",))] == ["again"]
    assert await store.aget(("bia",), "k") is not None
    assert await left_of(memory, item_space("bia"), ["quimera"]) == []


async def test_blocking_calls_work_from_threads_and_are_refused_on_the_memorys_loop(memory: Memory) -> None:
    store = ThoughtCycleStore(memory, owner="ana")
    with pytest.raises(InputRefused):
        store.put(("a",), "k", {"n": 1})
    await asyncio.to_thread(store.put, ("a",), "k", {"n": 1})
    item = await asyncio.to_thread(store.get, ("a",), "k")
    assert item is not None and item.value == {"n": 1}

    async def elsewhere() -> Any:
        return await store.aget(("a",), "k")

    assert await asyncio.to_thread(asyncio.run, elsewhere()) == item
    with pytest.raises(RuntimeError):
        await asyncio.to_thread(ThoughtCycleStore, memory, owner="ana")


def remember(state: MessagesState, runtime: Runtime[None]) -> dict[str, Any]:
    """A blocking node, as most are written; LangGraph runs it in a thread."""
    assert runtime.store is not None
    runtime.store.put(("ana", "said"), str(len(state["messages"])), {"text": state["messages"][-1].text})
    return {}


async def answer(state: MessagesState, runtime: Runtime[None]) -> dict[str, Any]:
    assert runtime.store is not None
    found = await runtime.store.asearch(("ana",), query=state["messages"][-1].text, limit=1)
    return {"messages": [AIMessage(found[0].value["text"])]}


def builder() -> StateGraph[MessagesState]:
    graph = StateGraph(MessagesState)
    graph.add_node("remember", remember)
    graph.add_node("answer", answer)
    graph.add_edge(BEGIN, "remember")
    graph.add_edge("remember", "answer")
    return graph


async def test_a_graph_uses_it_as_any_store(memory: Memory) -> None:
    graph = builder().compile(store=ThoughtCycleStore(memory, owner=FIRST))
    done = await graph.ainvoke({"messages": [("user", "gosto de quimeras")]})
    assert done["messages"][-1].text == "gosto de quimeras"


@tool
def note(text: str, runtime: ToolRuntime) -> str:
    """Notes a text."""
    assert runtime.store is not None
    runtime.store.put(("ana", "notes"), "k", {"text": text})
    return "noted"


async def test_an_agents_tools_use_it(memory: Memory) -> None:
    store, model = ThoughtCycleStore(memory, owner=FIRST), ScriptedModel()
    model.say(calls("note", text="gosto de quimeras"), "feito")
    done = await create_agent(model, [note], store=store).ainvoke({"messages": [("user", "anote")]})
    assert done["messages"][-1].text == "feito"
    found = await store.asearch(("ana",), query="quimeras")
    assert [item.value["text"] for item in found] == ["gosto de quimeras"]


def test_a_blocking_app_uses_it_as_any_store(tmp_path: Path) -> None:
    opening = Memory.open(f"sqlite:///{tmp_path}/m.db", embeddings=None)
    with ThoughtCycleStore.open(opening, owner=FIRST) as store:
        graph = StateGraph(MessagesState).add_node("remember", remember).add_edge(BEGIN, "remember")
        graph.compile(store=store).invoke({"messages": [("user", "gosto de quimeras")]})
        assert [item.value["text"] for item in store.search(("ana",))] == ["gosto de quimeras"]
        assert (store.history(("ana",), "k"), store.undo(("ana",), "k"), store.sweep_ttl()) == ([], None, 0)
        assert store.erase(("ana", "said"), "1").memories == 1 and store.search(("ana",)) == []

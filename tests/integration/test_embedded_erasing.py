"""In somebody's own program, opened as the README opens it, what is erased leaves every thread."""

import asyncio
import re
from collections.abc import AsyncIterator, Awaitable, Callable
from pathlib import Path
from typing import Any, NamedTuple

import pytest
from langchain_core.messages import AIMessage, HumanMessage
from langgraph.graph import END, START, MessagesState, StateGraph
from langgraph.types import Durability

from support.databases import MONGODB_IN_TORTURE
from support.left import left_of
from support.talking import Saver
from thoughtcycle.checkpoints.factory import open_checkpointer
from thoughtcycle.errors import NotAllowed
from thoughtcycle.graph import create_thought_cycle
from thoughtcycle.graph.thought_cycle import ThoughtCycle
from thoughtcycle.memory.memory import Memory
from thoughtcycle.mind.rules import RuleMind
from thoughtcycle.nodes.base.context import Context
from thoughtcycle.runtime.forgetting import delete_chat, forget_user


class Embedded(NamedTuple):
    memory: Memory
    saver: Saver
    say: Callable[..., Awaitable[Any]]
    graph: ThoughtCycle


@pytest.fixture
async def embedded(database_url: str) -> AsyncIterator[Embedded]:
    async with Memory.open(database_url, embeddings=None) as memory, open_checkpointer(database_url) as saver:
        graphs = [create_thought_cycle(memory=memory, mind=RuleMind(), checkpointer=saver) for _ in "12"]

        async def say(text: str, thread: str, **context: Any) -> Any:
            return await graphs[0].ainvoke(
                {"messages": [("user", text)]},
                {"configurable": {"thread_id": thread}},
                context=Context(**{"user_id": "ana", "language": "pt", **context}),
            )

        yield Embedded(memory, saver, say, graphs[0])


async def stored(saver: Saver, thread: str) -> str:
    """All that is stored of a thread, as no mask shows it."""
    masks, saver.masks = saver.masks, None
    found = repr([one async for one in saver.alist({"configurable": {"thread_id": thread}})])
    saver.masks = masks
    return found


@pytest.mark.spec("BY-9")
async def test_the_threads_lose_what_is_erased_with_transcript_or_without(embedded: Embedded) -> None:
    memory, saver, say, _ = embedded
    await say("Meu nome é Zoroastro e moro em Natal.", "told")
    await say("Qual é o meu nome?", "unkept", incognito=True)
    await saver.acopy_thread("told", "copy")
    await say("Meu nome é Zoroastro.", "hers", user_id="bia")
    threads = ("told", "unkept", "copy")
    for thread in threads:
        assert "Zoroastro" in await stored(saver, thread)
    name = next(one for one in await memory.list("ana") if "Zoroastro" in one.text)
    receipt = await memory.erase("ana", [name.id])
    assert receipt.left == ()
    for thread in threads:
        assert "Zoroastro" not in await stored(saver, thread)
    assert "Natal" in await stored(saver, "copy")
    assert "Zoroastro" in await stored(saver, "hers")


@MONGODB_IN_TORTURE
@pytest.mark.spec("BY-9", "BY-10")
@pytest.mark.parametrize(
    ("step", "durability"),
    [("command", "async"), ("recall", "sync"), ("recall", "exit"), ("Finish", "async")],
)
async def test_an_incognito_turn_keeps_nothing_of_what_is_erased_meanwhile(
    embedded: Embedded, database_url: str, step: str, durability: Durability
) -> None:
    memory, saver, say, graph = embedded
    await say("Meu nome é Zoroastro e moro em Natal.", "told")
    await say("Qual é o meu nome?", "unkept", incognito=True)
    name = next(one for one in await memory.list("ana") if "Zoroastro" in one.text)
    seen: list[str] = []
    async for update in graph.astream(
        {"messages": [("user", "Zoroastro é o meu nome? Diga-me!")]},
        {"configurable": {"thread_id": "unkept"}},
        context=Context(user_id="ana", language="pt", incognito=True),
        stream_mode="updates",
        durability=durability,
    ):
        seen += update
        if step in update:
            receipt = await memory.erase("ana", [name.id])
            assert (receipt.memories, receipt.left, receipt.waiting) == (1, (), 0)
    assert step in seen and seen[-1] == "remember"
    assert "oroastr" not in await stored(saver, "unkept")
    assert await left_of(memory, "ana", ["Zoroastro"]) == []
    await say("Onde eu moro?", "unkept", incognito=True)
    assert "Natal" in await stored(saver, "unkept")
    if database_url.startswith("sqlite"):
        folder = Path(database_url.removeprefix("sqlite:///")).parent
        assert not [file.name for file in folder.iterdir() if b"oroastr" in file.read_bytes()]


@MONGODB_IN_TORTURE
@pytest.mark.spec("BY-9", "BY-10")
async def test_what_a_step_wrote_and_stores_after_the_turn_is_redacted_too(
    embedded: Embedded, monkeypatch: pytest.MonkeyPatch
) -> None:
    memory, saver, say, graph = embedded
    await say("Meu nome é Zoroastro.", "told")
    (name,) = await memory.list("ana")
    over, store, put = asyncio.Event(), saver.aput_writes, saver.aput
    late: list[str] = []

    async def putting(config: Any, checkpoint: Any, metadata: Any, versions: Any) -> Any:
        done = await put(config, checkpoint, metadata, versions)
        if checkpoint["channel_values"].get("next_action") == END:
            over.set()
        return done

    async def lagging(config: Any, writes: Any, task_id: str, task_path: str = "") -> None:
        if "Zoroastro" in repr(writes) and not late:
            late.append(task_id)
            await asyncio.wait_for(over.wait(), 60)
        await store(config, writes, task_id, task_path)

    monkeypatch.setattr(saver, "aput_writes", lagging)
    monkeypatch.setattr(saver, "aput", putting)
    async for update in graph.astream(
        {"messages": [("user", "Zoroastro é o meu nome?")]},
        {"configurable": {"thread_id": "unkept"}},
        context=Context(user_id="ana", language="pt", incognito=True),
        stream_mode="updates",
        durability="async",
    ):
        if "recall" in update:
            await memory.erase("ana", [name.id])
    assert late
    assert "oroastr" not in await stored(saver, "unkept")


@MONGODB_IN_TORTURE
@pytest.mark.spec("BY-4", "BY-9")
@pytest.mark.parametrize("how", ["pruned", "exit", "pruned copy"])
async def test_a_thread_is_found_by_its_state_alone(embedded: Embedded, how: str) -> None:
    memory, saver, say, graph = embedded
    await say("Meu nome é Zoroastro.", "told")
    await graph.ainvoke(
        {"messages": [("user", "Qual é o meu nome?")]},
        {"configurable": {"thread_id": "unkept"}},
        context=Context(user_id="ana", language="pt", incognito=True),
        durability="exit" if how == "exit" else "async",
    )
    if how != "exit":
        await saver.aprune(["unkept"])
    thread = "unkept"
    if how == "pruned copy":
        await saver.acopy_thread("unkept", thread := "copy")
    assert "Zoroastro" in await stored(saver, thread)
    assert thread in await saver.athreads_of("ana") and await saver.athreads_of("bia") == []
    receipt = await memory.erase("ana", [one.id for one in await memory.list("ana")])
    assert receipt.left == ()
    assert "Zoroastro" not in await stored(saver, thread)
    assert (await memory.forget_user("ana")).left["checkpoints"] > 0
    assert (await forget_user(memory, saver, "ana")).left == {}
    assert await stored(saver, thread) == "[]"


@MONGODB_IN_TORTURE
@pytest.mark.spec("BY-4", "BY-10")
async def test_an_incognito_turn_of_who_is_forgotten_meanwhile_leaves_no_thread(embedded: Embedded) -> None:
    memory, saver, say, graph = embedded
    await say("Meu nome é Zoroastro.", "told")
    stream = graph.astream(
        {"messages": [("user", "Qual é o meu nome?")]},
        {"configurable": {"thread_id": "unkept"}},
        context=Context(user_id="ana", language="pt", incognito=True),
        stream_mode="updates",
        durability="async",
    )
    with pytest.raises(NotAllowed) as refused:
        async for update in stream:
            if "recall" in update:
                assert (await forget_user(memory, saver, "ana")).left == {}
    assert refused.value.code == "user_forgotten"
    assert await saver.athreads_of("ana") == []
    assert await stored(saver, "unkept") == "[]"


@MONGODB_IN_TORTURE
@pytest.mark.spec("BY-9")
async def test_a_second_graph_does_not_count_the_checkpoints_twice(embedded: Embedded) -> None:
    memory, saver, say, _ = embedded
    await say("Meu nome é Zoroastro.", "told")
    counts: list[int] = []
    redact = saver.aredact

    async def counted(thread: str, mask: Any) -> int:
        counts.append(await redact(thread, mask))
        return counts[-1]

    saver.aredact = counted  # type: ignore[method-assign]
    receipt = await memory.erase("ana", [one.id for one in await memory.list("ana")])
    assert counts == [receipt.elsewhere, 0] and receipt.elsewhere > 0


@MONGODB_IN_TORTURE
@pytest.mark.spec("BY-4")
async def test_a_chat_within_a_graph_leaves_the_thread_that_others_share(embedded: Embedded) -> None:
    memory, saver, *_ = embedded
    graph: Any = StateGraph(MessagesState, context_schema=Context)
    inner = create_thought_cycle(memory=memory, mind=RuleMind())
    graph.add_node("katherine", inner)
    graph.add_node("greet", lambda state: {"messages": [AIMessage("Bom dia a todos", id="greeting")]})
    graph.add_edge(START, "greet")
    graph.add_edge("greet", "katherine")
    around = graph.compile(checkpointer=saver)
    config: Any = {"configurable": {"thread_id": "1"}}
    parts = [{"type": "text", "text": "Meu cachorro é o Zarquon."}]
    for content in ("Meu nome é Zoroastro.", parts, "Bom"):
        context = Context(user_id="ana", language="pt")
        await around.ainvoke({"messages": [HumanMessage(content)]}, config, context=context)
    assert {"Zoroastro", "Zarquon"} <= set(re.findall(r"\w+", await stored(saver, "1")))
    await delete_chat(memory, saver, "ana", "1/katherine")
    left = await stored(saver, "1")
    assert "Zoroastro" not in left and "Zarquon" not in left
    assert "Bom dia a todos" in left
    with pytest.raises(NotAllowed):
        await delete_chat(memory, saver, "bia", "1/katherine")


@MONGODB_IN_TORTURE
@pytest.mark.spec("BY-9", "BY-10")
@pytest.mark.parametrize("durability", ["async", "exit"])
async def test_a_graph_around_an_incognito_turn_keeps_nothing_of_what_is_erased_meanwhile(
    embedded: Embedded, durability: Durability
) -> None:
    memory, saver, say, _ = embedded
    await say("Meu nome é Zoroastro.", "told")
    (name,) = await memory.list("ana")
    graph: Any = StateGraph(MessagesState, context_schema=Context)
    graph.add_node("katherine", create_thought_cycle(memory=memory, mind=RuleMind()))
    graph.add_node("part", lambda state: {"messages": [AIMessage("Até logo", id="parting")]})
    graph.add_edge(START, "katherine")
    graph.add_edge("katherine", "part")
    around = graph.compile(checkpointer=saver)
    async for _, update in around.astream(
        {"messages": [HumanMessage("Zoroastro é o meu nome?")]},
        {"configurable": {"thread_id": "1"}},
        context=Context(user_id="ana", language="pt", incognito=True),
        stream_mode="updates",
        subgraphs=True,
        durability=durability,
    ):
        if "recall" in update:  # the steps go on meanwhile
            assert (await memory.erase("ana", [name.id])).left == ()
    left = await stored(saver, "1")
    assert "Até logo" in left and "oroastr" not in left


@MONGODB_IN_TORTURE
@pytest.mark.spec("BY-5")
async def test_no_thread_of_another_user_is_touched_by_a_chat_of_its_name(embedded: Embedded) -> None:
    memory, saver, say, _ = embedded
    await say("Meu nome é Zoroastro.", "hers", user_id="bia")
    await say("Meu nome é Zoroastro.", "hers/x")
    before = await stored(saver, "hers")
    await delete_chat(memory, saver, "ana", "hers/x")
    assert await stored(saver, "hers") == before
    assert await saver.aget_tuple({"configurable": {"thread_id": "hers/x"}}) is None


@MONGODB_IN_TORTURE
@pytest.mark.spec("BY-4", "BY-9")
async def test_what_goes_with_a_chat_leaves_the_threads_of_other_chats(embedded: Embedded) -> None:
    memory, saver, say, _ = embedded
    await say("Meu nome é Zoroastro.", "told")
    await say("Qual é o meu nome?", "asked")
    assert "Zoroastro" in await stored(saver, "asked")
    assert (await delete_chat(memory, saver, "ana", "told")).memories == 1
    assert "Zoroastro" not in await stored(saver, "asked")
    assert "Zoroastro" not in repr((await say("Qual é o meu nome?", "asked"))["messages"])

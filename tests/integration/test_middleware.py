"""A `create_agent` agent with our memory: what its model is told, what is kept, and of whom."""

import asyncio
import logging
from collections.abc import AsyncIterator
from dataclasses import dataclass
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from langchain.agents import create_agent
from langchain_core.messages import AIMessage, BaseMessage, HumanMessage, SystemMessage, ToolMessage
from langchain_openai import ChatOpenAI
from langgraph.checkpoint.memory import InMemorySaver
from langgraph.graph import START, MessagesState, StateGraph

from support.fake_openai import FakeOpenAI
from support.scripted_model import ScriptedModel, calls
from thoughtcycle.checkpoints.erasure import bound
from thoughtcycle.checkpoints.factory import open_checkpointer
from thoughtcycle.errors import InputRefused, NotAllowed, StorageUnavailable
from thoughtcycle.integrations.caller import Setup
from thoughtcycle.integrations.loop_bridge import MemoryHandle, in_background, run_blocking
from thoughtcycle.integrations.middleware import ThoughtCycleMiddleware, new_user_messages
from thoughtcycle.memory.memory import Memory
from thoughtcycle.memory.model import Cycle, MemoryDraft
from thoughtcycle.mind.lexical import LexicalEmbeddings
from thoughtcycle.mind.model_settings import ModelSettings
from thoughtcycle.mind.rules import RuleMind
from thoughtcycle.nodes.base.context import Context
from thoughtcycle.nodes.base.services import Services
from thoughtcycle.runtime.resources import hold
from thoughtcycle.runtime.settings import Settings
from thoughtcycle.runtime.upkeep import create_worker

ANA, BIA = Context(user_id="ana", language="en"), Context(user_id="bia", language="en")
CORIANDER = MemoryDraft(content="Hates coriander", kind="pref", bindings=("food",))


def thread(name: str = "t1") -> Any:
    return {"configurable": {"thread_id": name}}


def said(text: str, id: str | None = None) -> Any:
    return {"messages": [HumanMessage(text, id=id)]}


@pytest.fixture
async def memory(tmp_path: Path) -> AsyncIterator[Memory]:
    async with Memory.open(f"sqlite:///{tmp_path}/m.db", embeddings=LexicalEmbeddings()) as opened:
        yield opened


@pytest.fixture
def model() -> ScriptedModel:
    return ScriptedModel()


def agent_of(
    memory: MemoryHandle, model: Any, *, saver: Any = None, prompt: Any = None, **options: Any
) -> Any:
    middleware = ThoughtCycleMiddleware(memory, language="en", **options)
    return create_agent(
        model, system_prompt=prompt, middleware=[middleware], context_schema=Context, checkpointer=saver
    )


async def cycles(memory: Memory, user: str = "ana", chat: str = "t1") -> list[Cycle]:
    return await memory.conversation(user, chat, limit=20)


@pytest.mark.spec("BY-6")
async def test_the_model_is_briefed_the_cycle_kept_and_memories_formed(
    memory: Memory, fake_openai: FakeOpenAI
) -> None:
    await memory.save("ana", [CORIANDER])
    chat_model = ChatOpenAI(model="m", base_url=fake_openai.url, api_key="k", max_retries=0)
    agent = agent_of(memory, chat_model, saver=InMemorySaver(), prompt="You are a cook.")
    fake_openai.say("Try basil. Noted that you live in Lisbon.")
    values = await agent.ainvoke(said("I live in Lisbon. Coriander in my food?"), thread(), context=ANA)

    system = fake_openai.requests[0].text("system")
    assert system.startswith("You are a cook.") and "Hates coriander" in system
    assert [each.type for each in values["messages"]] == ["human", "ai"] and set(values) == {"messages"}
    (cycle,) = await cycles(memory)
    assert cycle.message.text == "I live in Lisbon. Coriander in my food?"
    assert [reply.text for reply in cycle.replies] == ["Try basil. Noted that you live in Lisbon."]
    assert cycle.formation == "pending" and len(cycle.variants[-1].shown) == 1

    await create_worker(Services(memory, RuleMind())).drain()
    assert any("Lisbon" in record.text for record in await memory.list("ana"))
    fake_openai.say("In Lisbon.")
    await agent.ainvoke(said("Where do I live?"), thread("t2"), context=ANA)
    assert "Lisbon" in fake_openai.requests[-1].text("system")


@pytest.mark.spec("BY-5", "BY-6")
async def test_two_users_of_one_agent_never_see_each_others(memory: Memory, model: ScriptedModel) -> None:
    agent = agent_of(memory, model, saver=InMemorySaver())
    secrets = {"ana": "Ana's safe holds rubies", "bia": "Bia's safe holds pearls"}
    for user, secret in secrets.items():
        await memory.save(user, [MemoryDraft(content=secret)])

    def answer(messages: list[BaseMessage]) -> AIMessage:
        searched = isinstance(messages[-1], ToolMessage)
        return AIMessage("So much.") if searched else calls("search_memory", query="what does the safe hold?")

    model.say(*[answer] * 8)

    async def talk(user: str, name: str) -> str:
        values = await agent.ainvoke(
            said("What does the safe hold?"), thread(name), context=Context(user_id=user)
        )
        return "\n".join(each.text for each in values["messages"])

    told = await asyncio.gather(*(talk(user, f"{user} {n}") for user in secrets for n in (1, 2)))
    assert ["rubies" in text for text in told] == [True, True, False, False]
    assert ["pearls" in text for text in told] == [False, False, True, True]
    for asked in model.asked:
        text = "\n".join(each.text for each in asked)
        assert ("rubies" in text) != ("pearls" in text)


@pytest.mark.spec("BY-5")
async def test_another_users_thread_is_refused(memory: Memory, model: ScriptedModel) -> None:
    agent = agent_of(memory, model, saver=InMemorySaver())
    model.say("Hi.")
    await agent.ainvoke(said("Hello"), thread(), context=ANA)
    with pytest.raises(NotAllowed, match="another user"):
        await agent.ainvoke(said("Hello"), thread(), context=BIA)
    without_state = agent_of(memory, model)
    for context in (BIA, Context(user_id="bia", incognito=True)):
        with pytest.raises(NotAllowed, match="another user"):
            await without_state.ainvoke(said("Hello"), thread(), context=context)
    assert len(model.asked) == 1


@pytest.mark.spec("BY-5")
async def test_a_run_that_somebody_else_resumes_is_refused(memory: Memory, model: ScriptedModel) -> None:
    agent = create_agent(
        model,
        middleware=[ThoughtCycleMiddleware(memory)],
        context_schema=Context,
        checkpointer=InMemorySaver(),
        interrupt_before=["tools"],
    )
    model.say(calls("search_memory", query="anything"), "Done.")
    await agent.ainvoke(said("Look"), thread(), context=ANA)
    with pytest.raises(NotAllowed, match="another user"):
        await agent.ainvoke(None, thread(), context=BIA)
    values = await agent.ainvoke(None, thread(), context=ANA)
    assert values["messages"][-1].text == "Done."
    assert [reply.text for reply in (await cycles(memory))[0].replies] == ["Done."]


@pytest.mark.spec("BY-5")
@pytest.mark.parametrize("context", [None, Context(), Context(user_id="  "), {"user_id": 7}])
async def test_without_a_user_the_run_fails_closed(
    memory: Memory, model: ScriptedModel, context: Any
) -> None:
    agent = create_agent(model, middleware=[ThoughtCycleMiddleware(memory)])
    with pytest.raises(NotAllowed, match="no user"):
        await agent.ainvoke({"messages": [("user", "I am user_id=ana")], "user_id": "ana"}, context=context)
    assert not model.asked


@pytest.mark.spec("BY-5", "BY-6")
async def test_the_user_comes_from_the_app_or_the_server(memory: Memory, model: ScriptedModel) -> None:
    @dataclass
    class Tenant:
        customer: str

    await memory.save("ana", [CORIANDER])
    middleware = ThoughtCycleMiddleware(memory, context=lambda tenant: Context(user_id=tenant.customer))
    agent = create_agent(model, middleware=[middleware], context_schema=Tenant)
    model.say("Yes.", "Yes.")
    await agent.ainvoke(said("Coriander?"), thread(), context=Tenant("ana"))
    assert "Hates coriander" in model.system
    single = agent_of(memory, model, single_user="ana")
    await single.ainvoke(said("Coriander?"), thread("t2"))
    assert "Hates coriander" in model.system


@pytest.mark.spec("BY-5")
def test_the_servers_user_counts_before_the_clients() -> None:
    setup = Setup(context=lambda _: Context(user_id="eve"))
    ana = SimpleNamespace(identity="ana")
    run = SimpleNamespace(context=None, server_info=SimpleNamespace(user=ana))
    assert setup.caller(run, {}).user_id == "ana"
    with pytest.raises(NotAllowed, match="another user"):
        setup.caller(run, {"thoughtcycle": {"user_id": "eve"}})


@pytest.mark.spec("BY-6")
def test_invoke_without_an_event_loop(tmp_path: Path, model: ScriptedModel) -> None:
    opening = Memory.open(f"sqlite:///{tmp_path}/m.db", embeddings=LexicalEmbeddings())
    with in_background(opening) as memory:
        agent = agent_of(memory, model, saver=InMemorySaver())
        model.say(
            calls("save_memory", content="Lives in Lisbon", topics=["home"]), "Kept.", "In Lisbon.", "Yes."
        )
        agent.invoke(said("Remember that I live in Lisbon."), thread(), context=ANA)
        agent.invoke(said("Where do I live?"), thread("t2"), context=ANA)
        assert "Lives in Lisbon" in model.system
        asyncio.run(agent.ainvoke(said("In Lisbon, then?"), thread("t2"), context=ANA))
        kept = run_blocking(memory, lambda there: cycles(there, chat="t2"))
        assert [cycle.replies[-1].text for cycle in kept] == ["In Lisbon.", "Yes."]
        (record,) = run_blocking(memory, lambda there: there.list("ana"))
        (first,) = run_blocking(memory, cycles)
        assert record.source.cycle == first.id and "I live in Lisbon" in record.source.words


async def test_invoke_with_a_memory_of_a_running_loop_says_what_to_do(
    memory: Memory, model: ScriptedModel
) -> None:
    with pytest.raises(InputRefused, match="in_background"):
        agent_of(memory, model).invoke(said("Hello"), context=ANA)


@pytest.mark.spec("BY-1", "BY-6")
@pytest.mark.parametrize("saver", [None, InMemorySaver()], ids=["without state", "with state"])
async def test_each_message_is_kept_once(memory: Memory, model: ScriptedModel, saver: Any) -> None:
    agent = agent_of(memory, model, saver=saver)
    model.say("Hi.", RuntimeError("the model is down"), "Fine.", "Very well.")
    await agent.ainvoke(said("Hello", "m1"), thread(), context=ANA)
    with pytest.raises(RuntimeError):
        await agent.ainvoke(said("How are you?", "m2"), thread(), context=ANA)
    again = {"messages": [HumanMessage("How are you?", id="m2")]}
    await agent.ainvoke(again, thread(), context=ANA)
    assert [(cycle.message.text, cycle.replies[-1].text) for cycle in await cycles(memory)] == [
        ("Hello", "Hi."),
        ("How are you?", "Fine."),
    ]
    if saver is None:  # a client that sends its whole history, once more
        await agent.ainvoke(again, thread(), context=ANA)
        last = (await cycles(memory))[-1]
        assert [one.messages[-1].text for one in last.variants] == ["Fine.", "Very well."]


@pytest.mark.spec("BY-1")
async def test_another_branch_of_the_thread_is_another_branch_of_the_chat(
    memory: Memory, model: ScriptedModel
) -> None:
    agent = agent_of(memory, model, saver=InMemorySaver())
    model.say("One.", "Two.", "Two, said otherwise.", "Three.")
    for text in ("first", "second"):
        await agent.ainvoke(said(text), thread(), context=ANA)
    history = [state async for state in agent.aget_state_history(thread())]
    before = next(state for state in history if state.next == ("model",))
    await agent.ainvoke(None, before.config, context=ANA)
    assert [cycle.replies[-1].text for cycle in await cycles(memory)] == ["One.", "Two, said otherwise."]
    first_done = next(state for state in history if not state.next and len(state.values["messages"]) == 2)
    await agent.ainvoke(said("other second"), first_done.config, context=ANA)
    assert [cycle.message.text for cycle in await cycles(memory)] == ["first", "other second"]


async def test_the_briefing_is_in_no_checkpoint(memory: Memory, model: ScriptedModel) -> None:
    await memory.save("ana", [CORIANDER])
    saver = InMemorySaver()
    agent = agent_of(memory, model, saver=saver)
    model.say(calls("search_memory", query="weather"), "Basil.")
    await agent.ainvoke(said("Coriander?"), thread(), context=ANA)
    assert "Hates" in model.system
    state = await agent.aget_state(thread())
    assert "thoughtcycle_briefing" not in state.values
    assert "Hates" not in repr([saver.storage, saver.writes, saver.blobs])


@pytest.mark.spec("BY-9")
async def test_what_the_model_deletes_leaves_the_briefing_at_once(
    memory: Memory, model: ScriptedModel
) -> None:
    await memory.save("ana", [CORIANDER])
    agent = agent_of(memory, model, saver=InMemorySaver())

    def delete(messages: list[BaseMessage]) -> AIMessage:
        return calls("delete_memory", ids=[messages[-1].text.split("[")[1].split("]")[0]])

    model.say(calls("search_memory", query="coriander"), delete, "Forgotten.")
    await agent.ainvoke(said("Forget that about coriander."), thread(), context=ANA)
    assert ["Hates" in "".join(m.text for m in asked if m.type == "system") for asked in model.asked] == [
        True,
        True,
        False,
    ]
    assert await memory.list("ana") == []


@pytest.mark.spec("BY-9")
async def test_what_is_erased_leaves_the_agents_thread_in_a_saver_of_ours(
    tmp_path: Path, model: ScriptedModel
) -> None:
    url = f"sqlite:///{tmp_path}/m.db"
    async with Memory.open(url, embeddings=None) as memory, open_checkpointer(url) as saver:
        bound(memory, saver)
        agent = agent_of(memory, model, saver=saver)

        async def shown() -> str:
            return repr((await agent.aget_state(thread())).values["messages"])

        model.say(calls("save_memory", content="Is called Zoroastro"), "Kept, Zoroastro.")
        await agent.ainvoke(said("My name is Zoroastro."), thread(), context=ANA)
        (record,) = await memory.list("ana")
        await memory.hide("ana", [record.id])
        assert "Zoroastro" not in await shown()
        receipt = await memory.erase("ana", [record.id])
        saver.masks = None
        assert receipt.left == () and "Zoroastro" not in await shown()


async def test_with_all_that_the_settings_describe(tmp_path: Path, model: ScriptedModel) -> None:
    settings = Settings(db=f"sqlite:///{tmp_path}/m.db", spool=tmp_path / "spool")
    async with hold(settings, ModelSettings()) as held:
        agent = agent_of(held.services.memory, model, saver=held.checkpointer)
        model.say("Hi.")
        await agent.ainvoke(said("Hello"), thread(), context=ANA)
        assert [cycle.replies[0].text for cycle in await cycles(held.services.memory)] == ["Hi."]


@pytest.mark.spec("BY-6")
@pytest.mark.parametrize("lost", [1, 2, 3], ids=["before the model", "at the briefing", "at the end"])
async def test_an_outage_of_the_memory_does_not_break_the_reply(
    memory: Memory,
    model: ScriptedModel,
    monkeypatch: pytest.MonkeyPatch,
    caplog: pytest.LogCaptureFixture,
    lost: int,
) -> None:
    name = {1: "open_cycle", 2: "recollect", 3: "close_cycle"}[lost]

    async def away(*_: Any, **__: Any) -> None:
        raise StorageUnavailable("x")

    monkeypatch.setattr(memory.recall if name == "recollect" else memory.transcript, name, away)
    model.say("An answer.")
    with caplog.at_level(logging.WARNING):
        values = await agent_of(memory, model).ainvoke(said("Hello, my secret"), thread(), context=ANA)
    assert values["messages"][-1].text == "An answer."
    assert "storage_unavailable" in caplog.text and "secret" not in caplog.text
    if name == "recollect":
        assert "out of reach" in model.system


@pytest.mark.spec("BY-10")
async def test_incognito_and_pause(memory: Memory, model: ScriptedModel) -> None:
    await memory.save("ana", [CORIANDER])
    agent = agent_of(memory, model, saver=InMemorySaver())
    model.say(calls("save_memory", content="Lives in Lisbon"), "No.", "Paused.")
    hidden = Context(user_id="ana", language="en", incognito=True)
    values = await agent.ainvoke(said("Coriander? I live in Lisbon."), thread("i"), context=hidden)
    assert "Hates" in model.system and "incognito" in values["messages"][2].text
    assert len(await memory.list("ana")) == 1 and await memory.chats("ana") == []
    await memory.change_settings("ana", paused=True)
    await agent.ainvoke(said("I live in Lisbon."), thread("p"), context=ANA)
    (cycle,) = await cycles(memory, chat="p")
    assert cycle.formation == "none"


async def test_messages_without_words_and_agents_without_tools(memory: Memory, model: ScriptedModel) -> None:
    agent = agent_of(memory, model, tools=())
    image = [{"type": "image_url", "image_url": {"url": "data:image/png;base64,AAAA"}}]
    model.say("A picture.", "Hello.")
    await agent.ainvoke({"messages": [HumanMessage(image)]}, thread(), context=ANA)
    await agent.ainvoke(said("\x00\x01\x02"), thread(), context=ANA)
    assert await cycles(memory) == [] and model.tools == []


async def test_without_a_thread_each_run_is_a_chat(memory: Memory, model: ScriptedModel) -> None:
    model.say("One.", "Two.")
    agent = agent_of(memory, model)
    for text in ("first", "second"):
        await agent.ainvoke(said(text), context=ANA)
    assert [chat.cycles for chat in await memory.chats("ana")] == [1, 1]


async def test_an_agent_inside_another_graph_has_a_chat_of_its_own(
    memory: Memory, model: ScriptedModel
) -> None:
    model.say("One.", "Two.")
    graph = StateGraph(MessagesState, context_schema=Context)
    graph.add_node("cook", agent_of(memory, model))
    graph.add_edge(START, "cook")
    app = graph.compile(checkpointer=InMemorySaver())
    for text in ("first", "second"):
        await app.ainvoke(said(text), thread(), context=ANA)
    assert [cycle.message.text for cycle in await cycles(memory, chat="t1/cook")] == ["first", "second"]


async def test_a_system_message_of_blocks_stays_one(memory: Memory, model: ScriptedModel) -> None:
    await memory.save("ana", [CORIANDER])
    model.say("Basil.")
    prompt = SystemMessage([{"type": "text", "text": "You cook.", "cache_control": {"type": "ephemeral"}}])
    await agent_of(memory, model, prompt=prompt).ainvoke(said("Coriander?"), thread(), context=ANA)
    system = model.asked[0][0]
    assert isinstance(system.content, list) and system.content[0] == prompt.content[0]
    assert "Hates coriander" in system.content[1]["text"]


@pytest.mark.parametrize(
    ("messages", "before", "expected"),
    [
        ("h1", None, "h1"),
        ("h1 a h2", None, "h2"),
        ("h1 h2", None, "h1 h2"),
        ("h1 h2", "h1", "h2"),
        ("h1 h2", "h2", "h1 h2"),
        ("h1 a", "h1", "h1"),
        ("a", None, ""),
        ("", None, ""),
    ],
)
def test_the_users_words_of_a_turn(messages: str, before: str | None, expected: str) -> None:
    given = [HumanMessage(id, id=id) if id[0] == "h" else AIMessage("x") for id in messages.split()]
    assert " ".join(each.text for each in new_user_messages(given, before)) == expected

"""The transcript as LangChain's chat message history: what is added, read again, cleared, and by whom."""

from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import pytest
from langchain_core.messages import AIMessage, BaseMessage, HumanMessage, SystemMessage, ToolMessage
from langchain_core.prompts import ChatPromptTemplate, MessagesPlaceholder
from langchain_core.runnables import ConfigurableFieldSpec
from langchain_core.runnables.history import RunnableWithMessageHistory

from support.scripted_model import ScriptedModel, calls
from thoughtcycle.errors import InputRefused, NotAllowed
from thoughtcycle.integrations.chat_history import ThoughtCycleChatHistory
from thoughtcycle.integrations.loop_bridge import MemoryHandle, in_background
from thoughtcycle.memory.memory import Memory
from thoughtcycle.mind.lexical import LexicalEmbeddings
from thoughtcycle.mind.rules import RuleMind
from thoughtcycle.nodes.base.services import Services
from thoughtcycle.runtime.upkeep import create_worker


@pytest.fixture
async def memory(tmp_path: Path) -> AsyncIterator[Memory]:
    async with Memory.open(f"sqlite:///{tmp_path}/m.db", embeddings=LexicalEmbeddings()) as opened:
        yield opened


def shown(messages: list[BaseMessage]) -> str:
    return " ".join(f"{'u' if each.type == 'human' else 'a'}:{each.text}" for each in messages)


def chain_of(memory: MemoryHandle, model: ScriptedModel) -> Any:
    prompt = ChatPromptTemplate([MessagesPlaceholder("history"), ("human", "{question}")])
    return RunnableWithMessageHistory(
        prompt | model,  # type: ignore[arg-type]
        lambda user, chat: ThoughtCycleChatHistory(memory, user, chat),
        input_messages_key="question",
        history_messages_key="history",
        history_factory_config=[ConfigurableFieldSpec(id=id, annotation=str) for id in ("user", "chat")],
    )


def of(user: str, chat: str) -> Any:
    return {"configurable": {"user": user, "chat": chat}}


@pytest.mark.filterwarnings("ignore:RunnableWithMessageHistory is")
@pytest.mark.spec("BY-6", "BY-5", "SM-1")
async def test_a_runnable_with_message_history(memory: Memory) -> None:
    model = ScriptedModel()
    chain = chain_of(memory, model)
    model.say("Nice.", "In Lisbon.", "I do not know.")
    await chain.ainvoke({"question": "I live in Lisbon."}, of("ana", "a"))
    await chain.ainvoke({"question": "Where?"}, of("ana", "a"))
    assert shown(model.asked[-1]) == "u:I live in Lisbon. a:Nice. u:Where?"
    await chain.ainvoke({"question": "Where?"}, of("bia", "b"))
    assert shown(model.asked[-1]) == "u:Where?"
    with pytest.raises(NotAllowed, match="another user"):
        await chain.ainvoke({"question": "Where?"}, of("bia", "a"))
    cycles = await memory.conversation("ana", "a", limit=10)
    assert [cycle.formation for cycle in cycles] == ["pending", "pending"]
    await create_worker(Services(memory, RuleMind())).drain()
    assert ["Lisbon" in record.text for record in await memory.list("ana")] == [True]
    assert await memory.list("bia") == []


U, A = HumanMessage, AIMessage


@pytest.mark.parametrize(
    ("added", "expected", "cycles"),
    [
        ([[U("1"), A("2")], [U("3"), A("4")]], "u:1 a:2 u:3 a:4", 2),
        ([[U("1")], [A("2")], [U("3")], [A("4")]], "u:1 a:2 u:3 a:4", 2),
        ([[U("1"), A("2"), U("3"), A("4")]], "u:1 a:2 u:3 a:4", 2),
        ([[U("1"), A("2"), A("3")]], "u:1 a:2 a:3", 1),
        ([[A("hello")], [U("1"), A("2")]], "a:hello u:1 a:2", 2),
        ([[U("1"), U("2"), A("3")]], "u:1 u:2 a:3", 2),
        ([[U("1"), A("2")], [A("3")]], "u:1 a:2 a:3", 2),
        ([[U("1", id="x"), A("2", id="y")], [U("1", id="x"), A("2", id="y"), U("3")]], "u:1 a:2 u:3", 2),
        (
            [[SystemMessage("s"), U("1"), calls("t"), ToolMessage("t", tool_call_id="c"), A("2")]],
            "u:1 a:2",
            1,
        ),
        ([[U([{"type": "text", "text": "1"}]), A("2")]], "u:1 a:2", 1),
        ([[U(" "), A("")]], "", 0),
        ([[]], "", 0),
    ],
)
async def test_what_is_added_is_read_again(
    memory: Memory, added: list[list[BaseMessage]], expected: str, cycles: int
) -> None:
    for messages in added:
        await ThoughtCycleChatHistory(memory, "ana", "a").aadd_messages(messages)
    assert shown(await ThoughtCycleChatHistory(memory, "ana", "a").aget_messages()) == expected
    assert len(await memory.conversation("ana", "a", limit=10)) == cycles


async def test_the_last_cycles_are_read_and_a_pause_is_respected(memory: Memory) -> None:
    await memory.change_settings("ana", paused=True, time_zone="America/Sao_Paulo")
    history = ThoughtCycleChatHistory(memory, "ana", "a", limit=2)
    for number in range(3):
        await history.aadd_messages([U(str(number), name="Ana"), A("yes")])
    messages = await history.aget_messages()
    assert shown(messages) == "u:1 a:yes u:2 a:yes" and messages[0].name == "Ana"
    for cycle in await memory.conversation("ana", "a", limit=10):
        assert cycle.formation == "none" and str(cycle.message.at.utcoffset()) == "-1 day, 21:00:00"
    with pytest.raises(InputRefused, match="Nowhere"):
        ThoughtCycleChatHistory(memory, "ana", "a", time_zone="Nowhere")


@pytest.mark.spec("BY-4", "BY-5")
async def test_clearing_deletes_ones_own_chat_with_what_was_learned(memory: Memory) -> None:
    history = ThoughtCycleChatHistory(memory, "ana", "a")
    await history.aclear()
    await history.aadd_messages([U("I live in Lisbon."), A("Nice.")])
    await create_worker(Services(memory, RuleMind())).drain()
    with pytest.raises(NotAllowed, match="another user"):
        await ThoughtCycleChatHistory(memory, "bia", "a").aclear()
    assert len(await memory.list("ana")) == 1
    await history.aclear()
    assert await history.aget_messages() == [] and await memory.list("ana") == []
    await history.aadd_messages([U("Again.")])
    assert shown(await history.aget_messages()) == "u:Again."


@pytest.mark.filterwarnings("ignore:RunnableWithMessageHistory is")
def test_without_an_event_loop(tmp_path: Path) -> None:
    with in_background(Memory.open(f"sqlite:///{tmp_path}/m.db", embeddings=None)) as memory:
        model = ScriptedModel()
        model.say("Nice.", "In Lisbon.")
        for question in ("I live in Lisbon.", "Where?"):
            chain_of(memory, model).invoke({"question": question}, of("ana", "a"))
        history = ThoughtCycleChatHistory(memory, "ana", "a")
        history.add_user_message("Thanks.")
        history.add_ai_message("Welcome.")
        assert shown(history.messages) == (
            "u:I live in Lisbon. a:Nice. u:Where? a:In Lisbon. u:Thanks. a:Welcome."
        )
        history.clear()
        assert history.messages == []


async def test_the_blocking_half_of_a_plain_memory_says_what_to_do(memory: Memory) -> None:
    with pytest.raises(InputRefused, match="in_background"):
        _ = ThoughtCycleChatHistory(memory, "ana", "a").messages

"""What an edited message has left behind is not told to whoever answers it."""

from pathlib import Path

import pytest
from langchain_core.messages import HumanMessage
from langgraph.checkpoint.memory import InMemorySaver

from support.graphs import lab
from thoughtcycle.graph.thought_cycle import create_thought_cycle
from thoughtcycle.nodes.base.context import Context

TOLD = ("My bicycle is red", "My aunt Vera lives in Faro", "I love chess", "I hate opera")


@pytest.mark.spec("HM-10")
@pytest.mark.parametrize("understood", [True, False], ids=["understood", "not yet understood"])
async def test_an_edited_message_is_answered_without_what_it_left_behind(
    tmp_path: Path, understood: bool
) -> None:
    async with lab(tmp_path) as cycle:
        for text in TOLD:
            await cycle.say(text)
        if understood:
            await cycle.understand()
        thread = {"configurable": {"thread_id": "t"}}
        states = [state async for state in cycle.graph.aget_state_history(thread)]
        begun = [state for state in states if state.next == ("__start__",)]
        edited = {"messages": [HumanMessage("My aunt Vera lives in Braga, I like red bicycles")]}
        await cycle.graph.ainvoke(edited, begun[-2].config, context=Context(user_id="ana"))
        briefing = (await cycle.graph.aget_state(thread)).values["briefing"]
        told = briefing["text"] + briefing["session"]
        assert "red" in told
        assert "Faro" not in told and "chess" not in told


@pytest.mark.spec("HM-10", "BY-4")
async def test_a_chat_whose_thread_is_new_goes_on_where_it_ended(tmp_path: Path) -> None:
    async with lab(tmp_path) as cycle:
        for text in TOLD:
            await cycle.say(text)
        known = {record.text for record in await cycle.memory.list("ana")}
        assert known
        again = create_thought_cycle(memory=cycle.memory, mind=cycle.mind, checkpointer=InMemorySaver())
        thread = {"configurable": {"thread_id": "t"}}
        for text in ("hello", "My dog is called Rex"):
            await again.ainvoke({"messages": [HumanMessage(text)]}, thread, context=Context(user_id="ana"))
        assert {record.text for record in await cycle.memory.list("ana")} == known | {"Dog: Rex"}
        assert len(await cycle.memory.conversation("ana", "t", limit=10)) == len(TOLD) + 2


@pytest.mark.spec("HM-10")
async def test_an_edit_of_the_first_message_leaves_the_whole_chat_behind(tmp_path: Path) -> None:
    async with lab(tmp_path) as cycle:
        for text in TOLD:
            await cycle.say(text)
        thread = {"configurable": {"thread_id": "t"}}
        states = [state async for state in cycle.graph.aget_state_history(thread)]
        first = [state for state in states if state.next == ("__start__",)][-1]
        edited = {"messages": [HumanMessage("I live in Bath")]}
        await cycle.graph.ainvoke(edited, first.config, context=Context(user_id="ana"))
        assert [record.text for record in await cycle.memory.list("ana")] == ["Lives in Bath"]

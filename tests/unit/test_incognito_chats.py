"""States of incognito chats in memory: bounded per user and in all, and nobody's pushes out all of another's."""

from collections.abc import Sequence
from operator import add
from types import SimpleNamespace
from typing import Annotated, TypedDict

import pytest
from langchain_core.runnables import RunnableConfig
from langgraph.graph import START, StateGraph

from thoughtcycle.checkpoints.in_memory import BoundedInMemorySaver
from thoughtcycle.graph.thought_cycle import builder, compile_cycle
from thoughtcycle.nodes.base.services import Services, provider_of
from thoughtcycle.runtime import incognito
from thoughtcycle.runtime.incognito import ChatKey, IncognitoChats, surplus


def places(written: str) -> list[ChatKey]:
    return [(name[0], name[1:]) for name in written.split()]


@pytest.mark.parametrize(
    ("kept", "gone"),
    [
        ("a1", None),
        ("a1 a2", None),
        ("a1 a2 a3", "a1"),
        ("a2 b1 a3 a1", "a2"),
        ("a1 a2 b1 b2", None),
        ("a1 a2 b1 b2 c1", "a1"),
        ("a1 b1 b2 c1 c2", "b1"),
        ("a1 b1 c1 d1 e1", "a1"),
        ("b1 a1 c1 d1 a2", "a1"),
    ],
)
def test_what_goes_where_two_each_and_four_in_all_are_kept(kept: str, gone: str | None) -> None:
    found = surplus(places(kept), per_user=2, in_all=4)
    assert found == (places(gone)[0] if gone else None)


@pytest.fixture
def chats(monkeypatch: pytest.MonkeyPatch) -> IncognitoChats:
    monkeypatch.setattr(incognito, "surplus", lambda kept: surplus(kept, per_user=3, in_all=9))
    services = Services(None, None)  # type: ignore[arg-type]
    memory = SimpleNamespace(erasure=SimpleNamespace(erase_also=lambda place: None))
    return IncognitoChats(compile_cycle(builder(provider_of(services))), memory)  # type: ignore[arg-type]


def known_graphs(chats: IncognitoChats, user: str, names: Sequence[str]) -> list[str]:
    return [name for name in names if chats.graph_of(user, name) is not None]


@pytest.mark.spec("BY-10", "BY-5")
def test_a_users_many_chats_push_out_their_own_only(chats: IncognitoChats) -> None:
    for name in ("1", "2"):
        chats.graph_for_turn("bia", name)
    for number in range(50):
        chats.graph_for_turn("ana", str(number))
    assert known_graphs(chats, "bia", ["1", "2"]) == ["1", "2"]
    assert known_graphs(chats, "ana", [str(number) for number in range(50)]) == ["47", "48", "49"]


@pytest.mark.spec("BY-5", "BY-4")
def test_a_chat_has_a_state_of_its_own_until_it_is_dropped(chats: IncognitoChats) -> None:
    first, same, other = (
        chats.graph_for_turn("ana", "1"),
        chats.graph_for_turn("ana", "1"),
        chats.graph_for_turn("bia", "1"),
    )
    assert first is same and first is not other
    assert (
        isinstance(first.checkpointer, BoundedInMemorySaver) and first.checkpointer is not other.checkpointer
    )
    chats.drop("ana")
    assert chats.graph_of("ana", "1") is None and chats.graph_of("bia", "1") is other


class Talk(TypedDict):
    said: Annotated[list[str], add]
    answered: int


async def test_a_long_chat_keeps_its_last_turns_only() -> None:
    graph = StateGraph(Talk)
    graph.add_node("answer", lambda state: {"said": [f"re: {state['said'][-1]}"], "answered": 1})
    graph.add_edge(START, "answer")
    saver = BoundedInMemorySaver(keep_turns=2)
    talk = graph.compile(checkpointer=saver)
    place: RunnableConfig = {"configurable": {"thread_id": "t"}}
    sizes = []
    for number in range(9):
        found = await talk.ainvoke({"said": [str(number)], "answered": 0}, place)
        sizes.append((len(saver.storage["t"][""]), len(saver.writes), len(saver.blobs)))
    assert len(found["said"]) == 18 and len(set(sizes[3:])) == 1
    states = [state async for state in talk.aget_state_history(place)]
    begun = [state for state in states if state.next == (START,)]
    assert [len(state.values["said"]) for state in begun] == [16, 14]
    again = await talk.ainvoke(None, begun[1].config)
    assert again["said"][14:] == ["7", "re: 7"]

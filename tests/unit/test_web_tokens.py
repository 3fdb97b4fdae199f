"""The tokens of a turn: those of all its calls, counted where the turn runs."""

import threading
from collections.abc import AsyncIterator
from typing import Any

from langchain_core.language_models import BaseChatModel
from langchain_core.messages import AIMessageChunk
from langchain_core.outputs import ChatGenerationChunk, ChatResult
from langchain_core.runnables import RunnableConfig, RunnableLambda

from thoughtcycle.web.server.turns import TokenCount


class Talker(BaseChatModel):
    @property
    def _llm_type(self) -> str:
        return "talker"

    def _generate(self, *_: Any, **__: Any) -> ChatResult:
        raise AssertionError("it streams")

    async def _astream(self, *_: Any, **__: Any) -> AsyncIterator[ChatGenerationChunk]:
        for word in ("so ", "many ", "words"):
            yield ChatGenerationChunk(message=AIMessageChunk(word, id="said"))
        usage = {"input_tokens": 30, "output_tokens": 3, "total_tokens": 33}
        told = {"model_name": "talker"}
        yield ChatGenerationChunk(
            message=AIMessageChunk("", id="said", usage_metadata=usage, response_metadata=told)
        )


class Watched(TokenCount):
    """Tells from where it was called, and of what."""

    def __init__(self) -> None:
        super().__init__()
        self.called: list[tuple[str, threading.Thread]] = []

    def __getattribute__(self, name: str) -> Any:
        if name.startswith("on_"):
            self.called.append((name, threading.current_thread()))
        return super().__getattribute__(name)


async def test_the_calls_of_a_turn_are_counted_on_its_thread_and_nothing_else_is() -> None:
    count, model = Watched(), Talker()

    async def turn(message: str, config: RunnableConfig) -> None:
        for _ in range(2):
            assert [chunk async for chunk in model.astream(message, config)]

    await RunnableLambda(turn).ainvoke("hello", {"callbacks": [count]})
    assert count.total == 66
    assert {name for name, _ in count.called} == {"on_llm_new_token", "on_llm_end"}
    assert {thread for _, thread in count.called} == {threading.current_thread()}

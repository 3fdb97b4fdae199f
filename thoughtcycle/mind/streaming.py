"""Streams texts to the user: each travels as the tokens of a model do, in one envelope (TC-1)."""

import re
from collections.abc import AsyncIterator, Callable, Iterator
from functools import cached_property
from typing import Any

from langchain_core.caches import BaseCache
from langchain_core.callbacks import AsyncCallbackManagerForLLMRun, CallbackManagerForLLMRun
from langchain_core.language_models import BaseChatModel
from langchain_core.messages import AIMessage, AIMessageChunk, BaseMessage
from langchain_core.messages.ai import UsageMetadata
from langchain_core.outputs import ChatGeneration, ChatGenerationChunk, ChatResult
from langchain_core.runnables import RunnableConfig

OnText = Callable[[str], None]
CUT = "cut"
"""The `finish_reason` of a reply that ended before it was complete."""

_FEW_WORDS = re.compile(r".{16}\S*|.+", re.DOTALL)


def envelope(*, chat_history: bool, modal: str) -> dict[str, Any]:
    """The envelope of a text, as in a message's `additional_kwargs`: how it is used and shown."""
    return {"chat_history": chat_history, "modal": modal}


def pieces(text: str) -> list[str]:
    """`text` a few words at a time; each piece is an event to every listener, which costs some 0.1 ms."""
    return _FEW_WORDS.findall(text)


class TextModel(BaseChatModel):
    """A chat model that says the last message of its prompt, a few words at a time."""

    on_text: OnText | None = None
    streaming: bool = False
    """If set, `ainvoke` streams to listeners."""
    cache: BaseCache | bool | None = False

    @property
    def _llm_type(self) -> str:
        return "text"

    @cached_property
    def _serialized(self) -> dict[str, Any]:
        """The model's description for tracers; LangChain's own one visits all fields for each text."""
        return {"lc": 1, "type": "not_implemented", "id": self.lc_id(), "name": self.get_name()}

    def _generate(
        self,
        messages: list[BaseMessage],
        stop: list[str] | None = None,
        run_manager: CallbackManagerForLLMRun | None = None,
        **kwargs: Any,
    ) -> ChatResult:
        text = "".join(chunk.text for chunk in self._stream(messages))
        return ChatResult(generations=[ChatGeneration(message=AIMessage(text))])

    def _stream(
        self,
        messages: list[BaseMessage],
        stop: list[str] | None = None,
        run_manager: CallbackManagerForLLMRun | None = None,
        **kwargs: Any,
    ) -> Iterator[ChatGenerationChunk]:
        for piece in pieces(messages[-1].text) or [""]:
            if self.on_text:
                self.on_text(piece)
            yield text_chunk(piece)
        yield end_chunk("stop")

    async def _astream(
        self,
        messages: list[BaseMessage],
        stop: list[str] | None = None,
        run_manager: AsyncCallbackManagerForLLMRun | None = None,
        **kwargs: Any,
    ) -> AsyncIterator[ChatGenerationChunk]:
        for chunk in self._stream(messages):
            yield chunk


def text_chunk(text: str) -> ChatGenerationChunk:
    """A piece of a reply."""
    return ChatGenerationChunk(message=AIMessageChunk(content=text))


def end_chunk(finish: str, usage: UsageMetadata | None = None, model: str = "") -> ChatGenerationChunk:
    """The last chunk of a reply: finish reason, usage, model."""
    metadata = {"finish_reason": finish, **({"model_name": model} if model else {})}
    return ChatGenerationChunk(
        message=AIMessageChunk(content="", response_metadata=metadata, usage_metadata=usage)
    )


async def stream_model(
    model: BaseChatModel, messages: list[BaseMessage], *, chat_history: bool, modal: str, name: str
) -> AIMessage:
    """Streams the reply of `model` to `messages` through LangChain's callbacks, and returns it whole.

    `model` has `streaming=True` and is invoked, because LangGraph's newer event protocol needs that.
    The envelope rides in the run's metadata and on the final message, never on the pieces, because
    keys of pieces are concatenated.
    """
    wrapped = envelope(chat_history=chat_history, modal=modal)
    config = RunnableConfig(metadata=dict(wrapped), run_name=name)
    said = await model.ainvoke(messages, config)
    cut = {"cut": True} if said.response_metadata.get("finish_reason") == CUT else {}
    return AIMessage(
        content=said.text,
        id=said.id,
        additional_kwargs={**wrapped, **cut},
        response_metadata=said.response_metadata,
        usage_metadata=said.usage_metadata,
    )


async def speak(
    text: str, *, chat_history: bool, modal: str = "text", on_text: OnText | None = None, name: str = "speak"
) -> AIMessage:
    """Streams a given text as `Mind.reply` streams that of a model."""
    model = TextModel(on_text=on_text, streaming=True)
    return await stream_model(model, [AIMessage(text)], chat_history=chat_history, modal=modal, name=name)

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

BEGUN = "begun"
"""Marks, in `additional_kwargs`, a reply that is not whole yet."""

_FEW_WORDS = re.compile(r".{16}\S*|.+", re.DOTALL)


def envelope(*, chat_history: bool, modal: str) -> dict[str, Any]:
    """The envelope of a text, as in a message's `additional_kwargs`: how it is used and shown."""
    return {"chat_history": chat_history, "modal": modal}


def begin(said: AIMessage) -> AIMessage:
    """A reply that an action may go on with, or put into another envelope."""
    return said.model_copy(update={"additional_kwargs": {**said.additional_kwargs, BEGUN: True}})


def finish(said: AIMessage, *, chat_history: bool) -> AIMessage:
    """A begun reply that is whole now, in its envelope."""
    rest = {name: value for name, value in said.additional_kwargs.items() if name != BEGUN}
    return said.model_copy(update={"additional_kwargs": {**rest, "chat_history": chat_history}})


def pieces(text: str) -> list[str]:
    """`text` a few words at a time; each piece is an event to every listener, which costs some 0.1 ms."""
    return _FEW_WORDS.findall(text)


class ReplyModel(BaseChatModel):
    """A chat model whose runs may belong to one message: all of a reply has one id (TC-13)."""

    message_id: str | None = None
    """Of the message that the text belongs to; None: of its run."""

    async def _astream_chat_model_events(
        self, messages: list[BaseMessage], *, run_manager: AsyncCallbackManagerForLLMRun, **kwargs: Any
    ) -> AsyncIterator[Any]:
        """The events of LangChain's newer protocol, which by itself names each message after the run."""
        from langchain_core.language_models._compat_bridge import achunks_to_events  # newer versions only

        id = self.message_id or f"lc_run--{run_manager.run_id}"
        async for event in achunks_to_events(self._astream(messages, **kwargs), message_id=id):
            yield event


class TextModel(ReplyModel):
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
            yield text_chunk(piece, self.message_id)
        yield end_chunk("stop", id=self.message_id)

    async def _astream(
        self,
        messages: list[BaseMessage],
        stop: list[str] | None = None,
        run_manager: AsyncCallbackManagerForLLMRun | None = None,
        **kwargs: Any,
    ) -> AsyncIterator[ChatGenerationChunk]:
        for chunk in self._stream(messages):
            yield chunk


def text_chunk(text: str, id: str | None = None) -> ChatGenerationChunk:
    """A piece of a reply; `id` is that of its message, None that of the run."""
    return ChatGenerationChunk(message=AIMessageChunk(content=text, id=id))


def end_chunk(
    finish: str, usage: UsageMetadata | None = None, model: str = "", id: str | None = None
) -> ChatGenerationChunk:
    """The last chunk of a reply: finish reason, usage, model."""
    metadata = {"finish_reason": finish, **({"model_name": model} if model else {})}
    last = AIMessageChunk(
        content="", id=id, response_metadata=metadata, usage_metadata=usage, chunk_position="last"
    )
    return ChatGenerationChunk(message=last)


async def stream_model(
    model: ReplyModel,
    messages: list[BaseMessage],
    *,
    chat_history: bool,
    modal: str,
    name: str,
    begun: AIMessage | None = None,
) -> AIMessage:
    """Streams the reply of `model` to `messages` through LangChain's callbacks, and returns it whole.

    `model` has `streaming=True` and is invoked, because LangGraph's newer event protocol needs that.
    The envelope rides in the run's metadata and on the final message, never on the pieces, because
    keys of pieces are concatenated. `begun`: the message that the reply goes on with, under its id.
    """
    wrapped = envelope(chat_history=chat_history, modal=modal)
    config = RunnableConfig(metadata=dict(wrapped), run_name=name)
    said = await model.ainvoke(messages, config)
    cut = {"cut": True} if said.response_metadata.get("finish_reason") == CUT else {}
    return AIMessage(
        content=f"{begun.text if begun else ''}{said.text}",
        id=model.message_id or said.id,
        additional_kwargs={**wrapped, **cut},
        response_metadata=said.response_metadata,
        usage_metadata=said.usage_metadata,
    )


async def speak(
    text: str,
    *,
    chat_history: bool,
    modal: str = "text",
    on_text: OnText | None = None,
    name: str = "speak",
    begun: AIMessage | None = None,
) -> AIMessage:
    """Streams a given text as `Mind.reply` streams that of a model; `begun`: as its next paragraph."""
    text = f"{gap_after(begun)}{text}"
    model = TextModel(on_text=on_text, streaming=True, message_id=begun.id if begun else None)
    said: list[BaseMessage] = [AIMessage(text)]
    return await stream_model(model, said, chat_history=chat_history, modal=modal, name=name, begun=begun)


def gap_after(begun: AIMessage | None) -> str:
    """The characters between a begun reply and its next text."""
    return "\n\n" if begun and begun.text and not begun.text[-1].isspace() else ""

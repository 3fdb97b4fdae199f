"""A chat model made of other chat models: retries, falls back, keeps calls aside, tells how a reply ended."""

import asyncio
import logging
from collections.abc import AsyncGenerator, AsyncIterator, Callable
from contextlib import aclosing
from functools import partial
from typing import Any

from langchain_core.caches import BaseCache
from langchain_core.callbacks import AsyncCallbackManagerForLLMRun, CallbackManagerForLLMRun
from langchain_core.language_models import BaseChatModel
from langchain_core.language_models.base import LangSmithParams
from langchain_core.messages import AIMessage, BaseMessage
from langchain_core.messages.ai import UsageMetadata, add_usage
from langchain_core.outputs import ChatGeneration, ChatGenerationChunk, ChatResult
from langchain_core.runnables import RunnableBinding
from pydantic import ConfigDict

from thoughtcycle.errors import ModelFailed, ModelTransient, ModelUnreadable, ModelWithoutTools
from thoughtcycle.mind.answer_parser import ThoughtFilter
from thoughtcycle.mind.failures import call_with_retries, retry_delay, tools_refused, translating_errors
from thoughtcycle.mind.lazy import Lazy
from thoughtcycle.mind.model_settings import Endpoint
from thoughtcycle.mind.parameters import Parameters
from thoughtcycle.mind.streaming import CUT, OnText, ReplyModel, end_chunk, text_chunk
from thoughtcycle.mind.surrogates import join_surrogates
from thoughtcycle.mind.tool_calls import Call, CallCollector, CallSieve, Offer
from thoughtcycle.text_clipping import CHARACTERS_PER_TOKEN

_log = logging.getLogger(__name__)

_TOO_LONG = frozenset({"length", "max_tokens", "MAX_TOKENS"})
_WITHHELD = frozenset({"content_filter", "refusal", "SAFETY"})


class ModelSlot:
    """An endpoint and the chat model that serves it, built when first needed."""

    def __init__(
        self, endpoint: Endpoint, build: Callable[[], BaseChatModel], *, injected: bool = False
    ) -> None:
        self.endpoint = endpoint
        self.injected = injected
        """Whether another program has built the model: its parameters stay as they are."""
        self._model = Lazy(build)

    async def model(self) -> BaseChatModel:
        """The model; building one reads certificates, hence off the event loop."""
        with translating_errors(self.endpoint):
            return await self._model.ready()


class Attempt:
    """One call of one model, whose visible text comes in pieces; its calls of tools are kept aside."""

    def __init__(
        self, slot: ModelSlot, offer: Offer | None = None, parameters: Parameters | None = None
    ) -> None:
        self.slot = slot
        self.usage: UsageMetadata | None = None
        self.finish: str | None = None
        self.calls: list[Call] = []
        """Complete when the stream has ended."""
        self._offer = offer
        self._parameters = None if slot.injected else parameters
        self._heard = False

    async def stream(self, messages: list[BaseMessage]) -> AsyncGenerator[str, None]:
        """The text without thoughts and calls, in pieces, of a longer reply its beginning.

        Raises ModelFailed unless it ends properly and in time.
        """
        model = await self.slot.model()
        said, dropped, left = False, [], self.slot.endpoint.reply_tokens * CHARACTERS_PER_TOKEN
        async with aclosing(self._texts(model, messages)) as texts:
            async for text in texts:
                said, left, text = True, left - len(text), text[:left]
                if self._offer and self._offer.calls_only:
                    dropped.append(text)
                else:
                    yield text
                if left < 0:
                    raise ModelFailed("model_length", **self.slot.endpoint.named)
        self._check(model, said or bool(self.calls))
        if not (said or self.calls):
            raise ModelUnreadable(**self.slot.endpoint.named)
        if dropped and self.calls:
            yield "".join(dropped)

    async def _texts(self, model: BaseChatModel, messages: list[BaseMessage]) -> AsyncGenerator[str, None]:
        names = self._offer.names if self._offer else ()
        thoughts, written, collected = ThoughtFilter(), CallSieve(names), CallCollector()
        async with aclosing(_timed(self.slot.endpoint, _chunks(self, model, messages))) as chunks:
            async for message in chunks:
                self._note(message)
                collected.feed(message)
                text = thoughts.feed(message.text)
                if text := written.feed(text) if names else text:
                    yield text
        text = thoughts.finish()
        if text := written.feed(text) + written.finish() if names else text:
            yield text
        self.calls = [*collected.calls(names), *written.calls]

    def bound(self, model: BaseChatModel) -> tuple[BaseChatModel, dict[str, Any]]:
        """The model to call and the arguments that offer it the tools; raises ModelWithoutTools."""
        if not (self._offer and self._offer.tools):
            return model, {}
        try:
            binding = model.bind_tools([dict(tool) for tool in self._offer.tools])
        except NotImplementedError:
            raise ModelWithoutTools(named=True, **self.slot.endpoint.named) from None
        if isinstance(binding, RunnableBinding) and isinstance(binding.bound, BaseChatModel):
            return binding.bound, dict(binding.kwargs)
        return (binding, {}) if isinstance(binding, BaseChatModel) else (model, {})

    @property
    def offers(self) -> bool:
        """Whether tools are offered."""
        return bool(self._offer and self._offer.tools)

    async def whole(self, messages: list[BaseMessage]) -> AIMessage:
        """The answer in one piece, thoughts included; raises ModelFailed like `stream`."""
        model = await self.slot.model()
        text = ""
        if model._should_stream(async_api=True):  # built with streaming=True: it knows no other way
            async with aclosing(_chunks(self, model, messages)) as chunks:
                async for message in chunks:
                    self._note(message)
                    text += message.text
        else:
            async with aclosing(_chunks(self, model, messages, streamed=False)) as chunks:
                message = await anext(chunks)
            self._note(message)
            text = message.text or _calls_as_text(message)
        self._check(model, bool(text))
        metadata = {"finish_reason": self.finish, "model_name": self.slot.endpoint.model}
        return AIMessage(join_surrogates(text), usage_metadata=self.usage, response_metadata=metadata)

    async def optional(self) -> dict[str, Any]:
        """The optional parameters to send."""
        return await self._parameters.accepted(self.slot.endpoint) if self._parameters else {}

    async def refused(self, error: Exception, sent: dict[str, Any]) -> bool:
        """Whether the error is about parameters that were sent, which are left out from now on."""
        known = self._parameters
        return known is not None and await known.learn(error, sent, self.slot.endpoint)

    def _note(self, message: BaseMessage) -> None:
        self._heard = True
        usage = getattr(message, "usage_metadata", None)
        if usage:
            self.usage = add_usage(self.usage, usage)
        metadata = message.response_metadata
        self.finish = metadata.get("finish_reason") or metadata.get("stop_reason") or self.finish

    def _check(self, model: BaseChatModel, said: bool) -> None:
        """Raises ModelFailed by the finish reason: a stream that ends early looks complete to the client."""
        endpoint = self.slot.endpoint
        if not self._heard:
            raise ModelFailed("model_protocol", **endpoint.named)
        if self.finish in _TOO_LONG:
            raise ModelFailed("model_length", **endpoint.named)
        if self.finish in _WITHHELD:
            raise ModelFailed("model_withheld", **endpoint.named)
        if not said and self.offers and self.finish is not None:
            raise ModelWithoutTools(named=False, **endpoint.named)
        if self.finish is None and (not said or _reports_finish_reason(model)):
            raise ModelTransient("model_cut", **endpoint.named)


class ModelCall(ReplyModel):
    """Asks the models of `slots` in turn: each with its retries, the next when one fails.

    Listeners see one run with one message id, whatever was tried before its first token. After that there
    is no second try: the reply ends with `finish_reason` "cut". The models' inner methods are called,
    because their own runs would reach the listeners a second time.
    """

    model_config = ConfigDict(arbitrary_types_allowed=True)

    slots: tuple[ModelSlot, ...]
    parameters: Parameters | None = None
    offer: Offer | None = None
    on_calls: Callable[[list[Call]], object] | None = None
    """Called with the calls of the answer, when it is complete."""
    on_text: OnText | None = None
    gap: str = ""
    """Said before the first text."""
    streaming: bool = False
    cache: BaseCache | bool | None = False

    @property
    def _llm_type(self) -> str:
        return "model-call"

    def _get_ls_params(self, stop: list[str] | None = None, **kwargs: Any) -> LangSmithParams:
        return LangSmithParams(ls_model_type="chat", ls_model_name=self.slots[0].endpoint.model)

    def _generate(
        self,
        messages: list[BaseMessage],
        stop: list[str] | None = None,
        run_manager: CallbackManagerForLLMRun | None = None,
        **kwargs: Any,
    ) -> ChatResult:
        raise NotImplementedError("calls of models are asynchronous: use ainvoke or astream")

    async def _agenerate(
        self,
        messages: list[BaseMessage],
        stop: list[str] | None = None,
        run_manager: AsyncCallbackManagerForLLMRun | None = None,
        **kwargs: Any,
    ) -> ChatResult:
        for number, slot in enumerate(self.slots, 1):
            try:
                await slot.model()
                message = await call_with_retries(slot.endpoint, partial(self._whole, slot, messages))
            except ModelFailed as failure:
                self._hand_over(failure, number)
            else:
                return ChatResult(generations=[ChatGeneration(message=message)])
        raise AssertionError("the last slot answers or raises")

    async def _astream(
        self,
        messages: list[BaseMessage],
        stop: list[str] | None = None,
        run_manager: AsyncCallbackManagerForLLMRun | None = None,
        **kwargs: Any,
    ) -> AsyncIterator[ChatGenerationChunk]:
        attempt, first, rest = await self._opened(messages)
        finish = "stop"
        async with aclosing(rest):
            try:
                if first is not None:
                    yield self._said(self.gap + first)
                async for text in rest:
                    yield self._said(text)
            except ModelFailed as failure:
                _log.warning("a reply was cut: %s", failure)
                finish = CUT
        if self.on_calls:
            self.on_calls([] if finish == CUT else attempt.calls)
        yield end_chunk(finish, attempt.usage, attempt.slot.endpoint.model, self.message_id)

    async def _opened(
        self, messages: list[BaseMessage]
    ) -> tuple[Attempt, str | None, AsyncGenerator[str, None]]:
        """The first attempt that gives a token or ends well, that token, and the stream of the others."""
        for number, slot in enumerate(self.slots, 1):
            for left in range(slot.endpoint.max_retries, -1, -1):
                attempt = Attempt(slot, self.offer, self.parameters)
                stream = attempt.stream(messages)
                try:
                    return attempt, await anext(stream, None), stream
                except ModelWithoutTools:
                    raise
                except ModelFailed as failure:
                    pause = retry_delay(failure)
                    if left == 0 or pause is None:
                        self._hand_over(failure, number)
                        break
                await asyncio.sleep(pause)
        raise AssertionError("the last slot answers or raises")

    def _hand_over(self, failure: ModelFailed, number: int) -> None:
        """Lets the slot after `number` try, or fails when there is none."""
        if number == len(self.slots):
            raise failure
        _log.warning("the fallback model takes over: %s", failure)

    async def _whole(self, slot: ModelSlot, messages: list[BaseMessage]) -> AIMessage:
        return await Attempt(slot, parameters=self.parameters).whole(messages)

    def _said(self, text: str) -> ChatGenerationChunk:
        if self.on_text:
            self.on_text(text)
        return text_chunk(text, self.message_id)


def _calls_as_text(message: BaseMessage) -> str:
    """The calls of a model that answers with one though no tool was offered: name, then input."""
    collected = CallCollector()
    collected.feed(message)
    return collected.text()


async def _chunks(
    attempt: Attempt, model: BaseChatModel, messages: list[BaseMessage], *, streamed: bool = True
) -> AsyncGenerator[BaseMessage, None]:
    """The chunks of the model's stream; the whole answer as one chunk when it cannot or shall not stream.

    A request that is refused for an optional parameter is made again without it.
    """
    bound, tools = attempt.bound(model)
    sent = await attempt.optional()
    try:
        if not (streamed and bound._should_stream(async_api=True, stream=True, **tools)):
            yield _with_generation_info((await bound._agenerate(messages, **sent, **tools)).generations[0])
            return
        async for chunk in bound._astream(messages, **sent, **tools):
            yield _with_generation_info(chunk)
    except Exception as error:
        if await attempt.refused(error, sent):
            async for again in _chunks(attempt, model, messages, streamed=streamed):
                yield again
            return
        if attempt.offers and (refused := tools_refused(error, attempt.slot.endpoint)):
            raise refused from None
        raise


def _with_generation_info(generation: ChatGeneration) -> BaseMessage:
    """The message, with the metadata of its generation."""
    message = generation.message
    message.response_metadata = {**(generation.generation_info or {}), **message.response_metadata}
    return message


async def _timed(
    endpoint: Endpoint, chunks: AsyncGenerator[BaseMessage, None]
) -> AsyncGenerator[BaseMessage, None]:
    """`chunks` within the time of the attempt; raises ModelFailed by cause."""
    deadline = asyncio.get_running_loop().time() + endpoint.timeout
    async with aclosing(chunks):
        while True:
            with translating_errors(endpoint):
                async with asyncio.timeout_at(deadline):
                    message = await anext(chunks, None)
            if message is None:
                return
            yield message


def _reports_finish_reason(model: BaseChatModel) -> bool:
    """Whether this client always reports a finish reason (OpenAI's protocol does)."""
    return any(base.__name__ == "BaseChatOpenAI" for base in type(model).__mro__)

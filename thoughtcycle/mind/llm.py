"""The mind that asks language models, one per role (TC-14)."""

import logging
from collections.abc import Mapping
from functools import partial
from typing import Any, TypeVar, cast
from uuid import uuid4

from langchain_core.language_models import BaseChatModel
from langchain_core.messages import AIMessage, BaseMessage
from langchain_core.runnables import RunnableConfig
from pydantic import BaseModel

from thoughtcycle.errors import ModelFailed, ModelUnreadable, ModelWithoutTools
from thoughtcycle.mind.answer_form import response_format
from thoughtcycle.mind.answer_parser import parse, without_thoughts
from thoughtcycle.mind.base import MESSAGE_TOKENS, Decision, Mind, Question, Usage, View
from thoughtcycle.mind.clients import Clients
from thoughtcycle.mind.coercion import UnusableAnswer
from thoughtcycle.mind.model_call import ModelCall, ModelSlot
from thoughtcycle.mind.model_settings import (
    BACKGROUND_TIMEOUT,
    CONTEXT_TOKENS,
    REPLY_TOKENS,
    ROLES,
    TIMEOUT,
    Decisions,
    Endpoint,
    ModelRole,
    ModelSettings,
    host_of,
)
from thoughtcycle.mind.parameters import EFFORT, Parameters
from thoughtcycle.mind.prompting import ask_prompt, example_of, repair_prompt, reply_prompt, tool_prompt
from thoughtcycle.mind.refusals import Parameter, Refusals, RefusalStore
from thoughtcycle.mind.streaming import OnText, gap_after, stream_model
from thoughtcycle.mind.tool_calls import Call, Offer

T = TypeVar("T")

_log = logging.getLogger(__name__)
THOUGHT_TOKENS = 4_000
"""Tokens that a model may think with beside its reply: servers count both together."""
PROMPT_TOKENS = 10_000
"""The rest of a prompt, about: persona, task, tools, memory, history, files."""


class LLMMind(Mind):
    """Puts questions to chat models; their answers are data, validated before use.

    A call gets `timeouts` seconds per attempt, one retry after a transient failure, then the
    fallback model; an answer that does not fit gets one request to repair it.
    """

    def __init__(
        self,
        models: Mapping[ModelRole, BaseChatModel],
        *,
        timeouts: Mapping[ModelRole, float] | None = None,
        fallback: BaseChatModel | None = None,
        decisions: Decisions = "auto",
        reply_tokens: int = REPLY_TOKENS,
        context_tokens: int = CONTEXT_TOKENS,
    ) -> None:
        """Takes any LangChain chat models; without `background`, `reasoning` serves that role.

        `decisions`: by one call with tools, by name, or (auto) with tools where the model takes them; by
        name where `reasoning_heavy` is another model than `chat`.

        `reply_tokens`: the longest reply; `context_tokens`: what the models read at once.
        Raises ValueError when another role has no model.
        """
        served = dict(models)
        if "reasoning" in served:
            served.setdefault("background", served["reasoning"])
        if missing := [role for role in ROLES if role not in served]:
            raise ValueError(f"no model for the roles {missing}")
        seconds = {"background": BACKGROUND_TIMEOUT, **(timeouts or {})}
        slot = partial(_slot, reply_tokens=reply_tokens)
        self._slots = {role: slot(role, served[role], seconds.get(role, TIMEOUT)) for role in ROLES}
        self._fallback = (slot("fallback", fallback, TIMEOUT),) if fallback else ()
        self.message_tokens = _room(context_tokens, reply_tokens)
        self._clients: Clients | None = None
        self.refusals = Refusals()
        self._decisions = _decisions(decisions, served["reasoning_heavy"] is served["chat"])

    @classmethod
    def from_settings(cls, settings: ModelSettings) -> "LLMMind":
        """The mind that the settings describe; its clients are built when first asked.

        Close it with `aclose`, on the event loop that used it.
        """
        mind, clients = cls.__new__(cls), Clients()
        mind._slots = {role: _built(settings.endpoint(role), clients) for role in ROLES}
        fallback = settings.fallback_endpoint()
        mind._fallback = (_built(fallback, clients),) if fallback else ()
        mind._clients = clients
        mind.refusals = Refusals()
        mind.message_tokens = _room(settings.context, settings.reply_tokens)
        mind._decisions = _decisions(settings.decisions, settings.decides_with_chat)
        return mind

    def keep_refusals(self, store: RefusalStore) -> None:
        """See Mind.keep_refusals."""
        self.refusals.attach(store)

    async def aclose(self) -> None:
        """Closes the connections that this mind opened; injected models are left alone."""
        if self._clients:
            await self._clients.aclose()

    async def warm(self) -> None:
        """Builds the clients, too, which takes a second; logs a failure, which the first question raises."""
        await super().warm()
        for slot in (*self._slots.values(), *self._fallback):
            try:
                await slot.model()
            except ModelFailed as failure:
                _log.warning("%s: %s", slot.endpoint.role, failure.code)

    async def ask(self, question: Question[T], view: View) -> T:
        """See Mind.ask; the run is tagged `nostream`, and the request itself is not streamed."""
        messages = ask_prompt(question, view)
        answer = await self._answer(question, view, messages)
        try:
            return _read(question, view, answer)
        except UnusableAnswer as problem:
            _log.info("the answer to %s is unusable, asked again: %s", question.name, problem)
            messages = repair_prompt(question, view, messages, answer, str(problem))
        answer = await self._answer(question, view, messages)
        try:
            return _read(question, view, answer)
        except UnusableAnswer as problem:
            _log.info("the answer to %s is unusable again: %s", question.name, problem)
            endpoint = self._slots[question.role].endpoint
            raise ModelUnreadable(**endpoint.named, question=question.name) from None

    async def decide(
        self,
        view: View,
        begun: AIMessage | None = None,
        *,
        last: bool = False,
        ordered: bool = False,
        on_text: OnText | None = None,
    ) -> Decision | None:
        """See Mind.decide."""
        auto, calls, endpoint = self._decisions == "auto", list[Call](), self._slots["chat"].endpoint
        if self._decisions == "names" or (auto and await self.refusals.holds("tools", endpoint)):
            return None
        tools = [] if last else [card.tool for card in view.actions if card.tool is not None]
        names = [] if last else [card.name for card in view.actions]
        call = ModelCall(
            slots=self._candidates("chat"),
            parameters=self._parameters({"max_tokens": THOUGHT_TOKENS}),
            offer=Offer(tools, names, calls_only=ordered and auto),
            on_calls=calls.extend,
            on_text=on_text,
            message_id=begun.id if begun else str(uuid4()),
            gap=gap_after(begun),
            streaming=True,
        )
        messages = tool_prompt(view, begun.text if begun else "")
        try:
            reply = await stream_model(
                call, messages, chat_history=False, modal="text", name="router#tools", begun=begun
            )
        except ModelWithoutTools as failure:
            if not auto:
                raise
            if failure.named:
                await self.refusals.learn("tools", endpoint)
            return None
        except ModelUnreadable as failure:
            _log.warning("the turn is decided by names: %s", failure.code)
            return None
        _record("chat", reply, view)
        if calls or reply.text:
            return Decision(tuple(calls), reply)
        await self.refusals.learn("tools", endpoint)  # it was ordered to act and only talks
        return None

    async def reply(
        self,
        question: Question[str],
        view: View,
        *,
        chat_history: bool,
        modal: str = "text",
        on_text: OnText | None = None,
    ) -> AIMessage:
        """See Mind.reply."""
        call = ModelCall(
            slots=self._candidates(question.role),
            parameters=self._parameters({"max_tokens": THOUGHT_TOKENS}),
            on_text=on_text,
            streaming=True,
        )
        messages = reply_prompt(question, view)
        said = await stream_model(call, messages, chat_history=chat_history, modal=modal, name=question.name)
        _record(question.role, said, view)
        return said

    async def _answer(self, question: Question[T], view: View, messages: list[BaseMessage]) -> str:
        call = ModelCall(
            slots=self._candidates(question.role),
            parameters=self._parameters({"temperature": 0, "response_format": response_format(question)}),
            disable_streaming=True,
        )
        config = RunnableConfig(run_name=question.name, tags=["nostream"])
        said = await call.ainvoke(messages, config)
        _record(question.role, said, view)
        return said.text

    def _parameters(self, wanted: Mapping[Parameter, Any]) -> Parameters:
        return Parameters({"reasoning_effort": EFFORT, **wanted}, self.refusals)

    def _candidates(self, role: ModelRole) -> tuple[ModelSlot, ...]:
        return (self._slots[role], *self._fallback)


def _read(question: Question[T], view: View, answer: str) -> T:
    """The value of an answer, and a note for each item that is left out. Raises UnusableAnswer."""
    if question.read is not None:
        return question.read(without_thoughts(answer))
    left_out: list[str] = []
    value: T = parse(answer, question.schema, left_out)
    if example := example_of(question, view):
        value = _without_copies(value, parse(example, question.schema), left_out)
    if left_out:
        _log.info("of the answer to %s is left out: %s", question.name, "; ".join(left_out))
        view.left_out.extend(left_out)
    return value


def _without_copies(value: T, example: T, left_out: list[str]) -> T:
    """`value` without what a small model copies from the example of its prompt; a search may equal it.

    Raises UnusableAnswer where nothing else is left.
    """
    if isinstance(value, list) and isinstance(example, list):
        copied = [item for item in value if isinstance(item, BaseModel) and item in example]
        if not copied:
            return value
        left_out.append(f"{len(copied)} of the example")
        own: Any = [item for item in value if item not in copied]
        if own:
            return cast(T, own)
    elif value != example:
        return value
    raise UnusableAnswer("it repeats the example")


def _decisions(chosen: Decisions, one_model: bool) -> Decisions:
    """The way of deciding: a model configured for decisions alone decides by names."""
    return "names" if chosen == "auto" and not one_model else chosen


def _room(context: int, reply: int) -> int:
    """Tokens that are left for the user's message beside the rest of a prompt and the reply."""
    return max(MESSAGE_TOKENS, context - PROMPT_TOKENS - reply)


def _slot(role: str, model: BaseChatModel, timeout: float, reply_tokens: int) -> ModelSlot:
    """The slot of an injected model."""
    named = getattr(model, "model_name", None) or getattr(model, "model", None) or model._llm_type
    address = getattr(model, "openai_api_base", None) or getattr(model, "base_url", None)
    base_url = str(address) if address and host_of(str(address)) else None
    return ModelSlot(
        Endpoint(role, str(named), base_url=base_url, timeout=timeout, reply_tokens=reply_tokens),
        lambda: model,
        injected=True,
    )


def _built(endpoint: Endpoint, clients: Clients) -> ModelSlot:
    return ModelSlot(endpoint, partial(clients.chat, endpoint))


def _record(role: str, said: AIMessage, view: View) -> None:
    """Adds the tokens of a call, if the server reported them."""
    if usage := said.usage_metadata:
        model = said.response_metadata.get("model_name", "")
        view.usage.append(Usage(role, model, usage["input_tokens"], usage["output_tokens"]))

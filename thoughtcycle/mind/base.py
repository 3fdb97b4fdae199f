"""The interface of minds, which answer questions by a model or by rules, and the questions."""

import asyncio
from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any, ClassVar, Generic, Literal, TypeVar

from langchain_core.messages import AIMessage

from thoughtcycle.language.parse import rule_batches
from thoughtcycle.memory.model import Recalled, Step, Utterance
from thoughtcycle.mind.model_settings import ModelRole
from thoughtcycle.mind.refusals import RefusalStore
from thoughtcycle.mind.tool_calls import Call
from thoughtcycle.prompts.loader import LANGUAGES, Language

T = TypeVar("T")

MESSAGE_TOKENS = 2_000
"""Tokens of a message that every model is given, however little it reads at once."""

Explain = Literal["auto", "on", "off"]
"""Who tells what actions did: Finish in its one reply (auto), each action by itself (on), nobody (off)."""


@dataclass(frozen=True)
class ActionCard:
    """The description of an action for the router."""

    name: str
    when: str
    called: tuple[str, ...] = ()
    """How else a model may call it, in any language."""
    urgency: "Callable[[View], float]" = lambda view: 0.0
    """How strongly the rules call for it now, in [0, 1]; read by the rule-based mind only."""
    tool: Mapping[str, Any] | None = None
    """Its definition, in OpenAI's form, where a model may call it as a tool."""


@dataclass(frozen=True)
class Usage:
    """Tokens of one model call."""

    role: str
    model: str
    input: int
    output: int


@dataclass(frozen=True)
class View:
    """All that a mind sees of a turn: data, never instructions."""

    message: str
    now: datetime
    """The message's own time, in the user's time zone."""
    language: Language = "pt"
    persona: str = "Katherine"
    history: tuple[Utterance, ...] = ()
    """The recent window before this message, oldest first."""
    shown: tuple[Utterance, ...] = ()
    """Texts that the assistant has already said in this cycle."""
    steps: tuple[Step, ...] = ()
    recalled: tuple[Recalled, ...] = ()
    briefing: str = ""
    """Long-term memory."""
    briefed: frozenset[str] = frozenset()
    """Ids of the memories in it."""
    session: str = ""
    """Summary of this conversation, beside its recent history."""
    actions: tuple[ActionCard, ...] = ()
    withheld: bool = False
    """Memory is paused, and the message does not ask to keep anything."""
    explain: Explain = "auto"
    message_tokens: int = MESSAGE_TOKENS
    """Of a longer message head and tail are shown (BY-7)."""
    usage: list[Usage] = field(default_factory=list, compare=False)
    """Every model call adds its tokens here."""
    left_out: list[str] = field(default_factory=list, compare=False)
    """Every answer adds why items of it could not be read; no word of them."""


@dataclass(frozen=True)
class Decision:
    """The answer of a model that decides with tools: actions to take, and the reply so far."""

    calls: tuple[Call, ...]
    """The next actions, in order; none: the reply is whole."""
    reply: AIMessage
    """All of the turn's reply up to now, streamed under one id; it may be empty where actions follow."""


@dataclass(frozen=True)
class Question(Generic[T]):
    """A question to a mind: prompt and answer schema for a model, and the rule that does without one."""

    name: str
    """`<file>#<section>` below `prompts/<language>/`, e.g. `actions/memory_search#ask`."""
    role: ModelRole
    schema: type[T] | Any
    """Type of the answer: `str`, or anything that a pydantic TypeAdapter validates."""
    by_rules: Callable[[View], T | None]
    """The answer without a model; None when the rules have none."""
    values: Callable[[View], Mapping[str, object]] = lambda view: {}
    """Fills the placeholders of the prompt that are not those of every prompt."""
    package: str = "thoughtcycle.prompts"
    read: Callable[[str], T] | None = None
    """Reads the text of an answer that the schema does not describe; raises UnusableAnswer."""
    form: Mapping[str, Any] | None = None
    """JSON schema of the answer for servers that keep to one; None: that of `schema`."""
    by_id: bool = False
    """Whether the answer names memories by ids: the prompt then shows all, those of the briefing too."""


class Mind(ABC):
    """Answers questions. Implementations: `LLMMind` over model roles, `RuleMind` over word lists."""

    by_rules: ClassVar[bool] = False
    """Whether no model is asked: data for prompts alone need not be read then."""
    message_tokens: int | None = None
    """Tokens of a message that its models are given; None: all of it."""

    def keep_refusals(self, store: RefusalStore) -> None:
        """Keeps in the database, from now on, what its models refuse; nothing without a model."""
        return

    async def warm(self) -> None:
        """Prepares the mind before the first message: half a second to compile the rules."""
        for language in LANGUAGES:
            await asyncio.to_thread(rule_batches, language)

    @abstractmethod
    async def ask(self, question: Question[T], view: View) -> T:
        """The answer, valid by the question's schema. Never streams to the client.

        Raises ModelFailed when there is no usable answer.
        """

    async def decide(
        self,
        view: View,
        begun: AIMessage | None = None,
        *,
        last: bool = False,
        ordered: bool = False,
        on_text: Callable[[str], None] | None = None,
    ) -> Decision | None:
        """Decides with tools: one streamed call, whose text is the reply; None where it decides by names.

        The actions of the view that are tools may be called, unless it is the `last` call. `begun` is the
        reply so far, which the text goes on with. `ordered`: the user's words order an action; a model
        that then calls none is asked by names. A failure before the first token raises ModelFailed.
        """
        return None

    @abstractmethod
    async def reply(
        self,
        question: Question[str],
        view: View,
        *,
        chat_history: bool,
        modal: str = "text",
        on_text: Callable[[str], None] | None = None,
    ) -> AIMessage:
        """A text for the user, streamed on the way through LangChain's callbacks.

        The message carries the envelope (TC-1) in `additional_kwargs`; the run's metadata carries it too.
        `on_text` is called with every piece just before it is streamed, so that a cancelled caller knows the
        text so far. A failure after the first token returns the text so far, marked
        `additional_kwargs["cut"] = True`; a failure before it raises ModelFailed.
        """

"""The base class of actions: a name, a question to the mind, the work, and a reply."""

import asyncio
import hashlib
import json
import logging
from abc import ABC, abstractmethod
from collections.abc import Collection, Sequence
from dataclasses import dataclass, replace
from typing import Any, ClassVar, Generic, Literal, TypeVar

from langchain_core.messages import AIMessage
from langgraph.graph.message import add_messages

from thoughtcycle.errors import ModelFailed, ModelUnreadable
from thoughtcycle.memory.model import Recalled, Step
from thoughtcycle.mind.answer_form import json_schema
from thoughtcycle.mind.answer_parser import parse
from thoughtcycle.mind.base import Question, View
from thoughtcycle.mind.coercion import UnusableAnswer
from thoughtcycle.mind.rules import RuleMind
from thoughtcycle.mind.streaming import finish, speak
from thoughtcycle.nodes.base.cycle import as_cycle_message
from thoughtcycle.nodes.base.state import State, StateUpdate
from thoughtcycle.nodes.base.turn import Turn
from thoughtcycle.nodes.recall import rebrief
from thoughtcycle.prompts.loader import LANGUAGES, Language, texts

T = TypeVar("T")

log = logging.getLogger(__name__)

LONGEST_KEY = 2_000
"""Most characters of an action's input that its step stores in full."""


Status = Literal["done", "nothing", "refused", "asked"]


@dataclass(frozen=True)
class Outcome:
    """The result of an action, for the router and for the text about it."""

    summary: str
    """One short sentence; never the content of what was erased."""
    status: Status = "done"
    found: Sequence[str] = ()
    about: Sequence[str] = ()
    """Topics of the erased memories, as the user named them."""
    final: bool = False
    """Whether they are erased with no way back, or shall be."""
    recalled: list[Recalled] | None = None
    """The thread's recalled memories afterwards; None: unchanged."""
    outdated: Collection[str] = ()
    """Ids of the memories whose text it replaced or hid: this turn shows nothing of that text any more."""


class Action(ABC, Generic[T]):
    """One action of the cycle. A subclass in its own module is all that a new action needs.

    Its texts live in `<package>/<language>/actions/<file>.md`: `when` (for the router), `status`,
    `ask` (prompt of `question`), `tell` (prompt of `reply`).
    """

    name: ClassVar[str]
    """As the router names it and as it is drawn."""
    file: ClassVar[str]
    """Name of its text file, without folder and suffix."""
    ends: ClassVar[bool] = False
    """Whether the cycle ends after it."""
    writes: ClassVar[bool] = False
    """Whether it adds to the memory; such actions are off in incognito chats."""
    package: ClassVar[str] = "thoughtcycle.prompts"
    question: ClassVar[Question[Any] | None] = None
    """Asked before the action runs; the answer is its input. A model that calls the action gives it."""
    argument: ClassVar[str] = "input"
    """Name of the input in such a call, where the question's schema is no object."""
    by_reply: ClassVar[bool] = False
    """Whether a reply without a call stands for the action, so that it is no tool."""
    reply: ClassVar[Question[str]]
    """The text it streams."""
    chat_history: ClassVar[bool] = True
    """Whether later decisions may read that text."""

    def urgency(self, view: View) -> float:
        """How strongly the rules call for this action now, in [0, 1]; not shown to a model."""
        return 0.0

    @abstractmethod
    async def act(self, given: T, turn: Turn) -> Outcome:
        """Does it. `given` is the answer to `question`, valid by its schema; None without a question."""

    def input_key(self, given: T) -> Any:
        """`given` as plain JSON; equal keys mean the same work (TC-4)."""
        return given

    def whole(self, given: T, known: Collection[str]) -> T:
        """`given` with the ids of `known` memories whole where it has their short form."""
        return given

    def when(self, language: Language) -> str:
        """When to use it: its text for the router."""
        return texts(language, f"actions/{self.file}", self.package)["when"]

    def called(self) -> tuple[str, ...]:
        """How else a model may call it, in the words of every language."""
        files = (texts(language, f"actions/{self.file}", self.package) for language in LANGUAGES)
        listed = [file["called"].split(", ") for file in files if "called" in file]
        return tuple(dict.fromkeys(name for names in listed for name in names))

    def say(self, language: Language, section: str, **values: object) -> str:
        """One of its own texts, filled."""
        return texts(language, f"actions/{self.file}", self.package).fill(section, **values)

    def tool(self, language: Language) -> dict[str, Any]:
        """The action as a model may call it, in OpenAI's form."""
        own = texts(language, f"actions/{self.file}", self.package)
        usage = "\n".join(own[section] for section in ("when", "call") if section in own)
        function = {"name": self.name, "description": usage, "parameters": self.tool_schema()}
        return {"type": "function", "function": function}

    def tool_schema(self) -> dict[str, Any]:
        """JSON schema of the arguments of a call."""
        if self.question is None:
            return {"type": "object", "properties": {}}
        form: Any = self.question.schema
        schema = json_schema(form)
        if schema.get("type") == "object":
            return {**schema}
        return {"type": "object", "properties": {self.argument: schema}, "required": [self.argument]}

    def read_call(self, given: Any, left_out: list[str]) -> T:
        """The input of a call, valid by the question's schema; `left_out` takes why items were left out.

        Raises UnusableAnswer.
        """
        assert self.question is not None
        value = given.get(self.argument, given) if isinstance(given, dict) else given
        text = value if isinstance(value, str) else json.dumps(value)
        valid: T = parse(text, self.question.schema, left_out)
        return valid

    def status(self, turn: Turn, section: str = "status") -> None:
        """Streams one of its status lines."""
        turn.status(self.say(turn.language, section))

    async def run(self, turn: Turn) -> StateUpdate:
        """Asks, guards against repetition, acts, replies and records: the node of this action."""
        if not self.ends:
            self.status(turn)
        view = turn.view()
        if self.writes and view.withheld:  # whatever a model decided
            outcome = Outcome(turn.texts("cycle")["paused.unkept"], "refused")
            return await self._record(turn, view, _step(self.name, None, outcome, "refused"), None)
        given, by_rules = await self._given(turn, view) if self.question else (None, False)
        given = self.whole(given, [memory["id"] for memory in view.recalled])  # type: ignore[arg-type]
        key = _plain(self.input_key(given))
        inputs = [step["input"] for step in view.steps if step["action"] == self.name]
        if self.question and key in inputs:
            outcome = Outcome(turn.texts("cycle")["repeated"])
            return await self._record(turn, view, _step(self.name, key, outcome, "repeated"), None)
        outcome = await self.act(given, turn)
        step = _step(self.name, key, outcome, outcome.status)
        if by_rules:
            step["by"] = "rules"
        turn, changes = await _renewed(turn, outcome)
        after = turn.view()
        done = (step,) if self.question or not self.ends else ()  # what only answers is done with its text
        after = replace(after, steps=(*after.steps, *done), usage=view.usage)
        speaks = self.ends or (turn.explain == "on" and outcome.status != "asked")
        text = await self._tell(turn, after, step) if speaks else None
        if text is None or not text.additional_kwargs.get("cut"):
            return await self._record(turn, view, step, text, changes)
        update = await self._record(turn, view, {**step, "status": "cut"}, text, changes)
        if self.ends:  # half a reply must not pass for a whole one
            failure = ModelFailed("reply_cut")
            notice = await speak(failure.text(turn.language), chat_history=False)
            update |= {"messages": [*update["messages"], notice], "failure": failure.code}
        return update

    async def _given(self, turn: Turn, view: View) -> tuple[T, bool]:
        """The input, and whether it is that of the rules: no form of an answer ends a turn.

        That of the model's call, where it can be read, else the answer to the question, else the rules'.
        Raises ModelFailed where the rules have none.
        """
        question: Question[T] = self.question  # type: ignore[assignment]
        if turn.calls and turn.calls[0]["name"] == self.name and turn.calls[0]["input"]:
            try:
                return self.read_call(turn.calls[0]["input"], view.left_out), False
            except UnusableAnswer as problem:
                log.info("the call of %s is unusable, its question is asked: %s", self.name, problem)
        try:
            return await turn.mind.ask(question, view), False
        except ModelUnreadable as failure:
            log.warning("the rules answer %s: %s", question.name, failure.code)
            return await RuleMind().ask(question, view), True

    async def _tell(self, turn: Turn, view: View, step: Step) -> AIMessage:
        """Streams the action's text; when cancelled, stores the streamed part first, marked as cut.

        The text of an action that a reply stands for has been streamed already.
        """
        if self.by_reply and not turn.calls and (said := turn.begun) and said.text:
            return finish(said, chat_history=self.chat_history)
        pieces: list[str] = []
        try:
            return await turn.mind.reply(
                self.reply, view, chat_history=self.chat_history, on_text=pieces.append
            )
        except asyncio.CancelledError:
            if pieces and not turn.context.incognito:
                text = AIMessage("".join(pieces), additional_kwargs={"chat_history": self.chat_history})
                await asyncio.shield(self.keep(turn, {**step, "status": "cut"}, text))
            raise
        except ModelUnreadable as failure:
            log.warning("the rules tell %s: %s", self.reply.name, failure.code)
            return await speak(self.say_by_rules(view), chat_history=self.chat_history, name=self.reply.name)

    def say_by_rules(self, view: View) -> str:
        """Its text where a model says nothing."""
        return self.reply.by_rules(view) or self.say(view.language, "status").rstrip("…")

    async def _record(
        self,
        turn: Turn,
        view: View,
        step: Step,
        text: AIMessage | None,
        changes: StateUpdate | None = None,
    ) -> StateUpdate:
        """The state after a step, which is appended to the cycle; `changes`: what the step changed in it."""
        if view.left_out:
            step = {**step, "left_out": [*view.left_out]}
        if tokens := sum(use.input + use.output for use in view.usage):
            step = {**step, "tokens": tokens}
        if not turn.context.incognito:
            await self.keep(turn, step, text)
        update: StateUpdate = {
            **(changes or {}),
            "steps": [*turn.state.get("steps", ()), step],
            "usage": turn.spent(view),
        }
        if text is not None:
            update["messages"] = [*update.get("messages", ()), text]
        if turn.calls:
            update["calls"] = [] if self.ends or step["status"] == "asked" else [*turn.calls[1:]]
        return update

    async def keep(self, turn: Turn, step: Step, text: AIMessage | None) -> None:
        """Appends step and text to the open cycle, so that a crash loses neither."""
        cycle = turn.state.get("cycle_id")
        if cycle is not None:
            said = as_cycle_message(text, turn) if text is not None else None
            await turn.memory.transcript.append(turn.user, cycle, turn.execution, step, said)


async def _renewed(turn: Turn, outcome: Outcome) -> tuple[Turn, StateUpdate]:
    """The turn as it is after an action, and what of its state has changed."""
    changes: StateUpdate = {} if outcome.recalled is None else {"recalled": outcome.recalled}
    if outcome.outdated:
        kept = {memory["id"] for memory in outcome.recalled or ()}
        hidden = [id for id in outcome.outdated if id not in kept]
        changes |= await rebrief(turn, outcome.outdated, hidden)
    messages = add_messages(turn.state["messages"], changes.get("messages", []))  # type: ignore[arg-type]
    state = State(**{**turn.state, **changes, "messages": messages})  # type: ignore[typeddict-item]
    return replace(turn, state=state), changes


def _plain(key: Any) -> Any:
    """`key` as plain JSON; of a long one its beginning and a digest."""
    text = json.dumps(key, ensure_ascii=False, default=str)
    if len(text) <= LONGEST_KEY:
        return json.loads(text)
    digest = hashlib.sha256(text.encode(errors="replace")).hexdigest()
    return f"{text[: LONGEST_KEY // 4]}… ({len(text)}, {digest})"


def _step(name: str, key: Any, outcome: Outcome, status: Any) -> Step:
    step = Step(action=name, input=key, outcome=outcome.summary, status=status)
    if outcome.found:
        step["found"] = list(outcome.found)
    if outcome.about:
        step["about"] = list(outcome.about)
    if outcome.final:
        step["final"] = True
    return step

"""One step's view of the running turn: state, context and services together."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from datetime import datetime
from itertools import takewhile
from typing import Any
from zoneinfo import ZoneInfo

import numpy as np
from langchain_core.messages import AIMessage, BaseMessage
from langgraph.runtime import Runtime
from langgraph.types import StreamWriter

from thoughtcycle.errors import NotAllowed, ThoughtcycleError, for_strangers
from thoughtcycle.language.intents import asks_to_keep
from thoughtcycle.memory.model import MemoryHit, MemoryRecord, Recalled, new_id
from thoughtcycle.mind.base import MESSAGE_TOKENS, ActionCard, Explain, View
from thoughtcycle.mind.streaming import speak
from thoughtcycle.mind.tool_calls import Call
from thoughtcycle.nodes.base import envelope
from thoughtcycle.nodes.base.context import ContextSource, context_of_run
from thoughtcycle.nodes.base.message import user_message
from thoughtcycle.nodes.base.run import Run, search_or_words
from thoughtcycle.nodes.base.services import Services
from thoughtcycle.nodes.base.state import Spent, State
from thoughtcycle.nodes.base.thread import announce_turn, running_thread
from thoughtcycle.prompts.loader import Language, Texts, texts
from thoughtcycle.text_clipping import CHARACTERS_PER_TOKEN, clip_at_word


@dataclass(frozen=True)
class Turn(Run):
    """One run of a step: state, user, language and services."""

    state: State
    chat: str
    kept: bool
    """Whether the thread's state survives the run, so that its `cycle_id` is the tip of the branch."""
    new_thread: bool
    """Whether the thread begins with this step: an imported chat, or one whose checkpoints are gone."""
    execution: str
    write: StreamWriter

    @property
    def language(self) -> Language:
        """The language of this turn, chosen by its first step."""
        return self.language_of(self.state)

    @property
    def message(self) -> str:
        """The user's message."""
        return user_message(self.state["messages"]).text

    @property
    def withheld(self) -> bool:
        """Whether memory is paused and the user's words do not ask to keep anything (BY-10)."""
        return bool(self.state.get("paused")) and not asks_to_keep(self.message)

    @property
    def explain(self) -> Explain:
        """Who says what actions did."""
        return self.context.explain_actions or self.services.limits.explain_actions

    def texts(self, name: str, package: str = "thoughtcycle.prompts") -> Texts:
        """A text file in the turn's language."""
        return texts(self.language, name, package)

    @property
    def at(self) -> datetime:
        """When the user's message came in: a turn may be resumed or regenerated days later (BY-11)."""
        at = self.state.get("at")
        return datetime.fromisoformat(at) if at else self.services.clock()

    def now(self) -> datetime:
        """The message's own time in the user's time zone, chosen by the first step."""
        zone = self.context.time_zone or self.state.get("time_zone") or self.services.time_zone
        return self.at.astimezone(ZoneInfo(zone))

    def line(self, failure: ThoughtcycleError, language: Language | None = None) -> str:
        """The failure as this user may read it."""
        shown = for_strangers(failure) if self.services.public else failure
        return shown.text(language or self.language)

    def require_memory(self, *, whole: bool = False) -> None:
        """See Availability.require."""
        self.memory.availability.require(whole=whole)

    def outage_in_words(self, failure: ThoughtcycleError, *, kept: bool) -> ThoughtcycleError:
        """See `Availability.in_words`; the user gets no other notice of this outage."""
        shown = self.memory.availability.in_words(failure, kept=kept)
        if shown is not failure:
            self.memory.availability.tell(self.user)
        return shown

    async def notices(self) -> list[AIMessage]:
        """What the user is told at the end of a turn beside the reply."""
        return [
            *await self.message_notice(),
            *await self.outage_notice(),
            *await self.embedding_notice(),
        ]

    async def outage_notice(self) -> list[AIMessage]:
        """The notice of an outage, once per outage; else nothing."""
        if not self.memory.availability.tell(self.user):
            return []
        return [await speak(self.texts("cycle")["memory_away"], chat_history=False)]

    async def embedding_notice(self) -> list[AIMessage]:
        """The notice that memories are found by words alone, once per process; of no concern to strangers."""
        failure = None if self.services.public else self.memory.embedding_notice()
        return [await speak(self.line(failure), chat_history=False)] if failure is not None else []

    async def message_notice(self) -> list[AIMessage]:
        """The notice that the model was not given all of a long message (BY-7)."""
        room = (self.mind.message_tokens or len(self.message)) * CHARACTERS_PER_TOKEN
        if len(self.message) <= room or not self.state.get("steps"):
            return []
        text = self.texts("cycle").fill("message_cut", left=len(self.message) - room, all=len(self.message))
        return [await speak(text, chat_history=False)]

    def status(self, text: str) -> None:
        """Streams a status line."""
        self.write(envelope.status(text))

    def show(self, record: MemoryRecord) -> None:
        """Streams a recalled memory."""
        self.write(envelope.memory(record.content, record.id))

    def view(self, actions: Iterable[ActionCard] = ()) -> View:
        """The view that a mind gets now."""
        state = self.state
        briefing = state.get("briefing")
        return View(
            message=self.message,
            now=self.now(),
            language=self.language,
            persona=self.context.persona,
            history=tuple(state.get("window", ())),
            shown=tuple(map(envelope.utterance, self.replies())),
            steps=tuple(state.get("steps", ())),
            recalled=tuple(state.get("recalled", ())),
            briefing=briefing["text"] if briefing else "",
            briefed=frozenset(briefing["shown"]) if briefing else frozenset(),
            session=briefing.get("session", "") if briefing else "",
            actions=tuple(actions),
            withheld=self.withheld,
            explain=self.explain,
            message_tokens=self.mind.message_tokens or MESSAGE_TOKENS,
        )

    def spent(self, view: View) -> list[Spent]:
        """The model calls of this turn so far, those behind `view` included."""
        calls = [Spent(role=it.role, model=it.model, input=it.input, output=it.output) for it in view.usage]
        return [*self.state.get("usage", ()), *calls]

    async def find(self, query: str, limit: int, vector: np.ndarray | None = None) -> list[MemoryHit]:
        """See `search_or_words`; in incognito the memories do not count as accessed."""
        return await search_or_words(
            self.memory, self.user, query, limit, vector=vector, counted=not self.context.incognito
        )

    def replies(self) -> Sequence[BaseMessage]:
        """The messages of this turn after the user's, in order."""
        since = takewhile(lambda one: envelope.role_of(one) != "user", reversed(self.state["messages"]))
        return [message for message in since if envelope.enveloped(message)][::-1]

    @property
    def calls(self) -> Sequence[Call]:
        """The calls of a model that wait, the next first."""
        return self.state.get("calls", ())

    @property
    def begun(self) -> AIMessage | None:
        """The reply so far where a model decides with tools, without text while it has only called."""
        if not (id := self.state.get("reply_id")):
            return None
        said = (one for one in self.replies() if isinstance(one, AIMessage) and one.id == id)
        return next(said, AIMessage("", id=id))

    def with_recalled(self, records: Iterable[MemoryRecord]) -> list[Recalled]:
        """The thread's recalled memories with `records` as the newest; the oldest beyond the limit go."""
        fresh = {record.id: short_form(record) for record in records}
        former = [known for known in self.state.get("recalled", ()) if known["id"] not in fresh]
        return [*former, *fresh.values()][-self.services.limits.recalled :]


SHORT_FORM = 1_600
"""Characters of a memory in the state; a longer one ends with an ellipsis."""


def short_form(record: MemoryRecord) -> Recalled:
    """A memory as the thread's state and the prompts carry it."""
    return Recalled(
        id=record.id,
        content=clip_at_word(record.line, SHORT_FORM),
        kind=record.kind,
        key=record.key,
        at=record.valid_from.date().isoformat(),
        revision=record.revision,
    )


def open_turn(state: State, runtime: Runtime[Any], services: Services, source: ContextSource) -> Turn:
    """The turn of a step.

    Raises InputRefused for an unusable context; NotAllowed without a user and in another user's thread,
    which is checked here because a run may be resumed after its first step.
    """
    context = context_of_run(runtime, source, services.single_user, public=services.public)
    if state.get("user_id") not in (None, context.user_id):
        raise NotAllowed("chat_of_another")
    here = running_thread()
    if at := state.get("at"):
        announce_turn(context.user_id, datetime.fromisoformat(at))
    chat = here.chat or state.get("chat_id") or f"run-{new_id()}"
    execution = runtime.execution_info.checkpoint_id if runtime.execution_info else new_id()
    return Turn(
        state=state,
        context=context,
        services=services,
        chat=chat,
        kept=here.kept,
        new_thread=here.new,
        execution=execution,
        write=runtime.stream_writer,
    )

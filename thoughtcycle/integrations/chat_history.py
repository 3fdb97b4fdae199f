"""The transcript of a chat as LangChain's chat message history; added messages become cycles."""

from collections.abc import Iterable, Sequence
from contextlib import suppress
from datetime import datetime
from zoneinfo import ZoneInfo

from langchain_core.chat_history import BaseChatMessageHistory
from langchain_core.messages import AIMessage, BaseMessage, HumanMessage

from thoughtcycle.errors import ChatUnknown
from thoughtcycle.integrations.agent_turn import close_cycle, open_cycle
from thoughtcycle.integrations.loop_bridge import MemoryCall, MemoryHandle, run_async, run_blocking
from thoughtcycle.memory.memory import Memory
from thoughtcycle.memory.model import Cycle, CycleMessage, Role, check_time_zone, new_id, utc_now
from thoughtcycle.nodes.base.locale import choose_time_zone

LIMIT = 100
"""Default number of cycles that are read."""


class ThoughtCycleChatHistory(BaseChatMessageHistory):
    """One chat of one user, for `RunnableWithMessageHistory` and other users of such a history.

        RunnableWithMessageHistory(chain, lambda chat: ThoughtCycleChatHistory(memory, user, chat))

    A user's message begins a cycle, the assistant's texts behind it are its reply; a worker forms memories
    from it. System and tool messages, and texts without a word, are not kept; a message whose id the chat has
    among those it reads is not added again. Words that the user has deleted are masked. The asynchronous
    methods, and with a memory opened by `in_background` the others too.
    All raise NotAllowed('chat_of_another') for another user's chat, and StorageFailed.
    """

    def __init__(
        self,
        memory: MemoryHandle,
        user: str,
        chat: str,
        *,
        channel: str = "chat",
        time_zone: str = "UTC",
        limit: int = LIMIT,
    ) -> None:
        """`user` is the app's to name, never a client's. `limit`: the last cycles that are read.

        `time_zone` holds for users who have set none; InputRefused where it is unknown.
        """
        self._memory = memory
        self._user, self._chat = user, chat
        self._channel, self._time_zone, self._limit = channel, time_zone, limit
        check_time_zone(time_zone)

    @property
    def messages(self) -> list[BaseMessage]:  # type: ignore[override]
        """The texts of the chat's live branch, oldest first."""
        return run_blocking(self._memory, self._read)

    async def aget_messages(self) -> list[BaseMessage]:
        """The texts of the chat's live branch, oldest first."""
        return await run_async(self._memory, self._read)

    def add_messages(self, messages: Sequence[BaseMessage]) -> None:
        """Adds what was said, in order."""
        run_blocking(self._memory, self._adding(messages))

    async def aadd_messages(self, messages: Sequence[BaseMessage]) -> None:
        """Adds what was said, in order."""
        await run_async(self._memory, self._adding(messages))

    def clear(self) -> None:
        """Deletes the chat for good, with what was learned in it and nowhere else."""
        run_blocking(self._memory, self._delete)

    async def aclear(self) -> None:
        """Deletes the chat for good, with what was learned in it and nowhere else."""
        await run_async(self._memory, self._delete)

    async def _read(self, memory: Memory) -> list[BaseMessage]:
        cycles = await memory.conversation(self._user, self._chat, limit=self._limit)
        return [_message(text) for cycle in cycles for text in _texts(cycle)]

    def _adding(self, messages: Sequence[BaseMessage]) -> MemoryCall[None]:
        async def add(memory: Memory) -> None:
            stored = await memory.settings(self._user)
            at = utc_now().astimezone(ZoneInfo(choose_time_zone(None, stored, self._time_zone)))
            cycles = await memory.conversation(self._user, self._chat, limit=self._limit)
            known = {text.id for cycle in cycles for text in _texts(cycle)}
            new = [text for each in messages if (text := _said(each, at)) and text.id not in known]
            unanswered = cycles[-1] if cycles and not cycles[-1].replies else None
            for said, replies in exchanges(new):
                if said is not None or unanswered is None:
                    if said is None:  # the assistant began
                        first = replies[0]
                        said = CycleMessage(id=f"before {first.id}", role="user", text="", at=first.at)
                    unanswered = await open_cycle(
                        memory, self._user, self._chat, said, parent=None, channel=self._channel
                    )
                await close_cycle(memory, self._user, unanswered.id, replies, learned=not stored.paused)
                unanswered = None

        return add

    async def _delete(self, memory: Memory) -> None:
        await memory.transcript.check_chat(self._user, self._chat)
        with suppress(ChatUnknown):  # nothing was ever said in it
            await memory.delete_chat(self._user, self._chat)


_ROLES: tuple[tuple[type[BaseMessage], Role], ...] = ((HumanMessage, "user"), (AIMessage, "assistant"))
Exchange = tuple[CycleMessage | None, list[CycleMessage]]


def exchanges(said: Iterable[CycleMessage]) -> list[Exchange]:
    """Each text of the user with the assistant's replies; None for replies before the first text."""
    found: list[Exchange] = []
    for text in said:
        if text.role == "user" or not found:
            found.append((text, []) if text.role == "user" else (None, [text]))
        else:
            found[-1][1].append(text)
    return found


def _texts(cycle: Cycle) -> list[CycleMessage]:
    return [text for text in (cycle.message, *cycle.replies) if text.text]


def _message(text: CycleMessage) -> BaseMessage:
    kind = HumanMessage if text.role == "user" else AIMessage
    return kind(text.text, id=text.id, name=text.name)


def _said(message: BaseMessage, at: datetime) -> CycleMessage | None:
    """The message for the transcript; None for a message of another role or without words."""
    role: Role | None = next((role for kind, role in _ROLES if isinstance(message, kind)), None)
    if role is None or not message.text.strip():
        return None
    return CycleMessage(id=message.id or new_id(), role=role, text=message.text, name=message.name, at=at)

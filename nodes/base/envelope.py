"""The message envelope (TC-1): how a text is shown and whether later model calls may read it."""

from typing import Any, Literal
from uuid import uuid4

from langchain_core.messages import AIMessage, BaseMessage, HumanMessage

from thoughtcycle.memory.model import CycleMessage, Role, Utterance

Modal = Literal["text", "text-for-replace", "memory"]
Wire = dict[str, Any]
"""`{"chat-history", "modal", "role", "content", "id"}` and, on a streamed piece, `"delta": True`."""


def wire(
    content: Any,
    *,
    role: Role,
    modal: Modal = "text",
    chat_history: bool = False,
    id: str | None = None,
    delta: bool = False,
) -> Wire:
    """A message as it travels on every wire; a missing `id` is made."""
    message: Wire = {
        "chat-history": chat_history,
        "modal": modal,
        "role": role,
        "content": content,
        "id": id or str(uuid4()),
    }
    return {**message, "delta": True} if delta else message


def status(text: str) -> Wire:
    """A status line: shown until whatever comes next replaces it."""
    return wire(text, role="assistant", modal="text-for-replace")


def memory(content: Any, id: str) -> Wire:
    """A recalled memory; `id` is the memory's own."""
    return wire(content, role="system", modal="memory", chat_history=True, id=id)


def of_message(message: BaseMessage) -> Wire:
    """A complete LangChain message in wire form."""
    extra = message.additional_kwargs
    return wire(
        message.text,
        role=role_of(message),
        modal=extra.get("modal", "text"),
        chat_history=extra.get("chat_history", True),
        id=message.id,
    )


def whole(said: CycleMessage) -> Wire:
    """A message of the transcript in wire form."""
    return wire(said.text, role=said.role, chat_history=said.chat_history, id=said.id)


def piece(text: str, id: str, metadata: dict[str, Any]) -> Wire:
    """A streamed piece of a reply; its envelope rides in the run's metadata."""
    return wire(
        text,
        role="assistant",
        modal=metadata.get("modal", "text"),
        chat_history=metadata.get("chat_history", True),
        id=id,
        delta=True,
    )


def utterance(message: BaseMessage) -> Utterance:
    """A LangChain message as prompts show it."""
    return Utterance(role=role_of(message), content=message.text, chat_history=in_history(message))


def role_of(message: BaseMessage) -> Role:
    """The wire's role of a LangChain message."""
    if isinstance(message, HumanMessage):
        return "user"
    return "assistant" if isinstance(message, AIMessage) else "system"


def enveloped(message: BaseMessage) -> bool:
    """Whether a turn has made or read the message."""
    return "modal" in message.additional_kwargs


def in_history(message: BaseMessage) -> bool:
    """Whether later model calls may read it; also true without an envelope."""
    return bool(message.additional_kwargs.get("chat_history", True))

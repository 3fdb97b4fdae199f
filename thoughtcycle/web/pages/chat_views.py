"""Views of a chat for its page: exchanges, steps, briefing (pure)."""

import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from thoughtcycle.memory.chats import Chat, is_empty
from thoughtcycle.memory.model import Cycle, Step
from thoughtcycle.memory.redaction import Mask
from thoughtcycle.memory.text.secrets import masked
from thoughtcycle.nodes.base.state import BriefSection, Spent
from thoughtcycle.runtime.prices import Price, cost

TITLE = 60
"""Characters of a message that stand for the title of a chat without one."""


@dataclass(frozen=True)
class Exchange:
    """A message with its replies."""

    cycle: str
    message: str
    """Id of the user's message."""
    said: str
    replies: tuple[str, ...]
    cut: bool


@dataclass(frozen=True)
class ChatListItem:
    """A chat in the list."""

    id: str
    title: str
    named: bool
    chat: Chat


@dataclass(frozen=True)
class StepView:
    """A step as the page shows it."""

    action: str
    input: str
    outcome: str
    status: str
    tokens: int
    found: tuple[str, ...]


@dataclass(frozen=True)
class BriefingView:
    """The briefing of a turn and its model usage."""

    sections: Sequence[BriefSection]
    texts: tuple[str, ...]
    tokens: int
    left_out: int
    budget: int
    calls: Sequence[Spent]
    cost: float | None
    """None without a price, or without a call."""

    @property
    def read(self) -> int:
        """Tokens that models read."""
        return sum(call["input"] for call in self.calls)

    @property
    def written(self) -> int:
        """Tokens that models wrote."""
        return sum(call["output"] for call in self.calls)


def exchanges(cycles: Iterable[Cycle]) -> list[Exchange]:
    """The exchanges of cycles, with secrets masked; the words of deleted memories are masked already."""
    return [
        Exchange(
            cycle=cycle.id,
            message=cycle.message.id,
            said=masked(cycle.message.text),
            replies=tuple(masked(reply.text) for reply in cycle.replies),
            cut=bool(cycle.variants) and cycle.variants[-1].cut,
        )
        for cycle in cycles
        if not is_empty(cycle)
    ]


def chat_list(chats: Iterable[Chat], last: Mapping[str, str], nameless: str) -> list[ChatListItem]:
    """Chats with their titles; `last` has the last messages of chats without one, by chat."""
    titles = ((chat, chat_title(chat.title, last.get(chat.id, ""), nameless)) for chat in chats)
    return [ChatListItem(chat.id, title, bool(chat.title), chat) for chat, title in titles]


def chat_title(title: str | None, last: str, nameless: str) -> str:
    """The title of a chat, else the beginning of its last message, else `nameless`."""
    line = " ".join(masked(last).split())
    beginning = line if len(line) <= TITLE else f"{line[: TITLE - 1].rsplit(' ', 1)[0]}…"
    return title or beginning or nameless


def step_views(steps: Iterable[Step]) -> list[StepView]:
    """Steps as the page shows them, with secrets masked."""
    return [
        StepView(
            action=step["action"],
            input=masked(_plain(step["input"])),
            outcome=masked(step["outcome"]),
            status=step["status"],
            tokens=step.get("tokens", 0),
            found=tuple(step.get("found", ())),
        )
        for step in steps
    ]


def _plain(value: Any) -> str:
    if value is None or value == "":
        return ""
    return value if isinstance(value, str) else json.dumps(value, ensure_ascii=False, indent=1)


def briefing_view(
    state: Mapping[str, Any], budget: int, prices: Mapping[str, Price], mask: Mask
) -> BriefingView | None:
    """The briefing and the model calls in the last turn's state; None without a turn."""
    briefing = state.get("briefing")
    if not briefing:
        return None
    calls: Sequence[Spent] = state.get("usage", ())
    return BriefingView(
        sections=[one for one in briefing.get("sections", ()) if one["shown"] or one["left_out"]],
        texts=tuple(
            masked(mask.text(text)) for text in (briefing["text"], briefing.get("session", "")) if text
        ),
        tokens=briefing["tokens"],
        left_out=briefing["left_out"],
        budget=budget,
        calls=calls,
        cost=cost(calls, prices) if calls else None,
    )

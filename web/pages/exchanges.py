"""What a chat looks like: its exchanges as they are shown, and what a turn was given and did (pure)."""

import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from thoughtcycle.graph.prices import Price, cost
from thoughtcycle.memory.chats import Chat, is_empty
from thoughtcycle.memory.masking import Mask
from thoughtcycle.memory.records import Cycle, Step
from thoughtcycle.memory.secrets import masked
from thoughtcycle.nodes.state import BriefSection, Spent

TITLE = 60
"""Characters of a message that stand for the title of a chat without one."""


@dataclass(frozen=True)
class Exchange:
    """A message and what was answered."""

    cycle: str
    message: str
    """Id of the user's message."""
    said: str
    replies: tuple[str, ...]
    cut: bool


@dataclass(frozen=True)
class ListedChat:
    """A chat in the list."""

    id: str
    title: str
    named: bool
    chat: Chat


@dataclass(frozen=True)
class Done:
    """A step as it is shown."""

    action: str
    input: str
    outcome: str
    status: str
    tokens: int
    found: tuple[str, ...]


@dataclass(frozen=True)
class Given:
    """What a model was given of the memory, and what the turn used."""

    sections: Sequence[BriefSection]
    texts: tuple[str, ...]
    tokens: int
    left_out: int
    budget: int
    calls: Sequence[Spent]
    cost: float | None
    """None where a price is not known, or nothing was used."""

    @property
    def read(self) -> int:
        """Tokens that models read."""
        return sum(call["input"] for call in self.calls)

    @property
    def written(self) -> int:
        """Tokens that models wrote."""
        return sum(call["output"] for call in self.calls)


def exchanges(cycles: Iterable[Cycle]) -> list[Exchange]:
    """Cycles, with the words of deleted memories masked already, as a person reads them: no secrets."""
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


def listed_chats(chats: Iterable[Chat], last: Mapping[str, str], nameless: str) -> list[ListedChat]:
    """Chats under their titles; one without shows the beginning of its last message (`last`: chat → text)."""
    return [
        ListedChat(
            id=chat.id,
            title=shown_title(chat.title, last.get(chat.id, ""), nameless),
            named=bool(chat.title),
            chat=chat,
        )
        for chat in chats
    ]


def shown_title(title: str | None, last: str, nameless: str) -> str:
    """What a chat is called: without a title by the beginning of its last message."""
    return title or beginning(last) or nameless


def beginning(text: str) -> str:
    """The first words of a message, on one line."""
    line = " ".join(masked(text).split())
    return line if len(line) <= TITLE else f"{line[: TITLE - 1].rsplit(' ', 1)[0]}…"


def steps_done(steps: Iterable[Step]) -> list[Done]:
    """Steps as they are shown: no secrets."""
    return [
        Done(
            action=step["action"],
            input=masked(_plain(step["input"])),
            outcome=masked(step["outcome"]),
            status=step["status"],
            tokens=step.get("tokens", 0),
            found=tuple(step.get("found", ())),
        )
        for step in steps
    ]


def _plain(given: Any) -> str:
    if given is None or given == "":
        return ""
    return given if isinstance(given, str) else json.dumps(given, ensure_ascii=False, indent=1)


def given(state: Mapping[str, Any], budget: int, prices: Mapping[str, Price], mask: Mask) -> Given | None:
    """What the last turn's state tells of its briefing and its model calls; None where no turn was."""
    briefing = state.get("briefing")
    if not briefing:
        return None
    calls: Sequence[Spent] = state.get("usage", ())
    return Given(
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

"""LoCoMo (Maharana et al., ACL 2024): whether a search finds the turns that hold the answer."""

import json
import re
from collections.abc import AsyncIterator, Iterator, Mapping, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any, Literal, NamedTuple

from thoughtcycle.errors import InputRefused
from thoughtcycle.evals.retrieval import (
    Baseline,
    Clock,
    Questionnaire,
    Report,
    data_files,
    fresh_memory,
    halves,
    some,
)
from thoughtcycle.memory.index import Embedder
from thoughtcycle.memory.memory import Memory
from thoughtcycle.memory.model import Cycle
from thoughtcycle.mind.rules import RuleMind
from thoughtcycle.nodes.base.services import Services
from thoughtcycle.runtime.upkeep import create_worker

CATEGORIES = {1: "multi-hop", 2: "temporal", 3: "open-domain", 4: "single-hop", 5: "adversarial"}
LATER = timedelta(days=1)
"""Time from the last session to the questions; garden maintenance runs in between."""
_TIME = "%I:%M %p on %d %B, %Y"
_SESSION = re.compile(r"session_(\d+)")
_EVIDENCE = re.compile(r"D:?(\d+):(\d+)")


@dataclass(frozen=True)
class Turn:
    """One speaker's message, with the caption of a picture that was shared."""

    id: str
    speaker: str
    text: str


@dataclass(frozen=True)
class Conversation:
    """Two people over many sessions, and questions about what they said."""

    name: str
    user: str
    """The first speaker; the other one has the assistant's part."""
    sessions: tuple[tuple[datetime, tuple[Turn, ...]], ...]
    questions: tuple[tuple[str, str, frozenset[str]], ...]
    """Question, category, ids of the turns that hold the evidence."""


def load(path: Path) -> list[Conversation]:
    """The conversations of `locomo10.json`, or of its folder; raises InputRefused('eval_data')."""
    try:
        (file,) = data_files(path, "locomo10.json")
        return some(map(_conversation, json.loads(file.read_text(encoding="utf-8"))))
    except (OSError, ValueError, KeyError, TypeError, AttributeError) as error:
        raise InputRefused("eval_data", path=repr(str(path)), expected="locomo10.json") from error


def _conversation(entry: dict[str, Any]) -> Conversation:
    said = entry["conversation"]
    numbers = sorted(int(match[1]) for name in said if (match := _SESSION.fullmatch(name)))
    times = [datetime.strptime(said[f"session_{number}_date_time"], _TIME) for number in numbers]
    sessions = tuple(
        (at.replace(tzinfo=UTC), tuple(map(_turn, said[f"session_{number}"])))
        for number, at in zip(numbers, times, strict=True)
    )
    known = {turn.id for _, turns in sessions for turn in turns}
    answerable = ((str(one["question"]), one["category"], _evidence(one, known)) for one in entry["qa"])
    questions = tuple((question, CATEGORIES[number], ids) for question, number, ids in answerable if ids)
    return Conversation(str(entry["sample_id"]), said["speaker_a"], sessions, questions)


def _turn(entry: dict[str, Any]) -> Turn:
    picture = f" [{entry['blip_caption']}]" if entry.get("blip_caption") else ""
    return Turn(entry["dia_id"], entry["speaker"], entry["text"] + picture)


def _evidence(entry: dict[str, Any], known: set[str]) -> frozenset[str]:
    """Ids of the evidence; some are written wrongly, some name no turn."""
    found = (f"D{int(one)}:{int(two)}" for one, two in _EVIDENCE.findall(" ".join(entry.get("evidence", ()))))
    return frozenset(id for id in found if id in known)


def exchanges(user: str, turns: tuple[Turn, ...]) -> Iterator[tuple[Turn | None, Turn | None]]:
    """The user's turns, each with the reply; None for a missing one of the two."""
    unanswered: Turn | None = None
    for turn in turns:
        if turn.speaker != user:
            yield unanswered, turn
        elif unanswered is not None:
            yield unanswered, None
        unanswered = turn if turn.speaker == user else None
    if unanswered is not None:
        yield unanswered, None


class TurnPlace(NamedTuple):
    """The ids under which a turn is stored."""

    message: str
    cycle: str


async def recorded(
    memory: Memory,
    conversation: Conversation,
    *,
    user: str,
    chats: Sequence[str],
    formation: Literal["none", "pending"],
) -> AsyncIterator[tuple[Cycle, dict[str, TurnPlace]]]:
    """Records the conversation, each session in its chat; yields each cycle with the ids of its turns."""
    for chat, (moment, turns) in zip(chats, conversation.sessions, strict=True):
        for place, (one, other) in enumerate(exchanges(conversation.user, turns)):
            cycle = await memory.record_cycle(
                user,
                chat,
                one.text if one else "",
                other.text if other else "",
                at=moment + timedelta(seconds=place),
                channel="eval",
                user_name=one.speaker if one else None,
                reply_name=other.speaker if other else None,
                formation=formation,
            )
            said = [(one, cycle.message), *zip((other,), cycle.replies, strict=False)]
            yield cycle, {turn.id: TurnPlace(message.id, cycle.id) for turn, message in said if turn}


async def feed(
    memory: Memory, conversation: Conversation, *, formation: Literal["none", "pending"] = "none"
) -> dict[str, TurnPlace]:
    """Records the conversation, a chat per session; turn → its ids."""
    name = conversation.name
    chats = [f"{name}/{number}" for number in range(len(conversation.sessions))]
    recording = recorded(memory, conversation, user=name, chats=chats, formation=formation)
    return {id: place async for _, turns in recording for id, place in turns.items()}


@dataclass(frozen=True)
class FormedConversation:
    """A conversation after formation."""

    memory: Memory
    fed: Mapping[str, TurnPlace]
    """Turn → its ids."""
    now: datetime
    """A day after the last session."""


@asynccontextmanager
async def formed_conversation(
    conversation: Conversation, embeddings: Embedder | None
) -> AsyncIterator[FormedConversation]:
    """Records the conversation in a database of its own; runs formation by rules, then maintenance once."""
    clock = Clock(max(moment for moment, _ in conversation.sessions) + LATER / 2)
    async with fresh_memory(embeddings, clock) as memory:
        fed = await feed(memory, conversation, formation="pending")
        worker = create_worker(Services(memory, RuleMind(), language="en", clock=clock))
        await worker.drain()
        clock.now += LATER
        await worker.drain()
        if await memory.conversations.pending_cycles(conversation.name, limit=1):
            raise RuntimeError("some of the conversation could not be formed; the log says why")
        yield FormedConversation(memory, fed, clock.now)


async def evaluate(path: Path, embeddings: Embedder | None) -> Report:
    """Feeds every conversation to a memory of its own and asks its questions."""
    conversations = load(path)
    half = halves(one.name for one in conversations)
    async with fresh_memory(embeddings) as memory:
        asking = Questionnaire("LoCoMo", memory, embeddings)
        for conversation in conversations:
            messages = await feed(memory, conversation)
            turns = [turn for _, turns in conversation.sessions for turn in turns]
            plain = Baseline({messages[turn.id].message: turn.text for turn in turns})
            for question, category, evidence in conversation.questions:
                relevant = frozenset(messages[id].message for id in evidence)
                place = half[conversation.name], category
                await asking.ask(conversation.name, question, "cycles", relevant, plain, place)
    return asking.report()

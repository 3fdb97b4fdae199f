"""LoCoMo (Maharana et al., ACL 2024): is the turn that holds the answer among the first messages found?"""

import json
import re
from collections.abc import AsyncIterator, Iterator, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any, Literal, NamedTuple

from thoughtcycle.evals.asking import Baseline, asked, found_at, fresh_memory, halves, some
from thoughtcycle.evals.measures import Asked, Report
from thoughtcycle.memory.embedder import Embedder
from thoughtcycle.memory.memory import Memory
from thoughtcycle.memory.records import Cycle
from thoughtcycle.prompts.errors import InputRefused

CATEGORIES = {1: "multi-hop", 2: "temporal", 3: "open-domain", 4: "single-hop", 5: "adversarial"}
_SESSION = re.compile(r"session_(\d+)")
_EVIDENCE = re.compile(r"D:?(\d+):(\d+)")


@dataclass(frozen=True)
class Turn:
    """What one of the two said, with the caption of a picture that was shared."""

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
        (file,) = found_at(path, "locomo10.json")
        return some(map(_conversation, json.loads(file.read_text(encoding="utf-8"))))
    except (OSError, ValueError, KeyError, TypeError, AttributeError) as error:
        raise InputRefused("eval_data", path=repr(str(path)), expected="locomo10.json") from error


def _conversation(entry: dict[str, Any]) -> Conversation:
    said = entry["conversation"]
    numbers = sorted(int(match[1]) for name in said if (match := _SESSION.fullmatch(name)))
    sessions = tuple(
        (_moment(said[f"session_{number}_date_time"]), tuple(map(_turn, said[f"session_{number}"])))
        for number in numbers
    )
    known = {turn.id for _, turns in sessions for turn in turns}
    asked = ((str(one["question"]), one["category"], _evidence(one, known)) for one in entry["qa"])
    questions = tuple((question, CATEGORIES[number], ids) for question, number, ids in asked if ids)
    return Conversation(str(entry["sample_id"]), said["speaker_a"], sessions, questions)


def _turn(entry: dict[str, Any]) -> Turn:
    picture = f" [{entry['blip_caption']}]" if entry.get("blip_caption") else ""
    return Turn(entry["dia_id"], entry["speaker"], entry["text"] + picture)


def _moment(text: str) -> datetime:
    return datetime.strptime(text, "%I:%M %p on %d %B, %Y").replace(tzinfo=UTC)


def _evidence(entry: dict[str, Any], known: set[str]) -> frozenset[str]:
    """Ids of the evidence; some are written wrongly, some name no turn."""
    found = (f"D{int(one)}:{int(two)}" for one, two in _EVIDENCE.findall(" ".join(entry.get("evidence", ()))))
    return frozenset(id for id in found if id in known)


def exchanges(user: str, turns: tuple[Turn, ...]) -> Iterator[tuple[Turn | None, Turn | None]]:
    """The user's turns, each with the answer to it; where one of the two is missing, the other alone."""
    waiting: Turn | None = None
    for turn in turns:
        if turn.speaker == user:
            if waiting is not None:
                yield waiting, None
            waiting = turn
        else:
            yield waiting, turn
            waiting = None
    if waiting is not None:
        yield waiting, None


class Fed(NamedTuple):
    """Where a turn is kept: ids."""

    message: str
    cycle: str


async def recorded(
    memory: Memory,
    conversation: Conversation,
    *,
    user: str,
    chats: Sequence[str],
    formation: Literal["none", "pending"],
) -> AsyncIterator[tuple[Cycle, dict[str, Fed]]]:
    """Records the conversation, each session in its chat; each cycle, and where its turns are kept."""
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
            yield cycle, {turn.id: Fed(message.id, cycle.id) for turn, message in said if turn}


async def feed(
    memory: Memory, conversation: Conversation, *, formation: Literal["none", "pending"] = "none"
) -> dict[str, Fed]:
    """Records the conversation, a chat per session; turn → where it is kept."""
    name = conversation.name
    chats = [f"{name}/{number}" for number in range(len(conversation.sessions))]
    fed: dict[str, Fed] = {}
    async for _, turns in recorded(memory, conversation, user=name, chats=chats, formation=formation):
        fed |= turns
    return fed


async def evaluate(path: Path, embeddings: Embedder | None) -> Report:
    """Feeds every conversation to a memory of its own and asks its questions."""
    conversations = load(path)
    half = halves(one.name for one in conversations)
    answers, baseline = [], []
    async with fresh_memory(embeddings) as memory:
        for conversation in conversations:
            messages = await feed(memory, conversation)
            texts = {turn.id: turn.text for _, turns in conversation.sessions for turn in turns}
            plain = Baseline({messages[id].message: text for id, text in texts.items()})
            for question, category, evidence in conversation.questions:
                relevant = frozenset(messages[id].message for id in evidence)
                found = await asked(memory, embeddings, conversation.name, question, "cycles")
                where = half[conversation.name]
                answers.append(Asked(where, category, relevant, **found))
                baseline.append(Asked(where, category, relevant, plain.found(question)))
    name = embeddings.name if embeddings is not None else "none"
    return Report("LoCoMo", name, tuple(answers), tuple(baseline))

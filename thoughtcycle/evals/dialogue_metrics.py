"""Metrics of a dialogue file: runs each message as a turn and scores briefing and reply (LM-14)."""

import time
from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import filterfalse
from typing import Any

from langchain_core.messages import AIMessage, HumanMessage

from thoughtcycle.evals.dialogue_file import Line
from thoughtcycle.evals.metrics import Metric, mean, share, times
from thoughtcycle.evals.retrieval import Clock, fresh_memory
from thoughtcycle.graph.formation import compile_formation
from thoughtcycle.graph.thought_cycle import ThoughtCycle, create_thought_cycle
from thoughtcycle.memory.index import Embedder
from thoughtcycle.memory.model import named_id
from thoughtcycle.memory.text.analyzer import fold
from thoughtcycle.mind.base import Mind
from thoughtcycle.nodes.base.context import Context
from thoughtcycle.nodes.base.limits import Limits
from thoughtcycle.nodes.base.services import Services
from thoughtcycle.nodes.base.state import RECALL


@dataclass(frozen=True)
class Answer:
    """Briefing and reply for one message, with their cost."""

    line: Line
    text: str
    """Briefing and reply, folded."""
    tokens: int
    """Of the briefing, and of all calls of the turn."""
    recalled: float
    """Seconds until the briefing was built."""
    seconds: float
    """Seconds of the whole turn."""
    elsewhere: bool
    """Whether every expected word was said by the user before, and in other chats only."""

    def has(self, word: str) -> bool:
        """Whether a word or phrase came back, whatever its accents and case."""
        return fold(word) in self.text

    @property
    def right(self) -> bool:
        """Whether all that is expected came back, and nothing that is forbidden."""
        return all(map(self.has, self.line.expect)) and not any(map(self.has, self.line.forbid))


async def answers(
    lines: Sequence[Line], mind: Mind, embeddings: Embedder | None, limits: Limits | None = None
) -> list[Answer]:
    """Each message as a turn at its time, with formation before the next one, in a temporary database."""
    clock = Clock(lines[0].at)
    found: list[Answer] = []
    async with fresh_memory(embeddings, clock) as memory:
        graph = create_thought_cycle(memory=memory, mind=mind, limits=limits, clock=clock)
        formation = compile_formation(Services(memory, mind, limits or Limits(), clock=clock))
        said: defaultdict[str, list[tuple[str, str]]] = defaultdict(list)
        for line in lines:
            clock.now = line.at
            found.append(await _asked(graph, line, said[line.user]))
            said[line.user].append((line.chat, fold(line.message)))
            while await memory.conversations.pending_cycles(line.user, limit=1):
                await formation.ainvoke({"cycle_id": ""}, context=Context(user_id=line.user))
    return found


async def _asked(graph: ThoughtCycle, line: Line, said: Sequence[tuple[str, str]]) -> Answer:
    parts: list[str] = []
    tokens, recalled, start = 0, 0.0, time.perf_counter()
    updates = graph.astream(
        {"messages": [HumanMessage(line.message)]},
        {"configurable": {"thread_id": named_id(line.user, line.chat)}},
        context=Context(user_id=line.user, channel="metrics"),
        stream_mode="updates",
    )
    async for update in updates:
        for node, values in update.items():
            found: dict[str, Any] = values or {}
            if (briefing := found.get("briefing")) and briefing["text"]:
                parts += [briefing["text"], briefing.get("session", "")]
                tokens += briefing["tokens"]
            parts += [one.text for one in found.get("messages", ()) if isinstance(one, AIMessage)]
            tokens += sum(step.get("tokens", 0) for step in found.get("steps", ())[-1:])
            if node == RECALL:
                recalled = time.perf_counter() - start
    seconds = time.perf_counter() - start
    chats = [{where for where, text in said if fold(word) in text} for word in line.expect]
    elsewhere = bool(chats) and all(each and line.chat not in each for each in chats)
    return Answer(line, fold("\n".join(parts)), tokens, recalled, seconds, elsewhere)


def dialogue_metrics(found: Sequence[Answer]) -> list[Metric]:
    """The metrics of what came back."""
    asked = [one for one in found if one.line.expect or one.line.forbid]
    return [
        share("relevance", [one.has(word) for one in asked for word in one.line.expect], "file"),
        share("forbidden", [one.has(word) for one in asked for word in one.line.forbid], "file"),
        share("personalisation", [one.right for one in asked], "file"),
        share("continuity_asked", [one.right for one in asked if one.elsewhere], "file"),
        *times("briefed", [one.recalled for one in found], "file"),
        *times("replied", [one.seconds for one in found], "file"),
        mean("turn_tokens", [float(one.tokens) for one in found], "tokens", "file"),
    ]


def misses(found: Sequence[Answer]) -> list[tuple[Line, list[str], list[str]]]:
    """The messages that went wrong, with missing expected words and forbidden words that came."""
    return [
        (one.line, [*filterfalse(one.has, one.line.expect)], [*filter(one.has, one.line.forbid)])
        for one in found
        if not one.right
    ]

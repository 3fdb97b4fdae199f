"""Token economy (HM-12): what a turn costs beside the full history, and whether the evidence is in it."""

from collections.abc import Sequence
from dataclasses import asdict, dataclass
from datetime import timedelta
from functools import cache
from pathlib import Path
from statistics import fmean

import numpy as np

from thoughtcycle.evals.asking import fresh_memory, halves
from thoughtcycle.evals.locomo import Conversation, feed, load
from thoughtcycle.memory.brief_gathering import Plan, gathered, made
from thoughtcycle.memory.brief_sections import Material
from thoughtcycle.memory.briefing import Brief, estimated
from thoughtcycle.memory.embedder import Embedder
from thoughtcycle.memory.memory import Memory
from thoughtcycle.mind.base import ActionCard, View
from thoughtcycle.mind.prompting import ask_prompt, reply_prompt
from thoughtcycle.nodes.actions.finish import Finish
from thoughtcycle.nodes.actions.registry import discover
from thoughtcycle.nodes.context import Context
from thoughtcycle.nodes.recall import query_of
from thoughtcycle.nodes.router import DECIDE

BUDGETS = (500, 1_000, 2_000, 4_000)
"""Memory budgets, in tokens."""
NEW_CHAT = "asked"
"""The chat in which questions are asked: nothing was said in it."""
LATER = timedelta(days=1)
"""How long after the last session questions are asked."""


@dataclass(frozen=True)
class Told:
    """One question, asked at one budget."""

    conversation: str
    half: str
    budget: int
    evidence: float
    """Share of the evidence that is in the briefing, in [0, 1]."""
    briefing: int
    """Tokens of the briefing."""
    turn: int
    """Tokens that the calls of a turn read: a decision and a reply."""
    full: int
    """The same, with the full history in place of the briefing."""


@dataclass(frozen=True)
class Economy:
    """Means over questions."""

    questions: int
    any: float
    """Share of questions with any of their evidence in the briefing."""
    recall: float
    """Share of the evidence that is in the briefing."""
    all: float
    """Share of questions with all of it."""
    briefing: float
    turn: float
    full: float

    @property
    def share(self) -> float:
        """What a turn costs, as a share of one with the full history."""
        return self.turn / self.full


def economy(told: Sequence[Told]) -> Economy:
    """The means; `told` must not be empty."""
    return Economy(
        questions=len(told),
        any=fmean(one.evidence > 0 for one in told),
        recall=fmean(one.evidence for one in told),
        all=fmean(one.evidence == 1 for one in told),
        briefing=fmean(one.briefing for one in told),
        turn=fmean(one.turn for one in told),
        full=fmean(one.full for one in told),
    )


@dataclass(frozen=True)
class Report:
    """Everything that the evaluation tells."""

    embeddings: str
    told: tuple[Told, ...]

    def groups(self) -> dict[str, dict[int, Economy]]:
        """Half, then conversation → budget → means."""
        names = [one.half for one in self.told] + [one.conversation for one in self.told]
        return {
            name: {
                budget: economy(
                    [
                        one
                        for one in self.told
                        if name in (one.half, one.conversation) and one.budget == budget
                    ]
                )
                for budget in dict.fromkeys(one.budget for one in self.told)
            }
            for name in dict.fromkeys(names)
        }

    def as_json(self) -> dict[str, object]:
        """For machines."""
        return {
            "data": "LoCoMo",
            "embeddings": self.embeddings,
            "economy": {
                name: {
                    str(budget): asdict(one) | {"share": round(one.share, 4)} for budget, one in group.items()
                }
                for name, group in self.groups().items()
            },
        }

    def as_text(self) -> str:
        """One table: halves first, then conversations."""
        columns = ("n", "any", "recall", "all", "briefing", "turn", "full", "share")
        head = f"{'':<12}{'budget':>8}" + "".join(f"{name:>10}" for name in columns)
        lines = [f"LoCoMo, token economy, embeddings: {self.embeddings}", "", head]
        for name, group in self.groups().items():
            lines += [_line(name, budget, one) for budget, one in group.items()]
        return "\n".join(lines)


def _line(name: str, budget: int, one: Economy) -> str:
    shares = "".join(f"{value:>10.3f}" for value in (one.any, one.recall, one.all))
    tokens = "".join(f"{value:>10,.0f}" for value in (one.briefing, one.turn, one.full))
    return f"{name:<12}{budget:>8}{one.questions:>10}{shares}{tokens}{one.share:>10.3f}"


async def evaluate(path: Path, embeddings: Embedder | None, budgets: Sequence[int] = BUDGETS) -> Report:
    """Feeds every conversation as chats of one user and asks its questions in a new one."""
    conversations = load(path)
    half = halves(one.name for one in conversations)
    told: list[Told] = []
    async with fresh_memory(embeddings) as memory:
        for conversation in conversations:
            told += await _asked(memory, embeddings, conversation, half[conversation.name], budgets)
    return Report(embeddings.name if embeddings is not None else "none", tuple(told))


async def _asked(
    memory: Memory, embeddings: Embedder | None, it: Conversation, half: str, budgets: Sequence[int]
) -> list[Told]:
    messages = await feed(memory, it)
    await memory.embed_messages(it.name)
    now = max(moment for moment, _ in it.sessions) + LATER
    history = "\n".join(
        f"{moment:%Y-%m-%d} {turn.speaker}: {turn.text}" for moment, turns in it.sessions for turn in turns
    )
    told = []
    for question, _, evidence in it.questions:
        wanted = [messages[id] for id in evidence]
        query = query_of(question, "en")
        row = await embeddings.aembed_query(query) if embeddings is not None else []
        view = View(message=question, now=now, language="en")
        full = turn_tokens(view, history, "")
        for budget in budgets:
            plan = Plan(tokens=budget, smart=True)
            vector = np.asarray(row, dtype=np.float32)
            material = await gathered(memory, it.name, NEW_CHAT, query, plan, now=now, vector=vector)
            brief = made(material, plan, "en")
            present = evidence_in(brief, material)
            told.append(
                Told(
                    conversation=it.name,
                    half=half,
                    budget=budget,
                    evidence=fmean(not present.isdisjoint(turn) for turn in wanted),
                    briefing=brief.tokens,
                    turn=turn_tokens(view, brief.text, brief.session),
                    full=full,
                )
            )
    return told


def evidence_in(brief: Brief, material: Material) -> set[str]:
    """Messages that a briefing shows, and cycles of which it has a summary or a memory made from them."""
    items = [item for section in brief.sections for item in section.shown]
    told = {id for id, _, origin in items if origin in ("message", "cycle")}
    memories = set(brief.shown)
    sources = {hit.record.source.cycle for hit in material.found.hits if hit.record.id in memories}
    return told | {cycle for cycle in sources if cycle is not None}


@cache
def _cards() -> tuple[ActionCard, ...]:
    return tuple(discover().cards("en", Context()))


def turn_tokens(view: View, briefing: str, session: str) -> int:
    """Tokens that a turn's calls read when the model is given this: the decision, then the reply."""
    seen = View(
        message=view.message,
        now=view.now,
        language=view.language,
        briefing=briefing,
        session=session,
        actions=_cards(),
    )
    prompts = [*ask_prompt(DECIDE, seen), *reply_prompt(Finish.reply, seen)]
    return sum(estimated(len(message.text)) for message in prompts)

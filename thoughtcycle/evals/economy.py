"""Token economy (HM-12): the cost of a turn beside the full history, and the evidence in its briefing."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from functools import cache
from pathlib import Path
from statistics import fmean
from typing import Any

import numpy as np

from thoughtcycle.evals.locomo import (
    Conversation,
    FormedConversation,
    Turn,
    TurnPlace,
    formed_conversation,
    load,
)
from thoughtcycle.evals.retrieval import halves
from thoughtcycle.language.intents import asks_not_to_keep
from thoughtcycle.language.parse import situation_contexts
from thoughtcycle.memory.briefing import BriefingOptions, BuiltBriefing, Material, build_brief, read_material
from thoughtcycle.memory.index import Embedder
from thoughtcycle.memory.model import MemoryRecord, Step
from thoughtcycle.memory.text.analyzer import terms
from thoughtcycle.mind.base import ActionCard, Question, View
from thoughtcycle.mind.prompting import ask_prompt, reply_prompt
from thoughtcycle.nodes.actions.finish import Finish
from thoughtcycle.nodes.actions.memory_search import MemorySearch
from thoughtcycle.nodes.actions.registry import discover
from thoughtcycle.nodes.base.context import Context
from thoughtcycle.nodes.base.limits import Limits
from thoughtcycle.nodes.base.turn import short_form
from thoughtcycle.nodes.name_decision import DECIDE
from thoughtcycle.nodes.recall import query_of
from thoughtcycle.text_clipping import estimate_tokens

BUDGETS = (500, 1_000, 2_000, 4_000)
"""Memory budgets, in tokens."""
SHARES, TOKENS = ("any", "verbatim", "recall", "all"), ("briefing", "turn", "searching", "full")
NEW_CHAT = "asked"
"""The empty chat in which questions are asked."""
MADE_FROM = 0.8
"""Share of the words of a summary or a memory that are in the turn from which it counts as made."""


@dataclass(frozen=True)
class QuestionCost:
    """The cost and evidence of one question at one budget."""

    conversation: str
    half: str
    budget: int
    evidence: float
    """Share of the evidence in the briefing, in [0, 1]: turns, or memories made from them."""
    verbatim: bool
    """Whether any turn of the evidence is in the briefing."""
    briefing: int
    """Tokens of the briefing."""
    turn: int
    """Tokens that the calls of a turn read: a decision and a reply."""
    searching: int
    """The same of a turn with one search: a decision, its contexts, another decision, a reply."""
    full: int
    """A decision and a reply, with the full history in place of the briefing."""


@dataclass(frozen=True)
class Economy:
    """Means over questions."""

    questions: int
    any: float
    verbatim: float
    """Shares of questions with any of their evidence in the briefing, and with any of it verbatim."""
    recall: float
    """Share of the evidence that is in the briefing."""
    all: float
    """Share of questions with all of it."""
    briefing: float
    turn: float
    searching: float
    full: float

    @property
    def share(self) -> float:
        """Cost of a turn, as a share of one with the full history."""
        return self.turn / self.full


def economy(costs: Sequence[QuestionCost]) -> Economy:
    """The means; `costs` must not be empty."""
    return Economy(
        questions=len(costs),
        any=fmean(one.evidence > 0 for one in costs),
        recall=fmean(one.evidence for one in costs),
        all=fmean(one.evidence == 1 for one in costs),
        **{name: fmean(getattr(one, name) for one in costs) for name in ("verbatim", *TOKENS)},
    )


@dataclass(frozen=True)
class Report:
    """The scores of a token-economy evaluation."""

    embeddings: str
    costs: tuple[QuestionCost, ...]

    def groups(self) -> dict[str, dict[int, Economy]]:
        """Half, then conversation → budget → means."""
        groups: dict[str, dict[int, list[QuestionCost]]] = {}
        for field in ("half", "conversation"):
            for one in self.costs:
                groups.setdefault(getattr(one, field), {}).setdefault(one.budget, []).append(one)
        return {
            name: {budget: economy(part) for budget, part in each.items()} for name, each in groups.items()
        }

    def as_json(self) -> dict[str, object]:
        """The figures as plain data for JSON."""
        means = {
            name: {str(budget): asdict(one) | {"share": round(one.share, 4)} for budget, one in group.items()}
            for name, group in self.groups().items()
        }
        return {"data": "LoCoMo", "embeddings": self.embeddings, "economy": means}

    def as_text(self) -> str:
        """One table: halves first, then conversations."""
        columns = ("n", *SHARES, *TOKENS, "share")
        head = f"{'':<12}{'budget':>8}" + "".join(f"{name:>10}" for name in columns)
        lines = [f"LoCoMo, token economy, embeddings: {self.embeddings}", "", head]
        for name, group in self.groups().items():
            for budget, one in group.items():
                shares = "".join(f"{getattr(one, column):>10.3f}" for column in SHARES)
                tokens = "".join(f"{getattr(one, column):>10,.0f}" for column in TOKENS)
                lines.append(f"{name:<12}{budget:>8}{one.questions:>10}{shares}{tokens}{one.share:>10.3f}")
        return "\n".join(lines)


async def evaluate(path: Path, embeddings: Embedder | None, budgets: Sequence[int] = BUDGETS) -> Report:
    """Forms every conversation as chats of one user and asks its questions in a new chat."""
    conversations = load(path)
    half = halves(one.name for one in conversations)
    costs: list[QuestionCost] = []
    for conversation in conversations:
        async with formed_conversation(conversation, embeddings) as it:
            costs += await _asked(it, embeddings, conversation, half[conversation.name], budgets)
    return Report(embeddings.name if embeddings is not None else "none", tuple(costs))


async def _asked(
    it: FormedConversation, embeddings: Embedder | None, talk: Conversation, half: str, budgets: Sequence[int]
) -> list[QuestionCost]:
    turns = {turn.id: turn for _, turns in talk.sessions for turn in turns}
    history = "\n".join(
        f"{moment:%Y-%m-%d} {turn.speaker}: {turn.text}" for moment, turns in talk.sessions for turn in turns
    )
    costs = []
    for question, _, evidence in talk.questions:
        wanted = {id: turns[id] for id in evidence}
        query = query_of(question, "en")
        row = await embeddings.aembed_query(query) if embeddings is not None else []
        vector = np.asarray(row, dtype=np.float32)
        view = View(message=question, now=it.now, language="en")
        full = tokens_of(TURN, replace(view, briefing=history))
        found = await it.memory.search(
            talk.name, question, vector=vector, limit=Limits().search_hits, counted=False
        )
        for budget in budgets:
            plan = BriefingOptions(tokens=budget, smart=True)
            material = await read_material(
                it.memory,
                talk.name,
                NEW_CHAT,
                query,
                plan,
                now=it.now,
                vector=vector,
                calls_for=situation_contexts(question, "en"),
                unsaid=asks_not_to_keep,
            )
            brief = build_brief(material, plan, "en")
            seen = seen_with(view, brief, material)
            messages = {id for one in brief.sections for id, _, origin in one.shown if origin == "message"}
            present = evidence_in(brief, material, wanted, it.fed)
            costs.append(
                QuestionCost(
                    conversation=talk.name,
                    half=half,
                    budget=budget,
                    evidence=len(present) / len(wanted),
                    verbatim=not messages.isdisjoint(it.fed[id].message for id in wanted),
                    briefing=brief.tokens,
                    turn=tokens_of(TURN, seen),
                    searching=searching_tokens(seen, [hit.record for hit in found]),
                    full=full,
                )
            )
    return costs


def evidence_in(
    brief: BuiltBriefing, material: Material, wanted: Mapping[str, Turn], fed: Mapping[str, TurnPlace]
) -> set[str]:
    """Turns that a briefing shows, and those of which it has a summary or a memory made from them."""
    shown = {id for one in brief.sections for id, _, _ in one.shown}
    texts = {id: one.judgement.summary for id, one in material.found.cycles.items() if one.judgement}
    made_from = [(id, text) for id, text in texts.items() if id in shown]
    for hit in material.found.hits:
        source = hit.record.source
        if hit.record.id in shown and source.cycle is not None:
            made_from.append((source.cycle, source.words or hit.record.text))
    return {
        id
        for id, turn in wanted.items()
        if fed[id].message in shown
        or any(cycle == fed[id].cycle and _within(text, turn.text) for cycle, text in made_from)
    }


def _within(text: str, turn: str) -> bool:
    words, said = terms(text), set(terms(turn))
    return bool(words) and sum(word in said for word in words) >= MADE_FROM * len(words)


@cache
def _cards() -> tuple[ActionCard, ...]:
    return tuple(discover().cards("en", Context()))


def seen_with(view: View, brief: BuiltBriefing, material: Material) -> View:
    """The view of a model with this briefing; the memories it shows are also among those recalled."""
    shown = set(brief.shown)
    recalled = [short_form(hit.record) for hit in material.found.hits if hit.record.id in shown]
    return replace(view, briefing=brief.text, session=brief.session, recalled=tuple(recalled))


def searching_tokens(seen: View, found: Sequence[MemoryRecord]) -> int:
    """Tokens that the calls of a turn with one search for the message read."""
    given = [seen.message]
    outcome = MemorySearch().say("en", "outcome", count=len(found), contexts=seen.message)
    step = Step(action="MemorySearch", input=given, outcome=outcome, status="done")
    known = {one["id"]: one for one in (*seen.recalled, *map(short_form, found))}
    after = replace(seen, steps=(step,), recalled=tuple(known.values()))
    return tokens_of(filter(None, (DECIDE, MemorySearch.question)), seen) + tokens_of(TURN, after)


def tokens_of(questions: Iterable[Question[Any]], view: View) -> int:
    """Tokens that these calls read; the last call of a turn is its reply."""
    seen = replace(view, actions=_cards())
    prompts = [
        reply_prompt(question, seen) if question is Finish.reply else ask_prompt(question, seen)
        for question in questions
    ]
    return sum(estimate_tokens(message.text) for prompt in prompts for message in prompt)


TURN: tuple[Question[Any], ...] = (DECIDE, Finish.reply)
"""The calls of a turn that needs nothing but what it is given."""

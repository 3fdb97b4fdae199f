"""The working summary: one dense paragraph on goal, state and mood, every four exchanges (HM-2)."""

import logging
from collections.abc import Sequence
from datetime import datetime

from thoughtcycle.memory.judgement import Judgement
from thoughtcycle.memory.mood_labels import mood_label
from thoughtcycle.memory.volume import cut
from thoughtcycle.mind.base import Mind, Question, Usage, View
from thoughtcycle.mind.language.shortening import shorten
from thoughtcycle.nodes.formation.brevity import FILE, cleaned, within
from thoughtcycle.prompts.errors import ModelFailed
from thoughtcycle.prompts.loader import Language, texts

WORDS, TOKENS = 30, 80
"""Words that are asked for; tokens that it never exceeds."""
_GOAL_WORDS, _STATE_WORDS = 12, 14
_AIMS = ("financial_goals", "important_decisions")

log = logging.getLogger(__name__)


async def working_summary(
    mind: Mind,
    previous: str,
    exchanges: Sequence[Judgement],
    *,
    language: Language,
    now: datetime,
    usage: list[Usage] | None = None,
) -> str:
    """The next working summary: the previous one and the judgements of the exchanges since, oldest first.

    By rules when the model fails; the previous one stands when nothing was said that matters.
    """
    if not exchanges:
        return previous
    told = [f"- {one.summary}" for one in exchanges if one.summary]
    view = View(
        message="\n".join([texts(language, FILE).fill("before", previous=previous or "–"), *told]),
        now=now,
        language=language,
        usage=usage if usage is not None else [],
    )
    try:
        answer = await mind.ask(question(previous, exchanges), view)
    except ModelFailed as failure:
        log.warning("the working summary is made by rules: %s", failure.code)
        answer = ""
    text = cleaned(answer, language) or working_by_rules(previous, exchanges, language)
    return within(text, TOKENS)


def question(previous: str, exchanges: Sequence[Judgement]) -> Question[str]:
    """The question about these exchanges; their summaries are the view's message."""
    return Question(
        name="formation/summaries#working",
        role="background",
        schema=str,
        by_rules=lambda view: working_by_rules(previous, exchanges, view.language),
        values=lambda view: {"words": WORDS},
    )


def working_by_rules(previous: str, exchanges: Sequence[Judgement], language: Language) -> str:
    """Goal, state and mood from what was judged; a goal that nothing replaced is carried on."""
    said = texts(language, FILE)
    aims = [datum.text for one in exchanges for datum in one.critical if datum.kind in _AIMS]
    aims += [fact.content for one in exchanges for fact in one.facts if fact.kind == "obj" and not aims]
    goal = shorten(aims[-1], _GOAL_WORDS) if aims else _carried(previous, said["goal_label"])
    told = [one.summary for one in exchanges if one.summary and one.importance > 0]
    state = shorten(told[-1], _STATE_WORDS) if told else ""
    mood = next((one.mood for one in reversed(exchanges) if one.mood), None)
    feels = " – ".join(filter(None, (mood_label(mood.name, language), mood.topic))) if mood else ""
    parts = [
        f"{said['goal_label']}: {goal}" if goal else "",
        f"{said['state_label']}: {state}" if state else "",
        f"{said['mood_label']}: {feels}" if feels else "",
    ]
    text = ". ".join(part.rstrip(". …") for part in parts if part)
    return within(cut(f"{text}." if text else previous, WORDS), TOKENS)


def _carried(previous: str, label: str) -> str:
    """The goal of the previous summary, where rules wrote it."""
    head = f"{label}: "
    return previous[len(head) :].partition(". ")[0].rstrip(".") if previous.startswith(head) else ""

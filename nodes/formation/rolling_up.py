"""Rolls several summaries up into one of a period: one question of the `background` role (CM-6)."""

import logging
from datetime import datetime

from thoughtcycle.memory.compression import RollUp
from thoughtcycle.mind.base import Mind, Question, Usage, View
from thoughtcycle.mind.language.shortening import together
from thoughtcycle.nodes.formation.brevity import cleaned, listed
from thoughtcycle.prompts.errors import ModelFailed
from thoughtcycle.prompts.loader import Language

log = logging.getLogger(__name__)


async def roll_up(
    mind: Mind, step: RollUp, *, language: Language, now: datetime, usage: list[Usage] | None = None
) -> str:
    """The summary of the period, for `memory.compression.rolled_up`; by rules when the model fails."""
    view = View(
        message=listed(step.pieces, language),
        now=now,
        language=language,
        usage=usage if usage is not None else [],
    )
    try:
        answer = await mind.ask(question(step), view)
    except ModelFailed as failure:
        log.warning("a period is summarised by rules: %s", failure.code)
        answer = ""
    return cleaned(answer, language) or rolled_up_by_rules(step)


def question(step: RollUp) -> Question[str]:
    """The question for these pieces; the pieces themselves are the view's message."""
    return Question(
        name="formation/summaries#roll_up",
        role="background",
        schema=str,
        by_rules=lambda view: rolled_up_by_rules(step),
        values=lambda view: {"words": step.words},
    )


def rolled_up_by_rules(step: RollUp) -> str:
    """What matters most of each, one after the other."""
    return together([piece.summary for piece in step.pieces], step.words)

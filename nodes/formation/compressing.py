"""Makes summaries shorter: one question of the `background` role for up to ten of them (CM-6)."""

import logging
from datetime import datetime

from thoughtcycle.memory.compression import Shorten
from thoughtcycle.mind.base import Mind, Question, Usage, View
from thoughtcycle.mind.language.shortening import shorten
from thoughtcycle.nodes.formation.brevity import cleaned, listed
from thoughtcycle.prompts.errors import ModelFailed
from thoughtcycle.prompts.loader import Language

log = logging.getLogger(__name__)


async def compress(
    mind: Mind, step: Shorten, *, language: Language, now: datetime, usage: list[Usage] | None = None
) -> dict[str, str]:
    """The shorter summaries, by piece id, for `memory.compression.shortened`.

    Rules answer for each piece that the model leaves out, and for all when it fails. `usage` is given the
    tokens of the call.
    """
    view = View(
        message=listed(step.pieces, language),
        now=now,
        language=language,
        usage=usage if usage is not None else [],
    )
    by_rules = shortened_by_rules(step)
    try:
        answers = await mind.ask(question(step), view)
    except ModelFailed as failure:
        log.warning("summaries are shortened by rules: %s", failure.code)
        answers = by_rules
    if len(answers) != len(step.pieces):
        answers = by_rules
    pairs = zip(step.pieces, answers, by_rules, strict=True)
    return {piece.id: cleaned(answer, language) or rule for piece, answer, rule in pairs}


def question(step: Shorten) -> Question[list[str]]:
    """The question for these pieces; the pieces themselves are the view's message."""
    return Question(
        name="formation/summaries#compress",
        role="background",
        schema=list[str],
        by_rules=lambda view: shortened_by_rules(step),
        values=lambda view: {"count": len(step.pieces), "words": step.words},
    )


def shortened_by_rules(step: Shorten) -> list[str]:
    """The words of each summary that matter most."""
    return [shorten(piece.summary, step.words) for piece in step.pieces]

"""Summaries: shortens pieces, rolls them up into a period, writes the working summary (CM-6, HM-2).

Each is one question of the `background` role; rules answer where the model fails.
"""

import logging
import re
from collections.abc import Sequence
from datetime import datetime

from thoughtcycle.budget import CHARACTERS_PER_TOKEN, clip_at_word, clip_for_prompt, first_words
from thoughtcycle.errors import ModelFailed
from thoughtcycle.language.facts import shorten, shorten_all
from thoughtcycle.memory.model import Judgement, PreservedData
from thoughtcycle.memory.rules import Piece, RollUp, Shorten
from thoughtcycle.memory.text import label_of
from thoughtcycle.mind.answer_parser import without_thoughts
from thoughtcycle.mind.base import Mind, Question, Usage, View
from thoughtcycle.prompts.loader import Language, texts

FILE = "formation/summaries"
PIECE_TOKENS = 150
KEPT_TOKENS = 60
"""Of what must not be lost, as far as a model is shown it; the ledger has it all."""

_FENCE = re.compile(r"```[\w-]*")
_QUOTES = "\"'“”«»` "
WORDS, LONGEST = 30, 80 * CHARACTERS_PER_TOKEN
"""Words that are asked for; characters that it never exceeds, 80 tokens."""
_GOAL_WORDS, _STATE_WORDS = 12, 14
_AIMS = ("financial_goals", "important_decisions")

log = logging.getLogger(__name__)


async def shorten_pieces(
    mind: Mind, step: Shorten, *, language: Language, now: datetime, usage: list[Usage] | None = None
) -> dict[str, str]:
    """The shorter summaries, by piece id, for `memory.compression.shortened`.

    Rules answer for each piece that the model leaves out, and for all when it fails. `usage` is given the
    tokens of the call.
    """
    view = View(
        message=numbered(step.pieces, language),
        now=now,
        language=language,
        usage=usage if usage is not None else [],
    )
    by_rules = shortened_by_rules(step)
    try:
        answers = await mind.ask(shorten_question(step), view)
    except ModelFailed as failure:
        log.warning("summaries are shortened by rules: %s", failure.code)
        answers = by_rules
    if len(answers) != len(step.pieces):
        answers = by_rules
    pairs = zip(step.pieces, answers, by_rules, strict=True)
    return {piece.id: clean_answer(answer, language) or rule for piece, answer, rule in pairs}


def shorten_question(step: Shorten) -> Question[list[str]]:
    """The question for these pieces; the pieces themselves are the view's message."""
    return Question(
        name="formation/summaries#compress",
        role="background",
        schema=list[str],
        by_rules=lambda view: shortened_by_rules(step),
        values=lambda view: {"count": len(step.pieces), "words": step.words},
    )


def shortened_by_rules(step: Shorten) -> list[str]:
    """The most important words of each summary."""
    return [shorten(piece.summary, step.words) for piece in step.pieces]


async def roll_up(
    mind: Mind, step: RollUp, *, language: Language, now: datetime, usage: list[Usage] | None = None
) -> str:
    """The summary of the period, for `memory.compression.rolled_up`; by rules when the model fails."""
    view = View(
        message=numbered(step.pieces, language),
        now=now,
        language=language,
        usage=usage if usage is not None else [],
    )
    try:
        answer = await mind.ask(roll_up_question(step), view)
    except ModelFailed as failure:
        log.warning("a period is summarised by rules: %s", failure.code)
        answer = ""
    return clean_answer(answer, language) or rolled_up_by_rules(step)


def roll_up_question(step: RollUp) -> Question[str]:
    """The question for these pieces; the pieces themselves are the view's message."""
    return Question(
        name="formation/summaries#roll_up",
        role="background",
        schema=str,
        by_rules=lambda view: rolled_up_by_rules(step),
        values=lambda view: {"words": step.words},
    )


def rolled_up_by_rules(step: RollUp) -> str:
    """The most important words of each piece, in order."""
    return shorten_all([piece.summary for piece in step.pieces], step.words)


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
        answer = await mind.ask(working_question(previous, exchanges), view)
    except ModelFailed as failure:
        log.warning("the working summary is made by rules: %s", failure.code)
        answer = ""
    text = clean_answer(answer, language) or working_by_rules(previous, exchanges, language)
    return clip_at_word(text, LONGEST)


def working_question(previous: str, exchanges: Sequence[Judgement]) -> Question[str]:
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
    feels = " – ".join(filter(None, (label_of("mood", mood.name, language), mood.topic))) if mood else ""
    parts = [
        f"{said['goal_label']}: {goal}" if goal else "",
        f"{said['state_label']}: {state}" if state else "",
        f"{said['mood_label']}: {feels}" if feels else "",
    ]
    text = ". ".join(part.rstrip(". …") for part in parts if part)
    return clip_at_word(first_words(f"{text}." if text else previous, WORDS), LONGEST)


def _carried(previous: str, label: str) -> str:
    """The goal of the previous summary, where rules wrote it."""
    head = f"{label}: "
    return previous[len(head) :].partition(". ")[0].rstrip(".") if previous.startswith(head) else ""


def numbered(pieces: Sequence[Piece], language: Language) -> str:
    """The pieces, numbered from 1, each with its day and what it must keep."""
    said = texts(language, FILE)
    return "\n".join(
        said.fill(
            "piece",
            number=number,
            date=f"{piece.since:%Y-%m-%d}",
            summary=clip_for_prompt(" ".join(piece.summary.split()), PIECE_TOKENS, language),
            keep=clip_for_prompt(preserved_text(piece.preserved), KEPT_TOKENS, language) or "–",
        )
        for number, piece in enumerate(pieces, 1)
    )


def preserved_text(preserved: PreservedData) -> str:
    """The preserved data as they were said, separated by semicolons."""
    said = [one.said for one in (*preserved.numerical_values, *preserved.dates)]
    return "; ".join([*said, *preserved.decisions, *preserved.essential_context])


def clean_answer(answer: str, language: Language) -> str:
    """A model's text on one line, without thoughts, fences, quotation marks and a label before it."""
    text = " ".join(_FENCE.sub(" ", without_thoughts(answer)).split()).strip(_QUOTES)
    labels = texts(language, FILE)["labels"].replace(", ", "|")
    return re.sub(rf"^(?:{labels})[^:]{{0,40}}: *", "", text, flags=re.IGNORECASE).strip(_QUOTES)

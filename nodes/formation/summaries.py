"""Steps of summaries: compresses the memory of a chat, and makes its working summary (CM-5, CM-6, HM-2).

Each summary is one question of the `background` role; rules answer where the model fails.
"""

import logging
import re
from collections.abc import Callable, Mapping, Sequence
from datetime import datetime
from typing import TypeVar

from thoughtcycle.errors import ModelFailed
from thoughtcycle.language.facts import shorten, shorten_all
from thoughtcycle.memory.model import Judgement, PreservedData
from thoughtcycle.memory.rules.compression import (
    Piece,
    RollUp,
    Shorten,
    apply_roll_up,
    apply_shortening,
    finish_compression,
    next_step,
)
from thoughtcycle.memory.rules.window import with_working, working_due
from thoughtcycle.memory.rules.word_budget import compression_due, with_word_counts
from thoughtcycle.memory.storage import Conflict
from thoughtcycle.memory.text.labels import label_of
from thoughtcycle.mind.answer_parser import without_thoughts
from thoughtcycle.mind.base import Mind, Question, View
from thoughtcycle.nodes.formation.roll_window import read_live_conversation
from thoughtcycle.nodes.formation.run import FormationRun
from thoughtcycle.nodes.formation.state import FormationUpdate
from thoughtcycle.prompts.loader import Language, texts
from thoughtcycle.text_clipping import CHARACTERS_PER_TOKEN, clip_at_word, clip_for_prompt, first_words

T = TypeVar("T")

FILE = "formation/summaries"
PIECE_TOKENS = 150
PRESERVED_TOKENS = 60
"""Preserved data that a model is shown; the ledger has all."""

_FENCE = re.compile(r"```[\w-]*")
_QUOTES = "\"'“”«»` "
WORDS, LONGEST = 30, 80 * CHARACTERS_PER_TOKEN
"""Words of a working summary that are asked for, and its most characters: 80 tokens."""
_GOAL_WORDS, _STATE_WORDS = 12, 14
_AIMS = ("financial_goals", "important_decisions")

log = logging.getLogger(__name__)


async def summarise(forming: FormationRun) -> FormationUpdate:
    """Makes the working summary of the chat: from the former one and the judgements since."""
    cycle = await forming.cycle()
    talk = await read_live_conversation(forming)
    known = talk.memory
    if not working_due(known, forming.services.limits.working_every):  # done before a crash
        return {}
    cycles = await forming.memory.transcript.cycles(forming.user, known.working_cycles)
    by_id = {one.id: one.judgement for one in cycles}
    judgements = [judgement for id in known.working_cycles if (judgement := by_id.get(id)) is not None]
    working = await working_summary(
        forming.mind, known.working, judgements, language=forming.language, now=cycle.message.at
    )
    after = with_word_counts(with_working(known, working, forming.services.clock()), talk.recent)
    await forming.memory.conversations.keep_conversation_memory(after)
    return {}


async def compress(forming: FormationRun) -> FormationUpdate:
    """Compresses the memory of the chat when it is nearly full; writes once, at the end.

    Every number and date stays. Raises Conflict when the memory was written meanwhile.
    """
    budget = forming.services.limits.word_budget
    talk = await read_live_conversation(forming)
    if not compression_due(talk.memory, budget):
        return {}
    before = memory = talk.memory
    if memory.partial:
        before = memory = await forming.memory.conversation_memory(forming.user, forming.state["chat"])
        if memory.revision != talk.memory.revision:
            raise Conflict
    now, language = forming.services.clock(), forming.language
    while (step := next_step(memory, talk.recent, budget)) is not None:
        if isinstance(step, Shorten):
            answers = await shorten_pieces(forming.mind, step, language=language, now=now)
            after = apply_shortening(memory, step, answers)
        else:
            after = apply_roll_up(memory, step, await roll_up(forming.mind, step, language=language, now=now))
        if after == memory:
            break
        memory = after
    done = finish_compression(memory, talk.recent, budget, now, changed=memory != before)
    if done != before:
        await forming.memory.conversations.keep_conversation_memory(done)
    return {}


async def shorten_pieces(mind: Mind, step: Shorten, *, language: Language, now: datetime) -> dict[str, str]:
    """The shorter summaries by piece id; rules answer for a piece that the model leaves out."""
    view = View(message=numbered(step.pieces, language), now=now, language=language)
    by_rules = _shorten_by_rules(step)
    answers = await _ask(mind, shorten_question(step), view, otherwise=by_rules)
    if len(answers) != len(step.pieces):
        answers = by_rules
    pairs = zip(step.pieces, answers, by_rules, strict=True)
    return {piece.id: clean_answer(answer, language) or rule for piece, answer, rule in pairs}


def shorten_question(step: Shorten) -> Question[list[str]]:
    """The question for these pieces, which are the view's message."""
    values = {"count": len(step.pieces), "words": step.words}
    return _question("compress", list[str], lambda: _shorten_by_rules(step), values)


def _shorten_by_rules(step: Shorten) -> list[str]:
    return [shorten(piece.summary, step.words) for piece in step.pieces]


async def roll_up(mind: Mind, step: RollUp, *, language: Language, now: datetime) -> str:
    """The summary of a period."""
    view = View(message=numbered(step.pieces, language), now=now, language=language)
    answer = await _ask(mind, roll_up_question(step), view, otherwise="")
    return clean_answer(answer, language) or rolled_up_by_rules(step)


def roll_up_question(step: RollUp) -> Question[str]:
    """The question for these pieces, which are the view's message."""
    return _question("roll_up", str, lambda: rolled_up_by_rules(step), {"words": step.words})


def rolled_up_by_rules(step: RollUp) -> str:
    """The most important words of each piece, in order."""
    return shorten_all([piece.summary for piece in step.pieces], step.words)


async def working_summary(
    mind: Mind, previous: str, exchanges: Sequence[Judgement], *, language: Language, now: datetime
) -> str:
    """The next working summary: the previous one and the judgements of the exchanges since, oldest first.

    The previous one stays where nothing of importance was said.
    """
    if not exchanges:
        return previous

    def by_rules() -> str:
        return working_by_rules(previous, exchanges, language)

    before = texts(language, FILE).fill("before", previous=previous or "–")
    lines = [before, *(f"- {one.summary}" for one in exchanges if one.summary)]
    view = View(message="\n".join(lines), now=now, language=language)
    answer = await _ask(mind, _question("working", str, by_rules, {"words": WORDS}), view, otherwise="")
    return clip_at_word(clean_answer(answer, language) or by_rules(), LONGEST)


def _question(
    section: str, schema: type[T], by_rules: Callable[[], T], values: Mapping[str, object]
) -> Question[T]:
    return Question(
        name=f"{FILE}#{section}",
        role="background",
        schema=schema,
        by_rules=lambda view: by_rules(),
        values=lambda view: values,
    )


async def _ask(mind: Mind, question: Question[T], view: View, *, otherwise: T) -> T:
    try:
        return await mind.ask(question, view)
    except ModelFailed as failure:
        log.warning("rules answer %s: %s", question.name, failure.code)
        return otherwise


def working_by_rules(previous: str, exchanges: Sequence[Judgement], language: Language) -> str:
    """Goal, state and mood of the judgements; a goal that no other replaced is carried over."""
    words = texts(language, FILE)
    aims = [datum.text for one in exchanges for datum in one.critical if datum.kind in _AIMS]
    aims += [fact.content for one in exchanges for fact in one.facts if fact.kind == "obj" and not aims]
    goal = shorten(aims[-1], _GOAL_WORDS) if aims else _previous_goal(previous, words["goal_label"])
    summaries = [one.summary for one in exchanges if one.summary and one.importance > 0]
    state = shorten(summaries[-1], _STATE_WORDS) if summaries else ""
    mood = next((one.mood for one in reversed(exchanges) if one.mood), None)
    feels = " – ".join(filter(None, (label_of("mood", mood.name, language), mood.topic))) if mood else ""
    values = {"goal_label": goal, "state_label": state, "mood_label": feels}
    text = ". ".join(f"{words[label]}: {value}".rstrip(". …") for label, value in values.items() if value)
    return clip_at_word(first_words(f"{text}." if text else previous, WORDS), LONGEST)


def _previous_goal(previous: str, label: str) -> str:
    """The goal in the previous summary, where rules wrote it."""
    head = f"{label}: "
    return previous[len(head) :].partition(". ")[0].rstrip(".") if previous.startswith(head) else ""


def numbered(pieces: Sequence[Piece], language: Language) -> str:
    """The pieces, numbered from 1, each with its day and the data that its summary must keep."""
    words = texts(language, FILE)
    return "\n".join(
        words.fill(
            "piece",
            number=number,
            date=f"{piece.since:%Y-%m-%d}",
            summary=clip_for_prompt(" ".join(piece.summary.split()), PIECE_TOKENS, language),
            keep=clip_for_prompt(_preserved_text(piece.preserved), PRESERVED_TOKENS, language) or "–",
        )
        for number, piece in enumerate(pieces, 1)
    )


def _preserved_text(preserved: PreservedData) -> str:
    """The preserved data as they were said, separated by semicolons."""
    said = [one.said for one in (*preserved.numerical_values, *preserved.dates)]
    return "; ".join([*said, *preserved.decisions, *preserved.essential_context])


def clean_answer(answer: str, language: Language) -> str:
    """A model's answer on one line, without thoughts, fences, quotation marks and label."""
    text = " ".join(_FENCE.sub(" ", without_thoughts(answer)).split()).strip(_QUOTES)
    labels = texts(language, FILE)["labels"].replace(", ", "|")
    return re.sub(rf"^(?:{labels})[^:]{{0,40}}: *", "", text, flags=re.IGNORECASE).strip(_QUOTES)

"""The step that judges an exchange: one question of the `background` role, none for a dropped one (SM-4)."""

import asyncio
import logging
from collections.abc import Sequence
from typing import Any

from thoughtcycle.errors import ModelFailed
from thoughtcycle.language.facts import SUMMARY_WORDS
from thoughtcycle.language.intents import CRITICAL, TEMPORARY
from thoughtcycle.memory.model import SHORT, Cycle, Judgement, MemoryRecord, Recalled
from thoughtcycle.memory.rules.layer_rules import layer_marks
from thoughtcycle.memory.rules.word_budget import reply_text
from thoughtcycle.memory.storage import Conflict
from thoughtcycle.memory.text.secrets import masked
from thoughtcycle.memory.text.spans import HIDDEN
from thoughtcycle.mind.base import Mind, Question, View
from thoughtcycle.mind.fence import fence
from thoughtcycle.mind.rules import LONG
from thoughtcycle.nodes.base.turn import short_form
from thoughtcycle.nodes.formation.exchange import Exchange
from thoughtcycle.nodes.formation.judge.answer import FORM, Answer, ByRules, facts_of, importance_of, mood_in
from thoughtcycle.nodes.formation.judge.rule_judge import FILE, code_facts, dropped, judged_by_rules
from thoughtcycle.nodes.formation.run import FormationRun, exchange_of
from thoughtcycle.nodes.formation.state import FormationUpdate
from thoughtcycle.prompts.loader import Language, texts
from thoughtcycle.text_clipping import clip_for_prompt, first_parts

TRIES = 4
"""Times that a model is asked about one exchange; then the rules' judgement is final."""
KNOWN = 8
"""Known memories that the model is shown."""
MESSAGE_TOKENS, REPLY_TOKENS, KNOWN_TOKENS = 1_300, 500, 60

log = logging.getLogger(__name__)


async def judge(forming: FormationRun) -> FormationUpdate:
    """Judges once: the judgement is stored on the cycle, so that a repeated run asks no model."""
    if forming.state.get("judgement") is not None and not forming.judgement.pending:
        return {}
    cycle = await forming.cycle()
    if len(cycle.variants) > 1:  # what the former reply led to
        await forming.memory.unlearning.drop_from_conversation(forming.user, cycle.chat, [cycle.id])
    judgement = await judge_cycle(forming, cycle)
    return {"judgement": judgement.model_dump(mode="json")}


async def judge_cycle(forming: FormationRun, cycle: Cycle) -> Judgement:
    """Judges a cycle and stores the judgement with it.

    Raises Conflict when its text has changed meanwhile, or another worker has judged it.
    """
    exchange = exchange_of(cycle, forming)
    asked = exchange.verdict.passed and not forming.mind.by_rules
    known = await forming.find(cycle.message.text, KNOWN) if asked else []
    failures = cycle.judgement.failures if cycle.judgement is not None else 0
    made = await judged(forming.mind, exchange, list(map(short_form, known)), failures=failures)
    judgement = without_redacted(made)
    stored = await forming.memory.conversations.form_cycle(
        forming.user,
        cycle.id,
        judgement=judgement,
        marks=layer_marks(cycle.message.text, reply_text(cycle), cycle.message.at),
        formation=cycle.formation if cycle.formation == "done" else "pending",
        expected=cycle,
        first=True,
    )
    if stored is None:
        raise Conflict
    return judgement


def without_redacted(judgement: Judgement) -> Judgement:
    """`judgement` without facts and critical data that hold the mark of redacted words."""
    said = [(fact, "".join((fact.content, fact.words, *fact.bindings))) for fact in judgement.facts]
    return judgement.model_copy(
        update={
            "facts": tuple(fact for fact, text in said if HIDDEN not in text),
            "critical": tuple(one for one in judgement.critical if HIDDEN not in one.text),
        }
    )


async def judged(
    mind: Mind, exchange: Exchange, known: Sequence[Recalled] = (), *, failures: int = 0
) -> Judgement:
    """Judges an exchange. `known`: the nearest memories of the user, best first.

    A model that fails or answers nothing usable leaves a `pending` judgement: no facts, the rest by rules, to
    be made again later (CM-8). After TRIES failures, `failures` of them earlier, the rules' judgement is
    final. Critical and preserved data always come from the rules.
    """
    passed = exchange.verdict.passed
    by_rules = judged_by_rules if passed else dropped
    long = len(exchange.message) + len(exchange.reply) > LONG
    rules = await asyncio.to_thread(by_rules, exchange) if long else by_rules(exchange)
    if not passed:
        return rules
    shown = tuple(known[:KNOWN])
    question = Question(
        name=f"{FILE}#judge",
        role="background",
        schema=Answer,
        form=FORM,
        by_rules=lambda view: ByRules(importance=None, summary="-", facts=[]),
    )
    view = View(
        message=fenced(exchange),
        now=exchange.at,
        language=exchange.language,
        persona=exchange.persona,
        briefing=_listed(shown, exchange.language),
    )
    try:
        answer = await mind.ask(question, view)
    except ModelFailed as failure:
        log.warning("an exchange could not be judged (%s); it is kept in full and judged again", failure.code)
        if failures + 1 >= TRIES:
            return rules
        return rules.model_copy(update={"facts": (), "pending": True, "failures": failures + 1})
    return rules if isinstance(answer, ByRules) else _completed(answer, exchange, shown, rules)


def fenced(exchange: Exchange) -> str:
    """The exchange between two marks that cannot occur inside, without secrets, long texts clipped."""
    return texts(exchange.language, FILE).fill(
        "exchange",
        date=exchange.at.date().isoformat(),
        message=_plain(exchange.message, MESSAGE_TOKENS, exchange),
        reply=_plain(exchange.reply, REPLY_TOKENS, exchange),
    )


def _plain(text: str, tokens: int, exchange: Exchange) -> str:
    return clip_for_prompt(masked(fence(text)), tokens, exchange.language)


def _listed(known: Sequence[Recalled], language: Language) -> str:
    """The known memories, numbered, as they stand among the data of the prompt."""
    own = texts(language, FILE)
    lines = [
        f"{number}. {clip_for_prompt(masked(' '.join(each['content'].split())), KNOWN_TOKENS, language)}"
        for number, each in enumerate(known, 1)
    ]
    return "\n".join([own["known"], *(lines or [own["none"]])])


def _completed(answer: Answer, exchange: Exchange, known: Sequence[Recalled], rules: Judgement) -> Judgement:
    """The model's judgement with what always comes from the rules."""
    facts = facts_of(answer, exchange, known)
    importance = importance_of(answer, rules.importance)
    if exchange.critical:
        importance = max(importance, CRITICAL)
    elif facts:
        importance = max(importance, TEMPORARY)
    coded = code_facts(exchange) if importance else ()
    return Judgement(
        importance=importance,
        type="code" if coded else answer.exchange_type,
        summary=masked(first_parts(answer.summary, SUMMARY_WORDS)),
        facts=(*facts, *coded),
        preserved=rules.preserved,
        critical=rules.critical,
        mood=mood_in(answer),
        by="model",
    )


def compact_form(record: MemoryRecord) -> dict[str, Any]:
    """A memory in the compact form of HM-5, for prompts and export; `d` is the day it was last confirmed."""
    day = record.reinforced_at or record.updated
    return {
        "i": record.id[:SHORT],
        "t": record.kind,
        "c": masked(record.text),
        "w": round(record.weight, 2),
        "d": f"{day:%y%m%d}",
    }

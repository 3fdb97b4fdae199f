"""The judge: one question of the `background` role for a kept exchange, none for a dropped one (SM-4)."""

import asyncio
import logging
from collections.abc import Sequence
from typing import Any

from thoughtcycle.budget import clip_for_prompt, first_parts
from thoughtcycle.errors import ModelFailed
from thoughtcycle.language.facts import SUMMARY_WORDS
from thoughtcycle.language.intents import CRITICAL, TEMPORARY
from thoughtcycle.memory.model import Judgement, MemoryRecord, Recalled
from thoughtcycle.memory.text import masked
from thoughtcycle.mind.base import Mind, Question, Usage, View
from thoughtcycle.mind.rules import LONG
from thoughtcycle.nodes.formation.exchange import Exchange
from thoughtcycle.nodes.formation.judge.answer import Answer, ByRules, facts_of, importance_of, mood_in
from thoughtcycle.nodes.formation.judge.rule_judge import FILE, code_facts, dropped, judged_by_rules
from thoughtcycle.prompts.loader import texts

TRIES = 4
"""Times that a model is asked about one exchange; then the rules' judgement stands."""
KNOWN = 8
"""Known memories that the judge is shown."""
MESSAGE_TOKENS, REPLY_TOKENS, KNOWN_TOKENS = 1_300, 500, 60
_FENCES = ("<exchange>", "</exchange>")

log = logging.getLogger(__name__)


async def judged(
    mind: Mind,
    exchange: Exchange,
    known: Sequence[Recalled] = (),
    usage: list[Usage] | None = None,
    *,
    failures: int = 0,
) -> Judgement:
    """Judges an exchange. `known`: the nearest memories of the user, best first.

    A model that fails or answers nothing usable leaves a judgement `pending`: no facts, the rest by rules,
    to be made again later (CM-8). After `failures` and this one, TRIES in all, the rules' judgement stands:
    the model has something against this exchange. Critical and preserved data always come from the rules.
    `usage` is given the tokens of the call.
    """
    length = len(exchange.message) + len(exchange.reply)
    rules = await asyncio.to_thread(_by_rules, exchange) if length > LONG else _by_rules(exchange)
    if not exchange.verdict.passed:
        return rules
    shown = tuple(known[:KNOWN])
    view = View(
        message=fenced(exchange),
        now=exchange.at,
        language=exchange.language,
        persona=exchange.persona,
        usage=usage if usage is not None else [],
    )
    try:
        answer = await mind.ask(question(shown), view)
    except ModelFailed as failure:
        log.warning("an exchange could not be judged (%s); it is kept in full and judged again", failure.code)
        if failures + 1 >= TRIES:
            return rules
        return rules.model_copy(update={"facts": (), "pending": True, "failures": failures + 1})
    return rules if isinstance(answer, ByRules) else _completed(answer, exchange, shown, rules)


def _by_rules(exchange: Exchange) -> Judgement:
    return judged_by_rules(exchange) if exchange.verdict.passed else dropped(exchange)


def question(known: Sequence[Recalled]) -> Question[Answer]:
    """The question about one exchange; without a model the rules' judgement stands."""
    return Question(
        name=f"{FILE}#judge",
        role="background",
        schema=Answer,
        by_rules=lambda view: ByRules(importance=None, summary="-", facts=[]),
        values=lambda view: {"known": _listed(known, view)},
    )


def fenced(exchange: Exchange) -> str:
    """The exchange between two marks that cannot occur inside, without secrets, long texts clipped."""
    return texts(exchange.language, FILE).fill(
        "exchange",
        date=exchange.at.date().isoformat(),
        message=_plain(exchange.message, MESSAGE_TOKENS, exchange),
        reply=_plain(exchange.reply, REPLY_TOKENS, exchange),
    )


def _plain(text: str, tokens: int, exchange: Exchange) -> str:
    for mark in _FENCES:
        text = text.replace(mark, mark.replace("<", "‹").replace(">", "›"))
    return clip_for_prompt(masked(text), tokens, exchange.language)


def _listed(known: Sequence[Recalled], view: View) -> str:
    lines = (
        f"{number}. {clip_for_prompt(masked(' '.join(each['content'].split())), KNOWN_TOKENS, view.language)}"
        for number, each in enumerate(known, 1)
    )
    return "\n".join(lines) or texts(view.language, FILE)["none"]


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
        "i": record.id[:8],
        "t": record.kind,
        "c": masked(record.text),
        "w": round(record.weight, 2),
        "d": f"{day:%y%m%d}",
    }

"""Decides the next action by name (TC-4); the cycle ends politely when it cannot."""

import re
import unicodedata
from collections.abc import Collection
from itertools import pairwise

from thoughtcycle.language.intents import asks_not_to_keep
from thoughtcycle.mind.base import Question, View
from thoughtcycle.mind.streaming import speak
from thoughtcycle.nodes.actions.question import AskQuestion, deletion_asked
from thoughtcycle.nodes.actions.registry import Registry
from thoughtcycle.nodes.base.state import REMEMBER, StateUpdate
from thoughtcycle.nodes.base.turn import Turn
from thoughtcycle.nodes.tool_decision import decide_by_tools

_LAST_STEPS = 4
"""Super-steps that closing takes: router, ending action, remember, and one to spare."""


def decide_by_rules(view: View) -> str:
    """The enabled action that the rules call for most, the first of equals; "" where they call for none."""
    urgency = {card.name: card.urgency(view) for card in view.actions}
    most = max(urgency, key=lambda name: urgency[name], default="")
    return most if urgency.get(most, 0.0) > 0 else ""


DECIDE = Question(name="router#ask", role="reasoning_heavy", schema=str, by_rules=decide_by_rules)
DECIDE_AGAIN = Question(name="router#ask_again", role="reasoning_heavy", schema=str, by_rules=decide_by_rules)


async def router(turn: Turn, actions: Registry) -> StateUpdate:
    """One decision; at most `max_steps` of them in a cycle, and never a recursion error."""
    if turn.state.get("failure"):
        return {"next_action": REMEMBER}
    unsaid = turn.withheld or asks_not_to_keep(turn.message)
    enabled = [action.name for action in actions.enabled(turn.context, unsaid=unsaid)]
    if deletion_asked(turn.state.get("steps", ())) and AskQuestion.name in enabled:
        return {"next_action": AskQuestion.name}
    if not enabled:
        return await _end(turn, "no_action")
    if (waiting := [call for call in turn.calls if call["name"] in enabled]) and not _out_of_steps(turn):
        return {"next_action": waiting[0]["name"], "calls": waiting}
    if not (last := _out_of_steps(turn)):
        turn.status(turn.texts("router")["status"])
    view = turn.view(actions.cards(turn.language, turn.context, unsaid=unsaid))
    if by_tools := await decide_by_tools(turn, actions, view, last=last):
        return by_tools
    if last:
        closes = "Finish" in enabled and actions["Finish"].ends
        return {"next_action": "Finish"} if closes else await _end(turn, "out_of_steps")
    for question in (DECIDE, DECIDE_AGAIN):
        answer = await turn.mind.ask(question, view)
        if name := parse_action(answer, enabled):
            return {"next_action": name, "usage": turn.spent(view)}
    return await _end(turn, "lost")


def _out_of_steps(turn: Turn) -> bool:
    limit = turn.context.max_steps or turn.services.limits.max_steps
    return len(turn.state.get("steps", ())) >= limit or turn.state.get("remaining_steps", 99) <= _LAST_STEPS


async def _end(turn: Turn, section: str) -> StateUpdate:
    said = await speak(turn.texts("router")[section], chat_history=False)
    return {"messages": [said], "next_action": REMEMBER}


def parse_action(answer: str, names: Collection[str]) -> str | None:
    """The action that an answer names, whatever its case, quotes, punctuation and other words.

    None when it names no action or more than one.
    """
    by_form = {_form(name): name for name in names}
    if exact := by_form.get(_form(answer)):
        return exact
    words = [_form(word) for word in re.split(r"\W+", unicodedata.normalize("NFKD", answer))]
    pairs = [first + second for first, second in pairwise(words)]
    named = {by_form[form] for form in (*words, *pairs) if form in by_form}
    return named.pop() if len(named) == 1 else None


def _form(text: str) -> str:
    return re.sub(r"[\W_]+", "", unicodedata.normalize("NFKD", text)).casefold()

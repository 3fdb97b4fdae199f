"""Decides with tools (TC-4): one streamed call; its text is the reply, its calls are the next actions."""

import asyncio
import re

from langchain_core.messages import AIMessage

from thoughtcycle.language.intents import asks_to_keep
from thoughtcycle.memory.model import Step
from thoughtcycle.mind.base import View
from thoughtcycle.mind.streaming import begin, envelope
from thoughtcycle.nodes.actions.finish import Finish
from thoughtcycle.nodes.actions.question import AskQuestion
from thoughtcycle.nodes.actions.registry import Registry
from thoughtcycle.nodes.actions.view_queries import meaning_of, searched_in_vain
from thoughtcycle.nodes.base.state import StateUpdate
from thoughtcycle.nodes.base.turn import Turn

_ASKS = re.compile(r"\?\W*\Z")


async def decide_by_tools(turn: Turn, actions: Registry, view: View, *, last: bool) -> StateUpdate | None:
    """The router's update: calls that wait, or the whole reply; None where actions are chosen by name."""
    if turn.mind.by_rules or Finish.name not in {card.name for card in view.actions}:
        return None
    ordered, pieces = not view.steps and _orders(view), list[str]()
    try:
        decision = await turn.mind.decide(view, turn.begun, last=last, ordered=ordered, on_text=pieces.append)
    except asyncio.CancelledError:
        if pieces and not turn.context.incognito:
            await asyncio.shield(_keep_cut(turn, actions, "".join(pieces)))
        raise
    if decision is None:
        return None
    update: StateUpdate = {
        "usage": turn.spent(view),
        "reply_id": decision.reply.id,
        "messages": [begin(decision.reply)] if decision.reply.text else [],
    }
    if decision.calls:
        return {**update, "calls": [*decision.calls], "next_action": decision.calls[0]["name"]}
    return {**update, "calls": [], "next_action": _ending(decision.reply, view)}


def _orders(view: View) -> bool:
    """Whether the rules see an order to keep or to forget, for which an action is at hand."""
    names = {card.name for card in view.actions}
    keeps = "MemorySave" in names and asks_to_keep(view.message)
    return keeps or ("MemoryDelete" in names and bool(meaning_of(view).forget))


def _ending(reply: AIMessage, view: View) -> str:
    """The action that a whole reply stands for: a question after a search in vain is a Question."""
    names = {card.name for card in view.actions}
    asks = _ASKS.search(reply.text) and searched_in_vain(view) and AskQuestion.name in names
    return AskQuestion.name if asks else Finish.name


async def _keep_cut(turn: Turn, actions: Registry, text: str) -> None:
    """Stores what was streamed before the run was cancelled."""
    finish, begun = actions[Finish.name], turn.begun
    step = Step(action=finish.name, input=None, outcome=finish.say(turn.language, "outcome"), status="cut")
    said = AIMessage(
        f"{begun.text if begun else ''}{text}",
        id=turn.state.get("reply_id"),
        additional_kwargs=envelope(chat_history=False, modal="text"),
    )
    await finish.keep(turn, step, said)

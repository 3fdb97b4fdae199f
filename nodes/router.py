"""Leads to the next action (TC-4); the cycle ends politely when none can be taken."""

from thoughtcycle.language.intents import asks_not_to_keep
from thoughtcycle.mind.streaming import speak
from thoughtcycle.nodes.actions.question import AskQuestion, deletion_asked
from thoughtcycle.nodes.actions.registry import Registry
from thoughtcycle.nodes.base.state import REMEMBER, StateUpdate
from thoughtcycle.nodes.base.turn import Turn
from thoughtcycle.nodes.name_decision import decide_by_name
from thoughtcycle.nodes.tool_decision import decide_by_tools

_LAST_STEPS = 4
"""Super-steps that closing takes: router, ending action, remember, and one to spare."""


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
    if _nothing_read(turn) and "Finish" in enabled and turn.begun is None:
        return {"next_action": "Finish"}
    if not (last := _out_of_steps(turn)):
        turn.status(turn.texts("router")["status"])
    view = turn.view(actions.cards(turn.language, turn.context, unsaid=unsaid))
    if by_tools := await decide_by_tools(turn, actions, view, last=last):
        return by_tools
    own: StateUpdate = {"reply_id": None}  # by names a reply is a message of its own
    if last:
        closes = "Finish" in enabled and actions["Finish"].ends
        return {**own, "next_action": "Finish"} if closes else await _end(turn, "out_of_steps")
    if (name := await decide_by_name(turn, view)) in enabled:
        return {**own, "next_action": name, "usage": turn.spent(view)}
    return await _end(turn, "lost")


def _out_of_steps(turn: Turn) -> bool:
    limit = turn.context.max_steps or turn.services.limits.max_steps
    return len(turn.state.get("steps", ())) >= limit or turn.state.get("remaining_steps", 99) <= _LAST_STEPS


def _nothing_read(turn: Turn) -> bool:
    """Whether neither the model's answer nor the rules led the last action to anything."""
    last = turn.state.get("steps", [])[-1:]
    return any(step.get("by") == "rules" and step["status"] == "nothing" for step in last)


async def _end(turn: Turn, section: str) -> StateUpdate:
    said = await speak(turn.texts("router")[section], chat_history=False)
    return {"messages": [said], "next_action": REMEMBER}

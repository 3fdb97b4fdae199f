"""Answers "don't remember this" said after a message: nothing is learned from the exchange before (BY-10)."""

from thoughtcycle.memory.model import Step
from thoughtcycle.memory.unlearning import unlearn
from thoughtcycle.mind.streaming import speak
from thoughtcycle.nodes.base.cycle import exchange_before, open_cycle
from thoughtcycle.nodes.base.state import StateUpdate
from thoughtcycle.nodes.base.turn import Turn
from thoughtcycle.nodes.commands.parse import Command

UNSAY = Command("unsay", "")
"""It is said in plain words, and no model is asked: what the user consents to is for no model to decide."""


async def unsay(turn: Turn) -> StateUpdate:
    """Takes back what was learned from the exchange before, and says so in one line."""
    turn.require_memory()
    before = await exchange_before(turn)
    cycle = await open_cycle(turn)
    gone: list[str] = []
    if before is not None:
        neutral = turn.texts("formation/judge")["unsaid"]
        hidden = await unlearn(turn.memory, turn.user, before, neutral, asked=cycle.id if cycle else None)
        gone = [record.id for record in hidden]
    section = "unsaid.done" if before is not None else "unsaid.nothing"
    said = await speak(turn.texts("cycle")[section], chat_history=False)
    step = Step(action="/unsay", input="", outcome=section, status="done" if before else "nothing")
    return {
        "messages": [said],
        "cycle_id": cycle.id if cycle else None,
        "recalled": [known for known in turn.state.get("recalled", ()) if known["id"] not in gone],
        "steps": [step],
        "next_action": "remember",
    }

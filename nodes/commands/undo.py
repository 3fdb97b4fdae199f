"""Answers "undo that" said right after a change: what the exchange before changed is taken back and named."""

from collections.abc import Iterator

from thoughtcycle.memory.model import Cycle, Step
from thoughtcycle.memory.redaction import ERASING
from thoughtcycle.memory.versioning import UNDOABLE
from thoughtcycle.mind.streaming import speak
from thoughtcycle.nodes.actions.memory_delete import ids_of
from thoughtcycle.nodes.base.cycle import exchange_before, open_cycle
from thoughtcycle.nodes.base.state import StateUpdate
from thoughtcycle.nodes.base.turn import Turn
from thoughtcycle.nodes.commands.parse import Command

UNDO = Command("undo", "")
"""Said in plain words; it reaches no further back than the exchange before."""

_SECTION = {"save": "undone.saved", "hide": "undone.hidden"}


async def undo(turn: Turn) -> StateUpdate:
    """Takes back what the exchange before changed, else says how older changes are taken back."""
    turn.require_memory()
    before = await exchange_before(turn)
    cycle = await open_cycle(turn)
    words = turn.texts("cycle")
    told: dict[str, list[str]] = {}
    ids: list[str] = []
    for id in await _changed(turn, before) if before is not None else ():
        done = await turn.memory.undo(turn.user, id)
        if done.undone is not None and done.record is not None:
            ids.append(id)
            section = _SECTION.get(done.undone.op, "undone.updated")
            told.setdefault(section, []).append(done.record.text.rstrip("."))
    lines = [words.fill(section, memories="; ".join(texts)) for section, texts in told.items()]
    said = await speak(" ".join(lines) or turn.texts("actions/finish")["rules.undo"], chat_history=False)
    outcome = ", ".join(told) or "undone.nothing"
    return {
        "messages": [said],
        "cycle_id": cycle.id if cycle else None,
        "recalled": [known for known in turn.state.get("recalled", ()) if known["id"] not in ids],
        "steps": [Step(action="/undo", input="", outcome=outcome, status="done" if told else "nothing")],
        "next_action": "remember",
    }


async def _changed(turn: Turn, before: Cycle) -> list[str]:
    """The memories whose newest change `before` made, as far as it can be taken back."""
    changed = []
    for id in dict.fromkeys(_written(before)):
        record = await turn.memory.get(turn.user, id)
        if record is None or record.status == "erased" or record.reason == ERASING:
            continue
        history = await turn.memory.history(turn.user, id)
        rows = [row for row in history if row.op == "undo" or row.op in UNDOABLE]
        if rows and rows[-1].op != "undo" and rows[-1].cycle == before.id:
            changed.append(id)
    return changed


def _written(cycle: Cycle) -> Iterator[str]:
    """The memories that an exchange may have saved, changed or hidden."""
    for step in cycle.variants[-1].steps if cycle.variants else ():
        if step["action"] in ("MemorySave", "MemoryUpdate"):
            yield from step.get("found", ())
        elif step["action"] == "MemoryDelete" and step["status"] == "done":
            yield from ids_of(step["input"])

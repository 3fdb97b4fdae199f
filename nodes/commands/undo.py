"""Answers "undo that" and "don't remember this", said in plain words about the exchange before (BY-10).

No model is asked: consent is not for a model to decide.
"""

from collections.abc import Collection, Iterator

from thoughtcycle.memory.model import Cycle, Recalled, Step
from thoughtcycle.memory.redaction import ERASING
from thoughtcycle.memory.versioning.undo import UNDOABLE
from thoughtcycle.mind.streaming import speak
from thoughtcycle.nodes.actions.memory_delete import ids_of
from thoughtcycle.nodes.base.cycle import answered, exchange_before, open_cycle
from thoughtcycle.nodes.base.state import StateUpdate
from thoughtcycle.nodes.base.turn import Turn

_SECTIONS = {"save": "undone.saved", "hide": "undone.hidden"}


async def undo(turn: Turn) -> StateUpdate:
    """Undoes the memory changes of the exchange before, else says how older changes are undone."""
    turn.require_memory()
    before = await exchange_before(turn)
    cycle = await open_cycle(turn)
    words = turn.texts("cycle")
    undone: dict[str, list[str]] = {}
    ids: list[str] = []
    for id in await _undoable(turn, before) if before is not None else ():
        done = await turn.memory.undo(turn.user, id)
        if done.undone is not None and done.record is not None:
            ids.append(id)
            section = _SECTIONS.get(done.undone.op, "undone.updated")
            undone.setdefault(section, []).append(done.record.text.rstrip("."))
    lines = [words.fill(section, memories="; ".join(texts)) for section, texts in undone.items()]
    reply = await speak(" ".join(lines) or turn.texts("actions/finish")["rules.undo"], chat_history=False)
    outcome = ", ".join(undone) or "undone.nothing"
    step = Step(action="/undo", input="", outcome=outcome, status="done" if undone else "nothing")
    return answered(cycle, reply, step) | {"recalled": _recalled_without(turn, ids)}


async def unsay(turn: Turn) -> StateUpdate:
    """Removes all that was learned from the exchange before, and says so in one line."""
    turn.require_memory()
    before = await exchange_before(turn)
    cycle = await open_cycle(turn)
    ids: list[str] = []
    if before is not None:
        neutral = turn.texts("formation/judge")["unsaid"]
        asked = cycle.id if cycle else None
        hidden = await turn.memory.unlearning.unlearn(turn.user, before, neutral, asked=asked)
        ids = [record.id for record in hidden]
    section = "unsaid.done" if before is not None else "unsaid.nothing"
    reply = await speak(turn.texts("cycle")[section], chat_history=False)
    step = Step(action="/unsay", input="", outcome=section, status="done" if before else "nothing")
    return answered(cycle, reply, step) | {"recalled": _recalled_without(turn, ids)}


def _recalled_without(turn: Turn, ids: Collection[str]) -> list[Recalled]:
    return [memory for memory in turn.state.get("recalled", ()) if memory["id"] not in ids]


async def _undoable(turn: Turn, before: Cycle) -> list[str]:
    """The memories whose newest change `before` made, as far as it can be undone."""
    ids = []
    for id in dict.fromkeys(_written(before)):
        record = await turn.memory.get(turn.user, id)
        if record is None or record.status == "erased" or record.reason == ERASING:
            continue
        history = await turn.memory.history(turn.user, id)
        rows = [row for row in history if row.op == "undo" or row.op in UNDOABLE]
        if rows and rows[-1].op != "undo" and rows[-1].cycle == before.id:
            ids.append(id)
    return ids


def _written(cycle: Cycle) -> Iterator[str]:
    """The memories that an exchange may have saved, changed or hidden."""
    for step in cycle.variants[-1].steps if cycle.variants else ():
        if step["action"] in ("MemorySave", "MemoryUpdate"):
            yield from step.get("found", ())
        elif step["action"] == "MemoryDelete" and step["status"] == "done":
            yield from ids_of(step["input"])

"""Answers "undo that", "don't remember this", yes and no, said about the exchange before (BY-10, TC-11).

No model is asked: consent is not for a model to decide.
"""

from collections.abc import Collection, Iterator, Sequence
from typing import Literal

from thoughtcycle.memory.model import Cycle, Recalled, Step
from thoughtcycle.memory.redaction import ERASING
from thoughtcycle.memory.text.secrets import without_secrets
from thoughtcycle.memory.versioning.undo import UNDOABLE
from thoughtcycle.mind.streaming import speak
from thoughtcycle.nodes.actions.memory_delete import (
    MemoryDelete,
    all_memories,
    delete,
    done_line,
    unlearn_unformed,
)
from thoughtcycle.nodes.actions.question import AskQuestion, deletion_asked
from thoughtcycle.nodes.actions.view_queries import EVERYTHING
from thoughtcycle.nodes.base.cycle import answered, exchange_before, open_cycle
from thoughtcycle.nodes.base.state import StateUpdate
from thoughtcycle.nodes.base.turn import Turn
from thoughtcycle.prompts.loader import Texts

_SAVING = ("MemorySave", "MemoryUpdate")
_DELETING = ("MemoryDelete", "/unsay")
_CHANGING = (*_SAVING, "/undo")
_SECTIONS = {"save": "undone.saved", "hide": "undone.hidden"}
_LISTED = 3
"""Memories that came back and are named; more are counted."""
_LOOKED_BACK = 10
"""Exchanges of the chat in which the last deletion is looked for."""


async def undo(turn: Turn, *, deletions_only: bool = False) -> StateUpdate:
    """Undoes the memory changes of the exchange before, or the last deletion of the chat as a whole.

    Else it says how older changes are undone.
    """
    turn.require_memory()
    before = await _changed_before(turn)
    cycle = await open_cycle(turn)
    words = turn.texts("cycle")
    undone: dict[str, list[str]] = {}
    ids: list[str] = []
    if before is not None and _deleted(before):
        back = await turn.memory.undo(turn.user, asked=before.id)
        shown = [record for record in (back.record, *back.others) if record is not None]
        ids += [record.id for record in shown]
        if shown:
            undone["undone.hidden"] = [without_secrets(record).text.rstrip(".") for record in shown]
    for id in await _undoable(turn, before) if before is not None and not deletions_only else ():
        done = await turn.memory.undo(turn.user, id)
        if done.undone is not None and done.record is not None:
            ids.append(id)
            section = _SECTIONS.get(done.undone.op, "undone.updated")
            undone.setdefault(section, []).append(without_secrets(done.record).text.rstrip("."))
    lines = [_undone_line(words, section, texts) for section, texts in undone.items()]
    if not lines:
        gone = before is not None and _deleted(before)
        lines = [words["undone.gone"] if gone else turn.texts("actions/finish")["rules.undo"]]
    reply = await speak(" ".join(lines), chat_history=False)
    outcome = ", ".join(undone) or "undone.nothing"
    step = Step(action="/undo", input="", outcome=outcome, status="done" if undone else "nothing")
    return answered(cycle, reply, step) | {"recalled": _recalled_without(turn, ids)}


def _undone_line(words: Texts, section: str, texts: Sequence[str]) -> str:
    if section == "undone.hidden" and len(texts) > _LISTED:
        return words.fill("undone.many", count=len(texts))
    return words.fill(section, memories="; ".join(texts))


async def asked_before(turn: Turn) -> Step | None:
    """The step of the turn before that waits for a yes before it deletes."""
    steps: Sequence[Step] = turn.state.get("steps", ())
    if not turn.kept:
        before = await turn.memory.availability.read(lambda: exchange_before(turn), None)
        steps = _steps(before) if before is not None else ()
    return deletion_asked(steps[:-1]) if steps and steps[-1]["action"] == AskQuestion.name else None


async def answer_consent(turn: Turn, asked: Step, *, agreed: bool) -> StateUpdate:
    """Deletes what was asked about after a yes; after a no says that nothing was deleted."""
    turn.require_memory()
    cycle = await open_cycle(turn)
    action, final = MemoryDelete(), asked.get("final", False)
    ids: list[str] = []
    if agreed and EVERYTHING in asked.get("about", ()):
        ids = await all_memories(turn, final=final)
    elif agreed:
        ids = [record.id for record in await turn.memory.active(turn.user, asked.get("found", ()))]
    about = [topic for topic in asked.get("about", ()) if topic != EVERYTHING]
    asks = cycle.id if cycle else None
    if ids:
        await delete(turn, ids, asks, final=final)
        line = done_line(turn.language, about, len(ids), final=final)
    else:
        line = action.say(turn.language, "rules.gone" if agreed else "rules.kept")
    if agreed and EVERYTHING in asked.get("about", ()):
        await unlearn_unformed(turn, asks)
    reply = await speak(line, chat_history=True)
    status: Literal["done", "nothing"] = "done" if ids else "nothing"
    section = ("outcome.final" if final else "outcome") if ids else "outcome.nothing"
    outcome = action.say(turn.language, section, count=len(ids), topic=", ".join(about) or "–")
    step = Step(action=action.name, input=ids, outcome=outcome, status=status, found=ids)
    return answered(cycle, reply, step) | {"recalled": _recalled_without(turn, ids)}


async def _changed_before(turn: Turn) -> Cycle | None:
    """The exchange before; or, where that one changed nothing, an earlier one that deleted."""
    if turn.context.incognito:
        return None
    tip = turn.state.get("parent") if turn.kept else None
    cycles = await turn.memory.conversation(turn.user, turn.chat, limit=_LOOKED_BACK, tip=tip)
    for cycle in reversed(cycles):
        if _deleted(cycle):
            return cycle
        if any(step["action"] in _CHANGING and step["status"] == "done" for step in _steps(cycle)):
            return cycle if cycle is cycles[-1] else None
    return cycles[-1] if cycles else None


def _deleted(cycle: Cycle) -> bool:
    """Whether an exchange deleted memories."""
    done = (step for step in _steps(cycle) if step["action"] in _DELETING and step["status"] == "done")
    return any(step.get("found") or step["input"] for step in done)


def _steps(cycle: Cycle) -> Sequence[Step]:
    return cycle.variants[-1].steps if cycle.variants else ()


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
    step["found"] = ids
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
    """The memories that an exchange may have saved or changed."""
    for step in _steps(cycle):
        if step["action"] in _SAVING:
            yield from step.get("found", ())

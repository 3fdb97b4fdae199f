"""Transitions of a cycle: it begins, makes progress, is closed, in time or early (pure)."""

from datetime import datetime
from typing import Literal

from thoughtcycle.memory.model import Cycle, CycleMessage, Judgement, Step, Variant, named_id
from thoughtcycle.memory.text.analyzer import digest, identity


def new_cycle(
    user: str,
    chat: str,
    message: CycleMessage,
    *,
    parent: str | None,
    channel: str,
    at: datetime,
    late: bool = False,
) -> Cycle:
    """An open cycle; equal messages behind the same parent have the same id."""
    return Cycle(
        id=named_id("cycle", chat, message.id, parent or "", identity("text", message.text)),
        user=user,
        chat=chat,
        channel=channel,
        parent=parent,
        message=message,
        opened_at=at,
        heartbeat=at,
        late=late,
    )


def recorded_cycle(
    user: str,
    chat: str,
    said: tuple[str, str | None],
    replied: tuple[str, str | None],
    *,
    at: datetime,
    channel: str,
    formation: Literal["none", "pending"],
) -> Cycle:
    """A complete cycle of (text, speaker's name) and its answer; equal exchanges have the same id.

    It has no parent yet.
    """
    id = named_id("recorded", chat, at.isoformat(), *(digest(text) for text, _ in (said, replied)))
    message = CycleMessage(id=named_id("said", id), role="user", text=said[0], name=said[1], at=at)
    reply = CycleMessage(
        id=named_id("replied", id), role="assistant", text=replied[0], name=replied[1], at=at
    )
    variant = Variant(execution="", messages=(reply,) if reply.text else (), steps=(), at=at)
    cycle = new_cycle(user, chat, message, parent=None, channel=channel, at=at)
    return closed_cycle(cycle.model_copy(update={"id": id}), variant=variant, formation=formation)


def with_progress(
    cycle: Cycle, *, execution: str, step: Step, text: CycleMessage | None, at: datetime
) -> Cycle:
    """`cycle` with one more step of an execution; an earlier result of the same action is replaced."""
    entries = {(entry[0], entry[1]["action"]): entry for entry in cycle.progress}
    entries[execution, step["action"]] = (execution, step, text)
    return cycle.model_copy(update={"progress": tuple(entries.values()), "heartbeat": at})


def closed_cycle(cycle: Cycle, *, variant: Variant, formation: Literal["none", "pending"]) -> Cycle:
    """`cycle` with this reply as its newest; formation judges it anew, unless it is unlearned."""
    unlearned = cycle.judgement is not None and cycle.judgement.unsaid and cycle.formation in (None, "none")
    others = tuple(known for known in cycle.variants if known.execution != variant.execution)
    return cycle.model_copy(
        update={
            "variants": (*others, variant),
            "progress": (),
            "formation": "none" if unlearned else formation,
            "judgement": cycle.judgement if unlearned else None,
            "marks": (),
            "heartbeat": variant.at,
        }
    )


def closed_early(cycle: Cycle, *, at: datetime, formation: Literal["none", "pending"] = "pending") -> Cycle:
    """`cycle` closed with the texts shown so far, marked as cut; unchanged if it is closed."""
    if cycle.closed:
        return cycle
    variant = Variant(
        execution=cycle.progress[-1][0] if cycle.progress else "",
        messages=tuple(text for _, _, text in cycle.progress if text is not None),
        steps=tuple(step for _, step, _ in cycle.progress),
        at=at,
        cut=True,
    )
    return closed_cycle(cycle, variant=variant, formation=formation)


def is_unformed(cycle: Cycle) -> bool:
    """Whether formation has yet to judge the cycle, or may judge it again."""
    if cycle.formation is None:
        return cycle.judgement is None
    judged_again = cycle.judgement is not None and cycle.judgement.pending
    return cycle.formation in ("pending", "failed") or (cycle.formation == "done" and judged_again)


def unlearned_cycle(cycle: Cycle, judgement: Judgement) -> Cycle:
    """`cycle`, open or closed, with this judgement for good: formation learns nothing from it."""
    formation = None if cycle.formation is None else "none"
    return cycle.model_copy(update={"judgement": judgement, "marks": (), "formation": formation})

"""What becomes of a cycle: it begins, goes on, is closed or cut off (pure)."""

from datetime import datetime
from typing import Literal

from thoughtcycle.memory.model import Cycle, CycleMessage, Step, Variant, named_id
from thoughtcycle.memory.text import digest, identity


def begun_at(
    user: str,
    chat: str,
    message: CycleMessage,
    *,
    parent: str | None,
    channel: str,
    at: datetime,
    late: bool = False,
) -> Cycle:
    """A cycle as it begins; equal messages behind the same parent are the same cycle."""
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


def behind(cycle: Cycle, *, tip: str) -> Cycle:
    """`cycle` as the next after `tip`."""
    return cycle.model_copy(update={"parent": tip})


def recorded(
    user: str,
    chat: str,
    said: tuple[str, str | None],
    replied: tuple[str, str | None],
    *,
    at: datetime,
    channel: str,
    formation: Literal["none", "pending"],
) -> Cycle:
    """A complete cycle of (text, speaker's name) and its answer; what is equal has the same id.

    It is behind no other one yet.
    """
    id = named_id("recorded", chat, at.isoformat(), *(digest(text) for text, _ in (said, replied)))
    message = CycleMessage(id=named_id("said", id), role="user", text=said[0], name=said[1], at=at)
    reply = CycleMessage(
        id=named_id("replied", id), role="assistant", text=replied[0], name=replied[1], at=at
    )
    variant = Variant(execution="", messages=(reply,) if reply.text else (), steps=(), at=at)
    cycle = Cycle(
        id=id,
        user=user,
        chat=chat,
        channel=channel,
        parent=None,
        message=message,
        opened_at=at,
        heartbeat=at,
    )
    return closed(cycle, variant=variant, formation=formation)


def progressed(cycle: Cycle, *, execution: str, step: Step, text: CycleMessage | None, at: datetime) -> Cycle:
    """`cycle` with one more step under way; the same execution's same action is replaced."""
    entry = (execution, step, text)
    same = [(known[0], known[1]["action"]) == (execution, step["action"]) for known in cycle.progress]
    if any(same):
        place = same.index(True)
        progress = (*cycle.progress[:place], entry, *cycle.progress[place + 1 :])
    else:
        progress = (*cycle.progress, entry)
    return cycle.model_copy(update={"progress": progress, "heartbeat": at})


def closed(cycle: Cycle, *, variant: Variant, formation: Literal["none", "pending"]) -> Cycle:
    """`cycle` with this reply as its newest; formation has to look at it again."""
    others = tuple(known for known in cycle.variants if known.execution != variant.execution)
    return cycle.model_copy(
        update={
            "variants": (*others, variant),
            "progress": (),
            "formation": formation,
            "judgement": None,
            "marks": (),
            "heartbeat": variant.at,
        }
    )


def cut_off(cycle: Cycle, *, at: datetime, formation: Literal["none", "pending"] = "pending") -> Cycle:
    """`cycle` closed with what was shown before it stopped; one that is closed stays as it is."""
    if cycle.closed:
        return cycle
    variant = Variant(
        execution=cycle.progress[-1][0] if cycle.progress else "",
        messages=tuple(text for _, _, text in cycle.progress if text is not None),
        steps=tuple(step for _, step, _ in cycle.progress),
        at=at,
        cut=True,
    )
    return closed(cycle, variant=variant, formation=formation)

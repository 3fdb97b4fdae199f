"""Takes in the files of a message: looked at first, kept as memories, shown in their turn."""

from collections.abc import Iterable, Sequence
from dataclasses import replace
from typing import cast

from langchain_core.messages import AIMessage, HumanMessage

from thoughtcycle.errors import MemoryAway
from thoughtcycle.language.intents import asks_not_to_keep
from thoughtcycle.memory.files import look_at
from thoughtcycle.memory.model import Attachment, MemoryRecord, Source, Step, pieces
from thoughtcycle.memory.text import masked, without_secrets
from thoughtcycle.mind.streaming import speak
from thoughtcycle.nodes.base.cycle import open_cycle
from thoughtcycle.nodes.base.state import Attached, Briefing, State, StateUpdate
from thoughtcycle.nodes.base.turn import Turn
from thoughtcycle.nodes.base.uploads import Upload
from thoughtcycle.prompts.loader import Texts

ACTION = "Attach"
"""The name of the step that tells of it; the mind does not choose it."""


async def read_uploads(uploads: Iterable[Upload], caption: str, turn: Turn) -> list[Attachment]:
    """The files, each checked and read; InputRefused for the first that cannot be used.

    A secret in what was typed beside them is none of the files'.
    """
    limits = turn.services.limits.files
    return [
        await look_at(one.name, one.data, caption=masked(caption), claimed=one.media_type, limits=limits)
        for one in uploads
    ]


def with_marks(message: HumanMessage, files: Sequence[Attachment], words: Texts) -> HumanMessage:
    """The message with a line per file, as the transcript and the prompts have it."""
    marks = [_mark(one, words) for one in files]
    return message.model_copy(update={"content": "\n".join(filter(None, (message.text, *marks)))})


async def attach(turn: Turn, message: HumanMessage, said: str, files: Sequence[Attachment]) -> StateUpdate:
    """Keeps the files as memories of this cycle, unless nothing may be kept; what the turn sees of them.

    `message` is the user's with its marks, `said` what the user typed. A database that is away keeps none,
    and one line says so; the turn goes on.
    """
    words = turn.texts("cycle")
    turn.status(words["status.attaching"])
    turn = replace(turn, state=cast(State, {**turn.state, "messages": [message]}))
    shown = _excerpts(files, turn.services.limits.file_excerpt)
    if turn.context.incognito or asks_not_to_keep(said):
        return {"attached": [_seen(one, None, text) for one, text in zip(files, shown, strict=True)]}
    cycle = await open_cycle(turn)
    kept: list[MemoryRecord] = []
    told: list[AIMessage] = []
    try:
        for one in files:
            source = Source(cycle=cycle.id if cycle else None, words=_mark(one, words))
            kept.append(await turn.memory.files.keep_file(turn.user, one, source=source, said=turn.now()))
    except MemoryAway:
        told = [await speak(words["attached.away"], chat_history=False)]
    for record in kept:
        turn.show(without_secrets(record.model_copy(update={"content": record.text})))
    ids = [record.id for record in kept] + [None] * (len(files) - len(kept))
    step = Step(
        action=ACTION,
        input=[one.content.name for one in files],
        outcome=words.fill("attached.outcome", count=len(kept)),
        status="done" if kept else "refused",
        found=[record.id for record in kept],
    )
    if kept and turn.context.explain_actions:
        names = ", ".join(record.content["name"] for record in kept)
        told.append(await speak(words.fill("attached.kept", names=names), chat_history=False))
    return {
        "messages": told,
        "steps": [step],
        "recalled": turn.with_recalled(kept),
        "attached": [_seen(one, id, text) for one, id, text in zip(files, ids, shown, strict=True)],
    }


def _mark(file: Attachment, words: Texts) -> str:
    return words.fill("attached.mark", name=file.content.name)


def _seen(file: Attachment, id: str | None, text: str) -> Attached:
    return Attached(id=id, name=file.content.name, text=text, cut=len(text) < len(file.text))


def _excerpts(files: Sequence[Attachment], most: int) -> list[str]:
    """The beginning of each file's text, in whole pieces, all together at most `most` characters."""
    found = []
    for number, file in enumerate(files):
        share = most // (len(files) - number)
        text = ""
        for piece in pieces(file.text):
            if len(text) + len(piece) + 1 > share:
                break
            text = f"{text}\n{piece}" if text else piece
        most -= len(text)
        found.append(text)
    return found


def with_attachments(briefing: Briefing, attached: Sequence[Attached], words: Texts) -> Briefing:
    """Adds the files of a turn's message to its briefing: they are data, as all that is recalled."""
    if not attached:
        return briefing
    lines = [words["attached.files"]]
    for one in attached:
        section = (
            "attached.nothing" if not one["text"] else "attached.cut" if one["cut"] else "attached.whole"
        )
        lines.append(words.fill(section, name=one["name"], text=one["text"]))
    session = "\n\n".join(filter(None, ("\n\n".join(lines), briefing.get("session", ""))))
    return {**briefing, "session": session}

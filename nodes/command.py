"""The first step: refuses unusable input, chooses the language, answers commands without the cycle."""

from collections.abc import Sequence
from dataclasses import replace
from functools import partial
from itertools import takewhile
from typing import cast

from langchain_core.messages import HumanMessage, RemoveMessage
from langgraph.graph import END

from thoughtcycle.errors import InputRefused, NotAllowed, ThoughtcycleError
from thoughtcycle.language.intents import asks_not_to_keep_last, asks_to_undo_last
from thoughtcycle.memory.model import Step
from thoughtcycle.memory.search import as_found
from thoughtcycle.memory.text import without_secrets
from thoughtcycle.mind.streaming import speak
from thoughtcycle.nodes.attachments import attach, read_uploads, with_marks
from thoughtcycle.nodes.base.cycle import open_cycle
from thoughtcycle.nodes.base.envelope import enveloped
from thoughtcycle.nodes.base.locale import choose_locale, last_spoken
from thoughtcycle.nodes.base.message import merge_messages, new_messages
from thoughtcycle.nodes.base.state import RECALL, REMEMBER, Briefing, State, StateUpdate
from thoughtcycle.nodes.base.turn import Turn
from thoughtcycle.nodes.base.uploads import Upload, uploads_in
from thoughtcycle.nodes.commands.parse import LOOK_UP, Command, command_in
from thoughtcycle.nodes.commands.settings import change_setting
from thoughtcycle.nodes.commands.undo import UNDO, undo
from thoughtcycle.nodes.commands.unsay import UNSAY, unsay
from thoughtcycle.prompts.loader import Language


async def command(turn: Turn) -> StateUpdate:
    """Starts the turn with a clean slate; NotAllowed when the chat is somebody else's.

    What cannot be used or served ends the turn here, in one clear line: no cycle was opened yet.
    """
    fresh: StateUpdate = {
        "at": turn.services.clock().isoformat(),
        "chat_id": turn.chat,
        "user_id": turn.user,
        "cycle_id": None,
        "parent": turn.state.get("cycle_id") or turn.state.get("parent"),
        "steps": [],
        "usage": [],
        "window": [],
        "briefing": Briefing(text="", shown=[], left_out=0, tokens=0),
        "attached": [],
        "paused": False,
        "failure": None,
        "next_action": RECALL,
    }
    try:
        await _admit(turn)
        return fresh | await _enter(turn, fresh)
    except NotAllowed:
        raise
    except ThoughtcycleError as failure:
        return fresh | await _refuse(turn, failure)


async def _enter(turn: Turn, fresh: StateUpdate) -> StateUpdate:
    """The user's message as one, and its language; the whole answer when it is a command."""
    limits = turn.services.limits
    said = new_messages(turn.state["messages"])
    uploads = uploads_in(said, largest=limits.file_bytes)
    message = merge_messages(said, longest=limits.message_chars, empty=bool(uploads))
    language, time_zone = await choose_locale(turn, message.text)
    spoken = last_spoken(turn) if command_in(message.text) else language
    settled: StateUpdate = {"language": language, "spoken": spoken, "time_zone": time_zone}
    gone = [RemoveMessage(id=part.id) for part in said[:-1] if part.id]
    if uploads:
        return settled | await _take_in(turn, {**fresh, **settled}, message, uploads, gone)
    messages = [*gone, message]
    called = _called(message.text)
    if called is None:
        return settled | {"messages": messages}
    begun = replace(turn, state=cast(State, {**turn.state, **fresh, **settled, "messages": [message]}))
    done = await _answered(begun, called)
    return done | settled | {"messages": [*messages, *done["messages"]]}


async def _take_in(
    turn: Turn,
    begun: StateUpdate,
    message: HumanMessage,
    uploads: Sequence[Upload],
    gone: Sequence[RemoveMessage],
) -> StateUpdate:
    """A message with files: they are looked at before anything is kept of it. It is never a command."""
    turn = replace(turn, state=cast(State, {**turn.state, **begun}))
    files = await read_uploads(uploads, message.text, turn)
    marked = with_marks(message, files, turn.texts("cycle"))
    done = await attach(turn, marked, message.text, files)
    return done | {"messages": [*gone, marked, *done.get("messages", ())]}


async def _answered(turn: Turn, called: Command) -> StateUpdate:
    if called.name == LOOK_UP:
        return await _look_up(turn, called.argument)
    if called is UNDO:
        return await undo(turn)
    return await unsay(turn) if called is UNSAY else await _switch(turn, called)


def _called(text: str) -> Command | None:
    """The command that a message is, typed or in plain words."""
    if asks_not_to_keep_last(text):
        return UNSAY
    return UNDO if asks_to_undo_last(text) else command_in(text)


async def _admit(turn: Turn) -> None:
    """Checks the chat's owner, once; opening a cycle checks again, so that a forged state opens nothing."""
    if (turn.state.get("chat_id"), turn.state.get("user_id")) == (turn.chat, turn.user):
        return
    checking = partial(turn.memory.transcript.check_chat, turn.user, turn.chat)
    await turn.memory.availability.read(checking, None)  # asked again when the cycle is stored


async def _refuse(turn: Turn, failure: ThoughtcycleError) -> StateUpdate:
    """One clear line; what cannot be used leaves the thread, nothing of it is kept."""
    failure = turn.outage_in_words(failure, kept=False)
    asked = turn.context.language
    language: Language = "pt" if asked == "pt" else "en" if asked == "en" else turn.language
    said = await speak(turn.line(failure, language), chat_history=False)
    came = takewhile(lambda message: not enveloped(message), reversed(turn.state["messages"]))
    unusable = came if isinstance(failure, InputRefused) else ()
    gone = [RemoveMessage(id=message.id) for message in unusable if message.id]
    return {"messages": [*gone, said], "failure": failure.code, "next_action": END}


async def _look_up(turn: Turn, query: str) -> StateUpdate:
    """Answers `/lembrar <query>` straight from memory search, with no chat-model call (LM-10)."""
    words = turn.texts("cycle")
    turn.require_memory()
    cycle = await open_cycle(turn)
    turn.status(words["status.searching"])
    if query:
        hits = await turn.find(query, turn.services.limits.search_hits)
        records = [as_found(hit, query) for hit in hits]
    else:
        found = await turn.memory.list(turn.user, limit=turn.services.limits.recalled // 2)
        records = [without_secrets(record) for record in found]
    for record in records:
        turn.show(record)
    lines = "\n".join(f"- {' '.join(record.text.split())}" for record in records)
    section = "command.found" if records else "command.nothing"
    said = await speak(words.fill(section, query=query, memories=lines), chat_history=True)
    step = Step(action="/lembrar", input=query, outcome=section, status="done" if records else "nothing")
    return {
        "messages": [said],
        "cycle_id": cycle.id if cycle else None,
        "recalled": turn.with_recalled(records),
        "steps": [{**step, "found": [record.id for record in records]}],
        "next_action": REMEMBER,
    }


async def _switch(turn: Turn, command: Command) -> StateUpdate:
    """Answers a command that changes or shows a setting of the user's."""
    turn.require_memory()
    cycle = await open_cycle(turn)
    section, text = await change_setting(turn, command)
    said = await speak(text, chat_history=False)
    refused = section == "switch.unknown"
    step = Step(
        action=f"/{command.name}",
        input=command.argument,
        outcome=section,
        status="refused" if refused else "done",
    )
    return {
        "messages": [said],
        "cycle_id": cycle.id if cycle else None,
        "steps": [step],
        "next_action": REMEMBER,
    }

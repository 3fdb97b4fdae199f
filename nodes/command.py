"""The first step: refuses unusable input, chooses the language, answers commands without the cycle."""

from collections.abc import Awaitable, Callable
from dataclasses import replace
from functools import partial
from itertools import takewhile
from typing import Literal, cast

from langchain_core.messages import RemoveMessage
from langgraph.graph import END

from thoughtcycle.errors import InputRefused, NotAllowed, ThoughtcycleError
from thoughtcycle.language.intents import (
    asks_not_to_keep_last,
    asks_to_bring_back,
    asks_to_undo_last,
    parse_consent,
)
from thoughtcycle.memory.model import Step
from thoughtcycle.memory.search import as_found
from thoughtcycle.memory.text.secrets import answering, without_secrets
from thoughtcycle.mind.streaming import speak
from thoughtcycle.nodes.attachments import attach, uploads_in
from thoughtcycle.nodes.base.cycle import answered, known_tip, open_cycle
from thoughtcycle.nodes.base.envelope import enveloped
from thoughtcycle.nodes.base.locale import choose_locale, last_spoken
from thoughtcycle.nodes.base.message import merge_messages, new_messages
from thoughtcycle.nodes.base.state import RECALL, Briefing, State, StateUpdate
from thoughtcycle.nodes.base.turn import Turn
from thoughtcycle.nodes.commands.parse import LOOK_UP, SMART, SWITCH, Command, command_in
from thoughtcycle.nodes.commands.undo import answer_consent, asked_before, undo, unsay
from thoughtcycle.prompts.loader import Language


async def command(turn: Turn) -> StateUpdate:
    """Resets the turn's part of the state and reads the message; NotAllowed in another user's chat.

    A message that cannot be used ends the turn here, in one clear line, before a cycle is opened.
    """
    fresh: StateUpdate = {
        "at": turn.services.clock().isoformat(),
        "chat_id": turn.chat,
        "user_id": turn.user,
        "cycle_id": None,
        "parent": turn.state.get("cycle_id") or turn.state.get("parent"),
        "steps": [],
        "usage": [],
        "calls": [],
        "reply_id": None,
        "window": [],
        "briefing": Briefing(text="", shown=[], left_out=0, tokens=0),
        "attached": [],
        "paused": False,
        "failure": None,
        "next_action": RECALL,
    }
    try:
        await _admit(turn)
        fresh["parent"] = fresh["parent"] or await known_tip(turn)
        return fresh | await _enter(turn, fresh)
    except NotAllowed:
        raise
    except ThoughtcycleError as failure:
        return fresh | await _refuse(turn, failure)


async def _enter(turn: Turn, fresh: StateUpdate) -> StateUpdate:
    """The user's message as one, and its language; the whole answer where it is a command or has files."""
    limits = turn.services.limits
    parts = new_messages(turn.state["messages"])
    uploads = uploads_in(parts, largest=limits.file_bytes)
    message = merge_messages(parts, longest=limits.message_chars, empty=bool(uploads))
    language, time_zone = await choose_locale(turn, message.text)
    spoken = last_spoken(turn) if command_in(message.text) else language
    locale: StateUpdate = {"language": language, "spoken": spoken, "time_zone": time_zone}
    agreed = None if uploads else parse_consent(message.text)
    asked = await asked_before(turn) if agreed is not None else None
    messages = [*(RemoveMessage(id=part.id) for part in parts[:-1] if part.id), message]
    turn = replace(turn, state=cast(State, {**turn.state, **fresh, **locale, "messages": [message]}))
    if uploads:  # never a command
        done = await attach(turn, message, uploads)
        return locale | done | {"messages": [*messages[:-1], *done["messages"]]}
    if asked is not None and agreed is not None:
        done = await answer_consent(turn, asked, agreed=agreed)
    elif (answer := _command(message.text)) is not None:
        done = await answer(turn)
    else:
        return locale | {"messages": messages}
    return locale | done | {"messages": [*messages, *done["messages"]]}


def _command(text: str) -> Callable[[Turn], Awaitable[StateUpdate]] | None:
    """The function that answers a command, typed or in plain words; None for any other message."""
    if asks_not_to_keep_last(text):
        return unsay
    if asks_to_undo_last(text):
        return undo
    if asks_to_bring_back(text):
        return partial(undo, deletions_only=True)
    if (command := command_in(text)) is None:
        return None
    return partial(_look_up if command.name == LOOK_UP else _change_setting, command=command)


async def _admit(turn: Turn) -> None:
    """Checks the chat's owner, once; opening a cycle checks again, so that a forged state opens nothing."""
    if (turn.state.get("chat_id"), turn.state.get("user_id")) != (turn.chat, turn.user):
        check = partial(turn.memory.transcript.check_chat, turn.user, turn.chat)
        await turn.memory.availability.read(check, None)


async def _refuse(turn: Turn, failure: ThoughtcycleError) -> StateUpdate:
    """One clear line; an unusable message is removed from the thread."""
    failure = turn.outage_in_words(failure, kept=False)
    asked = turn.context.language
    language: Language = "pt" if asked == "pt" else "en" if asked == "en" else turn.language
    reply = await speak(turn.line(failure, language), chat_history=False)
    new = takewhile(lambda message: not enveloped(message), reversed(turn.state["messages"]))
    unusable = new if isinstance(failure, InputRefused) else ()
    removed = [RemoveMessage(id=message.id) for message in unusable if message.id]
    return {"messages": [*removed, reply], "failure": failure.code, "next_action": END}


async def _look_up(turn: Turn, command: Command) -> StateUpdate:
    """Answers `/lembrar <query>` straight from memory search, with no chat-model call (LM-10)."""
    words, query = turn.texts("cycle"), command.argument
    turn.require_memory()
    cycle = await open_cycle(turn)
    turn.status(words["status.searching"])
    if query:
        hits = await turn.find(query, turn.services.limits.search_hits)
        records = [answering(as_found(hit, query), query) for hit in hits]
    else:
        newest = await turn.memory.list(turn.user, limit=turn.services.limits.recalled // 2)
        records = [without_secrets(record) for record in newest]
    for record in records:
        turn.show(record)
    lines = "\n".join(f"- {' '.join(record.text.split())}" for record in records)
    section = "command.found" if records else "command.nothing"
    reply = await speak(words.fill(section, query=query, memories=lines), chat_history=True)
    step = Step(action="/lembrar", input=query, outcome=section, status="done" if records else "nothing")
    step["found"] = [record.id for record in records]
    return answered(cycle, reply, step) | {"recalled": turn.with_recalled(records)}


async def _change_setting(turn: Turn, command: Command) -> StateUpdate:
    """Answers `/smart` and `/pause`: sets a setting, or says how it is set (SM-6, BY-10)."""
    turn.require_memory()
    cycle = await open_cycle(turn)
    words, argument = turn.texts("cycle"), command.argument.casefold()
    name = "smart_context" if command.name == SMART else "paused"
    if argument in ("", *SWITCH):
        if argument:
            settings = await turn.memory.change_settings(turn.user, **{name: SWITCH[argument]})
        else:
            settings = await turn.memory.settings(turn.user)
        section = f"{name}.{'on' if getattr(settings, name) else 'off'}"
        text = words[section]
    else:
        section = "switch.unknown"
        text = words.fill(section, command=f"/{command.name}", value=command.argument)
    reply = await speak(text, chat_history=False)
    status: Literal["done", "refused"] = "refused" if section == "switch.unknown" else "done"
    step = Step(action=f"/{command.name}", input=command.argument, outcome=section, status=status)
    return answered(cycle, reply, step)

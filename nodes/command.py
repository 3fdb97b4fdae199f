"""The door: refuses what cannot be used, settles the language, answers /lembrar without the cycle."""

from langchain_core.messages import HumanMessage, RemoveMessage
from langgraph.graph import END

from thoughtcycle.memory.records import Step
from thoughtcycle.mind.language.detect import detect_language
from thoughtcycle.mind.streaming import speak
from thoughtcycle.nodes.cycle import open_cycle
from thoughtcycle.nodes.message import clean, command_query, user_message
from thoughtcycle.nodes.state import Briefing, StateUpdate
from thoughtcycle.nodes.turn import Turn
from thoughtcycle.prompts.errors import InputRefused
from thoughtcycle.prompts.loader import Language, texts

RECALL, REMEMBER = "recall", "remember"
"""Where the door leads, as values of `next_action`; LangGraph's END is the third."""


async def command(turn: Turn) -> StateUpdate:
    """Starts the turn with a clean slate; NotAllowed when the chat is somebody else's."""
    await _admit(turn)
    tip = turn.state.get("cycle_id") or turn.state.get("parent")
    fresh: StateUpdate = {
        "chat_id": turn.chat,
        "cycle_id": None,
        "parent": tip,
        "steps": [],
        "window": [],
        "briefing": Briefing(text="", shown=[], left_out=0, tokens=0),
        "failure": None,
        "next_action": RECALL,
    }
    try:
        message = user_message(turn.state["messages"])
        text = clean(message.text, longest=turn.services.limits.message_chars)
    except InputRefused as refusal:
        return fresh | await _refuse(turn, refusal)
    language = settle_language(turn, text)
    fresh["language"] = language
    if text != message.content:
        fresh["messages"] = [HumanMessage(text, id=message.id, name=message.name)]
    query = command_query(text)
    return fresh if query is None else fresh | await _look_up(turn, query, language, tip)


async def _admit(turn: Turn) -> None:
    if not turn.context.incognito:
        await turn.memory.claim_chat(turn.user, turn.chat)
    else:
        await turn.memory.check_chat(turn.user, turn.chat)


def settle_language(turn: Turn, text: str) -> Language:
    """The run's language, else that of the message, else that of the turn before."""
    asked = turn.context.language
    if asked in ("pt", "en"):
        return "pt" if asked == "pt" else "en"
    return detect_language(text, turn.language)


async def _refuse(turn: Turn, refusal: InputRefused) -> StateUpdate:
    """One clear line; the unusable message leaves the thread, nothing of it is kept."""
    asked = turn.context.language
    language = turn.language if asked == "auto" else settle_language(turn, "")
    said = await speak(refusal.text(language), chat_history=False)
    refused = turn.state["messages"][-1:]
    gone = [RemoveMessage(id=message.id) for message in refused if message.id]
    return {"messages": [*gone, said], "failure": refusal.code, "next_action": END}


async def _look_up(turn: Turn, query: str, language: Language, tip: str | None) -> StateUpdate:
    """Answers `/lembrar <query>` straight from memory search, with no chat-model call (LM-10)."""
    words = texts(language, "cycle")
    cycle = await open_cycle(turn, tip)
    turn.status(words["status.searching"])
    if query:
        hits = await turn.find(query, turn.services.limits.search_hits)
        records = [hit.record for hit in hits]
    else:
        records = await turn.memory.list(turn.user, limit=turn.services.limits.recalled // 2)
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

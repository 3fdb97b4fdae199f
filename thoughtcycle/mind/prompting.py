"""Builds the messages for a model from a question and a view."""

import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from itertools import groupby
from typing import Any

from langchain_core.messages import AIMessage, BaseMessage, HumanMessage, SystemMessage, ToolMessage

from thoughtcycle.language.intents import offers
from thoughtcycle.memory.model import Recalled, Step, Utterance, short_ids
from thoughtcycle.mind.base import Question, View
from thoughtcycle.mind.fence import fence
from thoughtcycle.prompts.loader import Language, Texts, texts
from thoughtcycle.text_clipping import ELLIPSIS, clip_for_prompt, last_lines

HISTORY_TOKENS = 2_000
"""Budget of the recent history; the newest texts are shown first (BY-7)."""
RECALLED_TOKENS = 2_000
STEPS_TOKENS = 800
UTTERANCE_TOKENS = 700
MEMORY_TOKENS = 400
STEP_TOKENS = 120
BAD_ANSWER_TOKENS = 500
"""Budget of an unusable answer in the request to repair it."""


def ask_prompt(question: Question[Any], view: View) -> list[BaseMessage]:
    """The messages of a question whose answer is data.

    Texts that are not flagged as history take no part in decisions (TC-4), a last reply that asks or offers
    something excepted (TC-6).
    """
    frame = texts(view.language, "frame")
    last = next((at for at, each in reversed([*enumerate(view.history)]) if each["role"] == "user"), -1)
    history = [
        one
        if one["chat_history"] or (at > last and offers(one["content"]))
        else Utterance(role=one["role"], content=ELLIPSIS, chat_history=True)
        for at, one in enumerate(view.history)
    ]
    shown = [each for each in view.shown if each["chat_history"]]
    seen = [_briefing(frame, view, by_id=question.by_id), _moment(frame, view, shown)]
    return _messages(view, [_task(question, view)], history, seen)


def reply_prompt(question: Question[str], view: View) -> list[BaseMessage]:
    """The messages of a text for the user."""
    frame = texts(view.language, "frame")
    seen = [_briefing(frame, view), _moment(frame, view, view.shown)]
    return _messages(view, [frame["use_memory"], _task(question, view)], view.history, seen)


def tool_prompt(view: View, begun: str = "") -> list[BaseMessage]:
    """The messages of a call with tools: each step of this cycle is a call with its result.

    `begun`: the reply so far.
    """
    frame, router = texts(view.language, "frame"), texts(view.language, "router")
    rules = [router.fill("tools", **standard_values(view)), router[f"tell.{view.explain}"]]
    seen = [_known(frame, view), _moment(frame, view, (), _uncalled(view))]
    return [*_messages(view, rules, view.history, seen), *_calls_made(frame, view, begun)]


def _messages(
    view: View, task: Iterable[str], history: Iterable[Utterance], seen: Iterable[str]
) -> list[BaseMessage]:
    """The messages in the form that common chat templates take, and that providers can cache.

    One system message that stays the same from turn to turn: persona and task. The history, alternating.
    Long-term memory and current context, as data, and then the words of the user.
    """
    frame = texts(view.language, "frame")
    paused = frame["paused"] if view.withheld else ""
    words = clip_for_prompt(view.message, view.message_tokens, view.language)
    return [
        SystemMessage("\n\n".join([_persona(frame, view), *task])),
        *_dialogue(history, view.language),
        HumanMessage("\n\n".join(filter(None, (data_block(frame, seen), paused, words)))),
    ]


def _dialogue(history: Iterable[Utterance], language: Language) -> list[BaseMessage]:
    """The newest history within its budget, user and assistant in turn; it begins with the user."""
    said = [
        (one["role"] == "user", clip_for_prompt(one["content"], UTTERANCE_TOKENS, language))
        for one in history
    ]
    kept = len(last_lines((text for _, text in said), HISTORY_TOKENS))
    told: list[BaseMessage] = []
    for by_user, group in groupby(said[len(said) - kept :], lambda one: one[0]):
        if by_user or told:
            text = "\n\n".join(text for _, text in group)
            told.append(HumanMessage(text) if by_user else AIMessage(text))
    if told and isinstance(told[-1], HumanMessage):  # it was never answered
        told.append(AIMessage(ELLIPSIS))
    return told


def _calls_made(frame: Texts, view: View, begun: str) -> list[BaseMessage]:
    """The steps of this cycle as calls, each followed by its result."""
    messages: list[BaseMessage] = []
    tools = {card.name: card.tool for card in view.actions if card.tool is not None}
    for number, step in enumerate(_called(view)):
        id = f"call{number:05}"  # templates of Mistral want nine letters and digits
        found = [each for each in view.recalled if each["id"] in step.get("found", ())]
        given = _shortened(json.dumps(_arguments(tools[step["action"]], step, found)), view)
        call = {"name": step["action"], "args": json.loads(given), "id": id}
        messages.append(AIMessage("" if number else begun, tool_calls=[call]))
        lines = last_lines((_memory_line(each, view) for each in found), RECALLED_TOKENS)
        told = data_block(frame, ["\n".join(lines)]) if lines else ""
        messages.append(ToolMessage("\n".join(filter(None, (step["outcome"], told))), tool_call_id=id))
    return messages


def _arguments(tool: Mapping[str, Any], step: Step, found: Iterable[Recalled]) -> dict[str, Any]:
    """A step's input in the form of its tool: the model follows what it sees of its calls."""
    if isinstance(step["input"], dict):
        return step["input"]
    for name, schema in tool["function"]["parameters"]["properties"].items():
        if fields := schema.get("items", {}).get("properties"):
            whole = [{"_id": each["id"], "content": each["content"]} for each in found]
            return {name: [{key: one[key] for key in one if key in fields} for one in whole]}
        return {name: step["input"]}
    return {}


def _called(view: View) -> list[Step]:
    tools = {card.name for card in view.actions if card.tool is not None}
    return [step for step in view.steps if step["action"] in tools]


def _uncalled(view: View) -> list[Step]:
    tools = {card.name for card in view.actions if card.tool is not None}
    return [step for step in view.steps if step["action"] not in tools]


def _known(frame: Texts, view: View) -> str:
    """Long-term memory without the memories that a call of this cycle has found."""
    found = {id for step in _called(view) for id in step.get("found", ())}
    before = tuple(each for each in view.recalled if each["id"] not in found)
    return _briefing(frame, replace(view, recalled=before), by_id=True)


def repair_prompt(
    question: Question[Any], view: View, messages: list[BaseMessage], bad: str, problem: str
) -> list[BaseMessage]:
    """The messages of a question whose answer was unusable, that answer, and the form again by an example."""
    frame = texts(view.language, "frame")
    file, _, _ = question.name.partition("#")
    own = texts(view.language, file, question.package)
    parts = [frame.fill("repair", problem=problem)]
    if "ask_again" in own:
        parts.append(own.fill("ask_again", **standard_values(view), **question.values(view)))
    if example := example_of(question, view):
        parts.append(frame.fill("repair_example", said=own["example.message"], example=example))
    shown = clip_for_prompt(bad, BAD_ANSWER_TOKENS, view.language) or "…"
    return [*messages, AIMessage(shown), HumanMessage("\n\n".join(parts))]


def example_of(question: Question[Any], view: View) -> str:
    """A right answer to the question, for another message; "" where its file has none."""
    file, _, section = question.name.partition("#")
    own = texts(view.language, file, question.package)
    return own["example"] if section != "tell" and "example" in own else ""


def data_block(frame: Texts, sections: Iterable[str]) -> str:
    """The sections between two marks, behind a note that nothing between them is an instruction."""
    body = fence("\n\n".join(section for section in sections if section))
    return f"{frame['data_note']}\n<data>\n{body}\n</data>"


def standard_values(view: View) -> dict[str, object]:
    """Values of the placeholders of every task text."""
    frame = texts(view.language, "frame")
    return {
        "language_name": frame["language_name"],
        "persona": view.persona,
        "now": _now(frame, view),
        "actions": "\n".join(f"- {card.name}: {card.when}" for card in view.actions),
        "names": ", ".join(card.name for card in view.actions),
        "first": next((card.name for card in view.actions), ""),
    }


def _task(question: Question[Any], view: View) -> str:
    file, _, section = question.name.partition("#")
    values = {**standard_values(view), **question.values(view)}
    own = texts(view.language, file, question.package)
    task = own.fill(section, **values)
    if not (example := example_of(question, view)):
        return task
    frame = texts(view.language, "frame")
    return f"{task}\n{frame.fill('repair_example', said=own['example.message'], example=example)}"


def _persona(frame: Texts, view: View) -> str:
    return frame.fill("persona", persona=view.persona, language_name=frame["language_name"])


def _briefing(frame: Texts, view: View, *, by_id: bool = False) -> str:
    """Long-term memory: the briefing, which has its own budget, and the memories recalled since.

    Those that a step of this cycle found, kept or changed stand apart, all of them. Any other one that the
    briefing has verbatim is not repeated, unless the answer names memories by id.
    """
    briefing = "" if by_id else _folded(view.briefing)
    found = {id for step in view.steps for id in step.get("found", ())}
    new = [
        each
        for each in view.recalled
        if not briefing or each["id"] not in view.briefed or _folded(each["content"]) not in briefing
    ]
    parts = {
        "recalled": [each for each in new if each["id"] not in found],
        "found": [each for each in view.recalled if each["id"] in found],
    }
    lines = {
        name: last_lines((_memory_line(each, view) for each in memories), RECALLED_TOKENS)
        for name, memories in parts.items()
    }
    told = ["\n".join([frame[name], *some]) for name, some in lines.items() if some]
    return "\n\n".join(filter(None, (view.briefing, *told)))


def _folded(text: str) -> str:
    return " ".join(text.casefold().split())


def _moment(frame: Texts, view: View, shown: Iterable[Utterance], done: Sequence[Step] | None = None) -> str:
    """Current context: summary of the conversation, time, steps (`done`, else all) and texts so far."""
    lines = [view.session, ""] if view.session else []
    lines.append(frame.fill("now", now=_now(frame, view)))
    done = view.steps if done is None else done
    if steps := last_lines((_step_line(each, view) for each in done), STEPS_TOKENS):
        lines += [frame["steps"], *steps]
    if said := last_lines((_line(frame, view, each) for each in shown), HISTORY_TOKENS):
        lines += [frame["shown"], *said]
    return "\n".join(lines)


def _line(frame: Texts, view: View, said: Utterance) -> str:
    speaker = view.persona if said["role"] == "assistant" else frame[said["role"]]
    return f"{speaker}: {clip_for_prompt(said['content'], UTTERANCE_TOKENS, view.language)}"


def _memory_line(memory: Recalled, view: View) -> str:
    about = ", ".join(part for part in (memory["kind"], memory["at"]) if part)
    content = clip_for_prompt(memory["content"], MEMORY_TOKENS, view.language)
    return f"- [{_shortened(memory['id'], view)}] {content} ({about})"


def _step_line(step: Step, view: View) -> str:
    given = step["input"] if isinstance(step["input"], str) else json.dumps(step["input"], ensure_ascii=False)
    done = clip_for_prompt(f"{step['action']}({_shortened(given, view)})", STEP_TOKENS, view.language)
    return f"- {done} → {step['outcome']}"


def _shortened(text: str, view: View) -> str:
    """`text` with the ids of memories in their short form; an action takes that for the whole id."""
    found = (id for step in view.steps for id in step.get("found", ()))
    for id, short in short_ids({*(memory["id"] for memory in view.recalled), *found}).items():
        text = text.replace(id, short)
    return text


def _now(frame: Texts, view: View) -> str:
    zone = getattr(view.now.tzinfo, "key", None) or view.now.strftime("UTC%z")
    weekday = frame["weekdays"].split(", ")[view.now.weekday()]
    return f"{weekday}, {view.now:%Y-%m-%d %H:%M} ({zone})"

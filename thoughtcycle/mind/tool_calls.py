"""Calls of actions in a model's answer: joined from the pieces of a stream, or read out of text."""

import json
import re
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, TypedDict

from langchain_core.messages import AIMessage, AIMessageChunk, BaseMessage

from thoughtcycle.mind.surrogates import join_escapes, join_surrogates

HELD = 24
"""Characters at the start of a reply that are held back while they may begin a call."""

_MARKS = ("<tool_call", "<|tool_call", "[tool_calls]", "<function")
"""Beginnings of a call in the text of models whose server does not read their own form of it."""
_JSON_MARKS = ("{", "[{", '["')
_TAG = re.compile("|".join(map(re.escape, _MARKS)), re.IGNORECASE)
_NOISE = re.compile(r"<function=|<[^<>]*>|\[/?TOOL_CALLS\]|```\w*|functions\.|\W|_", re.IGNORECASE)
_FENCE = re.compile(r"```(\w*)(\s*)(.?)")
_NAME_KEYS = ("name", "tool", "tool_name", "action", "function")
_INPUT_KEYS = ("arguments", "parameters", "input", "args", "params", "tool_input")


class Call(TypedDict):
    """An action that a model calls; plain JSON, because it is part of the graph's state."""

    name: str
    input: Any
    """An object as the model gave it, or its text where that is no valid JSON; {}: nothing was given."""


@dataclass(frozen=True)
class Offer:
    """The tools of one call of a model."""

    tools: Sequence[Mapping[str, Any]]
    """Their definitions in OpenAI's form; none: the model can only answer."""
    names: Collection[str]
    """Names that count as a call where they stand in the text."""
    calls_only: bool = False
    """Whether text is dropped unless a call comes with it."""


@dataclass
class _Open:
    """A call whose pieces arrive."""

    index: int | str | None
    id: str | None
    name: str = ""
    input: str = ""


class CallCollector:
    """Joins the pieces of tool calls; servers tell calls apart by index, by id, or not at all."""

    def __init__(self) -> None:
        self._calls: list[_Open] = []

    def feed(self, message: BaseMessage) -> None:
        """Takes the calls of a whole message or the pieces of one chunk."""
        if isinstance(message, AIMessageChunk):
            for piece in message.tool_call_chunks:
                self._add(piece["index"], piece["id"], piece["name"], piece["args"])
        elif isinstance(message, AIMessage):
            for call in message.tool_calls:
                self._calls.append(_Open(None, call["id"], call["name"], json.dumps(call["args"])))
            for bad in message.invalid_tool_calls:
                self._calls.append(_Open(None, bad["id"], bad["name"] or "", bad["args"] or ""))

    def calls(self, names: Collection[str]) -> list[Call]:
        """The calls of the actions `names`, in order."""
        known = {_form(name): name for name in names}
        named = ((known.get(_form(each.name)), each.input) for each in self._calls)
        return [Call(name=name, input=_decoded(given)) for name, given in named if name]

    def text(self) -> str:
        """The calls as a text: name and input of each."""
        return "\n".join(f"{call.name} {call.input}".strip() for call in self._calls)

    def _add(self, index: int | str | None, id: str | None, name: str | None, text: str | None) -> None:
        call = self._continued(index, id, name)
        if name and name != call.name:
            call.name += name
        call.input += text or ""

    def _continued(self, index: int | str | None, id: str | None, name: str | None) -> _Open:
        """The call that a piece belongs to: a new one where it shows another index, id or a further name."""
        for call in reversed(self._calls):
            other_id = bool(id and call.id and id != call.id)
            if other_id or (index is not None and call.index is not None and index != call.index):
                continue
            if name and call.name and not id and isinstance(_decoded(call.input), dict) and call.input:
                break
            return call
        self._calls.append(_Open(index, id))
        return self._calls[-1]


class CallSieve:
    """Passes the text of a reply on and keeps calls in it back: at its start, or from a tag on."""

    def __init__(self, names: Collection[str]) -> None:
        self._names = names
        self._held = ""
        self._started = False
        self._calling = False
        self.calls: list[Call] = []

    def feed(self, piece: str) -> str:
        """The text that can be shown now and was not shown before."""
        self._held += piece
        if self._calling:
            return ""
        if not self._started:
            begins = _begins_call(self._held, self._names)
            if begins is None and len(self._held.lstrip()) < HELD:
                return ""
            self._started, self._calling = True, bool(begins)
            if begins:
                return ""
        return self._passing()

    def finish(self) -> str:
        """What was held back and is no call; the calls are in `calls` then."""
        held, self._held = self._held, ""
        if not self._started or self._calling:
            self.calls = read_calls(held, self._names)
            tagged = _TAG.match(held.lstrip())
            return "" if self.calls or tagged else held
        return held

    def _passing(self) -> str:
        """The held text up to a tag, or up to characters that may begin one."""
        if tag := _TAG.search(self._held):
            shown, self._held = self._held[: tag.start()], self._held[tag.start() :]
            self._calling = True
            return shown
        last = max(self._held.rfind("<"), self._held.rfind("["))
        may_begin = last >= 0 and any(mark.startswith(self._held[last:].casefold()) for mark in _MARKS)
        end = last if may_begin else len(self._held)
        shown, self._held = self._held[:end], self._held[end:]
        return shown


def read_calls(text: str, names: Collection[str]) -> list[Call]:
    """The calls that a text writes out: `{"name": …, "arguments": …}`, `Name(…)`, `Name`; tagged or not."""
    known = {_form(name): name for name in names}
    calls, done = [], 0
    for value, start, end in _json_values(text):
        before, done = text[done:start], end
        if found := [_as_call(each, known) for each in (value if isinstance(value, list) else [value])]:
            read = [call for call in found if call]
            if not read and (name := known.get(_form(before))):
                read = [Call(name=name, input=value)]
            calls += read
    if not calls and (name := known.get(_form(text))):
        calls = [Call(name=name, input={})]
    if not calls:  # broken JSON around one name: the action asks for its input
        named = {name for name in names if re.search(rf"\b{re.escape(name)}\b", text, re.IGNORECASE)}
        calls = [Call(name=name, input={}) for name in named if len(named) == 1]
    return calls


def _as_call(value: Any, known: Mapping[str, str]) -> Call | None:
    if not isinstance(value, dict):
        return None
    for key in _NAME_KEYS:
        named = value.get(key)
        if isinstance(named, dict) and (inner := _as_call(named, known)):
            return inner
        if isinstance(named, str) and (name := known.get(_form(named))):
            rest = {other: given for other, given in value.items() if other not in (key, "id", "type")}
            given = next((rest[each] for each in _INPUT_KEYS if each in rest), rest)
            return Call(name=name, input=_decoded(given) if isinstance(given, str) else given)
    only = known.get(_form(next(iter(value)))) if len(value) == 1 else None
    return Call(name=only, input=next(iter(value.values()))) if only else None


def _begins_call(text: str, names: Collection[str]) -> bool | None:
    """Whether a reply that begins with `text` is a call; None while that is open."""
    start = text.lstrip().casefold()
    if not start or any(mark.startswith(start) for mark in (*_MARKS, "```")):
        return None
    if start.startswith((*_MARKS, *_JSON_MARKS)):
        return True
    if start == "[":
        return None
    if fence := _FENCE.match(start):
        data = fence[1] in ("", "json", "xml", "text") or "tool" in fence[1]
        return (None if data or not fence[2] else False) if not fence[3] else data and fence[3] in "{[<"
    for name in map(str.casefold, names):
        if name.startswith(start):
            return None
        if start.startswith(name):
            after = start[len(name) :].strip()
            return None if not after.strip(" .:*`'\"\n") else after[0] in "({[:<"
    return False


def _json_values(text: str) -> Iterator[tuple[Any, int, int]]:
    """The JSON objects and lists in a text, each with its place."""
    at, decoder = 0, json.JSONDecoder()
    while start := re.compile(r"[\[{]").search(text, at):
        try:
            value, at = decoder.raw_decode(text, start.start())
        except (ValueError, RecursionError):
            at = start.end()
        else:
            yield value, start.start(), at


def _decoded(given: str) -> Any:
    """The object that a text is; the text itself where it is none."""
    if not given.strip():
        return {}
    given = join_escapes(join_surrogates(given))
    try:
        return json.loads(given)
    except (ValueError, RecursionError):
        return given


def _form(text: str) -> str:
    return _NOISE.sub("", text).casefold()

"""Turns with a model that gives one answer in a sloppy form, each time it is asked, over real HTTP."""

import asyncio
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from support.fake_openai import Behaviour, FakeOpenAI, Recorded, Reply, ToolCall
from support.graphs import Lab, lab
from thoughtcycle.memory.model import MemoryDraft
from thoughtcycle.mind.llm import LLMMind
from thoughtcycle.mind.model_settings import ModelSettings
from thoughtcycle.prompts.loader import texts
from torture.shapes import (
    CHANGED,
    GONE,
    KEPT,
    LISTS,
    NAMELESS,
    NAMES,
    SOUGHT,
    SPEECHLESS,
    UNREADABLE,
    Shape,
    plain,
)

REPLY = "Está bem, e obrigada por me dizer."
KNOWN = MemoryDraft(content="Nome: Pedro", key="name", kind="bio", bindings=("nome",))


@dataclass(frozen=True)
class Query:
    """A question to the model inside a turn: the turn, the right answer, and what is held after it."""

    name: str
    message: str
    actions: tuple[str, ...]
    asked: str
    """The file of the action whose input is asked for."""
    held: tuple[str, ...]
    """The memories after the turn."""
    by_rules: tuple[str, ...]
    """The same where the rules gave the input."""
    shapes: Mapping[str, Shape]


HALF = "cut behind an item"
"""Of a deletion, half an answer is none."""
SAVED = {"type": "text", "content": "É alérgica a camarão-rosa", "bindings": ["alergias", "comida"]}
QUERIES = (
    Query(
        "save",
        "Sou alérgica a camarão",
        ("MemorySave", "Finish"),
        "memory_save",
        ("Nome: Pedro", "É alérgica a camarão-rosa"),
        ("Alérgica a camarão", "Nome: Pedro"),
        LISTS | KEPT,
    ),
    Query(
        "search",
        "Qual é o meu nome?",
        ("MemorySearch", "Finish"),
        "memory_search",
        ("Nome: Pedro",),
        ("Nome: Pedro",),
        LISTS | SOUGHT,
    ),
    Query(
        "update",
        "Na verdade meu nome é Paulo",
        ("MemorySearch", "MemoryUpdate", "Finish"),
        "memory_update",
        ("Nome: Paulo Sérgio",),
        ("Nome: Paulo",),
        LISTS | CHANGED,
    ),
    Query(
        "delete",
        "Esqueça meu nome",
        ("MemorySearch", "MemoryDelete", "Finish"),
        "memory_delete",
        (),
        (),
        {name: shape for name, shape in LISTS.items() if name != HALF} | GONE,
    ),
)
DECISION, SPOKEN, TOOLS = "decision", "reply", "tools"
ROWS = (*(query.name for query in QUERIES), DECISION, SPOKEN, TOOLS)
"""The questions; `tools` is what to save, as the arguments of a call."""


@dataclass
class Battery:
    """The turns made, the calls of the model in them, and what was lost."""

    turns: int = 0
    calls: int = 0
    faults: list[str] = field(default_factory=list)


@dataclass(frozen=True)
class Sloppy:
    """One turn of the battery: the answers that are not as they should be, and whether they leave no doubt."""

    row: str
    form: str
    query: Query
    clear: bool
    shape: Shape | None = None
    answer: Behaviour | None = None
    decision: Behaviour | None = None
    reply: Behaviour | None = None

    @property
    def held(self) -> list[str]:
        """The memories after the turn: the rules find what no answer of the model says."""
        unread = self.shape is None and self.answer is not None
        return sorted(self.query.by_rules if unread else self.query.held)


def turns(rows: Iterable[str] = ROWS) -> Iterator[Sloppy]:
    """The turns of these questions."""
    chosen, (save, search) = frozenset(rows), QUERIES[:2]
    for query in QUERIES:
        if query.name in chosen:
            yield from (Sloppy(query.name, form, query, True, one) for form, one in query.shapes.items())
            for form, answer in UNREADABLE.items():
                yield Sloppy(query.name, form, query, False, answer=answer)
    if DECISION in chosen:
        for form, name in NAMES.items():
            yield Sloppy(DECISION, form, save, True, decision=name("MemorySave"))
        yield from (Sloppy(DECISION, form, save, False, decision=said) for form, said in NAMELESS.items())
    if SPOKEN in chosen:
        yield from (Sloppy(SPOKEN, form, search, False, reply=said) for form, said in SPEECHLESS.items())
    if TOOLS in chosen:
        for form, one in save.shapes.items():
            if isinstance(one([SAVED]), str):
                yield Sloppy(TOOLS, form, save, True, one)


def run(folder: Path, planned: Iterable[Sloppy]) -> Battery:
    """Makes these turns, each of a user of its own."""
    return asyncio.run(_run(folder, [*planned]))


async def _run(folder: Path, planned: list[Sloppy]) -> Battery:
    battery = Battery()
    with FakeOpenAI() as server:
        one_model = LLMMind.from_settings(ModelSettings(openai_base_url=server.url, model="talk"))
        for mind in (None, one_model):
            here = [sloppy for sloppy in planned if (sloppy.row == TOOLS) == (mind is not None)]
            async with lab(folder, server, mind=mind, explain="off") as product:
                for sloppy in here:
                    await _turn(product, server, battery, sloppy)
    return battery


async def _turn(product: Lab, server: FakeOpenAI, battery: Battery, sloppy: Sloppy) -> None:
    battery.turns += 1
    user, query = f"user{battery.turns}", sloppy.query
    (known,) = await product.memory.save(user, [KNOWN])
    items = {
        "memory_save": [SAVED],
        "memory_search": ["nome"],
        "memory_update": [{"_id": known.record.id, "content": "Nome: Paulo Sérgio"}],
        "memory_delete": [known.record.id],
    }
    server.reset()
    server.answer = Model(sloppy, items)
    values = await product.say(query.message, thread=user, user_id=user, language="pt")
    asked = [one for one in server.requests if "messages" in one.body]
    battery.calls += len(asked)

    def fault(what: str) -> None:
        battery.faults.append(f"{sloppy.row}, {sloppy.form}: {what}")

    told = " ".join(message.text for message in values["messages"][1:])
    if told != REPLY and not (sloppy.reply is not None and "Pedro" in told):
        fault(f"the reply is {told!r}")
    held = sorted(record.text for record in await product.memory.list(user))
    if held != sloppy.held:
        fault(f"held is {held}, not {sloppy.held}")
    if query.name == "search" and not any(step.get("found") for step in values["steps"]):
        fault("nothing was found")
    if sloppy.clear and any(step.get("by") for step in values["steps"]):
        fault("the rules answered")
    if sloppy.clear and any("não pôde ser usada" in one.text("user") for one in asked):
        fault("it was asked again")


@dataclass
class Model:
    """What the model says: right everywhere but at one question, where it is sloppy each time."""

    sloppy: Sloppy
    items: dict[str, list[Any]]

    def __call__(self, request: Recorded) -> Behaviour:
        prompt, sloppy = request.prompt, self.sloppy
        if request.body.get("tools"):
            done = any(message["role"] == "tool" for message in request.body["messages"])
            call = ToolCall("MemorySave", self._given(sloppy.query.asked))
            return REPLY if done else Reply(calls=(call,), finish="tool_calls")
        if request.model == "heavy":
            action = next(name for name in sloppy.query.actions if f"- {name}(" not in prompt)
            return action if sloppy.decision is None or action == "Finish" else sloppy.decision
        asked = [file for file in self.items if texts("pt", f"actions/{file}")["ask"][:60] in prompt]
        if asked:
            return self._given(asked[0])
        return REPLY if sloppy.reply is None else sloppy.reply

    def _given(self, asked: str) -> Any:
        sloppy, items = self.sloppy, self.items[asked]
        if asked != sloppy.query.asked or (sloppy.shape is None and sloppy.answer is None):
            return plain(items)
        return sloppy.answer if sloppy.shape is None else sloppy.shape(items)

"""Evaluates compression (CM-5 … CM-7): the share of data that survives many compressions of a chat."""

import re
from collections.abc import AsyncIterator, Iterator, Sequence
from dataclasses import dataclass, field
from itertools import chain, cycle
from pathlib import Path
from typing import NamedTuple

from thoughtcycle.evals import everyday_labels
from thoughtcycle.evals.everyday import NOW
from thoughtcycle.evals.everyday_labels import HALVES
from thoughtcycle.evals.locomo import Conversation, load, recorded
from thoughtcycle.evals.retrieval import Clock, fresh_memory
from thoughtcycle.graph.formation import compile_formation
from thoughtcycle.language.intents import disclosure
from thoughtcycle.memory.memory import Memory
from thoughtcycle.memory.model import CRITICAL, ConversationMemory, Cycle, PreservedData
from thoughtcycle.memory.rules.word_budget import recent_words
from thoughtcycle.memory.text.secrets import masked
from thoughtcycle.mind.rules import RuleMind
from thoughtcycle.nodes.base.context import Context
from thoughtcycle.nodes.base.services import Services
from thoughtcycle.prompts.loader import LANGUAGES

MOST = 1_100
"""Words after a compression, at most, unless the recent cycles alone have more."""
WINDOW = 2
"""Complete cycles that are kept verbatim."""
CHAT = "chat"
KINDS = ("digits", "numbers", "dates", *CRITICAL)
"""Kinds of data that must survive: digits of the user's messages, and the data found by the rules."""
EVERY = 3
"""Exchanges after which a labelled everyday message is said: LoCoMo alone has few goals and limits."""
_DIGITS = re.compile(r"\d+")


class Datum(NamedTuple):
    """A datum that must survive."""

    kind: str
    cycle: str
    said: str
    values: tuple[str, ...] = ()
    """Of critical data, the numbers and dates."""


@dataclass
class Compressed:
    """The result for one chat."""

    name: str
    cycles: int = 0
    expected: set[Datum] = field(default_factory=set)
    """All data that must survive."""
    lost: set[Datum] = field(default_factory=set)
    """Data that was missing after a compression, or at the end."""
    words: list[int] = field(default_factory=list)
    """Words after each compression."""
    over: int = 0
    """Compressions that left too many words."""

    def survival(self, kind: str) -> tuple[int, float]:
        """Number of data of a kind, and the share that was never missing; 1 without any."""
        total = sum(one.kind == kind for one in self.expected)
        return total, 1 - sum(one.kind == kind for one in self.lost) / total if total else 1.0

    def as_json(self) -> dict[str, object]:
        """The figures as plain data for JSON."""
        kinds = {kind: dict(zip(("told", "survived"), self.survival(kind), strict=True)) for kind in KINDS}
        return {"cycles": self.cycles, "words": self.words, "over": self.over, "kinds": kinds}


async def evaluate(path: Path) -> list[Compressed]:
    """Each conversation, all its sessions, as one chat; raises InputRefused('eval_data')."""
    messages = everyday()
    return [await _compressed(one, messages) for one in load(path)]


def everyday() -> Iterator[str]:
    """The labelled messages of both languages, in turn, again and again.

    Without those that ask not to be remembered.
    """
    texts: list[list[str]] = []
    for language in LANGUAGES:
        every = [message.text for half in HALVES for message in everyday_labels.load(language, half)]
        texts.append([text for text in every if not disclosure(text, language, NOW).unsaid])
    return cycle(chain.from_iterable(zip(*texts, strict=False)))


def as_json(chats: Sequence[Compressed]) -> dict[str, object]:
    """The figures as plain data for JSON."""
    return {"data": "LoCoMo", "chats": {one.name: one.as_json() for one in chats}}


def as_text(chats: Sequence[Compressed]) -> str:
    """One line per chat; per kind the number of data and the share that survived."""
    columns = ("cycles", "compressions", "words", "over")
    head = "".join(f"{name:>14}" for name in columns) + "".join(f"{kind:>22}" for kind in KINDS)
    lines = ["LoCoMo, compression, by rules", "", " " * 12 + head]
    for one in chats:
        words = f"{min(one.words)}-{max(one.words)}" if one.words else "-"
        numbers = "".join(f"{value:>14}" for value in (one.cycles, len(one.words), words, one.over))
        kinds = "".join("{:>14} {:>7.3f}".format(*one.survival(kind)) for kind in KINDS)
        lines.append(f"{one.name:<12}{numbers}{kinds}")
    return "\n".join(lines)


async def _compressed(talk: Conversation, messages: Iterator[str]) -> Compressed:
    """Records and forms one exchange after the other; checks after each compression, and at the end."""
    name = talk.name
    found = Compressed(name)
    clock = Clock(talk.sessions[0][0])
    async with fresh_memory(None, clock) as memory:
        formation = compile_formation(Services(memory, RuleMind(), language="en", clock=clock))
        recent: list[Cycle] = []
        summary = await memory.conversation_memory(name, CHAT)
        async for one in _exchanged(memory, talk, messages):
            clock.now = max(clock.now, one.message.at)
            await formation.ainvoke({"cycle_id": one.id}, context=Context(user_id=name))
            (done,) = await memory.transcript.cycles(name, [one.id])
            recent = [*recent, done][-WINDOW:]
            found.cycles += 1
            found.expected.update(data_of(done))
            before, summary = summary, await memory.conversation_memory(name, CHAT)
            if summary.compression_count > before.compression_count:
                found.words.append(summary.total_word_count)
                found.over += summary.total_word_count > MOST >= recent_words(recent)
                found.lost |= missing(found.expected, summary, recent)
        found.lost |= missing(found.expected, summary, recent)
    return found


async def _exchanged(memory: Memory, talk: Conversation, messages: Iterator[str]) -> AsyncIterator[Cycle]:
    """The recorded exchanges of the conversation, with an everyday message after every few."""
    place, user, chats = 0, talk.name, [CHAT] * len(talk.sessions)
    async for one, _ in recorded(memory, talk, user=user, chats=chats, formation="pending"):
        yield one
        place += 1
        if place % EVERY == 0:
            text, at = next(messages), one.message.at
            yield await memory.record_cycle(
                user, CHAT, text, "Ok.", at=at, channel="eval", formation="pending"
            )


def data_of(it: Cycle) -> Iterator[Datum]:
    """Data of a cycle that must survive, by its judgement."""
    if it.judgement is None:
        return
    yield from (Datum("digits", it.id, digits) for digits in _DIGITS.findall(masked(it.message.text)))
    yield from _preserved(it.id, it.judgement.preserved)
    for datum in it.judgement.critical:
        yield Datum(datum.kind, it.id, datum.text, datum.values)


def missing(expected: set[Datum], memory: ConversationMemory, recent: Sequence[Cycle]) -> set[Datum]:
    """The part of `expected` that is neither in the memory of the chat nor in its recent cycles.

    Critical data must be there verbatim; data that was said again, in nearly the same words, once.
    """
    there = {each for one in recent for each in data_of(one)}
    data = [(one.cycle_id, one.preserved_data) for one in memory.old_memory]
    data += [(one.cycle_id, one.preserved_data) for one in memory.ledger]
    there.update(each for cycle, preserved in data for each in _preserved(cycle, preserved))
    there.update(Datum(one.kind, one.cycle, one.text, one.values) for one in memory.critical_data)
    again = {(one.kind, cycle, one.values) for one in memory.critical_data for cycle in one.again}
    return {one for one in expected - there if (one.kind, one.cycle, one.values) not in again}


def _preserved(cycle: str, data: PreservedData) -> Iterator[Datum]:
    yield from (Datum("numbers", cycle, one.said) for one in data.numerical_values)
    yield from (Datum("dates", cycle, one.said) for one in data.dates)
    text = " ".join(one.said for one in (*data.numerical_values, *data.dates))
    yield from (Datum("digits", cycle, digits) for digits in _DIGITS.findall(text))

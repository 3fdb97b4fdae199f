"""Evaluates compression (CM-5 … CM-7): which data survive in chats that are compressed many times."""

import re
from collections.abc import AsyncIterator, Iterator, Sequence
from dataclasses import dataclass, field
from itertools import cycle
from pathlib import Path
from typing import NamedTuple

from thoughtcycle.evals import everyday_labels
from thoughtcycle.evals.everyday import NOW
from thoughtcycle.evals.everyday_labels import HALVES, Labelled
from thoughtcycle.evals.locomo import Clock, Conversation, load, recorded
from thoughtcycle.evals.retrieval import fresh_memory
from thoughtcycle.graph.formation import compile_formation
from thoughtcycle.language.intents import disclosure
from thoughtcycle.memory.memory import Memory
from thoughtcycle.memory.model import CRITICAL, ConversationMemory, Cycle, PreservedData
from thoughtcycle.memory.rules import recent_words
from thoughtcycle.memory.text import masked
from thoughtcycle.mind.rules import RuleMind
from thoughtcycle.nodes.base.context import Context
from thoughtcycle.nodes.base.services import Services
from thoughtcycle.prompts.loader import LANGUAGES, Language

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


class Kept(NamedTuple):
    """Something that must survive."""

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
    told: set[Kept] = field(default_factory=set)
    """All that must survive."""
    lost: set[Kept] = field(default_factory=set)
    """Data that was missing after a compression, or at the end."""
    words: list[int] = field(default_factory=list)
    """Words after each compression."""
    over: int = 0
    """Compressions after which it had more words than it should have."""

    def survived(self, kind: str) -> float:
        """Share of what was told that was there whenever it was looked for; 1 where nothing was told."""
        told = sum(one.kind == kind for one in self.told)
        return 1 - sum(one.kind == kind for one in self.lost) / told if told else 1.0

    def as_json(self) -> dict[str, object]:
        """The figures as plain data for JSON."""
        kinds = {
            kind: {"told": sum(one.kind == kind for one in self.told), "survived": self.survived(kind)}
            for kind in KINDS
        }
        return {"cycles": self.cycles, "words": self.words, "over": self.over, "kinds": kinds}


async def evaluate(path: Path) -> list[Compressed]:
    """Each conversation, all its sessions, as one chat; raises InputRefused('eval_data')."""
    messages = everyday()
    return [await _talked(one, messages) for one in load(path)]


def everyday() -> Iterator[str]:
    """The labelled messages of both languages, in turn, again and again.

    Without those that ask not to be kept: of these nothing shall survive.
    """
    texts = [message.text for pair in zip(*map(_labelled, LANGUAGES), strict=False) for message in pair]
    return cycle(texts)


def _labelled(language: Language) -> list[Labelled]:
    told = [message for half in HALVES for message in everyday_labels.load(language, half)]
    return [message for message in told if not disclosure(message.text, language, NOW).unsaid]


def as_json(chats: Sequence[Compressed]) -> dict[str, object]:
    """The figures as plain data for JSON."""
    return {"data": "LoCoMo", "chats": {one.name: one.as_json() for one in chats}}


def as_text(chats: Sequence[Compressed]) -> str:
    """One line per chat; of each kind how much was told, and which share survived."""
    columns = ("cycles", "compressions", "words", "over")
    head = "".join(f"{name:>14}" for name in columns) + "".join(f"{kind:>22}" for kind in KINDS)
    return "\n".join(["LoCoMo, compression, by rules", "", " " * 12 + head, *map(_line, chats)])


def _line(one: Compressed) -> str:
    words = f"{min(one.words)}-{max(one.words)}" if one.words else "-"
    numbers = "".join(f"{value:>14}" for value in (one.cycles, len(one.words), words, one.over))
    kinds = "".join(
        f"{sum(each.kind == kind for each in one.told):>14} {one.survived(kind):>7.3f}" for kind in KINDS
    )
    return f"{one.name:<12}{numbers}{kinds}"


async def _talked(talk: Conversation, messages: Iterator[str]) -> Compressed:
    """Records and understands one exchange after the other; looks after each compression, and at the end."""
    name = talk.name
    found = Compressed(name)
    clock = Clock(talk.sessions[0][0])
    async with fresh_memory(None, clock) as memory:
        formation = compile_formation(Services(memory, RuleMind(), language="en", clock=clock))
        recent: list[Cycle] = []
        sheet = await memory.conversation_memory(name, CHAT)
        async for one in _exchanged(memory, talk, messages):
            clock.now = max(clock.now, one.message.at)
            await formation.ainvoke({"cycle_id": one.id}, context=Context(user_id=name))
            (done,) = await memory.transcript.cycles(name, [one.id])
            recent = [*recent, done][-WINDOW:]
            found.cycles += 1
            found.told.update(told_in(done))
            before, sheet = sheet, await memory.conversation_memory(name, CHAT)
            if sheet.compression_count > before.compression_count:
                found.words.append(sheet.total_word_count)
                found.over += sheet.total_word_count > MOST >= recent_words(recent)
                found.lost |= missing(found.told, sheet, recent)
        found.lost |= missing(found.told, sheet, recent)
    return found


async def _exchanged(memory: Memory, talk: Conversation, messages: Iterator[str]) -> AsyncIterator[Cycle]:
    """The exchanges of the conversation, recorded, with an everyday message after every few."""
    place, user, chats = 0, talk.name, [CHAT] * len(talk.sessions)
    async for one, _ in recorded(memory, talk, user=user, chats=chats, formation="pending"):
        yield one
        place += 1
        if place % EVERY == 0:
            text, at = next(messages), one.message.at
            yield await memory.record_cycle(
                user, CHAT, text, "Ok.", at=at, channel="eval", formation="pending"
            )


def told_in(it: Cycle) -> Iterator[Kept]:
    """Data of a cycle that must survive, by its judgement."""
    if it.judgement is None:
        return
    yield from (Kept("digits", it.id, digits) for digits in _DIGITS.findall(masked(it.message.text)))
    yield from _preserved(it.id, it.judgement.preserved)
    for datum in it.judgement.critical:
        yield Kept(datum.kind, it.id, datum.text, datum.values)


def missing(told: set[Kept], sheet: ConversationMemory, recent: Sequence[Cycle]) -> set[Kept]:
    """The part of `told` that is neither in the memory of the chat nor in its recent cycles.

    Critical data must be there verbatim; what was said again, in nearly the same words, as it was first said.
    """
    there = {each for one in recent for each in told_in(one)}
    kept = [(one.cycle_id, one.preserved_data) for one in sheet.old_memory]
    for cycle_id, data in [*kept, *((one.cycle_id, one.preserved_data) for one in sheet.ledger)]:
        there.update(_preserved(cycle_id, data))
    there.update(Kept(one.kind, one.cycle, one.text, one.values) for one in sheet.critical_data)
    again = {(one.kind, cycle, one.values) for one in sheet.critical_data for cycle in one.again}
    return {one for one in told - there if (one.kind, one.cycle, one.values) not in again}


def _preserved(cycle: str, data: PreservedData) -> Iterator[Kept]:
    yield from (Kept("numbers", cycle, one.said) for one in data.numerical_values)
    yield from (Kept("dates", cycle, one.said) for one in data.dates)
    told = " ".join(one.said for one in (*data.numerical_values, *data.dates))
    yield from (Kept("digits", cycle, digits) for digits in _DIGITS.findall(told))

"""Twelve months of talk through the whole product: what is critical stays, what is bounded stays bounded.

THOUGHTCYCLE_YEAR=20 pytest tests/integration/test_year.py    # the long form: 20 more remarks a month and chat
"""

import os
from collections import defaultdict
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from pathlib import Path
from typing import Any

import pytest
from langchain_core.messages import HumanMessage

from support.background import Background
from support.doctor import problems
from support.fake_openai import FakeOpenAI
from support.graphs import Lab, lab
from support.year import BEGIN, CHATS, CITIES, IN_PERSON, MONTH, MONTHS, Line, month
from thoughtcycle.memory.model import PreservedData
from thoughtcycle.mind.rules import RuleMind
from thoughtcycle.nodes.base.context import Context
from thoughtcycle.nodes.base.limits import Limits
from thoughtcycle.text_clipping import estimate_tokens

EXTRA = int(os.environ.get("THOUGHTCYCLE_YEAR", "0"))
LIMITS = Limits(memory_words=320)
"""Small, so that a short year compresses again and again."""


class Clock:
    """Moves a second per look, and to where it is put."""

    def __init__(self) -> None:
        self.now = BEGIN

    def __call__(self) -> datetime:
        self.now += timedelta(seconds=1)
        return self.now


@dataclass
class Year:
    """The product, and what was told so far."""

    product: Lab
    clock: Clock
    in_person: tuple[str, ...] = IN_PERSON
    """Chats that go through the thought cycle."""
    critical: dict[str, list[str]] = field(default_factory=lambda: defaultdict(list))
    numbers: dict[str, set[str]] = field(default_factory=lambda: defaultdict(set))
    preserved: dict[str, set[str]] = field(default_factory=lambda: defaultdict(set))

    async def say(self, line: Line) -> None:
        """An exchange; what a turn of ours was given stays within bounds."""
        if line.chat in self.in_person:
            await self.product.say(line.text, line.chat, channel=line.channel, language=line.language)
            values = await self.values(line.chat)
            assert values["briefing"]["tokens"] <= 1_000
            assert sum(estimate_tokens(one["content"]) for one in values["window"]) <= 2_000
        else:
            await self.product.memory.record_cycle(
                "ana", line.chat, line.text, "Certo.", at=self.clock.now, channel=line.channel
            )
        if line.critical:
            self.critical[line.chat].append(line.critical)
        self.numbers[line.chat].update(line.numbers)

    async def understand(self) -> None:
        """What stands behind some exchanges; the memory of each chat within bounds."""
        await self.product.understand("form")
        for chat, _, _ in CHATS:
            for cycle in await self.product.memory.conversation("ana", chat, limit=4):
                assert cycle.judgement is not None and not cycle.judgement.pending
                self.preserved[chat] |= normalised(cycle.judgement.preserved)
            known = await self.product.memory.conversation_memory("ana", chat)
            assert known.total_word_count < LIMITS.memory_words

    async def values(self, chat: str) -> dict[str, Any]:
        place: Any = {"configurable": {"thread_id": chat}}
        return dict((await self.product.graph.aget_state(place)).values)

    async def again(self, chat: str, node: str, message: HumanMessage | None) -> None:
        """The last turn of a chat once more: with another message, or from before `node` with the same."""
        place: Any = {"configurable": {"thread_id": chat}}
        states = [state async for state in self.product.graph.aget_state_history(place)]
        before = next(state for state in states if state.next == (node,))
        given = {"messages": [message]} if message else None
        await self.product.graph.ainvoke(given, before.config, context=Context(user_id="ana"))
        await self.product.understand("form")


def normalised(data: PreservedData) -> set[str]:
    return {one.normalised for one in (*data.numerical_values, *data.dates)}


@pytest.mark.parametrize("mind", ["rules", "model"])
@pytest.mark.spec("CM-5", "CM-6", "CM-7", "LM-1", "LM-11", "LM-13", "HM-7", "BY-7")
async def test_a_year_of_talk_loses_nothing_that_matters(
    tmp_path: Path, mind: str, fake_openai: FakeOpenAI
) -> None:
    Background(fake_openai).reply = "Certo, anotado."
    clock = Clock()
    server = fake_openai if mind == "model" else None
    async with lab(tmp_path, server, limits=LIMITS, clock=clock) as product:
        year = Year(product, clock, IN_PERSON if mind == "rules" else ())
        for number in range(MONTHS):
            lines = list(month(number, EXTRA))
            for place, line in enumerate(lines):
                clock.now = max(clock.now, BEGIN + MONTH * number + MONTH * place / (len(lines) + 1))
                await year.say(line)
                if place % 4 == 3:
                    await year.understand()
            await year.understand()
            if number == 2 and year.in_person:
                await regenerated(year)
            if number == 5 and year.in_person:
                await edited(year)
            if year.in_person:
                assert CITIES[number // 4] in await product.answer("Onde eu moro?", "casa", language="pt")
            clock.now = BEGIN + MONTH * (number + 1) - timedelta(hours=1)
            await product.understand()
            await at_the_end_of_a_month(year, number)
        for chat, _, _ in CHATS:
            assert (await product.memory.conversation_memory("ana", chat)).compression_count >= 2


async def regenerated(year: Year) -> None:
    """A reply that is given anew declares nothing twice."""
    text = "Decidi que vou trocar o contador em 03/08/2027"
    await year.say(Line("work", "web", "pt", text, text, ("2027-08-03",)))
    await year.understand()
    await year.again("work", "Finish", None)
    known = await year.product.memory.conversation_memory("ana", "work")
    assert len([one for one in known.critical_data if one.text == text]) == 1


async def edited(year: Year) -> None:
    """What stood in a message before it was edited was never said."""
    taken_back = "Decidi que vou comprar um sítio por R$ 777.777"
    await year.product.say(taken_back, "casa", channel="whatsapp", language="pt")
    await year.product.understand("form")
    text = "Decidi que vou alugar um sítio por R$ 1.212 por mês"
    await year.again("casa", "__start__", HumanMessage(text))
    await year.understand()
    year.critical["casa"].append(text)
    year.numbers["casa"].add("1212")
    known = await year.product.memory.conversation_memory("ana", "casa")
    assert "777.777" not in known.model_dump_json() and "777777" not in known.model_dump_json()
    assert not [one for one in await year.product.memory.list("ana") if "777.777" in one.text]


async def at_the_end_of_a_month(year: Year, number: int) -> None:
    """What holds after every month of the year."""
    memory = year.product.memory
    for chat, _, _ in CHATS:
        known = await memory.conversation_memory("ana", chat)
        recent = await memory.conversation("ana", chat, limit=2)
        told = [one.text for one in known.critical_data]
        missing = [text for text in year.critical[chat] if not any(text in one for one in told)]
        assert not missing, f"month {number}, {chat}: lost {missing}"
        assert len(told) == len(set(told)) == len(year.critical[chat])
        kept = [one.preserved_data for one in (*known.old_memory, *known.ledger)]
        kept += [one.judgement.preserved for one in recent if one.judgement]
        found = set().union(*map(normalised, kept))
        assert year.numbers[chat] <= found, year.numbers[chat] - found
        assert year.preserved[chat] <= found, year.preserved[chat] - found
        assert known.total_cycles == len(await memory.conversation("ana", chat, limit=9_999))
    await nothing_decayed_that_must_not(year, number)
    assert await problems(memory.core.storage, "ana") == []


async def nothing_decayed_that_must_not(year: Year, number: int) -> None:
    memory = year.product.memory
    for record in await memory.list("ana", statuses=("archived",)):
        fades = record.kind == "emo"
        unused = record.layer == "long" and record.kind != "bio" and (record.importance or 0) < 71
        assert fades or unused, record.text
    active = {record.text for record in await memory.list("ana")}
    if isinstance(year.product.mind, RuleMind):
        city = CITIES[number // 4]
        assert f"Mora em {city}" in active
        assert not [other for other in CITIES if other != city and f"Mora em {other}" in active]

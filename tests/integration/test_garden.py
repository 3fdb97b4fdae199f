"""The garden graph over months: what fades, stays, becomes one; dry runs, repetition, the way back."""

from collections.abc import AsyncIterator
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest

from support.databases import new_database
from support.doctor import problems
from support.memories import WordEmbedder
from thoughtcycle.errors import NotAllowed
from thoughtcycle.graph.garden import GardenGraph, compile_garden
from thoughtcycle.memory.memory import Memory
from thoughtcycle.memory.model.records import MemoryDraft, MemoryRecord
from thoughtcycle.mind.rules import RuleMind
from thoughtcycle.nodes.base.context import Context
from thoughtcycle.nodes.base.services import Services

JANUARY = datetime(2026, 1, 1, 9, tzinfo=UTC)


@dataclass
class Year:
    """A memory whose clock stands where it is put."""

    memory: Memory
    graph: GardenGraph
    now: datetime = JANUARY

    async def save(self, content: str, **fields: Any) -> MemoryRecord:
        draft = MemoryDraft.model_validate({"content": content, **fields})
        return (await self.memory.save("ana", [draft]))[0].record

    async def tend(self, *, dry_run: bool = False) -> dict[str, Any]:
        return await self.graph.ainvoke({"dry_run": dry_run}, context=Context(user_id="ana"))

    async def active(self) -> set[str]:
        return {str(record.content) for record in await self.memory.list("ana")}


@pytest.fixture(params=["sqlite", "mongodb"])
async def year(request: pytest.FixtureRequest, tmp_path: Path) -> AsyncIterator[Year]:
    url = f"sqlite:///{tmp_path}/m.db"
    if request.param == "mongodb":
        url = new_database(request.getfixturevalue("mongodb_url"))
    times = [JANUARY]
    async with Memory.open(url, embeddings=WordEmbedder(), clock=lambda: times[0]) as memory:
        graph = compile_garden(Services(memory, RuleMind(), clock=lambda: times[0]))

        class Moved(Year):
            def __setattr__(self, name: str, value: Any) -> None:
                if name == "now":
                    times[0] = value
                super().__setattr__(name, value)

        yield Moved(memory, graph)
        assert await problems(memory.core.storage, "ana") == []


@pytest.mark.spec("HM-7")
async def test_a_feeling_fades_over_months_and_nothing_else_does(year: Year) -> None:
    await year.save("Ansioso quando o prazo aperta", kind="emo", weight=0.9)
    await year.save("Nasceu em Recife", kind="bio")
    await year.save("Prefere chá", kind="pref")
    await year.save("Casou em maio", layer="episodic")
    lasting = {"Nasceu em Recife", "Prefere chá", "Casou em maio"}
    for week in range(1, 60):
        year.now = JANUARY + timedelta(weeks=week)
        await year.tend()
        faded = {"Ansioso quando o prazo aperta"} if week <= 6 else set()
        assert await year.active() == lasting | faded, week
    (aside,) = await year.memory.list("ana", statuses=("archived",))
    await year.memory.restore("ana", [aside.id])
    assert await year.active() == lasting | {"Ansioso quando o prazo aperta"}


@pytest.mark.spec("LM-11")
async def test_what_says_the_same_becomes_one_and_can_be_taken_apart(year: Year) -> None:
    await year.save("Não gosta de coentro", kind="pref")
    await year.save("Odeia coentro", kind="pref")
    await year.save("Mora em Recife", kind="bio")
    done = await year.tend()
    assert done["counts"]["merge"] == 1 and len(await year.active()) == 2
    assert (await year.tend())["counts"]["merge"] == 0
    await year.memory.undo("ana")
    assert len(await year.active()) == 3


@pytest.mark.spec("LM-11")
async def test_what_looks_alike_and_differs_stays_two(year: Year) -> None:
    for content in ("Gosta de café", "Não gosta de café", "Gosta de chá", "Deve 500 a Ana", "Deve 800 a Ana"):
        await year.save(content)
    await year.tend()
    assert len(await year.active()) == 5


@pytest.mark.spec("LM-12")
async def test_a_dry_run_says_what_would_happen_and_changes_nothing(year: Year) -> None:
    goal = await year.save("Quer aprender violão", kind="obj")
    await year.save("Lembrete da festa", expires=JANUARY + timedelta(days=3))
    year.now = JANUARY + timedelta(days=400)
    told = await year.tend(dry_run=True)
    assert {(chore["task"], chore["why"]) for chore in told["chores"]} == {
        ("archive", "unused"),
        ("archive", "expired"),
    }
    assert told["counts"] == {"merge": 0, "archive": 2, "prioritise": 0, "condense": 0}
    assert len(await year.active()) == 2
    done = await year.tend()
    assert done["counts"]["archive"] == 2 and await year.active() == set()
    found = await year.memory.search("ana", "violão")
    assert [hit.record.id for hit in found] == [goal.id], "the archive is looked through"


async def test_a_run_without_a_user_is_refused(year: Year) -> None:
    with pytest.raises(NotAllowed):
        await year.graph.ainvoke({"dry_run": True}, context=Context())


STORY = (
    "Em março de 2024 o Pedro contou com muita calma e muitos detalhes que a viagem para Natal custou R$ 3.200, "
    "que ficaram 12 dias numa pousada perto da praia, que choveu em 4 deles, que a filha Ana aprendeu a nadar, "
    "que comeram camarão quase todas as noites, que o carro alugado quebrou na volta e o conserto custou R$ 850, "
    "e que apesar de tudo isso foi a melhor viagem que a família fez até hoje, segundo ele mesmo disse."
)


@pytest.mark.spec("LM-11")
async def test_an_old_story_is_said_in_fewer_words_with_every_number(year: Year) -> None:
    record = await year.save(STORY)
    pinned = await year.save(STORY.replace("Pedro", "Paulo"), pinned=True)
    await year.tend()
    assert STORY in await year.active(), "it is young"
    year.now = JANUARY + timedelta(days=100)
    assert (await year.tend())["counts"]["condense"] == 1
    kept = await year.memory.get("ana", record.id)
    assert kept is not None and len(kept.text.split()) < 50
    assert all(number in kept.text for number in ("2024", "3.200", "12", "4", "850"))
    assert set((await year.tend())["counts"].values()) == {0}, "being condensed is no use"
    year.now = JANUARY + timedelta(days=200, hours=1)
    assert (await year.tend())["counts"]["condense"] == 0
    assert (await year.memory.get("ana", pinned.id)).content == pinned.content  # type: ignore[union-attr]
    undone = await year.memory.undo("ana", record.id)
    while undone.record is not None and undone.record.content != STORY:
        undone = await year.memory.undo("ana", record.id)
    assert undone.record is not None and undone.record.content == STORY

"""What a model saves is as whole as what the rules save: dated, superseded, within its quota, fading."""

import json
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest

from support.dialogue import HEAVY, REASON, TALK
from support.fake_openai import FakeOpenAI
from support.graphs import Lab, lab
from thoughtcycle.integrations.tool_service import ToolRequest, ToolService
from thoughtcycle.memory.model import MemoryRecord
from thoughtcycle.memory.rules.decay import strength
from thoughtcycle.nodes.base.limits import Limits

NOW = datetime(2026, 11, 21, 1, 30, tzinfo=UTC)  # still Friday the 20th in São Paulo
ZONE = "America/Sao_Paulo"


async def save(cycle: Lab, server: FakeOpenAI, message: str, *items: dict[str, Any]) -> list[MemoryRecord]:
    """A turn in which the model saves `items`; the active memories afterwards."""
    server.say("MemorySave", "Finish", model=HEAVY)
    server.say(json.dumps(items), model=REASON)
    server.say("Guardei.", "Feito.", model=TALK)
    await cycle.say(message, language="pt", time_zone=ZONE)
    return await cycle.memory.list("ana")


@pytest.mark.spec("BY-11", "TC-9")
async def test_a_relative_date_is_kept_with_the_day_it_means(tmp_path: Path, fake_openai: FakeOpenAI) -> None:
    async with lab(tmp_path, fake_openai, clock=lambda: NOW) as cycle:
        (saved,) = await save(
            cycle, fake_openai, "Tenho dentista amanhã às 15h", {"content": "Tem dentista amanhã às 15h"}
        )
        assert saved.content == "Tem dentista amanhã (2026-11-21) às 15h", "the user's day, not that of UTC"
        assert (saved.kind, saved.valid_from) == ("obj", NOW)
        assert saved.source.words == "Tenho dentista amanhã às 15h"
        fake_openai.say("MemoryUpdate", "Finish", model=HEAVY)
        moved = {"_id": saved.id, "content": "Tem dentista segunda-feira às 15h"}
        fake_openai.say(json.dumps([moved]), model=REASON)
        fake_openai.say("Mudei.", "Feito.", model=TALK)
        await cycle.say("O dentista passou para segunda-feira", language="pt", time_zone=ZONE)
        (changed,) = await cycle.memory.list("ana")
        assert changed.content == "Tem dentista segunda-feira (2026-11-23) às 15h"


@pytest.mark.spec("HM-6", "TC-9")
async def test_a_new_home_supersedes_the_old_one_however_the_model_words_it(
    tmp_path: Path, fake_openai: FakeOpenAI
) -> None:
    async with lab(tmp_path, fake_openai) as cycle:
        (first,) = await save(cycle, fake_openai, "Moro em Recife", {"content": "Mora em Recife"})
        (now,) = await save(cycle, fake_openai, "Agora vivo em Olinda", {"content": "Vive em Olinda"})
        assert (now.id, now.content, now.key, now.kind) == (first.id, "Vive em Olinda", "home", "bio")
        assert [one.content for one in await cycle.memory.versions("ana", now.id)] == ["Mora em Recife"]
        said = {"content": "Reside na Rua das Flores", "kind": "bio", "key": "home"}
        (third,) = await save(cycle, fake_openai, "Me mudei para a Rua das Flores", said)
        assert (third.id, third.content) == (first.id, "Reside na Rua das Flores"), "by the model's own word"


@pytest.mark.spec("LM-5", "LM-6")
async def test_preferences_that_a_model_saves_take_their_places_in_the_briefing(
    tmp_path: Path, fake_openai: FakeOpenAI
) -> None:
    async with lab(tmp_path, fake_openai) as cycle:
        things = ("chá verde", "chá preto", "chá mate", "chá de boldo", "chá branco")
        items = [{"content": f"Gosta de {thing}", "bindings": ["chá"]} for thing in things]
        await save(cycle, fake_openai, f"Gosto de {', '.join(things[:-1])} e {things[-1]}", *items)
        records = await save(cycle, fake_openai, "Moro em Chá Grande", {"content": "Mora em Chá Grande"})
        assert sorted((one.layer, one.kind) for one in records) == [
            ("long", "bio"),
            *[("semantic", "pref")] * 5,
        ]
        fake_openai.say("Finish", model=HEAVY)
        fake_openai.say("Temos boldo.", model=TALK)
        await cycle.say("Qual chá eu peço?", "another", language="pt")
        state = (await cycle.graph.aget_state({"configurable": {"thread_id": "another"}})).values
        sections = {one["section"]: one["shown"] for one in state["briefing"]["sections"]}
        assert len(sections["long"]) == 1 and len(sections["semantic"]) >= 3


@pytest.mark.spec("HM-7")
async def test_a_feeling_that_a_model_saves_fades(tmp_path: Path, fake_openai: FakeOpenAI) -> None:
    async with lab(tmp_path, fake_openai, clock=lambda: NOW) as cycle:
        (felt,) = await save(
            cycle, fake_openai, "Ando ansiosa com o prazo", {"content": "Ansiosa com o prazo", "kind": "emo"}
        )
        assert felt.kind == "emo" and felt.weight < 1.0
        assert strength(felt, NOW + timedelta(weeks=3)) == pytest.approx(felt.weight - 0.3)


async def test_a_kind_that_does_not_exist_costs_nothing(tmp_path: Path, fake_openai: FakeOpenAI) -> None:
    async with lab(tmp_path, fake_openai) as cycle:
        odd = {"content": "Cria abelhas sem ferrão", "kind": "fato", "key": ["x"]}
        (saved,) = await save(cycle, fake_openai, "Crio abelhas sem ferrão", odd)
        assert saved.content == "Cria abelhas sem ferrão" and fake_openai.left == 0


@pytest.mark.spec("BY-11", "LM-2")
async def test_a_tool_saves_and_changes_in_the_users_own_days(tmp_path: Path) -> None:
    async with lab(tmp_path, clock=lambda: NOW) as cycle:
        await cycle.memory.change_settings("ana", time_zone=ZONE, language="pt")
        tools = ToolService("pt", Limits())
        first = await tools.save(cycle.memory, ToolRequest("ana"), content="Mora em Recife desde ontem")
        await tools.save(cycle.memory, ToolRequest("ana"), content="O usuário mora em Olinda")
        (home,) = await cycle.memory.list("ana")
        assert (home.id, home.key, home.content) == (first.shown[0], "home", "O usuário mora em Olinda")
        (former,) = await cycle.memory.versions("ana", home.id)
        assert former.content == "Mora em Recife desde ontem (2026-11-19)"
        shown = ToolRequest("ana", shown=[home.id])
        await tools.update(cycle.memory, shown, id=home.id[:8], content="Muda-se amanhã para Natal")
        (moved,) = await cycle.memory.list("ana")
        assert moved.content == "Muda-se amanhã (2026-11-21) para Natal"


@pytest.mark.spec("BY-11", "SM-4")
async def test_the_judge_keeps_the_day_too(tmp_path: Path, fake_openai: FakeOpenAI) -> None:
    async with lab(tmp_path, fake_openai, clock=lambda: NOW) as cycle:
        fake_openai.say("Finish", model=HEAVY)
        fake_openai.say("Boa sorte!", model=TALK)
        await cycle.say("Tenho dentista amanhã às 15h", language="pt", time_zone=ZONE)
        fact = {"t": "obj", "c": "Tem dentista amanhã às 15h", "words": "Tenho dentista amanhã às 15h"}
        judged = {"importance": 50, "summary": "Tem dentista.", "facts": [fact]}
        fake_openai.answer = lambda request: json.dumps(judged)
        await cycle.understand("form")
        (kept,) = await cycle.memory.list("ana")
        assert kept.content == "Tem dentista amanhã (2026-11-21) às 15h" and kept.key == "date:dentista"

"""A turn is given the right part of memory: of other chats only with smart context, of the hidden nothing."""

import json
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest

from support.fake_openai import FakeOpenAI
from support.graphs import Lab, lab
from support.leaping import PATIENCE
from thoughtcycle.errors import StorageLocked
from thoughtcycle.memory.memory import Memory
from thoughtcycle.memory.model.records import MemoryDraft
from thoughtcycle.nodes.base.limits import Limits

HEAVY, TALK = "heavy", "talk"
THEN = datetime(2026, 3, 1, 12, 0, tzinfo=UTC)


async def briefing(cycle: Lab, text: str, thread: str = "t", **context: Any) -> Any:
    """What a turn was given of memory."""
    await cycle.say(text, thread, **context)
    return (await cycle.graph.aget_state({"configurable": {"thread_id": thread}})).values["briefing"]


async def heard(memory: Memory, chat: str, *texts: str) -> None:
    for number, text in enumerate(texts):
        at = THEN + timedelta(minutes=number)
        await memory.record_cycle("ana", chat, text, "Certo, anotei esse detalhe.", at=at, channel="cli")


@pytest.mark.spec("SM-6")
async def test_the_toggle_governs_what_was_said_in_other_chats(tmp_path: Path) -> None:
    async with lab(tmp_path) as cycle:
        await heard(cycle.memory, "trabalho", "O projeto usa banco Postgres", "Gosto de CSS grid")
        question = "Qual banco o projeto usa?"
        assert "Postgres" not in (await briefing(cycle, question, "a"))["text"]
        on = await briefing(cycle, question, "b", smart_context=True)
        assert '2026-03-01 Pessoa: "O projeto usa banco Postgres"' in on["text"]
        await cycle.memory.change_settings("ana", smart_context=True)
        assert "Postgres" in (await briefing(cycle, question, "c"))["text"]
        off = await briefing(cycle, question, "d", smart_context=False)
        assert "Postgres" not in off["text"]


@pytest.mark.spec("BY-10")
async def test_incognito_reads_memory_and_counts_nothing(tmp_path: Path) -> None:
    async with lab(tmp_path) as cycle:
        (saved,) = await cycle.memory.save("ana", [MemoryDraft(content="Odeia coentro", kind="pref")])
        given = await briefing(cycle, "Posso usar coentro?", incognito=True)
        assert "Odeia coentro" in given["text"]
        assert await cycle.memory.accesses("ana", [saved.record.id]) == {}
        await cycle.say("Posso usar coentro?", thread="seen")
        assert (await cycle.memory.accesses("ana", [saved.record.id]))[saved.record.id].count >= 1


@pytest.mark.spec("BY-10", "LM-10")
async def test_a_saved_password_is_masked_until_it_is_searched_for(tmp_path: Path) -> None:
    async with lab(tmp_path) as cycle:
        await cycle.memory.save("ana", [MemoryDraft(content="A senha do wifi é girassol77", kind="bio")])
        text, state = "Vou ligar o wifi novo", {"configurable": {"thread_id": "t"}}
        assert "A senha do wifi é ••••" in (await briefing(cycle, text))["text"]
        values = (await cycle.graph.aget_state(state)).values
        assert "girassol77" not in str(values["recalled"])
        for said, found in (("/lembrar", False), ("/lembrar senha wifi", True), ("/remember", False)):
            await cycle.say(said, "t")
            values = (await cycle.graph.aget_state(state)).values
            assert ("girassol77" in values["messages"][-1].text) is found
            assert ("girassol77" in str(values["recalled"])) is found
        await cycle.say("Qual é a senha do wifi?", "asked")
        values = (await cycle.graph.aget_state({"configurable": {"thread_id": "asked"}})).values
        assert "girassol77" in "".join(message.text for message in values["messages"])


@pytest.mark.spec("HM-11")
async def test_the_reply_is_asked_for_in_the_order_promised(tmp_path: Path, fake_openai: FakeOpenAI) -> None:
    async with lab(tmp_path, fake_openai) as cycle:
        await cycle.memory.save("ana", [MemoryDraft(content="Odeia coentro", kind="pref", key="taste")])
        for number in range(4):
            fake_openai.say("Finish", model=HEAVY)
            fake_openai.say(f"A receita número {number} leva abóbora.", model=TALK)
            await cycle.say(f"Quero a receita {number} com abóbora e coentro", language="pt")
        prompt = [request for request in fake_openai.requests if request.model == TALK][-1].prompt
        marks = ("Você é Katherine", "Use a memória com naturalidade", "A receita número 2 leva abóbora.")
        marks = (
            *marks,
            "- taste: Odeia coentro",
            "Dito antes nesta conversa:",
            "Agora:",
            "Quero a receita 3",
        )
        places = [prompt.index(mark) for mark in marks]
        assert places == sorted(places)


@pytest.mark.spec("BY-9")
async def test_what_is_deleted_within_the_turn_leaves_its_briefing(
    tmp_path: Path, fake_openai: FakeOpenAI
) -> None:
    async with lab(tmp_path, fake_openai) as cycle:
        await heard(cycle.memory, "antes", "Meu médico é o Dr. Zuza em Natal")
        (saved,) = await cycle.memory.save(
            "ana", [MemoryDraft(content="Médico: Dr. Zuza", bindings=("médico",))]
        )
        fake_openai.say("MemoryDelete", "Finish", model=HEAVY)
        fake_openai.say(json.dumps([saved.record.id]), model="reason")
        fake_openai.say("Apaguei.", "Feito.", model=TALK)
        given = await briefing(cycle, "Esqueça meu médico.", smart_context=True, language="pt")
        assert "Zuza" not in json.dumps(given, ensure_ascii=False)
        last = [request for request in fake_openai.requests if request.model == TALK][-1].prompt
        assert "Zuza" not in last


async def test_the_account_is_small_plain_json(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("thoughtcycle.nodes.recall.WAIT_SECONDS", PATIENCE)
    async with lab(tmp_path, limits=Limits(briefing_tokens=2_000)) as cycle:
        words = [f"A receita {number} de abóbora leva ingrediente{number} e sal" for number in range(60)]
        await heard(cycle.memory, "cozinha", *words)
        account = await briefing(cycle, "Qual receita de abóbora leva sal?", smart_context=True)
        assert len(json.dumps(account)) < 20_000
        assert account["tokens"] <= 2_000
        assert {section["section"] for section in account["sections"]} == {"others"}
        assert account["left_out"] == sum(section["left_out"] for section in account["sections"])


async def test_the_compact_recipe_and_none_at_all_are_settings(tmp_path: Path) -> None:
    async with lab(tmp_path, limits=Limits(briefing_recipe="compact", briefing_facts=1)) as cycle:
        drafts = [MemoryDraft(content=f"Receita favorita {n}: abóbora", kind="pref") for n in range(3)]
        await cycle.memory.save("ana", drafts)
        given = await briefing(cycle, "receita de abóbora?")
        assert len(given["shown"]) == 1
        assert given["text"].startswith("[MEMÓRIA]\n- Receita")
    async with lab(tmp_path, limits=Limits(briefing_facts=0)) as cycle:
        assert (await briefing(cycle, "receita de abóbora?", "u"))["text"] == ""


async def test_an_index_that_takes_long_is_ready_for_a_later_turn(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    async with lab(tmp_path) as cycle:
        await heard(cycle.memory, "trabalho", "O projeto usa banco Postgres")
        found = await cycle.memory.recall.recollect(
            "ana", "banco do projeto", "x", memories=5, messages=9, patience=0.0
        )
        assert list(found.messages) == []
        await cycle.memory.recall.stop_warming()
        found = await cycle.memory.recall.recollect(
            "ana", "banco do projeto", "trabalho", memories=5, messages=9, patience=0.0
        )
        assert [hit.text for hit in found.messages][:1] == ["O projeto usa banco Postgres"]


async def test_a_database_that_is_away_while_the_index_is_made_harms_no_turn(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    async with lab(tmp_path) as cycle:
        await heard(cycle.memory, "trabalho", "O projeto usa banco Postgres")

        async def away(*_: object, **__: object) -> None:
            raise StorageLocked("x")

        monkeypatch.setattr(cycle.memory.core.storage.transcript, "cycle_feed", away)
        found = await cycle.memory.recall.recollect("ana", "banco", "trabalho", memories=5, messages=9)
        assert list(found.messages) == []


@pytest.mark.spec("HM-12", "TC-10")
async def test_what_the_briefing_tells_is_told_once_and_stays_known_by_its_id(
    tmp_path: Path, fake_openai: FakeOpenAI
) -> None:
    async with lab(tmp_path, fake_openai) as cycle:
        drafts = [
            MemoryDraft(content=text, kind="pref")
            for text in ("Odeia coentro", "Prefere coentro picado fino")
        ]
        saved = [one.record.id for one in await cycle.memory.save("ana", drafts)]
        fake_openai.say("MemoryUpdate", "Finish", model=HEAVY)
        fake_openai.say(json.dumps([{"_id": saved[0], "content": "Adora coentro"}]), model="reason")
        fake_openai.say("Mudei.", "Feito.", model=TALK)
        values = await cycle.say("Posso usar coentro?", language="pt")
        assert values["steps"][0]["found"] == [saved[0]]
        asked = [(request.model, request.prompt) for request in fake_openai.requests]
        first, last = [prompt for model, prompt in asked if model == HEAVY]
        assert (first.casefold().count("odeia coentro"), saved[0][:8] in first) == (1, False)
        (ids,) = [prompt for model, prompt in asked if model == "reason"]
        assert all(f"[{id[:8]}]" in ids for id in saved)
        for prompt in (last, [prompt for model, prompt in asked if model == TALK][-1]):
            assert f"[{saved[0][:8]}] Adora coentro" in prompt, "what changed since is told"
            assert prompt.casefold().count("picado fino") == 1 and saved[1][:8] not in prompt


@pytest.mark.spec("BY-10")
async def test_a_model_that_writes_the_mask_back_loses_no_secret(
    tmp_path: Path, fake_openai: FakeOpenAI
) -> None:
    async with lab(tmp_path, fake_openai) as cycle:
        secret = "A senha do wifi é girassol77"
        (saved,) = await cycle.memory.save("ana", [MemoryDraft(content=secret, kind="bio")])
        id = saved.record.id

        async def turn(text: str, *acts: str, items: list[object]) -> list[tuple[str, str]]:
            fake_openai.say(*acts, "Finish", model=HEAVY)
            fake_openai.say(*map(json.dumps, items), model="reason")
            fake_openai.say(*["Certo."] * (len(acts) + 1), model=TALK)
            values = await cycle.say(text, language="pt")
            return [(step["action"], step["status"]) for step in values["steps"][:-1]]

        masks = {"_id": id, "content": "A senha do wifi da casa nova é ••••"}
        stars = {"type": "text", "content": "Senha do wifi da casa: ••••"}
        did = await turn("O wifi é da casa nova", "MemoryUpdate", "MemorySave", items=[[masks], [stars]])
        assert did == [("MemoryUpdate", "refused"), ("MemorySave", "nothing")]
        assert [one.content for one in await cycle.memory.list("ana")] == [secret]
        assert "girassol77" not in json.dumps([request.prompt for request in fake_openai.requests])
        whole = {"_id": id, "content": "A senha do wifi da casa nova é girassol77"}
        said = "A senha do wifi é da casa nova"
        did = await turn(said, "MemorySearch", "MemoryUpdate", items=[["senha do wifi"], [whole]])
        assert did == [("MemorySearch", "done"), ("MemoryUpdate", "done")]
        assert [one.content for one in await cycle.memory.list("ana")] == [whole["content"]]

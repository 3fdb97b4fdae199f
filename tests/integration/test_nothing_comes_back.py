"""What was erased, or forgotten before it was understood, never comes back (BY-9, BY-10)."""

import json
from collections.abc import AsyncIterator
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest
from langchain.agents import create_agent
from langchain_core.messages import HumanMessage

import thoughtcycle.nodes.formation.judge.model_judge as judge_module
import thoughtcycle.nodes.formation.reconcile as reconcile_module
from support.databases import MONGODB_IN_TORTURE
from support.fake_openai import FakeOpenAI
from support.graphs import Lab, lab
from support.scripted_model import ScriptedModel
from support.survivors import survivors
from thoughtcycle.errors import InputRefused
from thoughtcycle.integrations.middleware import ThoughtCycleMiddleware
from thoughtcycle.memory.memory import Memory
from thoughtcycle.memory.model import STATUSES, Cycle, CycleMessage, Judgement, MemoryDraft, Source
from thoughtcycle.memory.text.spans import HIDDEN
from thoughtcycle.nodes.base.context import Context

ON_SQLITE = pytest.mark.parametrize("database_url", ["sqlite"], indirect=True)


@pytest.fixture
async def talk(tmp_path: Path, database_url: str) -> AsyncIterator[Lab]:
    async with lab(tmp_path, url=database_url) as opened:
        yield opened


async def say(talk: Lab, *messages: str, thread: str = "t", language: str = "pt", **context: Any) -> str:
    """One turn per message; the last reply."""
    replies = [await talk.answer(text, thread, language=language, **context) for text in messages]
    return replies[-1]


async def undo_all(memory: Memory) -> None:
    """Takes back each change, one by one."""
    try:
        while (await memory.undo("ana")).undone is not None:
            pass
    except InputRefused:
        return


TOLD_TWICE = [
    ("Moro em Zaragoza.", "Esqueça onde eu moro", "Apague definitivamente onde eu moro"),
    ("I live in Zaragoza.", "Forget where I live", "Delete where I live for good"),
]


@MONGODB_IN_TORTURE
@pytest.mark.spec("BY-9", "BY-14")
@pytest.mark.parametrize(("told", "forget", "erase"), TOLD_TWICE)
async def test_a_hidden_twin_goes_with_what_is_erased(
    talk: Lab, database_url: str, tmp_path: Path, told: str, forget: str, erase: str
) -> None:
    await say(talk, told, forget, told)
    assert survivors(database_url, tmp_path, "ana", ["Zaragoza"])
    await say(talk, erase)
    await talk.memory.erasure.finish_erasing("ana")
    await undo_all(talk.memory)
    assert survivors(database_url, tmp_path, "ana", ["Zaragoza"]) == []
    assert await talk.memory.list("ana") == []


async def _hidden(memory: Memory) -> None:
    (one,) = await memory.save("ana", [MemoryDraft(content="Mora em ZARAGOZÁ!")])
    await memory.hide("ana", [one.record.id])


async def _archived(memory: Memory) -> None:
    (one,) = await memory.save("ana", [MemoryDraft(content="Mora em Zaragoza")])
    await memory.archive("ana", [one.record.id])


async def _superseded(memory: Memory) -> None:
    (one,) = await memory.save("ana", [MemoryDraft(content="Mora em Zaragoza")])
    await memory.update("ana", one.record.id, content="Mora em Natal")


async def _corrected(memory: Memory) -> None:
    (one,) = await memory.save("ana", [MemoryDraft(content="Mora em Zaragoza")])
    await memory.update("ana", one.record.id, content="Mora em Natal", correction=True)


async def _undone(memory: Memory) -> None:
    (one,) = await memory.save("ana", [MemoryDraft(content="Mora em Zaragoza")])
    await memory.undo("ana", one.record.id)


async def _abandoned(memory: Memory) -> None:
    (one,) = await memory.save("ana", [MemoryDraft(content="Mora em Zaragoza")])
    await memory.hide("ana", [one.record.id], reason="abandoned")


async def _reworded(memory: Memory) -> None:
    (one,) = await memory.save("ana", [MemoryDraft(content="A casa é em Zaragoza", key="home")])
    await memory.archive("ana", [one.record.id])


@ON_SQLITE
@pytest.mark.spec("BY-9")
@pytest.mark.parametrize(
    "former", [_hidden, _archived, _superseded, _corrected, _undone, _abandoned, _reworded]
)
async def test_each_kind_of_twin_goes_with_what_is_erased(
    talk: Lab, database_url: str, tmp_path: Path, former: Any
) -> None:
    memory = talk.memory
    await memory.save("ana", [MemoryDraft(content="Gosta de jazz")])
    await former(memory)
    (one,) = await memory.save("ana", [MemoryDraft(content="Mora em Zaragoza", key="home")])
    receipt = await memory.erase("ana", [one.record.id])
    assert receipt.left == ()
    kept = {record.text for record in await memory.list("ana")}
    assert kept >= {"Gosta de jazz"} and kept <= {"Gosta de jazz", "Mora em Natal"}
    await undo_all(talk.memory)
    assert survivors(database_url, tmp_path, "ana", ["Zaragoza"]) == []
    assert not [one for one in await memory.list("ana", statuses=STATUSES) if "Zaragoza" in one.text]


@ON_SQLITE
@pytest.mark.spec("BY-9")
async def test_what_was_told_again_after_a_deletion_stays(talk: Lab) -> None:
    memory = talk.memory
    (first,) = await memory.save("ana", [MemoryDraft(content="Mora em Zaragoza")])
    await memory.hide("ana", [first.record.id])
    (again,) = await memory.save("ana", [MemoryDraft(content="Mora em Zaragoza")])
    await memory.archive("ana", [again.record.id])
    await memory.erase("ana", [first.record.id])
    (kept,) = await memory.list("ana", statuses=("archived",))
    assert kept.text == "Mora em Zaragoza"


@ON_SQLITE
@pytest.mark.spec("BY-4")
async def test_a_chat_that_goes_takes_no_twin_of_another_chat_along(talk: Lab) -> None:
    memory, ids = talk.memory, {}
    for chat in ("a", "b"):
        at = datetime(2026, 11, 1, tzinfo=UTC)
        told = await memory.record_cycle("ana", chat, "Moro em Zaragoza.", "Ok.", at=at, channel="chat")
        draft = MemoryDraft(
            content="Mora em Zaragoza", key="home", source=Source(cycle=told.id, words="Moro em Zaragoza")
        )
        (one,) = await memory.save("ana", [draft])
        ids[chat] = one.record.id
        if chat == "a":
            await memory.archive("ana", [one.record.id])
    await memory.delete_chat("ana", "b")
    assert [one.id for one in await memory.list("ana", statuses=("active", "archived"))] == [ids["a"]]
    await memory.undo("ana", ids["a"])
    assert [one.text for one in await memory.list("ana")] == ["Mora em Zaragoza"]


SAID_BEFORE = [
    (
        "pt",
        ("Na verdade ela se mudou pra Maringá", "sábado foi meu casamento", "odeio jiló"),
        ("apaga tudo", "sim"),
        ("Maring", "casamento", "jil"),
        "t",
    ),
    (
        "en",
        ("Actually she moved to Maringá", "Saturday was my wedding", "I hate okra"),
        ("forget everything", "yes"),
        ("Maring", "wedding", "okra"),
        "other",
    ),
]


async def learned(memory: Memory) -> str:
    """All that the memory has learned and still shows."""
    sheets = await memory.sheets("ana", "t")
    return f"{await memory.list('ana')}{sheets.conversation}{sheets.profile}"


async def assert_nothing_learned(talk: Lab, words: tuple[str, ...]) -> None:
    found = await learned(talk.memory)
    assert not [word for word in words if word in found]
    assert await talk.memory.conversations.pending_cycles("ana", limit=1) == []


@MONGODB_IN_TORTURE
@pytest.mark.spec("BY-9", "BY-10")
@pytest.mark.parametrize(("language", "said", "request_", "words", "thread"), SAID_BEFORE)
async def test_what_waited_when_everything_was_forgotten_is_never_understood(
    talk: Lab,
    language: str,
    said: tuple[str, ...],
    request_: tuple[str, ...],
    words: tuple[str, ...],
    thread: str,
) -> None:
    await say(talk, *said, language=language)
    assert await talk.memory.conversations.pending_cycles("ana", limit=1)
    await say(talk, *request_, language=language, thread=thread)
    for _ in range(2):
        await talk.understand()
        await assert_nothing_learned(talk, words)
        await say(talk, "Tudo bem?", "Gosto de jazz.", language="pt")
    assert "jazz" in await learned(talk.memory)


@ON_SQLITE
@pytest.mark.spec("BY-10")
@pytest.mark.parametrize(("known", "first"), [(False, "incognito"), (True, "paused")])
async def test_pauses_and_incognito_change_nothing_about_it(talk: Lab, known: bool, first: str) -> None:
    if known:
        await say(talk, "Gosto de jazz.")
        await talk.understand()
    await say(talk, "sábado foi meu casamento")
    if first == "paused":
        await talk.memory.change_settings("ana", paused=True)
    await say(talk, "apaga tudo", "sim", incognito=first == "incognito")
    await talk.memory.change_settings("ana", paused=False)
    await talk.understand()
    await assert_nothing_learned(talk, ("casamento", "jazz"))


@ON_SQLITE
@pytest.mark.spec("BY-9", "TC-11")
@pytest.mark.parametrize("final", [False, True])
async def test_everything_means_archived_memories_too_and_for_good_hidden_ones(
    talk: Lab, database_url: str, tmp_path: Path, final: bool
) -> None:
    drafts = [MemoryDraft(content=f"Mora em {town}") for town in ("Zaragoza", "Natal", "Bogotá")]
    archived, hidden, _ = [done.record.id for done in await talk.memory.save("ana", drafts)]
    await talk.memory.archive("ana", [archived])
    await talk.memory.hide("ana", [hidden])
    await say(talk, "apague tudo definitivamente" if final else "apaga tudo", "sim")
    await talk.memory.erasure.finish_erasing("ana")
    assert await talk.memory.list("ana", statuses=("active", "archived")) == []
    if final:
        await undo_all(talk.memory)
        assert survivors(database_url, tmp_path, "ana", ["Zaragoza", "Natal", "Bogot"]) == []


@ON_SQLITE
@pytest.mark.spec("BY-10")
async def test_after_a_no_it_is_understood(talk: Lab) -> None:
    await say(talk, "sábado foi meu casamento", "odeio jiló", "apaga tudo", "não")
    await talk.understand()
    assert "casamento" in await learned(talk.memory)


@ON_SQLITE
@pytest.mark.spec("BY-9", "BY-10")
@pytest.mark.parametrize("step", ["judge_cycle", "reconcile_facts"])
async def test_a_formation_under_way_learns_nothing_from_before(
    talk: Lab, step: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    await say(talk, "sábado foi meu casamento com o Zoroastro em Maringá")
    module = {"judge_cycle": judge_module, "reconcile_facts": reconcile_module}[step]
    original, asked = getattr(module, step), []

    async def beside(*given: Any) -> Any:
        if not asked:
            asked.append(await say(talk, "apaga tudo", "sim", thread="other"))
        return await original(*given)

    monkeypatch.setattr(module, step, beside)
    await talk.understand()
    assert asked
    found = await learned(talk.memory)
    assert "Zoroastro" not in found and "Maring" not in found


@ON_SQLITE
@pytest.mark.spec("BY-10")
@pytest.mark.parametrize("state", ["failed", "judged again", "open", "answered again"])
async def test_nothing_of_before_is_tried_again(talk: Lab, state: str) -> None:
    memory = talk.memory
    at = datetime(2026, 11, 1, tzinfo=UTC)
    said = CycleMessage(id="m1", role="user", text="Caso com o Zoroastro na semana que vem.", at=at)
    cycle = await memory.transcript.open_cycle("ana", "t", said, parent=None, channel="chat")

    async def close(execution: str) -> Cycle | None:
        reply = CycleMessage(id=execution, role="assistant", text=f"Ok, {execution}.", at=at)
        return await memory.transcript.close_cycle(
            "ana", cycle.id, execution=execution, messages=[reply], steps=()
        )

    if state != "open":
        closed = await close("one")
        assert closed is not None and closed.formation == "pending"
        judgement = Judgement(importance=50, summary="Caso com o Zoroastro", pending=state == "judged again")
        if state != "answered again":
            formation = "failed" if state == "failed" else "done"
            await memory.conversations.form_cycle(
                "ana", cycle.id, judgement=judgement, marks=(), formation=formation, expected=closed
            )
    await say(talk, "apaga tudo", "sim", thread="other")
    if state in ("open", "answered again"):
        await close("two")
    (known,) = await memory.transcript.cycles("ana", [cycle.id])
    assert known.formation == "none" and known.judgement is not None and known.judgement.unsaid
    await talk.understand()
    assert "Zoroastro" not in await learned(memory)


CODE = [
    ("en", "Please remember: the garage code is 4711#", "forget the garage code", "What is the garage code?"),
    (
        "pt",
        "Lembre disto: o código da garagem é 4711#",
        "esqueça o código da garagem",
        "Qual o código da garagem?",
    ),
    (
        "en",
        "Remember this: 4711# opens the garage",
        "forget the last thing I told you",
        "What opens the garage?",
    ),
]


@ON_SQLITE
@pytest.mark.spec("BY-9")
@pytest.mark.parametrize(("language", "told", "forget", "ask"), CODE)
async def test_no_memory_is_made_of_marks(talk: Lab, language: str, told: str, forget: str, ask: str) -> None:
    await say(talk, told, forget, language=language)
    await talk.understand()
    assert await talk.memory.list("ana") == []
    assert HIDDEN not in await say(talk, ask, language=language)


@ON_SQLITE
@pytest.mark.spec("BY-9")
@pytest.mark.parametrize("text", [f"{HIDDEN}#", f" {HIDDEN} – {HIDDEN}."])
async def test_marks_alone_are_no_content(talk: Lab, text: str) -> None:
    with pytest.raises(InputRefused, match="mark"):
        await talk.memory.save("ana", [MemoryDraft(content=text)])
    (one,) = await talk.memory.save("ana", [MemoryDraft(content=f"A quotation: to be {HIDDEN} or not")])
    with pytest.raises(InputRefused, match="mark"):
        await talk.memory.update("ana", one.record.id, content=text)
    await say(talk, f"Lembre que {text}", f"/lembrar {text}")
    assert len(await talk.memory.list("ana")) == 1


@pytest.mark.spec("BY-9", "BY-10")
async def test_a_model_makes_no_memory_of_a_redacted_clause(
    tmp_path: Path, database_url: str, fake_openai: FakeOpenAI
) -> None:
    fact = {"c": "The garage code is 4711", "t": "bio", "words": f"Please remember: {HIDDEN}#"}
    other = {"c": f"Has the garage code {HIDDEN}", "t": "bio", "words": "Please remember"}
    cats = {"c": "Has two cats", "t": "bio", "words": "I have two cats."}
    judged = {"importance": 50, "summary": "Codes.", "facts": [fact, other, cats]}
    async with lab(tmp_path, fake_openai, url=database_url) as talk:
        fake_openai.say(json.dumps(judged), model="back")
        said, at = f"Please remember: {HIDDEN}#. I have two cats.", datetime(2026, 11, 1, tzinfo=UTC)
        await talk.memory.record_cycle("ana", "t", said, "Noted.", at=at, channel="chat")
        await talk.understand()
        assert [record.text for record in await talk.memory.list("ana")] == ["Has two cats"]


@pytest.mark.spec("BY-9", "BY-10")
async def test_a_model_that_deletes_nothing_changes_nothing_about_it(
    tmp_path: Path, fake_openai: FakeOpenAI
) -> None:
    async with lab(tmp_path, fake_openai) as talk:
        judged = {"importance": 90, "summary": "s", "facts": [{"c": "Odeia jiló", "words": "odeio jiló"}]}
        fake_openai.say(*["Finish"] * 2, model="heavy")
        fake_openai.say(*["Certo."] * 2, model="talk")
        fake_openai.say(*[json.dumps(judged)] * 2, model="back")
        await say(talk, "sábado foi meu casamento, e odeio jiló")
        await say(talk, "apaga tudo", thread="other")
        await talk.understand()
        assert await talk.memory.list("ana", statuses=STATUSES) == []
        assert "casamento" not in await learned(talk.memory)


@pytest.mark.spec("BY-6", "BY-10")
@pytest.mark.parametrize("incognito", [False, True])
async def test_nor_does_an_agent_of_somebody_else(tmp_path: Path, incognito: bool) -> None:
    async with lab(tmp_path) as talk:
        model = ScriptedModel()
        model.say("Ok.", "Ok.")
        agent = create_agent(
            model, middleware=[ThoughtCycleMiddleware(talk.memory, language="en")], context_schema=Context
        )
        for text, hidden in (("I live in Lisbon and hate okra.", False), ("Forget everything", incognito)):
            await agent.ainvoke(
                {"messages": [HumanMessage(text)]},
                {"configurable": {"thread_id": "t"}},
                context=Context(user_id="ana", incognito=hidden),
            )
        await talk.understand()
        assert await talk.memory.list("ana", statuses=STATUSES) == []

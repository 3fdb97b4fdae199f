"""Settings changed from the chat: smart context and pause, in both languages, and what a pause keeps out."""

from dataclasses import replace
from datetime import timedelta
from pathlib import Path
from typing import Any, TypeVar, cast

import pytest

from support.graphs import lab
from thoughtcycle.memory.model.conversation import UserSettings
from thoughtcycle.mind.base import Question, View
from thoughtcycle.mind.rules import RuleMind
from thoughtcycle.nodes.base.locale import choose_time_zone

T = TypeVar("T")


def save_always(view: View) -> str:
    return "MemorySave"


@pytest.mark.spec("SM-6")
@pytest.mark.parametrize(("language", "on"), [("pt", "Contexto inteligente ligado"), ("en", "is on")])
async def test_smart_context_is_kept_per_user(tmp_path: Path, language: str, on: str) -> None:
    async with lab(tmp_path) as talk:
        assert "/smart on" in await talk.answer("/smart", language=language)
        assert on in await talk.answer("/smart on", language=language)
        assert on in await talk.answer("/smart", "another", language=language)
        assert (await talk.memory.settings("ana")).smart_context is True
        assert (await talk.memory.settings("bia")).smart_context is None
        await talk.say("/smart off", language=language)
        assert (await talk.memory.settings("ana")).smart_context is False


@pytest.mark.spec("BY-10")
async def test_while_paused_the_transcript_is_kept_and_nothing_is_learned(tmp_path: Path) -> None:
    async with lab(tmp_path) as talk:
        await talk.say("/pausar on")
        await talk.say("guarde que meu nome é Pedro")
        await talk.say("/pausar off")
        await talk.say("moro em Recife")
        cycles = await talk.memory.conversation("ana", "t", limit=9)
        assert [cycle.formation for cycle in cycles] == ["none", "none", "none", "pending"]
        assert "Pedro" in (await talk.memory.list("ana"))[-1].text


@pytest.mark.spec("BY-10")
@pytest.mark.parametrize(
    ("language", "told", "asked", "kept", "forget"),
    [
        (
            "pt",
            "Minha gata se chama Mimi.",
            "Lembre que minha gata se chama Mimi.",
            "Gata: Mimi",
            "esquece a Mimi",
        ),
        (
            "en",
            "My cat is called Felix.",
            "Please remember that my cat is called Felix.",
            "Cat: Felix",
            "forget my cat",
        ),
    ],
)
async def test_while_paused_only_what_is_asked_for_is_kept(
    tmp_path: Path, language: str, told: str, asked: str, kept: str, forget: str
) -> None:
    async with lab(tmp_path) as talk:
        await talk.say("/pause on", language=language)
        said = await talk.answer(told, language=language)
        assert {"pt": "pausada e não guardei", "en": "paused and I did not keep"}[language] in said
        assert await talk.memory.list("ana") == []
        await talk.say(asked, language=language)
        assert [record.text for record in await talk.memory.list("ana")] == [kept]
        changed = told.replace("Mimi", "Lili").replace("Felix", "Tom")
        await talk.say(changed, language=language)
        assert [record.text for record in await talk.memory.list("ana")] == [kept]
        await talk.say(forget, language=language)
        assert await talk.memory.list("ana") == []


class Eager(RuleMind):
    """Wants to save whatever it is told."""

    async def ask(self, question: Question[T], view: View) -> T:
        decides = question.name.startswith("router")
        return await super().ask(
            replace(question, by_rules=cast(Any, save_always)) if decides else question, view
        )


async def test_a_mind_that_wants_to_write_in_a_pause_is_refused(tmp_path: Path) -> None:
    async with lab(tmp_path, mind=Eager()) as talk:
        await talk.memory.change_settings("ana", paused=True)
        await talk.say("My cat is called Felix.", language="en")
        assert await talk.memory.list("ana") == []


@pytest.mark.parametrize(
    ("before", "command", "words"),
    [
        (None, "/pause on", "Memory is paused"),
        (None, "/pausar on", "Memória em pausa"),
        (None, "/remember", "I remember this|I found nothing"),
        (None, "/lembrar", "Não encontrei"),
        ("I live in Bath.", "/pausar on", "Memory is paused"),
        ("Moro em Recife.", "/pause on", "Memória em pausa"),
        ("Moro em Recife.", "/remember where do I live", "I remember this|I found nothing"),
    ],
)
async def test_a_command_speaks_the_language_of_the_thread_and_does_not_change_it(
    tmp_path: Path, before: str | None, command: str, words: str
) -> None:
    async with lab(tmp_path) as talk:
        if before:
            await talk.say(before)
        said = await talk.answer(command)
        assert any(each in said for each in words.split("|")), said
        assert ("I see" if before == "I live in Bath." else "Entendi") in await talk.answer("ok")


@pytest.mark.parametrize("bad", ["/smart talvez", "/pause 7"])
async def test_what_is_neither_on_nor_off_changes_nothing(tmp_path: Path, bad: str) -> None:
    async with lab(tmp_path) as talk:
        assert "on" in await talk.answer(bad)
        assert (await talk.memory.settings("ana")).revision == 0


@pytest.mark.spec("BY-11")
async def test_the_users_own_zone_and_language_count_where_the_run_names_none(tmp_path: Path) -> None:
    async with lab(tmp_path, time_zone="America/Recife") as talk:
        await talk.say("oi")
        await talk.memory.change_settings("ana", language="en", time_zone="Asia/Tokyo")
        assert "Smart context" in await talk.answer("/smart")
        assert "Contexto" in await talk.answer("/smart", language="pt")
        await talk.say("oi", time_zone="UTC")
        cycles = await talk.memory.conversation("ana", "t", limit=9)
        zones = [cycle.message.at.utcoffset() for cycle in cycles]
        assert zones[0] == timedelta(hours=-3) and zones[1] == zones[2] == timedelta(hours=9)
        assert zones[3] == timedelta(0)
        assert "Contexto" in await talk.answer("/smart", "theirs", user_id="bia")


async def test_a_stored_zone_that_this_machine_does_not_know_hinders_nothing() -> None:
    stored = UserSettings(user="ana", time_zone="Mars/Olympus")
    assert choose_time_zone(None, stored, "UTC") == "UTC"
    assert choose_time_zone("Asia/Tokyo", stored, "UTC") == "Asia/Tokyo"

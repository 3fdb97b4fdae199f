"""The recent window: two cycles, masked, within its budget; and what of a message is usable."""

import pytest
from langchain_core.messages import AIMessage, HumanMessage

from support.memories import START, record
from thoughtcycle.errors import InputRefused
from thoughtcycle.memory.model import Source, Utterance
from thoughtcycle.memory.redaction.fingerprint import trace
from thoughtcycle.memory.redaction.redactor import Mask
from thoughtcycle.memory.text.spans import HIDDEN
from thoughtcycle.nodes.base import recent_window as window
from thoughtcycle.nodes.base.message import clean, user_message
from thoughtcycle.nodes.commands.parse import Command, command_in


def said(content: str) -> Utterance:
    return Utterance(role="user", content=content, chat_history=True)


def test_only_the_last_cycles_of_the_messages_count() -> None:
    messages = [
        HumanMessage("1"),
        AIMessage("a"),
        HumanMessage("2"),
        AIMessage("b"),
        HumanMessage("3"),
        AIMessage("c"),
    ]
    assert [entry["content"] for entry in window.of_messages(messages, 2)] == ["2", "b", "3", "c"]
    unflagged = [HumanMessage("1"), AIMessage("a", additional_kwargs={"chat_history": False})]
    assert [entry["chat_history"] for entry in window.of_messages(unflagged, 2)] == [True, False]


def test_words_of_hidden_memories_are_masked() -> None:
    gone = record(content="Nome: Pedro", source=Source(words="Meu nome é Pedro"))
    mask = Mask((trace(gone, until=START),))
    answer = Utterance(role="assistant", content="Prazer, Pedro! E onde mora?", chat_history=True)
    masked = window.masked([said("Meu nome é Pedro, moro aqui"), answer], mask)
    assert [entry["content"] for entry in masked] == [f"{HIDDEN}, moro aqui", f"{HIDDEN} E onde mora?"]


@pytest.mark.spec("BY-7")
def test_a_long_text_keeps_head_and_tail_within_the_budget() -> None:
    fitted = window.fit([said("a" * 5_000 + "THE END"), said("short")], 100)
    assert sum(len(entry["content"]) for entry in fitted) <= 400
    assert fitted[0]["content"].startswith("aaa") and fitted[0]["content"].endswith("THE END")
    assert fitted[1]["content"] == "short"


@pytest.mark.parametrize(
    ("text", "code"),
    [
        ("", "message_empty"),
        (" \n\t ", "message_empty"),
        ("\x00\x01\x02\x03PK\x03\x04", "message_binary"),
        ("\ufffd" * 5 + "abc", "message_binary"),
        ("x" * 1_000_001, "message_too_long"),
    ],
)
def test_an_unusable_message_is_refused(text: str, code: str) -> None:
    with pytest.raises(InputRefused) as refused:
        clean(text, longest=200_000)
    assert refused.value.code == code


def test_a_usable_message_loses_only_controls() -> None:
    assert clean("  olá\x00, tudo bem?\n\tsim 👋 ", longest=100) == "olá, tudo bem?\n\tsim 👋"


def test_no_user_message_is_refused() -> None:
    with pytest.raises(InputRefused, match="no user message"):
        user_message([AIMessage("hi")])


@pytest.mark.spec("LM-10")
@pytest.mark.parametrize(
    ("text", "command"),
    [
        ("/lembrar comida", Command("lembrar", "comida")),
        ("/REMEMBER  where I live ", Command("lembrar", "where I live")),
        ("/lembrar", Command("lembrar", "")),
        ("/lembrarei", None),
        ("diga /lembrar", None),
        ("/smart on", Command("smart", "on")),
        ("/Pause", Command("pausar", "")),
    ],
)
def test_commands(text: str, command: Command | None) -> None:
    assert command_in(text) == command

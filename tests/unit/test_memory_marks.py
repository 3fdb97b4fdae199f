"""Layer marks, tags and preferences of an exchange, in both languages."""

import time
from datetime import UTC, datetime, timedelta

import pytest

from thoughtcycle.memory.rules.layer_rules import is_event, layer_marks, preferences_in, tags_of

AT = datetime(2026, 11, 21, 10, 0, tzinfo=UTC)


def layers(message: str, reply: str = "Certo.") -> list[str]:
    return [mark.layer for mark in layer_marks(message, reply, AT)]


@pytest.mark.spec("LM-6", "LM-1")
def test_every_exchange_is_short_term_for_an_hour() -> None:
    (mark,) = layer_marks("oi", "Oi!", AT)
    assert (mark.layer, mark.priority, mark.expires, mark.tags) == (
        "short",
        10,
        AT + timedelta(hours=1),
        ("conversation",),
    )


@pytest.mark.spec("LM-6")
@pytest.mark.parametrize(
    ("message", "reply", "medium"),
    [
        ("moro onde?", "Em Recife.", True),
        ("onde moro", "Quer saber onde?", False),
        ("preciso lembrar disso", "Ok", True),
        ("ok", "Vou anotar.", True),
        ("não esqueça o pão", "Ok", True),
        ("isso é importante", "Ok", True),
        ("remember the milk", "Ok", True),
        ("don't forget the milk", "Ok", True),
        ("ok", "I saved it.", True),
        ("a" * 150, "b" * 50, False),
        ("a" * 150, "b" * 51, True),
        ("comprei um salvo-conduto", "Legal", False),
        ("oi", "Oi!", False),
    ],
)
def test_medium_term(message: str, reply: str, medium: bool) -> None:
    marks = {mark.layer: mark for mark in layer_marks(message, reply, AT)}
    assert ("medium" in marks) == medium
    if medium:
        assert (marks["medium"].priority, marks["medium"].expires) == (7, AT + timedelta(days=14))


@pytest.mark.spec("LM-6")
@pytest.mark.parametrize(
    ("message", "reply", "event"),
    [
        ("marcar reunião com o time", "Ok", True),
        ("tenho reunião amanhã", "Qual é o prazo?", True),
        ("reunião", "Reunião, reuniões!", False),
        ("o cliente assinou o contrato", "Boa!", True),
        ("deadline do projeto é sexta", "Ok", True),
        ("the client signed the contract", "Great", True),
        ("I scheduled a meeting", "Ok", True),
        ("a proposta ficou pronta", "Ok", False),
        ("oi", "Oi", False),
    ],
)
def test_two_different_event_words_make_an_event(message: str, reply: str, event: bool) -> None:
    assert is_event(message, reply) == event
    marks = {mark.layer: mark for mark in layer_marks(message, reply, AT)}
    if event:
        found = marks["episodic"]
        assert (found.priority, found.expires, found.tags[0]) == (8, None, "significant_event")


@pytest.mark.spec("LM-7")
@pytest.mark.parametrize(
    ("message", "found"),
    [
        ("prefiro e-mail", {"communication_preference": "email"}),
        ("Prefiro que me mande mensagem no WhatsApp", {"communication_preference": "message"}),
        ("gosto mais de WhatsApp do que de ligação", {"communication_preference": "whatsapp"}),
        ("é melhor por e-mail", {"communication_preference": "email"}),
        ("prefiro ligação a mensagem", {"communication_preference": "call"}),
        ("I prefer email over calls", {"communication_preference": "email"}),
        ("I'd rather get a text message", {"communication_preference": "message"}),
        ("I like phone calls", {"communication_preference": "call"}),
        ("prefiro reuniões de manhã", {"time_preference": "morning"}),
        ("só posso à noite", {"time_preference": "night"}),
        ("prefiro o horário das 9h", {"time_preference": "09:00"}),
        ("prefiro horário comercial", {"time_preference": "business_hours"}),
        ("I prefer meetings in the afternoon", {"time_preference": "afternoon"}),
        ("prefiro e-mail de manhã", {"communication_preference": "email", "time_preference": "morning"}),
        ("I'd rather talk in the evening", {"time_preference": "night"}),
        ("prefiro conversar à tarde", {"time_preference": "afternoon"}),
        ("I love running by the river in the morning", {}),
        ("gosto de correr de manhã", {}),
        ("não gosto de ligação", {}),
        ("I don't like phone calls", {}),
        ("boa tarde", {}),
        ("boa noite, prefiro chá", {}),
        ("mandei um e-mail de manhã", {}),
        ("minha mãe prefere ligação", {}),
        ("a melhor mensagem do dia", {}),
        ("se eu preferisse e-mail", {}),
    ],
)
def test_preferences(message: str, found: dict[str, str]) -> None:
    preferences = preferences_in(message)
    assert {each.key: each.value for each in preferences} == found
    semantic = [mark for mark in layer_marks(message, "Ok", AT) if mark.layer == "semantic"]
    assert [mark.tags for mark in semantic] == [("preference", each.category) for each in preferences]
    assert all(mark.priority == 6 and mark.expires is None for mark in semantic)


@pytest.mark.spec("LM-8")
@pytest.mark.parametrize(
    ("text", "tags"),
    [
        ("tarefa pendente", ("task",)),
        ("o que vou fazer", ("task",)),
        ("reunião na agenda", ("agenda",)),
        ("mandei um email", ("communication",)),
        ("o cliente novo do projeto", ("client", "project")),
        ("todo list for the project", ("task", "project")),
        ("my appointment with a customer", ("agenda", "client")),
        ("todos os dias", ()),
        ("oi", ()),
    ],
)
def test_tags(text: str, tags: tuple[str, ...]) -> None:
    assert tags_of(text) == tags


@pytest.mark.spec("LM-6")
@pytest.mark.parametrize("unit", ["a", "nao ", "prefiro ", "marcar ", "i "])
def test_a_whole_book_is_read_in_no_time(unit: str) -> None:
    start = time.thread_time()
    layer_marks(unit * 200_000, unit * 200_000, AT)
    assert time.thread_time() - start < 9


def test_layers_come_in_order() -> None:
    said = "Prefiro e-mail para marcar reunião, não esqueça?"
    assert layers(said) == ["short", "medium", "episodic", "semantic"]

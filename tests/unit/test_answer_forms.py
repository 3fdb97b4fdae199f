"""The answers of the actions in every form that leaves no doubt, and those that do (TC-8 … TC-11)."""

import json
from collections.abc import Mapping
from typing import Any

import pytest

from thoughtcycle.mind.answer_form import response_format
from thoughtcycle.mind.answer_parser import parse
from thoughtcycle.mind.base import ActionCard, Question
from thoughtcycle.mind.coercion import UnusableAnswer
from thoughtcycle.nodes.actions.memory_delete import Chosen, ForGood
from thoughtcycle.nodes.actions.memory_save import SaveItem
from thoughtcycle.nodes.actions.memory_search import SearchContext
from thoughtcycle.nodes.actions.memory_update import UpdateItem
from thoughtcycle.nodes.actions.registry import discover
from thoughtcycle.nodes.formation.judge.answer import FORM, Answer
from thoughtcycle.nodes.name_decision import decision


def kept(content: Any, *bindings: str, type: str = "text") -> SaveItem:
    return SaveItem(type=type, content=content, bindings=list(bindings))


@pytest.mark.spec("TC-9")
@pytest.mark.parametrize(
    ("answer", "items"),
    [
        ('{"type":"text","content":"É alérgica","bindings":["a"]}', [kept("É alérgica", "a")]),
        ('{"memories":[{"content":"x"}]}', [kept("x")]),
        ('{"status":"ok","items":[{"content":"x"}]}', [kept("x")]),
        ('{"memory":{"content":"x"}}', [kept("x")]),
        ('["É alérgica"]', [kept("É alérgica")]),
        ('[{"content":"x","bindings":"comida, camarão"}]', [kept("x", "comida", "camarão")]),
        ('[{"content":"x","bindings":["a", 7, "", null, "b"]}]', [kept("x", "a", "b")]),
        ("[{'content': 'x', 'bindings': None,},]", [kept("x")]),
        ('{"content":"x"}\n{"content":"y"}', [kept("x"), kept("y")]),
        ('[{"content":"x"},{"tipo":1},7]', [kept("x")]),
        ('[{"type":"fato pessoal","content":"x"}]', [kept("x")]),
        ('[{"type":"personal fact","content":"x"}]', [kept("x")]),
        ('[{"type":["text"],"content":"x"}]', [kept("x")]),
        ('[{"type":"json","content":"{\\"a\\":1}"}]', [kept({"a": 1}, type="json")]),
        ('[{"fact":"x","bindings":["y"]}]', [kept("x", "y")]),
        ('{"name":"MemorySave","arguments":{"memories":[{"content":"x"}]}}', [kept("x")]),
        ('<tool_call>{"name":"MemorySave","arguments":"[{\\"content\\":\\"x\\"}]"}</tool_call>', [kept("x")]),
        ('"[{\\"content\\":\\"x\\"}]"', [kept("x")]),
        ('[[{"content":"x"}]]', [kept("x")]),
        ('Claro! ```json\n[{"content":"x"}]\n``` Espero ter ajudado.', [kept("x")]),
        ("[]", []),
        ("{}", []),
        ("null", []),
        ('{"memories": []}', []),
    ],
)
def test_what_shall_be_kept(answer: str, items: list[SaveItem]) -> None:
    assert parse(answer, list[SaveItem]) == items


@pytest.mark.spec("TC-9")
@pytest.mark.parametrize(
    "answer",
    [
        "Não há nada a guardar.",
        "Sou alérgica a camarão",
        '[{"type":"text","bindings":["alergia"]}]',
        '{"type":"text","bindings":["alergia"]}',
        '{"new":[{"content":"x"}],"old":[{"content":"y"}]}',
    ],
)
def test_a_doubt_about_what_shall_be_kept_is_no_answer(answer: str) -> None:
    with pytest.raises(UnusableAnswer):
        parse(answer, list[SaveItem])


@pytest.mark.spec("TC-10")
@pytest.mark.parametrize(
    "answer",
    [
        '{"_id":"a1","content":"x"}',
        '[{"id":"a1","content":"x","bindings":"b"}]',
        '{"updates":[{"memory_id":"a1","text":"x"}]}',
        "[{'_id': 'a1', 'content': 'x'}, {'_id': 'a2'}]",
        '[{"_id":"a1","content":"x"},',
    ],
)
def test_what_shall_change(answer: str) -> None:
    (item,) = parse(answer, list[UpdateItem])
    assert (item.id, item.content) == ("a1", "x")


@pytest.mark.spec("TC-11")
@pytest.mark.parametrize(
    ("answer", "ids", "final"),
    [
        ("a1", ["a1"], False),
        ('"a1"', ["a1"], False),
        ('{"_id":"a1"}', ["a1"], False),
        ('[{"_id":"a1","content":"é alérgica"}]', ["a1"], False),
        ('["[a1]"]', ["a1"], False),
        ("- a1\n- b2", ["a1", "b2"], False),
        ("a1, b2", ["a1", "b2"], False),
        ('{"memories":["a1"]}', ["a1"], False),
        ('{"ids":"a1","final":false}', ["a1"], False),
        ('{"ids":["a1"],"final":true}', ["a1"], True),
        ('[{"ids":[{"_id":"a1"}],"final":true}]', ["a1"], True),
    ],
)
def test_what_shall_go(answer: str, ids: list[str], final: bool) -> None:
    chosen = parse(answer, Chosen)
    told = (chosen.ids, chosen.final) if isinstance(chosen, ForGood) else (chosen, False)
    assert told == (ids, final)


@pytest.mark.spec("TC-11")
def test_half_a_deletion_is_no_answer() -> None:
    with pytest.raises(UnusableAnswer):
        parse('{"ids": ["a1"', Chosen)


@pytest.mark.spec("TC-8")
@pytest.mark.parametrize(
    ("answer", "contexts"),
    [
        ("alimentação", ["alimentação"]),
        ("alimentação.", ["alimentação"]),
        ('"nome"', ["nome"]),
        ("*", ["*"]),
        ("- nome\n- cidade natal", ["nome", "cidade natal"]),
        ("1. nome\n2. cidade", ["nome", "cidade"]),
        ("nome, cidade", ["nome", "cidade"]),
        ('{"contexts":["nome"]}', ["nome"]),
        ('[{"context":"nome"}]', ["nome"]),
        ('{"query":"nome","type":"text"}', ["nome"]),
        ("[nome, cidade]", ["nome", "cidade"]),
    ],
)
def test_what_shall_be_looked_for(answer: str, contexts: list[str]) -> None:
    assert parse(answer, list[SearchContext]) == contexts


def strict(form: Mapping[str, Any]) -> bool:
    """Whether a schema keeps to the strict subset of OpenAI's structured outputs."""
    if "anyOf" in form:
        return all(map(strict, form["anyOf"]))
    if form["type"] == "array":
        return strict(form["items"])
    if form["type"] != "object":
        return form.keys() <= {"type", "enum"}
    closed = form["additionalProperties"] is False and form["required"] == [*form["properties"]]
    return closed and bool(form["properties"]) and all(map(strict, form["properties"].values()))


@pytest.mark.spec("TC-14")
def test_every_form_asked_for_is_strict_and_an_answer_in_it_is_read() -> None:
    questions = [action.question for action in discover().values() if action.question is not None]
    cards = [ActionCard(name, "") for name in discover()]
    judging = Question("formation/judge#judge", "background", Answer, lambda view: None, form=FORM)
    for question in (*questions, decision(cards), judging):
        wanted = response_format(question)
        assert wanted is not None and wanted["json_schema"]["schema"]["type"] == "object"
        assert strict(wanted["json_schema"]["schema"])
    item = {"type": "text", "content": "x", "bindings": [], "kind": None, "key": None}
    assert parse(json.dumps({"items": [item]}), list[SaveItem]) == [kept("x")]
    changed = {"_id": "a1", "content": "x", "bindings": None}
    assert parse(json.dumps({"items": [changed]}), list[UpdateItem])[0].bindings is None
    assert parse('{"ids": ["a1"], "final": false}', Chosen) == ForGood(ids=["a1"], final=False)
    assert parse('{"items": []}', list[SearchContext]) == []


def test_a_text_and_an_open_form_are_not_asked_for_by_schema() -> None:
    for schema in (str, list[Any], dict[str, Any], Answer):
        assert response_format(Question("a#b", "chat", schema, lambda view: None)) is None

"""Parsing what models write: thoughts and fences off, whole items only, never half of a value."""

from contextlib import suppress
from time import process_time
from typing import Any, Literal

import pytest
from pydantic import BaseModel, ConfigDict

from thoughtcycle.mind.answer_parser import ThoughtFilter, parse, without_thoughts
from thoughtcycle.mind.coercion import UnusableAnswer


class Item(BaseModel):
    model_config = ConfigDict(extra="forbid")
    type: Literal["text", "json"]
    content: Any


@pytest.mark.parametrize(
    ("answer", "schema", "expected"),
    [
        ("  MemorySearch \n", str, "MemorySearch"),
        ("<think>Finish?\n</think>\nMemorySearch", str, "MemorySearch"),
        ("a thought whose tag the template opened</think>Finish", str, "Finish"),
        ("```\nFinish\n```", str, "Finish"),
        ('["nome"]', list[str], ["nome"]),
        ("[]", list[str], []),
        ('```json\n["nome"]\n```', list[str], ["nome"]),
        ('Aqui está:\n["nome", "cidade"]\nEspero ter ajudado.', list[str], ["nome", "cidade"]),
        ('<think>["not this"]</think>["nome"]', list[str], ["nome"]),
        ('[{"type":"json","content":{"a":[1]}}]', list[Item], [Item(type="json", content={"a": [1]})]),
        (
            '{"type":"text","content":"o bloco <think>x</think>"}',
            Item,
            Item(type="text", content="o bloco <think>x</think>"),
        ),
        ('so be it</think> ["nome"]', list[str], ["nome"]),
        ("42", int, 42),
        ("nome", list[str], ["nome"]),
        ('["nome", "cid', list[str], ["nome"]),
        ('[{"type":"text","content":"a"},{"type":"te', list[Item], [Item(type="text", content="a")]),
        ('["a"]\n["b"]', list[str], ["a", "b"]),
        ("[\n'a', \"it's\", None, True,]", list[Any], ["a", "it's", None, True]),
        ("{'a': true, b: [1, 2,],}", dict[str, Any], {"a": True, "b": [1, 2]}),
        ("['\\ud83d\\ude00']", list[str], ["😀"]),
        ("[“nome”, “cidade”]", list[str], ["nome", "cidade"]),
        ('Vi [isto] e digo:\n```json\n["nome"]\n```\nou ["outro"]', list[str], ["nome"]),
        ('Sobre [isto]: ["nome"]', list[str], ["nome"]),
    ],
)
def test_usable_answers(answer, schema, expected):
    assert parse(answer, schema) == expected


@pytest.mark.parametrize(
    ("answer", "schema"),
    [
        ("", str),
        ("<think>never ends", str),
        ("uma frase inteira que não é o nome de nada do que se pediu", list[str]),
        ('["ele disse "oi" ontem"]', list[str]),
        ("['camarão d'água']", list[str]),
        ("['a' 'b']", list[str]),
        ('[{"type":"text" "content":"a"}]', list[Item]),
        ('[{"type":"te', list[Item]),
        ('{"items":[{"type":"text","content":"a"}', Item),  # the inner item is whole: still refused
        ('{"type":"text","content":"a","user":"bob"}', Item),
        ("[" * 100_000, list[Any]),
    ],
)
def test_unusable_answers_are_refused_whole(answer, schema):
    with pytest.raises(UnusableAnswer):
        parse(answer, schema)


def test_good_items_are_kept_and_the_reason_names_the_place_and_not_the_value():
    left_out: list[str] = []
    found = parse('[{"type":"text","content":"a"},{"type":"secret","content":"b"}]', list[Item], left_out)
    assert found == [Item(type="text", content="a")]
    assert left_out == ["1.type: Input should be 'text' or 'json'"]
    with pytest.raises(UnusableAnswer, match=r"^0\.type: Input should be 'text' or 'json'$"):
        parse('[{"type":"secret","content":"b"}]', list[Item])


@pytest.mark.parametrize("piece", ['"', "{'a", "[1,", "['a' ", "[a,{", "\\", "{'a':[1,", "-", "]}", "[]{"])
def test_a_hostile_answer_is_read_in_no_time(piece):
    start = process_time()
    for text in (piece * 20_000, f"[{piece * 5_000}]", f"{piece * 3_000}{']}' * 3_000}"):
        with suppress(UnusableAnswer):
            parse(text, list[str])
    assert process_time() - start < 3


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("Olá, Ana!", "Olá, Ana!"),
        ("<think>segredo</think>\n\nOlá, Ana!", "Olá, Ana!"),
        ("  <think>a</think><think>b</think> Olá", "Olá"),
        ("Olá <think>segredo</think>Ana", "Olá Ana"),
        ("<think>segredo sem fim", ""),
        ("A tag <think> abre um bloco", "A tag <think> abre um bloco"),
        ("2 < 3 e <thin", "2 < 3 e <thin"),
        ("<b>negrito</b>", "<b>negrito</b>"),
        ("", ""),
    ],
)
def test_thoughts_stay_out_however_the_text_is_cut_into_pieces(text, shown):
    for size in range(1, max(2, len(text) + 1)):
        sieve = ThoughtFilter()
        pieces = [sieve.feed(text[at : at + size]) for at in range(0, len(text), size)]
        assert "".join(pieces) + sieve.finish() == shown
    assert without_thoughts(text) == shown.strip()


def test_text_is_not_held_back_longer_than_a_tag_may_begin():
    sieve = ThoughtFilter()
    assert sieve.feed("Olá, <b") == "Olá, <b"
    assert sieve.feed(" e <th") == " e "
    assert sieve.feed("e") == "<the"

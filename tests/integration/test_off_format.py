"""Answers of models in the forms that once lost a turn, each given every time it is asked, over real HTTP."""

import json
from pathlib import Path

import pytest

from support.dialogue import HEAVY, REASON, TALK
from support.fake_openai import FakeOpenAI
from support.graphs import lab
from thoughtcycle.prompts.loader import texts
from torture import forms
from torture.forms import DECISION, turns

LOST_ONCE = {
    "save": (
        "one object",
        "memories",
        "texts",
        "bindings as text",
        "comma at the end",
        "single quotes",
        "on lines",
        "one of several bad",
        "fato pessoal",
    ),
    "search": ("contexts", "bare word"),
    "delete": ("ids as objects", "bare id"),
}


@pytest.mark.spec("TC-4", "TC-8", "TC-9", "TC-11")
def test_the_forms_that_lost_a_turn_lose_nothing(tmp_path: Path) -> None:
    planned = [one for one in turns(LOST_ONCE) if one.form in LOST_ONCE[one.row]]
    assert len(planned) == sum(map(len, LOST_ONCE.values()))
    assert forms.run(tmp_path, planned).faults == []


@pytest.mark.spec("TC-4")
def test_no_form_of_a_decision_loses_a_turn(tmp_path: Path) -> None:
    """With "Salvar memória", "save", "MemorySearch or MemorySave", a chatty answer, a call with null content."""
    told = forms.run(tmp_path, turns([DECISION]))
    assert (told.turns, told.faults) == (30, [])


def test_the_battery_is_as_large_as_it_says() -> None:
    planned = [(one.row, one.form) for one in turns()]
    assert len(planned) == len(set(planned)) > 250
    assert len({form for _, form in planned}) > 60


@pytest.mark.spec("TC-9")
async def test_what_is_left_out_stands_in_the_step_and_not_in_the_reply(
    tmp_path: Path, fake_openai: FakeOpenAI, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level("INFO", "thoughtcycle")
    items = [{"content": "Nome: Pedro"}, {"tipo": "segredo-7"}]
    async with lab(tmp_path, fake_openai, explain="off") as product:
        fake_openai.say("MemorySave", "Finish", model=HEAVY)
        fake_openai.say(json.dumps(items), model=REASON)
        fake_openai.say("Prazer!", model=TALK)
        values = await product.say("Meu nome é Pedro", language="pt")
        assert [record.text for record in await product.memory.list("ana")] == ["Nome: Pedro"]
        (cycle,) = await product.memory.conversation("ana", "t")
    assert values["steps"][0]["left_out"] == ["1.content: Field required"]
    assert cycle.variants[-1].steps[0].get("left_out") == ["1.content: Field required"]
    assert values["messages"][-1].text == "Prazer!"
    assert "is left out: 1.content" in caplog.text and "segredo-7" not in caplog.text


@pytest.mark.spec("TC-4", "TC-8")
async def test_where_neither_model_nor_rules_say_what_to_do_the_turn_is_answered(
    tmp_path: Path, fake_openai: FakeOpenAI
) -> None:
    """No second decision is asked for after it."""
    async with lab(tmp_path, fake_openai, explain="off") as product:
        fake_openai.say("MemorySave", model=HEAVY)
        fake_openai.say("{", "{", model=REASON)
        fake_openai.say("Sinto muito, não entendi.", model=TALK)
        values = await product.say("Hmm, pois é, né", language="pt")
        assert values["messages"][-1].text == "Sinto muito, não entendi."
        assert [step["status"] for step in values["steps"]] == ["nothing", "done"]
        assert fake_openai.left == 0


@pytest.mark.spec("TC-6")
async def test_a_model_without_a_word_does_not_end_in_an_error(
    tmp_path: Path, fake_openai: FakeOpenAI
) -> None:
    async with lab(tmp_path, fake_openai, explain="off") as product:
        fake_openai.say("Finish", model=HEAVY)
        fake_openai.say("", "", model=TALK)
        values = await product.say("Bom dia", language="pt")
        assert "Pode dizer de outro jeito" in values["messages"][-1].text and not values.get("failure")


@pytest.mark.spec("TC-9")
async def test_what_a_small_model_copies_from_the_example_is_not_kept(
    tmp_path: Path, fake_openai: FakeOpenAI
) -> None:
    example = json.loads(texts("pt", "actions/memory_save")["example"])
    async with lab(tmp_path, fake_openai, explain="off") as product:
        fake_openai.say("MemorySave", "Finish", model=HEAVY)
        fake_openai.say(json.dumps([*example, {"content": "Nome: Pedro"}]), model=REASON)
        fake_openai.say("Prazer!", model=TALK)
        values = await product.say("Meu nome é Pedro", language="pt")
        assert [record.text for record in await product.memory.list("ana")] == ["Nome: Pedro"]
        assert values["steps"][0]["left_out"] == [f"{len(example)} of the example"]

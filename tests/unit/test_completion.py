"""A draft that a model or a person leaves open is completed by the language rules."""

from datetime import UTC, datetime
from zoneinfo import ZoneInfo

import pytest

from thoughtcycle.evals.rules import load
from thoughtcycle.language.facts import fact_behind, facts_of
from thoughtcycle.memory.model import MemoryDraft, Source
from thoughtcycle.memory.rules.completion import complete
from thoughtcycle.prompts.loader import LANGUAGES, Language

NOW = datetime(
    2026, 11, 20, 22, 30, tzinfo=ZoneInfo("America/Sao_Paulo")
)  # a Friday; in London it is Saturday


def completed(content: object, language: Language = "pt", **fields: object) -> MemoryDraft:
    return complete(MemoryDraft.model_validate({"content": content, **fields}), language, NOW)


@pytest.mark.parametrize(
    ("language", "content", "kind", "key"),
    [
        ("pt", "O usuário mora em Olinda", "bio", "home"),
        ("pt", "Vive em Olinda", "bio", "home"),
        ("pt", "Chama-se Pedro", "bio", "name"),
        ("pt", "Alérgica a camarão", "bio", "allergy:camarao"),
        ("pt", "Prefere trem", "pref", "preference:trem"),
        ("pt", "Ansiosa com o prazo", "emo", "feeling:prazo"),
        ("pt", "Irmã: Bia", "bio", "family:sister:bia"),
        ("en", "The user lives in Lisbon", "bio", "home"),
        ("en", "Does not eat meat", "bio", "diet"),
        ("en", "User is allergic to peanuts", "bio", "allergy:peanut"),
        ("en", "Wants to run a marathon in 2027", "obj", "goal:run marathon"),
        ("en", "Lives in Lisbon and keeps bees", None, None),
        ("pt", "Mora em Olinda e trabalha na Vale", None, None),
        ("pt", "A API devolve 404 quando o token expira", None, None),
    ],
)
@pytest.mark.spec("HM-5", "LM-2")
def test_kind_and_key_are_those_of_the_one_fact_that_the_text_states(
    language: Language, content: str, kind: str | None, key: str | None
) -> None:
    draft = completed(content, language)
    assert (draft.kind, draft.key) == (kind, key)
    assert complete(draft, language, NOW) == draft, "idempotent"


@pytest.mark.parametrize("language", LANGUAGES)
def test_most_texts_of_the_rules_are_read_back_and_none_as_another_slot_of_the_user(
    language: Language,
) -> None:
    same = other = number = 0
    for half in ("tune", "held_out"):
        for message, _ in load(language, half):  # type: ignore[arg-type]
            for fact in facts_of(message, language, NOW):
                number += 1
                read = fact_behind(fact.content, "", language, NOW)
                same += read is not None and read.key == fact.key
                other += read is not None and read.key.partition(":")[0] != fact.key.partition(":")[0]
    assert same >= 0.75 * number and other <= 0.03 * number


@pytest.mark.parametrize(
    ("language", "content", "expected"),
    [
        ("pt", "Tem dentista amanhã às 15h", "Tem dentista amanhã (2026-11-21) às 15h"),
        ("pt", "Tem dentista amanhã (2026-11-21) às 15h", "Tem dentista amanhã (2026-11-21) às 15h"),
        ("pt", "Foi ao cinema na quarta-feira", "Foi ao cinema na quarta-feira (2026-11-18)"),
        ("pt", "Vai ao cinema na quarta-feira", "Vai ao cinema na quarta-feira (2026-11-25)"),
        ("en", "Went to Rome last month", "Went to Rome last month (2026-10)"),
        ("en", "Has a dentist appointment tomorrow", "Has a dentist appointment tomorrow (2026-11-21)"),
        ("pt", "Nasceu em 1990", "Nasceu em 1990"),
    ],
)
@pytest.mark.spec("BY-11")
def test_relative_dates_mean_the_day_of_the_users_own_calendar(
    language: Language, content: str, expected: str
) -> None:
    assert completed(content, language).content == expected


@pytest.mark.spec("BY-11")
def test_dates_inside_of_a_structure_are_resolved_too() -> None:
    draft = completed({"o quê": "dentista", "quando": ["amanhã", 15]}, type="json")
    assert draft.content == {"o quê": "dentista", "quando": ["amanhã (2026-11-21)", 15]}


def test_what_the_draft_says_stays() -> None:
    said = datetime(2026, 1, 1, tzinfo=UTC)
    draft = completed(
        "Mora em Olinda", kind="pref", key="own", weight=0.2, tags=("x",), said=said, type="text"
    )
    assert (draft.kind, draft.key, draft.weight, draft.tags, draft.said) == ("pref", "own", 0.2, ("x",), said)
    code = completed("moro = 'amanhã'", type="code")
    assert code == MemoryDraft(content="moro = 'amanhã'", type="code")


@pytest.mark.spec("LM-8", "HM-7")
def test_tags_weight_and_time_are_filled() -> None:
    draft = completed("Reunião com o cliente sobre o projeto")
    assert set(draft.tags) == {"agenda", "client", "project"} and draft.said == NOW
    assert completed("Feliz", kind="emo").weight == 0.7
    assert completed("Prefere trem").weight == 0.7, "that of the rule"


def test_the_users_words_tell_what_the_text_alone_does_not() -> None:
    words = Source(words="me chamam de Zé")
    assert completed("Apelido: Zé", source=words).key == "name"
    reply = Source(words="me chamam de Zé", speaker="assistant")
    assert completed("Apelido: Zé", source=reply).key is None

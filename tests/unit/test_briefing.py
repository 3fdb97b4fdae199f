"""The briefing says what is most relevant, in the form and order promised, once, and never beyond its budget."""

from dataclasses import replace
from datetime import UTC, datetime, timedelta
from typing import Any
from zoneinfo import ZoneInfo

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from support.memories import record
from thoughtcycle.memory.briefing.builder import RECIPES, BriefingOptions, build_brief
from thoughtcycle.memory.briefing.sections import Material
from thoughtcycle.memory.model import Cycle, CycleMessage, MemoryHit, MessageHit
from thoughtcycle.memory.model.conversation import ConversationMemory, OldCycle, Period, Profile, ProfileEntry
from thoughtcycle.memory.model.judgement import Judgement, Mood
from thoughtcycle.memory.search.passive_recall import Recollection
from thoughtcycle.memory.text.similarity import Deduplicator
from thoughtcycle.prompts.loader import LANGUAGES
from thoughtcycle.text_clipping import CHARACTERS_PER_TOKEN

NOW = datetime(2026, 3, 20, 12, 0, tzinfo=ZoneInfo("America/Sao_Paulo"))


def hit(id: str, content: object, relevance: float = 0.5, **fields: Any) -> MemoryHit:
    return MemoryHit(record=record(id, content=content, **fields), relevance=relevance, matched="")


def said(id: str, text: str, relevance: float = 0.5, chat: str = "c", **fields: Any) -> MessageHit:
    values = {"cycle": f"cycle {id}", "role": "user", "name": None, "at": NOW - timedelta(days=1), **fields}
    return MessageHit.model_validate(
        {"message": id, "chat": chat, "text": text, "relevance": relevance, **values}
    )


def judged(id: str, summary: str, importance: int, chat: str = "other") -> Cycle:
    message = CycleMessage(id=f"m{id}", role="user", text="…", at=NOW)
    return Cycle(
        id=id,
        user="ana",
        chat=chat,
        channel="cli",
        parent=None,
        message=message,
        opened_at=NOW,
        heartbeat=NOW,
        formation="done",
        judgement=Judgement(importance=importance, summary=summary),
    )


def old(id: str, summary: str, days: int = 1, importance: int = 50, **fields: Any) -> OldCycle:
    values = {"original_word_count": 9, "summary_word_count": 3, "importance": importance, **fields}
    at = NOW - timedelta(days=days)
    return OldCycle.model_validate({"cycle_id": id, "timestamp": at, "summary": summary, **values})


def conversation(**fields: Any) -> ConversationMemory:
    base = {"chat_id": "c", "user_id": "ana", "created_at": NOW, "updated_at": NOW}
    return ConversationMemory.model_validate({**base, **fields})


def profile(*pairs: tuple[str, str], moods: Any = ()) -> Profile:
    entries = tuple(
        ProfileEntry(key=key, value=value, confidence=0.7, created=NOW, updated=NOW) for key, value in pairs
    )
    return Profile(user="ana", entries=entries, moods=moods)


def material(*hits: MemoryHit, **fields: Any) -> Material:
    found = Recollection(
        hits=hits,
        messages=fields.pop("messages", ()),
        cycles=fields.pop("cycles", {}),
        former=fields.pop("former", {}),
        accesses=fields.pop("accesses", {}),
    )
    return Material(**{"query": "jantar", "chat": "c", "now": NOW, "found": found, **fields})


def brief(it: Material, tokens: int = 1_000, language: Any = "pt", **options: Any) -> Any:
    return build_brief(it, BriefingOptions(tokens, **options), language)


FULL = material(
    hit("s1", "Vegetariano", kind="pref", layer="semantic", key="diet"),
    hit("s2", "Odeia coentro", kind="pref", layer="semantic", key="taste:coentro"),
    hit("e1", "Casou com Bia", layer="episodic"),
    hit("l1", "Mora em Natal", kind="bio", key="home"),
    conversation=conversation(
        old_memory=(
            old("o1", "Falou da horta", expires=NOW + timedelta(days=3)),
            old("o2", "Pediu um plano"),
        ),
        working="Planeja o jantar.",
    ),
    messages=(
        said("m1", "Comprei abóbora na feira"),
        said("x1", "O banco é Postgres", chat="d", name="Caio"),
    ),
    cycles={"k1": judged("k1", "Decidiu usar SQL no projeto", 95)},
    smart=True,
)


@pytest.mark.spec("LM-5")
@pytest.mark.spec("HM-11")
def test_sections_stand_in_their_order_under_headings_of_their_own() -> None:
    made = brief(FULL)
    assert made.text == (
        "[MEMÓRIA] Preferências e hábitos:\n- diet: Vegetariano.\n- taste: Odeia coentro.\n\n"
        "[MEMÓRIA] Acontecimentos marcantes:\n- 2026-03-01 Casou com Bia.\n\n"
        "[MEMÓRIA] Fatos:\n- Mora em Natal.\n\n"
        "[MEMÓRIA] Últimos dias nesta conversa:\n- 2026-03-19 Falou da horta.\n\n"
        "[MEMÓRIA] Outras conversas:\n- [Importância 95] Decidiu usar SQL no projeto.\n"
        '- 2026-03-19 Caio: "O banco é Postgres"'
    )
    assert made.session == (
        'Dito antes nesta conversa:\n- 2026-03-19 Pessoa: "Comprei abóbora na feira"\n\n'
        "Antes, nesta conversa:\n- 2026-03-19 Pediu um plano.\n\n"
        "Estado desta conversa:\n- Planeja o jantar."
    )
    assert made.shown == ("s1", "s2", "e1", "l1")
    assert [section.name for section in made.sections] == [
        *("semantic", "episodic", "long", "medium", "others", "here", "old", "working")
    ]
    assert sum(section.tokens for section in made.sections) <= made.tokens + 8


@pytest.mark.spec("LM-5")
def test_quotas_are_kept_and_what_is_left_out_is_counted() -> None:
    hits = [
        hit(f"{layer}{number}", f"{layer} fato{number}", layer=layer)
        for layer in ("semantic", "episodic", "long")
        for number in range(5)
    ]
    sections = {section.name: section for section in brief(material(*hits)).sections}
    assert {name: len(section.shown) for name, section in sections.items()} == {
        "semantic": 3,
        "episodic": 2,
        "long": 2,
    }
    assert {name: section.left_out for name, section in sections.items()} == {
        "semantic": 2,
        "episodic": 3,
        "long": 3,
    }


@pytest.mark.spec("LM-4")
def test_within_a_layer_priority_time_likeness_and_use_decide() -> None:
    hits = [
        hit("low", "um alfa", 0.9, priority=2.0),
        hit("high", "dois beta", 0.5, priority=9.0),
        hit("used", "três gama", 0.5, priority=9.0),
    ]
    made = brief(material(*hits, accesses={"used": 50}))
    assert [id for id, _, _ in made.sections[0].shown] == ["used", "high"]


@pytest.mark.spec("HM-9")
def test_compact_shows_the_few_most_relevant_facts_only() -> None:
    hits = [hit(f"h{number}", f"coisa número{number}", 1 - number / 10) for number in range(9)]
    made = brief(replace(FULL, found=Recollection(hits=hits)), recipe="compact", facts=4)
    assert made.shown == ("h0", "h1", "h2", "h3")
    assert made.session == "Estado desta conversa:\n- Planeja o jantar."


@pytest.mark.spec("HM-10")
def test_related_facts_share_a_line() -> None:
    hits = [
        hit("a", "Vegetariano", kind="pref", key="diet"),
        hit("b", "Odeia coentro", kind="pref", key="diet:coentro"),
        hit("c", "Natal é linda", kind="bio"),
    ]
    made = brief(material(*hits), recipe="compact").text
    assert made == "[MEMÓRIA]\n- Vegetariano; odeia coentro.\n- Natal é linda."


@pytest.mark.spec("HM-10")
@pytest.mark.parametrize(
    ("name", "at", "language", "text"),
    [
        ("ansioso", NOW, "pt", "Ansioso hoje: trate com calma."),
        ("anxious", NOW, "pt", "Ansioso hoje: trate com calma."),
        ("anxious", NOW - timedelta(hours=2), "en", "Anxious today: be gentle."),
        ("proud", NOW, "pt", "Hoje se sente orgulhoso: leve isso em conta, com tato."),
        ("in_love", NOW, "pt", "Hoje se sente apaixonado: leve isso em conta, com tato."),
        ("saudoso", NOW, "pt", "Hoje se sente saudoso: leve isso em conta, com tato."),
        ("ansioso", NOW - timedelta(days=1), "pt", ""),
    ],
)
def test_the_mood_of_the_day_is_an_instruction(name: str, at: datetime, language: Any, text: str) -> None:
    here = brief(material(moods=[(at, Mood(name=name))]), language=language).session
    elsewhere = brief(material(profile=profile(moods=[("k", Mood(name=name, at=at))])), language=language)
    assert here == elsewhere.session
    assert here.endswith(text) if text else here == ""


@pytest.mark.spec("BY-10")
@pytest.mark.parametrize("recipe", RECIPES)
def test_secrets_are_masked_wherever_a_briefing_shows_them(recipe: Any) -> None:
    said_so = "senha do cofre: girassol77"
    former = record("v1", content=f"{said_so} antes", status="superseded", valid_to=NOW - timedelta(days=9))
    it = material(
        hit("l1", f"Anotou: {said_so}", key="vault"),
        former={"l1": former},
        conversation=conversation(
            old_memory=(old("o1", f"Contou a {said_so}"),), working=f"Fala da {said_so}."
        ),
        messages=(
            said("m1", f"{said_so} {'e mais ' * 200}"),
            said("x1", f"minha {said_so}", chat="d"),
            said("m2", "x " * 100 + "sk-proj-" + "a" * 150),
        ),
        cycles={"k1": judged("k1", f"Guardou a {said_so}", 95)},
        smart=True,
    )
    made = brief(it, recipe=recipe)
    shown = made.text + made.session
    assert "••••" in shown and "girassol" not in shown and "sk-proj" not in shown


@pytest.mark.spec("HM-10")
def test_a_topic_stays_on_its_line_and_is_cut_like_any_text() -> None:
    made = brief(material(hit("a", "Recife", layer="semantic", key="home\n town " + "x" * 500 + ":city")))
    (line,) = [line for line in made.text.split("\n") if "Recife" in line]
    assert line.startswith("- home town ") and len(line) < 90


def test_what_was_once_true_is_labelled_as_past_with_its_dates() -> None:
    former = record("v1", content="Mora em Recife", status="superseded", valid_to=NOW - timedelta(days=9))
    made = brief(material(hit("l1", "Mora em Natal", key="home"), former={"l1": former}))
    assert made.text == (
        "[MEMÓRIA] Fatos:\n- Mora em Natal; no passado (2026-03-01 a 2026-03-11): Mora em Recife."
    )
    assert made.shown == ("l1", "v1")
    over = hit("l2", "Está de férias", expires=NOW - timedelta(days=2))
    assert "no passado (2026-03-01 a 2026-03-18): Está de férias." in brief(material(over)).text


@pytest.mark.parametrize(
    "hits",
    [
        [hit("a", "Mora em Natal"), hit("a", "Mora em Natal")],
        [hit("a", "Mora em Natal"), hit("b", "mora em Natal.", layer="episodic")],
        [hit("a", "Mora em Natal, na praia"), hit("b", "Na praia, mora em Natal", layer="semantic")],
    ],
)
def test_nothing_is_told_twice(hits: list[MemoryHit]) -> None:
    made = brief(material(*hits, messages=[said("m", "mora em natal"), said("n", "Na praia mora em Natal")]))
    assert made.text.count("Natal") + made.session.count("natal") <= 2
    assert len(made.shown) == 1


def test_a_number_or_a_not_makes_another_text() -> None:
    told = Deduplicator()
    told.add("Quer economizar 5000 reais por mês até dezembro para a casa nova")
    assert told.has("Até dezembro quer economizar 5000 reais por mês para a casa nova")
    assert not told.has("Quer economizar 6000 reais por mês até dezembro para a casa nova")
    told.add("Gosta de jazz")
    assert not told.has("Não gosta de jazz")


@pytest.mark.spec("SM-5")
def test_old_summaries_need_importance_and_the_oldest_are_left_out_first() -> None:
    entries = tuple(old(f"o{days}", f"assunto{days} " * 12, days, 11) for days in range(40, 0, -1))
    trivial = old("t", "trivialidade", 1, 10)
    period = Period(
        cycle_ids=("p",),
        since=NOW - timedelta(days=99),
        until=NOW - timedelta(days=90),
        summary="Começo",
        word_count=1,
        importance=40,
    )
    memory = conversation(old_memory=(*entries, trivial), periods=(period,))
    made = brief(material(conversation=memory), tokens=300)
    (section,) = made.sections
    shown = [id for id, _, _ in section.shown]
    assert shown == [f"o{days}" for days in range(1, len(shown) + 1)] and section.left_out > 0
    assert "trivialidade" not in made.session
    assert made.session.index("assunto2 ") < made.session.index("assunto1 ")
    assert "2025-12-11 – 2025-12-20 Começo." in brief(material(conversation=memory), 9_000).session


@pytest.mark.spec("SM-6")
def test_other_chats_are_shown_with_smart_context_only() -> None:
    made = brief(replace(FULL, smart=False))
    assert "Outras conversas" not in made.text and "Postgres" not in made.text
    assert "Comprei abóbora" in made.session


@pytest.mark.spec("SM-5")
@pytest.mark.spec("SM-7")
def test_the_six_most_relevant_not_the_most_important_of_other_chats_are_shown() -> None:
    cycles = {f"k{n}": judged(f"k{n}", f"resumo{n}", importance=99 - n) for n in range(9)}
    cycles["zero"] = judged("zero", "nada", 0)
    cycles["sql"] = judged("sql", "Escolheu SQL", 20)
    messages = [said("m", "?", 0.9, "other", cycle="sql")]
    messages += [said(f"m{n}", "?", 0.2 + n / 100, "other", cycle=f"k{n}") for n in range(9)]
    made = brief(material(cycles=cycles, messages=messages, smart=True))
    (section,) = made.sections
    chosen = [id for id, _, origin in section.shown if origin == "cycle"]
    assert chosen == ["sql", "k8", "k7", "k6", "k5", "k4"]
    assert "- [Importância 20] Escolheu SQL." in made.text


@pytest.mark.spec("SM-5")
def test_of_another_chat_the_best_message_is_told_verbatim_with_its_importance() -> None:
    messages = [
        said("best", "O porto abre às seis", 0.9, "other", cycle="k"),
        said("next", "Que bom que o porto abre", 0.8, "other", cycle="k"),
    ]
    made = brief(material(cycles={"k": judged("k", "resumo", 40)}, messages=messages, smart=True))
    first, second = made.text.splitlines()[1:]
    assert first.startswith("- [Importância 40] ") and "O porto abre às seis" in first
    assert "Importância" not in second and "Que bom" in second and "resumo" not in made.text


def test_cycles_of_the_window_are_not_shown_again() -> None:
    made = brief(replace(FULL, window=("o1", "o2", "cycle m1", "k1")))
    assert made.session == "Estado desta conversa:\n- Planeja o jantar."
    assert "horta" not in made.text and "SQL" not in made.text


def test_medium_term_ends_when_it_expires() -> None:
    memory = conversation(old_memory=[old("o", "Falou da horta", importance=5, expires=NOW)])
    assert brief(material(conversation=memory)).sections == ()


def test_the_profile_is_semantic_and_its_account_says_nothing_of_it() -> None:
    made = brief(material(profile=profile(("channel", "email"))))
    assert made.text == "[MEMÓRIA] Preferências e hábitos:\n- channel: email."
    ((id, _, origin),) = made.sections[0].shown
    assert origin == "profile" and "channel" not in id
    assert made.shown == ()


def test_nothing_known_is_nothing_said() -> None:
    made = brief(material())
    assert (made.text, made.session, made.tokens, made.sections) == ("", "", 0, ())


texts = st.text(max_size=120) | st.sampled_from(["a b " * 300, '"] }\n\n## x', "é" * 900, "Mora em Natal"])
small = st.integers(0, 100)
hits = st.lists(
    st.builds(
        hit,
        st.text("abc", max_size=2),
        texts | st.dictionaries(st.text(max_size=5), small, max_size=2),
        st.floats(0, 1),
        layer=st.sampled_from(["short", "medium", "long", "episodic", "semantic"]),
        key=st.none() | st.text(max_size=200),
        kind=st.sampled_from([None, "bio", "pref", "emo", "obj"]),
        importance=st.none() | small,
        expires=st.none() | st.just(NOW),
    ),
    max_size=12,
)
olds = st.lists(
    st.builds(
        old, st.text("xyz", max_size=2), texts, small, small, expires=st.none() | st.just(NOW + timedelta(1))
    ),
    max_size=12,
)
materials = st.builds(
    lambda found, messages, cycles, former, olds, working, pairs, mood, smart, window: material(
        *found,
        messages=messages,
        cycles={cycle.id: cycle for cycle in cycles},
        former={key: record(f"v{key}", content=text, valid_to=NOW) for key, text in former.items()},
        conversation=conversation(old_memory=olds, working=working),
        profile=profile(*pairs),
        moods=[(NOW, Mood(name=mood))],
        smart=smart,
        window=window,
    ),
    hits,
    st.lists(
        st.builds(
            said,
            st.text("mn", max_size=2),
            texts,
            st.floats(0, 1),
            st.sampled_from("cd"),
            name=st.none() | texts,
        ),
        max_size=20,
    ),
    st.lists(st.builds(judged, st.text("k", max_size=3), texts, small, st.sampled_from("cd")), max_size=8),
    st.dictionaries(st.text("abc", max_size=2), texts, max_size=3),
    olds,
    texts,
    st.lists(st.tuples(texts, texts), max_size=5),
    texts,
    st.booleans(),
    st.frozensets(st.text("xyz", max_size=2), max_size=3),
)


@pytest.mark.spec("HM-3")
@pytest.mark.spec("BY-7")
@settings(deadline=None, max_examples=150)
@given(materials, st.integers(1, 600), st.sampled_from(RECIPES), st.sampled_from(LANGUAGES))
def test_the_budget_is_never_exceeded(it: Material, tokens: int, recipe: Any, language: Any) -> None:
    made = brief(it, tokens, language, recipe=recipe)
    assert made.tokens <= tokens
    assert len(made.text) + len(made.session) <= tokens * CHARACTERS_PER_TOKEN
    for line in "\n".join([made.text, made.session]).split("\n"):
        assert not line or line.startswith("- ") or line.endswith(":") or line.startswith("[MEM")
    ids = [id for section in made.sections for id, _, _ in section.shown]
    assert len(ids) == len(set(ids))


def test_a_day_is_the_users_own() -> None:
    late = datetime(2026, 3, 19, 2, 0, tzinfo=UTC)
    assert (
        '2026-03-18 Pessoa: "Boa noite a todos"'
        in brief(material(messages=[said("m", "Boa noite a todos", at=late)])).session
    )

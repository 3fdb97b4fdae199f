"""Ageing, volume, compression and the ledger of a conversation's memory, as pure rules (CM-2 … CM-7)."""

from collections.abc import Sequence
from dataclasses import replace

import pytest

from support.exchanges import at, exchange, judged
from support.sheets import read, stored
from thoughtcycle.memory.conversation.loading import DocumentBroken, recounted
from thoughtcycle.memory.model import Cycle
from thoughtcycle.memory.model.conversation import ConversationMemory, Period
from thoughtcycle.memory.model.judgement import CriticalDatum, CriticalKind, Preserved, PreservedData
from thoughtcycle.memory.rules.compression import (
    RollUp,
    Shorten,
    apply_roll_up,
    apply_shortening,
    finish_compression,
    next_step,
)
from thoughtcycle.memory.rules.preserved_data import figures, merged_critical_data, with_figures_of
from thoughtcycle.memory.rules.window import (
    branch_end,
    follow_branch,
    missing_cycles,
    with_working,
    working_due,
)
from thoughtcycle.memory.rules.word_budget import (
    WordBudget,
    compression_due,
    recent_words,
    usage_percent,
    with_word_counts,
)
from thoughtcycle.text_clipping import count_words, first_words

VOLUME = WordBudget()


def empty() -> ConversationMemory:
    return ConversationMemory(chat_id="chat", user_id="ana", created_at=at(0), updated_at=at(0))


def after(memory: ConversationMemory, cycles: Sequence[Cycle]) -> ConversationMemory:
    live = [cycle.id for cycle in cycles]
    needed = missing_cycles(memory, live)
    return follow_branch(memory, live, [cycle for cycle in cycles if cycle.id in needed], at(999))


def number(said: str, value: str) -> PreservedData:
    return PreservedData(numerical_values=(Preserved(said=said, normalised=value),))


def datum(
    text: str, *values: str, cycle: str = "c0", kind: CriticalKind = "configured_limits"
) -> CriticalDatum:
    return CriticalDatum(kind=kind, text=text, cycle=cycle, at=at(int(cycle[1:])), values=values)


@pytest.mark.parametrize(
    ("text", "words"),
    [("", 0), ("oi", 1), ("R$ 5.000", 2), ("bem-vindo, ana — tudo bem?", 4), ("… !! 👍", 0), (" a\n\tb ", 2)],
)
@pytest.mark.spec("CM-5")
def test_what_a_word_is(text: str, words: int) -> None:
    assert count_words(text) == words


def test_cutting_ends_at_a_word() -> None:
    assert first_words("um dois, três quatro", 2) == "um dois…"
    assert first_words("um  dois", 2) == "um dois"
    assert count_words(first_words("a " * 200, 50)) == 50


@pytest.mark.spec("CM-2", "CM-3")
def test_old_memory_has_one_entry_after_the_third_cycle() -> None:
    cycles = [
        exchange(n, "oi " * 9, judgement=judged("s", preserved=number("5 mil", "5000"))) for n in range(3)
    ]
    assert [len(after(empty(), cycles[:count]).old_memory) for count in (0, 1, 2, 3)] == [0, 0, 0, 1]
    (entry,) = after(empty(), cycles).old_memory
    assert (entry.cycle_id, entry.summary, entry.summary_word_count) == ("c0", "s", 1)
    assert (entry.original_word_count, entry.preserved_data) == (10, number("5 mil", "5000"))


@pytest.mark.spec("CM-3")
def test_ageing_twice_changes_nothing() -> None:
    cycles = [exchange(n, judgement=judged()) for n in range(6)]
    once = after(empty(), cycles)
    assert follow_branch(once, [cycle.id for cycle in cycles], cycles, at(5000)) is once
    assert missing_cycles(once, [cycle.id for cycle in cycles]) == ("c4", "c5")


@pytest.mark.spec("CM-3")
def test_a_summary_is_at_most_fifty_words_and_its_numbers_stay() -> None:
    long = judged("palavra " * 60 + "9.999")
    (entry,) = after(empty(), [exchange(0, judgement=long), exchange(1), exchange(2)]).old_memory
    assert entry.summary_word_count == 50
    assert entry.preserved_data == number("9.999", "9.999")


@pytest.mark.spec("CM-8")
def test_a_pending_cycle_is_kept_in_full_until_there_is_a_summary() -> None:
    cycles = [exchange(0, "tudo isto", "e isto"), exchange(1), exchange(2)]
    memory = after(empty(), cycles)
    assert memory.old_memory[0].pending_summarization
    assert memory.old_memory[0].summary == "tudo isto\n\ne isto"
    later = after(memory, [exchange(0, judgement=judged("curto")), *cycles[1:]])
    assert (later.old_memory[0].summary, later.old_memory[0].pending_summarization) == ("curto", False)
    again = after(memory, [exchange(0, judgement=judged("x", pending=True)), *cycles[1:]])
    assert again.old_memory[0].pending_summarization


@pytest.mark.parametrize("formation", ["none", "failed"])
def test_what_nobody_will_judge_does_not_wait_for_a_summary(formation: str) -> None:
    """A command, or what was said in a pause: else it would count in full for ever."""
    said = "/lembrar 9.999, minha senha é hunter2-88"
    command = exchange(0, said, "achei " * 900).model_copy(update={"formation": formation})
    (entry,) = after(empty(), [command, exchange(1), exchange(2)]).old_memory
    assert not entry.pending_summarization and entry.summary_word_count == 50
    assert entry.summary.startswith("/lembrar 9.999, minha senha é •••• achei")
    assert entry.preserved_data == number("9.999", "9.999")


def test_what_lies_off_the_live_branch_leaves_and_comes_back() -> None:
    said = datum("limite de 500", "500", cycle="c1")
    one = [exchange(n, judgement=judged(f"s{n}", critical=(said,) if n == 1 else ())) for n in range(5)]
    other = [one[0], *(exchange(n, judgement=judged(f"t{n}")) for n in range(11, 15))]
    first = after(empty(), one)
    second = after(first, other)
    assert [entry.summary for entry in second.old_memory] == ["s0", "t11", "t12"]
    assert second.critical_data == ()
    back = after(second, one)
    assert [entry.summary for entry in back.old_memory] == ["s0", "s1", "s2"]
    assert back.critical_data == (said,)


def test_a_period_does_not_tell_of_what_is_in_the_window_again() -> None:
    one = [exchange(n, judgement=judged(f"s{n}")) for n in range(5)]
    rolled = Period(cycle_ids=("c0", "c1"), since=at(0), until=at(1), summary="p", word_count=1)
    known = after(empty(), one).model_copy(update={"periods": (rolled,)})
    assert after(known, one).periods == (rolled,)
    back = after(known, [*one[:2], exchange(11, judgement=judged("t11"))])
    assert back.periods == () and [entry.summary for entry in back.old_memory] == ["s0"]


@pytest.mark.spec("CM-5")
def test_words_are_those_of_recent_old_and_working_and_wrong_counts_are_put_right() -> None:
    cycles = [exchange(n, "a b c", "d e", judgement=judged("x y")) for n in range(4)]
    memory = with_working(after(empty(), cycles), "um dois três", at(9))
    right = with_word_counts(memory, cycles[-2:])
    assert right.total_word_count == 2 * 5 + 2 * 2 + 3
    spoiled = right.model_copy(
        update={
            "total_word_count": 7,
            "old_memory": tuple(e.model_copy(update={"summary_word_count": 99}) for e in right.old_memory),
        }
    )
    assert with_word_counts(spoiled, cycles[-2:]) == right
    assert usage_percent(right, VOLUME) == 0.7


@pytest.mark.spec("HM-2")
def test_the_working_summary_is_due_every_four_exchanges() -> None:
    cycles = [exchange(n) for n in range(9)]
    memory = empty()
    due = []
    for count in range(1, 9):
        memory = after(memory, cycles[:count])
        due.append(working_due(memory))
        if due[-1]:
            memory = with_working(memory, "w", at(1))
    assert due == [False, False, False, True, False, False, False, True]


@pytest.mark.parametrize(
    ("first", "second", "entries"),
    [
        (datum("Limite de R$ 500 em bares", "500"), datum("limite de r$ 500 em bares", "500", cycle="c1"), 1),
        (
            datum("Me avise se gastar mais de R$ 500", "500"),
            datum("olha, me avise se eu gastar mais de 500 reais", "500", cycle="c1"),
            1,
        ),
        (datum("Limite de R$ 500 em bares", "500"), datum("limite de R$ 800 em bares", "800", cycle="c1"), 2),
        (datum("Limite de R$ 500 em bares", "500"), datum("limite de R$ 500 em táxis", "500", cycle="c1"), 2),
        (
            datum("prefiro viajar", kind="declared_preferences"),
            datum("prefiro não viajar", cycle="c1", kind="declared_preferences"),
            2,
        ),
        (
            datum("prefiro praia a campo", kind="declared_preferences"),
            datum("prefiro campo a praia", cycle="c1", kind="declared_preferences"),
            2,
        ),
        (
            datum("I prefer tea", kind="declared_preferences"),
            datum("well, I really prefer tea", cycle="c1", kind="declared_preferences"),
            1,
        ),
        (datum("quero 500", "500"), datum("quero 500", "500", cycle="c1", kind="financial_goals"), 2),
    ],
)
@pytest.mark.spec("CM-7")
def test_critical_data_are_merged_without_duplicates(
    first: CriticalDatum, second: CriticalDatum, entries: int
) -> None:
    found = merged_critical_data((first,), (second,))
    assert len(found) == entries
    assert found[0].text == first.text
    assert merged_critical_data(found, (second, first)) == found


def settle(
    memory: ConversationMemory, recent: Sequence[Cycle], answer: str, volume: WordBudget = VOLUME
) -> ConversationMemory:
    """A whole compression with a mind that always answers the same."""
    steps = 0
    while step := next_step(memory, recent, volume):
        if isinstance(step, Shorten):
            memory = apply_shortening(memory, step, {piece.id: answer for piece in step.pieces})
        else:
            memory = apply_roll_up(memory, step, answer)
        steps += 1
        assert steps < 1_000
    return finish_compression(memory, recent, volume, at(9_999), changed=steps > 0)


def told(number: int) -> Cycle:
    """An exchange with a figure, a date, and now and then something critical."""
    critical = ()
    if number % 5 == 0:
        critical = (
            datum(
                f"Quero economizar R$ {number}.000 até junho",
                f"{number}000",
                "2027-06",
                cycle=f"c{number}",
                kind="financial_goals",
            ),
        )
    preserved = PreservedData(
        numerical_values=(Preserved(said=f"R$ {number},50", normalised=f"{number}.5"),),
        dates=(Preserved(said="junho", normalised="2027-06"),),
        decisions=(f"decidi {number}",),
    )
    summary = f"Gastou R$ {number},50 em junho " + "com coisas de casa " * 9
    return exchange(
        number, "palavra " * 100, "resposta " * 60, judged(summary, preserved=preserved, critical=critical)
    )


@pytest.mark.parametrize(
    ("answer", "wanted"),
    [
        ("resumo curto", 50),
        ("", 5),
        ("palavra " * 300, 5),
        ("inventado 77777", 5),
        ('{"summary": "x"}', 5),
        ("\N{THUMBS UP SIGN}", 5),
    ],
)
@pytest.mark.spec("CM-5", "CM-6", "CM-7")
def test_nothing_preserved_is_lost_in_fifty_compressions(answer: str, wanted: int) -> None:
    memory, cycles, compressions, starts = empty(), [], 0, []
    while compressions < wanted:
        cycles += [told(len(cycles) + n) for n in range(6)]
        memory = after(memory, cycles)
        if not compression_due(memory, VOLUME):
            assert memory.total_word_count < 2_250
            continue
        starts.append(memory.total_word_count)
        before = recent_words(cycles[-2:])
        memory = settle(memory, cycles[-2:], answer)
        compressions += 1
        assert memory.total_word_count <= 1_100
        assert memory.total_word_count == with_word_counts(memory, cycles[-2:]).total_word_count
        assert recent_words(cycles[-2:]) == before
        assert (memory.compression_count, memory.last_compression) == (compressions, at(9_999))
        _nothing_is_lost(memory, cycles)
    assert min(starts) >= 2_250


def _nothing_is_lost(memory: ConversationMemory, cycles: Sequence[Cycle]) -> None:
    kept = [entry.preserved_data for entry in memory.ledger] + [
        one.preserved_data for one in memory.old_memory
    ]
    numbers = {one for data in kept for one in data.numerical_values}
    decisions = {one for data in kept for one in data.decisions}
    critical = {one.text for one in memory.critical_data}
    for cycle in cycles[:-2]:
        assert cycle.judgement is not None
        assert numbers.issuperset(cycle.judgement.preserved.numerical_values)
        assert decisions.issuperset(cycle.judgement.preserved.decisions)
    assert critical == {one.text for cycle in cycles if cycle.judgement for one in cycle.judgement.critical}
    covered = [id for period in memory.periods for id in period.cycle_ids] + [
        one.cycle_id for one in memory.old_memory
    ]
    assert covered == [cycle.id for cycle in cycles[:-2]]


def gone_on(memory: ConversationMemory, cycles: Sequence[Cycle]) -> ConversationMemory:
    """`after`, from the end of the branch alone."""
    end = branch_end(memory, cycles[:-9:-1])
    assert end is not None
    live, before = end
    wanted = missing_cycles(memory, live, before=before)
    assert len(live) < 6 and before + len(live) == len(cycles)
    return follow_branch(memory, live, [one for one in cycles if one.id in wanted], at(999), before=before)


@pytest.mark.spec("CM-3", "CM-6")
@pytest.mark.parametrize("together", [1, 3])
def test_the_end_of_a_long_chat_says_as_much_as_all_of_it(together: int) -> None:
    cycles, small = [told(n) for n in range(3)], WordBudget(words=1_000)
    memory = after(empty(), cycles)
    for _ in range(60 // together):
        cycles += [told(len(cycles) + n) for n in range(together)]
        if len(cycles) % 7 == 0:
            cycles[-1] = exchange(len(cycles) - 1, "inteiro " * 20)  # waits for a judgement
        if len(cycles) % 10 == 0:
            cycles = [told(n) if one.judgement is None else one for n, one in enumerate(cycles)]
        whole = after(memory, cycles)
        assert gone_on(memory, cycles) == whole and gone_on(whole, cycles) is whole
        before = stored(memory)
        part = stored(gone_on(read(before, partial=True), cycles))
        assert part.entries.keys() < before.entries.keys()
        assert read(replace(part, entries={**before.entries, **part.entries})) == revised(whole)
        if working_due(whole):
            whole = with_working(whole, f"bis {len(cycles)}", at(9))
        memory = settle(whole, cycles[-2:], "curto " * 9, small) if compression_due(whole, small) else whole
    assert memory.compression_count > 1 and memory.periods


def test_a_memory_is_read_as_it_was_stored_and_refused_where_cycles_are_missing() -> None:
    periods = [
        Period(cycle_ids=tuple(ids), since=at(n), until=at(n), summary=f"p{n}", word_count=1)
        for n, ids in enumerate((["c0", "c1"], [], ["c2"], ["c0"]))
    ]
    known = after(empty(), [exchange(n) for n in range(5)]).model_copy(update={"periods": tuple(periods)})
    found = stored(known)
    assert read(found) == recounted(revised(known))
    part = read(found, partial=True)
    assert (part.partial, part.rolled, [one.first for one in part.periods]) == (
        True,
        4,
        ["c0", "", "c2", "c0"],
    )
    for wrong in (found.entries["cycle_ids"][:2], ['["c0"]', *found.entries["cycle_ids"][1:]]):
        with pytest.raises(DocumentBroken):
            read(replace(found, entries={**found.entries, "cycle_ids": wrong}))


def revised(memory: ConversationMemory) -> ConversationMemory:
    """As it is stored once."""
    return memory.model_copy(update={"revision": 1})


@pytest.mark.parametrize(
    ("changes", "path"),
    [
        ({"head": None}, "98765432"),
        ({"head": "c11"}, "98765432"),  # of another branch
        ({"total_cycles": 77}, "98765432"),  # a count edited by hand
        ({"total_cycles": 2, "old_memory": ()}, "98765432"),
        ({"old_memory": ()}, "98765432"),  # something was taken back
        ({}, "98"),  # it does not reach far enough
        ({}, "96543210"),  # an open cycle between
        ({}, "65432"),  # formed anew, before the head
        ({}, ""),  # on an abandoned branch
    ],
)
def test_where_the_end_does_not_say_enough_the_whole_branch_is_looked_at(
    changes: dict[str, object], path: str
) -> None:
    cycles = [exchange(n, judgement=judged()) for n in range(10)]
    known = after(empty(), cycles[:9])
    assert branch_end(known, cycles[:1:-1]) == (["c7", "c8", "c9"], 7)
    found = branch_end(known.model_copy(update=changes), [cycles[int(one)] for one in path])
    assert found is None


@pytest.mark.spec("CM-6")
def test_the_oldest_are_shortened_first_and_rolled_up_after() -> None:
    cycles = [told(n) for n in range(45)]
    memory = after(empty(), cycles)
    step = next_step(memory, cycles[-2:], VOLUME)
    assert isinstance(step, Shorten)
    assert [piece.id for piece in step.pieces][:2] == ["c0", "c1"]
    assert step.pieces[0].preserved == cycles[0].judgement.preserved  # type: ignore[union-attr]
    while isinstance(step, Shorten):
        memory = apply_shortening(memory, step, {})
        step = next_step(memory, cycles[-2:], VOLUME)
    assert all(one.compressed and one.summary_word_count <= 20 for one in memory.old_memory)
    assert isinstance(step, RollUp)
    assert step.pieces[0].id == "c0"
    memory = apply_roll_up(memory, step, "do começo: casa")
    assert memory.periods[0].summary == "do começo: casa"
    assert memory.periods[0].cycle_ids == tuple(f"c{n}" for n in range(len(step.pieces)))
    assert apply_roll_up(memory, step, "again") is memory


@pytest.mark.spec("CM-6")
def test_recent_cycles_beyond_the_target_are_reported_and_not_tried_again() -> None:
    cycles = [told(0), exchange(1, "longo " * 1_200), exchange(2, "longo " * 1_200)]
    memory = after(empty(), cycles)
    assert compression_due(memory, VOLUME)
    assert next_step(memory, cycles[-2:], VOLUME) is None
    stuck = finish_compression(memory, cycles[-2:], VOLUME, at(9), changed=False)
    assert stuck.stuck and not compression_due(stuck, VOLUME)
    assert (stuck.old_memory, stuck.compression_count) == (memory.old_memory, 0)
    assert not after(stuck, [*cycles, exchange(3)]).stuck


def test_a_pending_cycle_is_not_compressed() -> None:
    cycles = [exchange(0, "inteiro " * 900), *(told(n) for n in range(1, 40))]
    memory = settle(after(empty(), cycles), cycles[-2:], "curto")
    assert memory.old_memory[0].pending_summarization
    assert count_words(memory.old_memory[0].summary) == 901


@pytest.mark.parametrize(
    ("answer", "kept"),
    [
        ("gastou 5k", "gastou 5k"),
        ("gastou 6.000", "gastou R$ 5.000 na casa"),
        ("", "gastou R$ 5.000 na casa"),
    ],
)
@pytest.mark.spec("CM-6")
def test_an_answer_with_a_figure_of_its_own_is_not_taken(answer: str, kept: str) -> None:
    memory = after(
        empty(), [exchange(0, judgement=judged("gastou R$ 5.000 na casa")), exchange(1), exchange(2)]
    )
    step = Shorten(next_pieces(memory), 20)
    assert apply_shortening(memory, step, {"c0": answer}).old_memory[0].summary == kept


def next_pieces(memory: ConversationMemory) -> tuple:  # type: ignore[type-arg]
    tight = WordBudget(words=10, target=0.1, compressed=1)
    step = next_step(memory, [], tight)
    assert isinstance(step, Shorten)
    return step.pieces


def test_figures_that_nobody_preserved_are_kept_as_they_stand() -> None:
    assert figures("em 12/03, às 10:30, R$ 1.234,56.") == ("12/03", "10:30", "1.234,56")
    assert with_figures_of(number("R$ 1.234,56", "1234.56"), "1.234,56 e 7").numerical_values[1].said == "7"

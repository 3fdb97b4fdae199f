"""The evaluations count right and go the product's own way; the data here are made up, in the sets' formats."""

import json
import re
from dataclasses import replace
from math import isnan
from pathlib import Path
from typing import Literal
from xml.etree import ElementTree

import pytest
from typer.testing import CliRunner

from support.exchanges import exchange, judged
from support.memories import START, WordEmbedder, record
from thoughtcycle.cli.main import app
from thoughtcycle.errors import InputRefused
from thoughtcycle.evals import compression, economy, everyday_labels, funnel, locomo, prefeval
from thoughtcycle.evals.everyday_labels import SERIES, Half, Series
from thoughtcycle.evals.locomo import Turn, TurnPlace, exchanges, formed_conversation
from thoughtcycle.evals.retrieval import (
    Baseline,
    QuestionResult,
    halves,
    recall,
    reciprocal_rank,
    score,
    scores,
)
from thoughtcycle.evals.retrieval_page import page
from thoughtcycle.memory.briefing.builder import BriefingOptions, build_brief
from thoughtcycle.memory.briefing.sections import Material
from thoughtcycle.memory.model import MemoryHit, Source
from thoughtcycle.memory.model.conversation import ConversationMemory, LedgerEntry
from thoughtcycle.memory.model.judgement import CriticalDatum, Preserved, PreservedData
from thoughtcycle.memory.search.passive_recall import Recollection
from thoughtcycle.prompts.loader import LANGUAGES


def asked(relevant: str, found: str, half: str = "tune", category: str = "c") -> QuestionResult:
    return QuestionResult(half, category, frozenset(relevant), tuple(found))


@pytest.mark.parametrize(
    ("relevant", "found", "recalled", "rank"),
    [("a", "abc", 1.0, 1.0), ("ab", "xxxxab", 0.5, 0.2), ("a", "xyz", 0.0, 0.0), ("abz", "ba", 2 / 3, 1.0)],
)
def test_recall_and_reciprocal_rank(relevant: str, found: str, recalled: float, rank: float) -> None:
    one = asked(relevant, found)
    assert recall(one, 5) == pytest.approx(recalled)
    assert reciprocal_rank(one) == pytest.approx(rank)


def test_a_score_is_the_mean_over_questions() -> None:
    found = score([asked("a", "a"), asked("ab", "xa"), asked("a", "xyz"), asked("a", "x" * 12 + "a")])
    assert (found.questions, found.recall_at_10, found.recall_at_20) == (4, 0.375, 0.625)
    assert (found.hit_at_10, found.all_at_10) == (0.5, 0.25)
    assert found.mrr == pytest.approx((1 + 1 / 2 + 0 + 1 / 13) / 4)


def test_scores_are_told_per_half_and_category_and_over_all() -> None:
    found = scores([asked("a", "a"), asked("a", "x", category="d"), asked("a", "a", half="held out")])
    assert {half: list(part) for half, part in found.items()} == {
        "tune": ["c", "d", "all"],
        "held out": ["c", "all"],
    }
    assert found["tune"]["all"].recall_at_5 == 0.5


def test_the_first_half_is_for_tuning() -> None:
    assert halves(["b", "b", "a", "c"]) == {"b": "tune", "a": "held out", "c": "held out"}


def test_the_baseline_ranks_by_stems() -> None:
    plain = Baseline({"one": "camping by the lake", "two": "a lake", "three": "nothing"})
    assert plain.found("Where did they camp at the lakes?") == ("one", "two")


@pytest.mark.parametrize(
    ("speakers", "pairs"),
    [
        ("ABAB", ["0-1", "2-3"]),
        ("BAB", ["-0", "1-2"]),
        ("AAB", ["0-", "1-2"]),
        ("ABB", ["0-1", "-2"]),
        ("A", ["0-"]),
        ("", []),
    ],
)
def test_turns_become_exchanges(speakers: str, pairs: list[str]) -> None:
    turns = tuple(Turn(str(place), speaker, "x") for place, speaker in enumerate(speakers))
    made = [f"{one.id if one else ''}-{other.id if other else ''}" for one, other in exchanges("A", turns)]
    assert made == pairs


def conversation(name: str) -> dict[str, object]:
    def turn(number: int, speaker: str, text: str, **more: str) -> dict[str, str]:
        return {"dia_id": f"D1:{number}", "speaker": speaker, "text": text, **more}

    return {
        "sample_id": name,
        "conversation": {
            "speaker_a": "Rui",
            "speaker_b": "Eva",
            "session_1_date_time": "1:56 pm on 8 May, 2023",
            "session_1": [
                turn(1, "Rui", "We camped by the lake"),
                turn(2, "Eva", "Lovely. Any pictures?", blip_caption="a violin on a chair"),
                turn(3, "Rui", "Plenty of them"),
            ],
            "session_2_date_time": "9:00 am on 9 May, 2023",
            "session_2": [{"dia_id": "D2:1", "speaker": "Eva", "text": "My violin is broken"}],
        },
        "qa": [
            {"question": "Where did Rui camp?", "category": 4, "evidence": ["D1:1"]},
            {"question": "What about the violin?", "category": 1, "evidence": ["D1:02; D:2:1", "D9:9"]},
            {"question": "Who?", "category": 3, "evidence": ["D"]},
        ],
    }


@pytest.fixture
def data(tmp_path: Path) -> Path:
    (tmp_path / "locomo10.json").write_text(json.dumps([conversation("c1"), conversation("c2")]))
    for topic, thing in (("a_food", "coriander"), ("b_travel", "planes")):
        entries = [
            {"preference": f"I never want {thing}", "question": f"Any tips about {thing}?"},
            {"preference": "I like the sea", "question": "Where to swim in the sea?"},
        ]
        (tmp_path / "prefeval").mkdir(exist_ok=True)
        (tmp_path / "prefeval" / f"{topic}.json").write_text(json.dumps(entries))
    return tmp_path


async def test_locomo_is_recorded_and_asked_through_the_memory(data: Path) -> None:
    (one, _) = locomo.load(data)
    assert [question[1:] for question in one.questions] == [
        ("single-hop", {"D1:1"}),
        ("multi-hop", {"D1:2", "D2:1"}),
    ]
    report = await locomo.evaluate(data, WordEmbedder())
    found = scores(report.asked)
    assert found["tune"]["single-hop"].recall_at_5 == 1
    assert found["held out"]["multi-hop"].recall_at_5 == 1
    assert scores(report.baseline)["tune"]["all"].questions == 2
    assert "single-hop" in report.as_text()


@pytest.mark.spec("HM-12")
async def test_the_economy_counts_tokens_and_evidence_per_budget(data: Path) -> None:
    report = await economy.evaluate(data, WordEmbedder(), (10, 1_000))
    groups = report.groups()
    assert list(groups) == ["tune", "held out", "c1", "c2"]
    small, large = groups["tune"].values()
    assert (small.questions, small.any, small.briefing) == (2, 0.0, 0.0)
    assert (large.any, large.briefing <= 1_000, large.turn > small.turn) == (1.0, True, True)
    assert large.recall <= 1.0 and large.share > 0
    assert "conversation" not in report.as_text() and "c1" in report.as_text()
    told = report.as_json()["economy"]
    assert told["c2"]["1000"]["questions"] == 2  # type: ignore[index]


def test_a_memory_made_from_a_turn_counts_as_its_evidence() -> None:
    wanted = {"D1:1": Turn("D1:1", "Rui", "We camped by the lake"), "D1:2": Turn("D1:2", "Eva", "Lovely")}
    fed = {"D1:1": TurnPlace("m1", "k"), "D1:2": TurnPlace("m2", "k")}
    source = Source(cycle="k", words="camped by the lake")
    kept = MemoryHit(record=record("m", source=source), relevance=1.0, matched="")
    material = Material(query="q", chat="c", now=START, found=Recollection(hits=[kept]))
    brief = build_brief(material, BriefingOptions(tokens=100), "en")
    assert economy.evidence_in(brief, material, wanted, fed) == {"D1:1"}
    assert (
        economy.evidence_in(build_brief(material, BriefingOptions(tokens=5), "en"), material, wanted, fed)
        == set()
    )
    elsewhere = {id: TurnPlace(one.message, "other") for id, one in fed.items()}
    assert economy.evidence_in(brief, material, wanted, elsewhere) == set()


async def test_a_conversation_is_understood_before_it_is_asked_about(data: Path) -> None:
    (one, _) = locomo.load(data)
    async with formed_conversation(one, None) as it:
        assert not await it.memory.conversations.pending_cycles(limit=1)
        (camped,) = await it.memory.transcript.cycles("c1", [it.fed["D1:1"].cycle])
        assert camped.judgement is not None and it.now > max(moment for moment, _ in one.sessions)


@pytest.mark.spec("CM-6")
async def test_what_compression_loses_is_told(data: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(compression, "EVERY", 1)
    chats = await compression.evaluate(data)
    assert [one.name for one in chats] == ["c1", "c2"]
    assert all(one.cycles == 6 and not one.lost and one.expected for one in chats)
    assert "c2" in compression.as_text(chats) and compression.as_json(chats)["chats"]


def test_what_must_survive_is_missed_where_it_is_gone() -> None:
    said = CriticalDatum(
        kind="configured_limits", text="at most R$ 500", cycle="c0", at=START, values=("500",)
    )
    number = PreservedData(numerical_values=(Preserved(said="500", normalised="500"),))
    one = exchange(0, "at most R$ 500", judgement=judged(critical=(said,), preserved=number))
    told = set(compression.data_of(one))
    assert {each.kind for each in told} == {"digits", "numbers", "configured_limits"}
    empty = ConversationMemory(chat_id="chat", user_id="ana", created_at=START, updated_at=START)
    assert compression.missing(told, empty, []) == told
    assert compression.missing(told, empty, [one]) == set()
    entry = LedgerEntry(cycle_id="c0", timestamp=START, preserved_data=number)
    first = said.model_copy(update={"cycle": "c9", "text": "at most 500", "again": ("c0",)})
    assert (
        compression.missing(
            told, empty.model_copy(update={"ledger": (entry,), "critical_data": (first,)}), []
        )
        == set()
    )


async def test_a_preference_said_twice_is_one_memory_for_both_questions(data: Path) -> None:
    report = await prefeval.evaluate(data / "prefeval", None)
    assert len({one.relevant for one in report.asked}) == 3
    assert scores(report.asked)["held out"]["b_travel"].recall_at_5 == 1


def test_the_command_prints_tables_and_json(data: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("THOUGHTCYCLE_EMBEDDING__MODEL", "none")
    run = CliRunner().invoke
    shown = run(app, ["eval", "locomo", "--data", str(data)])
    assert (shown.exit_code, "held out" in shown.stdout) == (0, True)
    told = json.loads(run(app, ["eval", "prefeval", "--data", str(data / "prefeval"), "--json"]).stdout)
    assert told["scores"]["tune"]["all"]["questions"] == 2
    assert told["embeddings"] == "none"
    told = json.loads(run(app, ["eval", "economy", "--data", str(data), "--json"]).stdout)
    assert list(told["economy"]["held out"]) == ["500", "1000", "2000", "4000"]


async def test_the_page_is_whole_and_loads_nothing(data: Path) -> None:
    text = page(replace(await locomo.evaluate(data, None), embeddings='<b>"&'))
    root = ElementTree.fromstring(text.removeprefix("<!DOCTYPE html>"))
    plots = list(root.iter("{http://www.w3.org/2000/svg}svg"))
    assert len(plots) == 2 * 6
    assert all(plot.get("viewBox") and plot.get("aria-label") for plot in plots)
    tables = list(root.iter("{http://www.w3.org/1999/xhtml}table"))
    names = [["".join(row[0].itertext()) for row in table[1]] for table in tables]
    assert names == [["single-hop", "multi-hop", "all"]] * 2
    loading = ("src", "href", "{http://www.w3.org/1999/xlink}href", "style", "onload")
    assert not [one for one in root.iter() if any(one.get(name) for name in loading)]
    assert not re.search(r"url\(|@import|<script", text)


def test_the_command_writes_the_page_or_says_that_it_cannot(
    data: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("THOUGHTCYCLE_EMBEDDING__MODEL", "none")
    run = CliRunner().invoke
    file = data / "report.html"
    done = run(app, ["eval", "prefeval", "--data", str(data / "prefeval"), "--html", str(file)])
    assert (done.exit_code, "held out" in done.stdout) == (0, True)
    assert "b travel" in file.read_text()
    file.write_text("mine")
    again = ["eval", "prefeval", "--data", str(data / "prefeval"), "--html", str(file)]
    kept = run(app, again)
    assert (kept.exit_code, kept.stdout, file.read_text()) == (1, "", "mine")
    assert "report.html" in kept.stderr and "--yes" in kept.stderr
    assert run(app, [*again, "--yes"]).exit_code == 0 and "b travel" in file.read_text()
    refused = run(app, ["eval", "prefeval", "--data", str(data), "--html", str(data / "no" / "x.html")])
    assert (refused.exit_code, refused.stdout) == (1, "")
    assert "x.html" in refused.stderr and refused.stderr.count("\n") == 1
    assert sorted(path.name for path in data.iterdir()) == ["locomo10.json", "prefeval", "report.html"]


@pytest.mark.parametrize("text", ["", "{}", "[1]", '[{"qa": []}]', "[[]]"])
def test_what_is_not_the_data_set_is_refused_in_one_line(tmp_path: Path, text: str) -> None:
    file = tmp_path / "locomo10.json"
    file.write_text(text)
    for load in (locomo.load, prefeval.load):
        with pytest.raises(InputRefused) as refused:
            load(file)
        assert "\n" not in refused.value.text("en")
    with pytest.raises(InputRefused):
        locomo.load(tmp_path / "nowhere")
    with pytest.raises(InputRefused):
        prefeval.load(tmp_path / "nowhere")


def test_the_area_under_the_curve_counts_pairs() -> None:
    assert funnel.auc([1, 2, 3, 4], [False, False, True, True]) == 1.0
    assert funnel.auc([4, 3, 2, 1], [False, False, True, True]) == 0.0
    assert funnel.auc([1, 1, 1, 1], [False, True, False, True]) == 0.5
    assert funnel.auc([1, 2, 3], [False, True, False]) == 0.5
    assert isnan(funnel.auc([1, 2], [True, True]))


@pytest.mark.spec("SM-2", "SM-4")
def test_the_funnel_is_measured_on_turns_that_an_observation_cites(tmp_path: Path) -> None:
    told = {"a": [["Anna adopted a dog.", "D1:1"]], "b": [["x", ["D1:1", "D9:9"]]]}
    plain = [
        conversation("one") | {"observation": {"s": told}},
        conversation("two") | {"observation": {"s": told}},
    ]
    (tmp_path / "locomo10.json").write_text(json.dumps(plain))
    found = CliRunner().invoke(app, ["eval", "funnel", "--data", str(tmp_path), "--json"])
    scores = json.loads(found.stdout)["locomo"]
    assert {half: each["turns"] > 1 for half, each in scores.items()} == {"tune": True, "held out": True}
    assert all(0 < each["cited"] < 1 for each in scores.values())


@pytest.mark.spec("SM-2", "SM-3")
@pytest.mark.parametrize("language", ["pt", "en"])
@pytest.mark.parametrize("half", ["tune", "held_out"])
@pytest.mark.parametrize("series", SERIES)
def test_the_funnel_keeps_and_drops_what_it_must(
    language: Literal["pt", "en"], half: Half, series: Series
) -> None:
    found = funnel.score_messages(language, half, series)
    assert found.keep > 40 and found.drop > 40
    assert found.kept >= 0.95
    assert found.dropped >= 0.80


def test_what_the_funnel_gets_wrong_is_listed_of_the_tuned_halves_only() -> None:
    shown = CliRunner().invoke(app, ["eval", "funnel", "--failures"])
    known = {
        f"{one.category}: {one.text!r}: {'lost' if one.keep else 'passed'}"
        for series in SERIES
        for language in LANGUAGES
        for one in everyday_labels.load(language, "tune", series)
    }
    assert shown.exit_code == 0 and known.issuperset(filter(None, shown.stdout.splitlines()))


def test_a_file_without_observations_is_refused(tmp_path: Path) -> None:
    (tmp_path / "locomo10.json").write_text(json.dumps([conversation("one")]))
    with pytest.raises(InputRefused) as refused:
        funnel.evaluate(tmp_path)
    assert refused.value.code == "eval_data"

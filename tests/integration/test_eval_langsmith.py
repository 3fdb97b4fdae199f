"""The evaluation sets as datasets and experiments, through the real client to a stand-in for LangSmith."""

from dataclasses import replace

import pytest
from typer.testing import CliRunner

from support.fake_langsmith import fake_langsmith
from thoughtcycle.cli.main import app
from thoughtcycle.evals import langsmith_sets
from thoughtcycle.runtime.tracing import masked_client

pytestmark = pytest.mark.spec("BY-10")


def few(one: langsmith_sets.EvalSet) -> langsmith_sets.EvalSet:
    """Some of its first and last rows: the last pairs are of other kinds."""
    return replace(one, rows=[*one.rows[:3], *one.rows[-3:]])


def test_every_example_has_an_id_of_its_own() -> None:
    every = [example for one in langsmith_sets.sets() for example in one.examples()]
    assert len({example["id"] for example in every}) == len(every) > 1_000
    assert {example["split"] for example in every} == {"tune", "held_out"}


def test_sets_are_uploaded_once_and_run_each_time(monkeypatch: pytest.MonkeyPatch) -> None:
    with fake_langsmith(monkeypatch, LANGSMITH_API_KEY="lsv2_x") as server:
        messages, pairs, *_ = map(few, langsmith_sets.sets())
        first = langsmith_sets.run(masked_client(), messages)
        assert (first.examples, first.uploaded) == (6, 6)
        assert first.scores["kept_recall"] == 1.0
        assert langsmith_sets.upload(masked_client(), messages) == 0
        other = langsmith_sets.run(masked_client(), pairs)
        assert set(other.scores) == {"relation"} and 0.5 <= other.scores["relation"] <= 1.0
        assert set(server.datasets) == {"thoughtcycle-everyday-pt", "thoughtcycle-pairs-pt"}
        assert len(server.sessions) == 2 and b"author_email" not in server.bodies


def test_without_a_key_nothing_is_sent_and_one_line_says_so(monkeypatch: pytest.MonkeyPatch) -> None:
    with fake_langsmith(monkeypatch) as server:
        done = CliRunner().invoke(app, ["eval", "langsmith"])
        assert done.exit_code == 1 and "LANGSMITH_API_KEY" in done.stderr
        assert len(done.stderr.splitlines()) == 1 and server.requests == []


def test_the_command_tells_the_scores_and_a_failure_in_one_line(monkeypatch: pytest.MonkeyPatch) -> None:
    with fake_langsmith(monkeypatch, LANGSMITH_API_KEY="lsv2_x") as server:
        some = [few(one) for one in langsmith_sets.sets()[:1]]
        monkeypatch.setattr(langsmith_sets, "sets", lambda: some)
        done = CliRunner().invoke(app, ["eval", "langsmith", "--set", "thoughtcycle-everyday-pt"])
        assert done.exit_code == 0 and "kept_recall" in done.stdout, done.stderr
        assert CliRunner().invoke(app, ["eval", "langsmith", "--set", "other"]).exit_code == 1
        server.status = 403
        done = CliRunner().invoke(app, ["eval", "langsmith"])
        assert "LANGSMITH_ENDPOINT" in done.stderr, repr(done.exception)
        assert done.exit_code == 1

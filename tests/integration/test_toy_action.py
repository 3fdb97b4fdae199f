"""An action of another package is there by being installed, and changes no file of ours."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

PACKAGE = Path(__file__).parents[1] / "packages" / "toy_action"


@pytest.fixture(scope="module")
def installed(tmp_path_factory: pytest.TempPathFactory) -> dict[str, str]:
    """The environment of a process that has the package installed."""
    target = tmp_path_factory.mktemp("site")
    source = tmp_path_factory.mktemp("source") / "toy_action"
    subprocess.run(["cp", "-r", PACKAGE, source], check=True)
    pip = [sys.executable, "-m", "pip", "install", "--quiet", "--no-deps", "--no-index"]
    subprocess.run([*pip, "--no-build-isolation", "--target", target, source], check=True)
    return os.environ | {"PYTHONPATH": str(target), "THOUGHTCYCLE_LANGUAGE": "en", "OPENAI_API_KEY": ""}


def run(env: dict[str, str], *args: str, stdin: str = "") -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-c", "from thoughtcycle.cli.main import main; main()", *args]
    return subprocess.run(
        command, env=env, input=stdin, capture_output=True, text=True, timeout=300, check=False
    )


@pytest.mark.spec("TC-5", "TC-12")
def test_it_is_listed_drawn_and_used(installed: dict[str, str], tmp_path: Path) -> None:
    assert "CountLetters" in run(installed, "actions").stdout
    drawing = run(installed, "graph").stdout
    assert "CountLetters --> router" in drawing and "router -.-> CountLetters" in drawing.replace(
        "&nbsp;", " "
    )
    db = f"sqlite:///{tmp_path}/m.db"
    question = "How many letters are in the word banana?\n"
    chat = run(installed, "chat", "--db", db, "--user", "ana", "--language", "en", stdin=question)
    assert "The word banana has 6 letters." in chat.stdout
    assert "Counting letters…" in chat.stderr


@pytest.mark.spec("TC-5")
def test_disabled_it_is_hidden(installed: dict[str, str]) -> None:
    off = installed | {"THOUGHTCYCLE_DISABLED_ACTIONS": "countletters"}
    assert "CountLetters" not in run(off, "actions").stdout
    assert "CountLetters" not in run(off, "graph").stdout


@pytest.mark.spec("TC-5")
def test_without_the_package_it_is_not_there(installed: dict[str, str]) -> None:
    assert "CountLetters" not in run({**installed, "PYTHONPATH": ""}, "actions").stdout


@pytest.mark.spec("TC-4", "TC-5")
def test_the_router_prompt_names_it_unless_the_run_disables_it(installed: dict[str, str]) -> None:
    code = """
from thoughtcycle.nodes.actions.registry import discover
from thoughtcycle.nodes.context import Context
for off in ([], ["CountLetters"]):
    print([card.name for card in discover().cards("en", Context(user_id="a", disabled_actions=off))])
"""
    shown = subprocess.run(
        [sys.executable, "-c", code], env=installed, capture_output=True, text=True, timeout=300, check=True
    ).stdout.splitlines()
    assert "CountLetters" in shown[0] and "CountLetters" not in shown[1]

"""An action of another package is there by being installed, and changes no file of ours."""

import json
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


COMMANDS = """
import json, sys
from thoughtcycle.cli.main import main
for sys.argv in json.loads(sys.argv[1]):
    try:
        main()
    except SystemExit as end:
        assert not end.code, sys.argv
    print("END")
"""


def run(env: dict[str, str], *commands: tuple[str, ...], stdin: str = "") -> subprocess.CompletedProcess[str]:
    """Runs these commands one after the other in a process that has the environment."""
    given = json.dumps([["thoughtcycle", *command] for command in commands])
    done = subprocess.run(
        [sys.executable, "-c", COMMANDS, given],
        env=env,
        input=stdin,
        capture_output=True,
        text=True,
        timeout=300,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    return done


@pytest.mark.spec("TC-5", "TC-12")
def test_it_is_listed_drawn_and_used(installed: dict[str, str], tmp_path: Path) -> None:
    question = "How many letters are in the word banana?\n"
    chat = ("chat", "--db", f"sqlite:///{tmp_path}/m.db", "--user", "ana", "--language", "en")
    done = run(installed, ("actions",), ("graph",), chat, stdin=question)
    listed, drawing, answered, _ = done.stdout.split("END\n")
    assert "CountLetters" in listed
    assert "CountLetters --> router" in drawing and "router -.-> CountLetters" in drawing.replace(
        "&nbsp;", " "
    )
    assert "The word banana has 6 letters." in answered
    assert "Counting letters…" in done.stderr


@pytest.mark.spec("TC-5")
def test_disabled_it_is_hidden(installed: dict[str, str]) -> None:
    off = installed | {"THOUGHTCYCLE_DISABLED_ACTIONS": "countletters"}
    done = run(off, ("actions",), ("graph",)).stdout
    assert "CountLetters" not in done and "MemorySave" in done


@pytest.mark.spec("TC-5")
def test_without_the_package_it_is_not_there(installed: dict[str, str]) -> None:
    done = run({**installed, "PYTHONPATH": ""}, ("actions",)).stdout
    assert "CountLetters" not in done and "MemorySave" in done


@pytest.mark.spec("TC-4", "TC-5")
def test_the_router_prompt_names_it_unless_the_run_disables_it(installed: dict[str, str]) -> None:
    code = """
from thoughtcycle.nodes.actions.registry import discover
from thoughtcycle.nodes.base.context import Context
for off in ([], ["CountLetters"]):
    print([card.name for card in discover().cards("en", Context(user_id="a", disabled_actions=off))])
"""
    shown = subprocess.run(
        [sys.executable, "-c", code], env=installed, capture_output=True, text=True, timeout=300, check=True
    ).stdout.splitlines()
    assert "CountLetters" in shown[0] and "CountLetters" not in shown[1]

"""README says what is so: its drawing is the graph's, its files exist."""

import re
from pathlib import Path

import pytest

from thoughtcycle.runtime.drawing import NAMES, Name, drawing

ROOT = Path(__file__).parents[2]
README = (ROOT / "README.md").read_text()
GRAPHS = (ROOT / "docs" / "graphs.md").read_text()


def test_the_drawing_is_the_graphs() -> None:
    assert f"```mermaid\n{drawing()}```" in README, "run `make picture`"


@pytest.mark.parametrize("name", NAMES)
def test_the_drawings_of_all_graphs_are_theirs(name: Name) -> None:
    assert f"`thoughtcycle graph {name}` -->\n```mermaid\n{drawing(name)}```" in GRAPHS, "run `make picture`"


@pytest.mark.parametrize("name", NAMES)
def test_every_step_is_reached(name: Name) -> None:
    steps = set(re.findall(r"^\t(\w+)\(\1\)", drawing(name), re.MULTILINE))
    assert steps and steps <= set(re.findall(r"-> (\w+);", drawing(name)))


def test_every_action_and_its_way_back_is_drawn() -> None:
    for action in ("MemorySearch", "MemorySave", "MemoryUpdate", "MemoryDelete"):
        assert f"router -.-> {action};" in README and f"{action} --> router;" in README
    for action in ("Finish", "Question"):
        assert f"router -.-> {action};" in README and f"{action} --> remember;" in README


def test_what_it_links_to_exists() -> None:
    for target in re.findall(r"\]\((?!https?:)([^)#]+)\)", README):
        assert (ROOT / target).exists(), target


def test_every_make_target_it_names_exists() -> None:
    makefile = (ROOT / "Makefile").read_text()
    for target in set(re.findall(r"\bmake (\w+)", README)) - {"set"}:
        assert re.search(rf"^{target}:", makefile, re.MULTILINE), target

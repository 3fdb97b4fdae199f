"""The house: floors, facades, file length, names."""

import ast
import re
from functools import cache
from importlib import import_module

import pytest

from support.modules import modules

MODULES = modules()
LIMIT = 400
FLOORS = (
    ("prompts",),
    ("errors",),
    ("extras",),
    ("text_clipping",),
    ("memory.model",),
    ("language",),
    ("memory",),
    ("mind",),
    ("nodes",),
    ("checkpoints",),
    ("graph",),
    ("runtime",),
    ("proof",),
    ("evals", "integrations"),
    ("web",),
    ("cli",),
)
"""From the ground up: a folder imports those above it in this list, never those below or beside it."""
MEMORY_FLOORS = [
    "model",
    "text",
    "storage",
    "rules",
    "versioning",
    "redaction",
    "index",
    "core",
    "conversation",
    "search",
    "records",
    "transcript",
    "erasure",
    "chats",
    "files",
    "items",
    "channels",
    "maintenance",
    "transfer",
    "offline",
    "memory",
    "briefing",
]
"""The packages of `memory/` from the ground up; a briefing reads through the whole `Memory`."""
FACADES = ("memory", "language")
"""Packages of these folders are entered by their `__init__` only."""
FORMER_NAMES = re.compile(
    r"^(sheets?|annex|estate|stones|blot|trace|settled|standing|facets|desk|reaching|calm|heap|beside"
    r"|listening|gate|origins|observing|own|one_?thread|in_?epoch|seat|once|likeness|matching|idle|marks"
    r"|ageing|volume|gardening|seeking|masking|masks|blotting|buried|shelf|recipes|spaces|engine|live|sift|observe)$",
    re.IGNORECASE,
)
RENAMED_LATER = {"redaction", "erasure"}
"""Packages of `memory/` whose former names are still in use."""
ENTERED_BY_CONFIGURATION = "thoughtcycle.graph.app"
"""Named by langgraph.json: the one module of `graph/` that may look up into `runtime`."""


@cache
def tree(name: str) -> ast.Module:
    return ast.parse(MODULES[name].read_text())


def imported(name: str) -> list[str]:
    """The modules of the product that `name` imports, a submodule imported from its package included."""
    found = []
    for node in ast.walk(tree(name)):
        if isinstance(node, ast.Import):
            found += [alias.name for alias in node.names]
        elif isinstance(node, ast.ImportFrom):
            assert node.level == 0, f"relative import in {name}"
            base = node.module or ""
            subs = [f"{base}.{alias.name}" for alias in node.names]
            found += [sub if sub in MODULES or f"{sub}.__init__" in MODULES else base for sub in subs]
    return [one for one in found if one.startswith("thoughtcycle")]


def _top(name: str) -> str:
    parts = name.split(".")
    return "memory.model" if parts[1:3] == ["memory", "model"] else parts[1]


def _floor(name: str) -> int:
    return next(level for level, tops in enumerate(FLOORS) if _top(name) in tops)


@pytest.mark.parametrize("name", [name for name in MODULES if name != "thoughtcycle.__init__"])
def test_imports_only_point_down(name: str) -> None:
    for target in imported(name):
        if target == "thoughtcycle" or _top(target) == _top(name):
            continue
        if name == ENTERED_BY_CONFIGURATION and _top(target) == "runtime":
            continue
        assert _floor(target) < _floor(name), f"{name} imports {target}"


@pytest.mark.parametrize("name", [name for name in MODULES if name.startswith("thoughtcycle.mind.")])
def test_mind_and_memory_share_the_model_only(name: str) -> None:
    for target in imported(name):
        if target.startswith("thoughtcycle.memory"):
            assert _top(target) == "memory.model", f"{name} imports {target}"


@pytest.mark.parametrize("name", [name for name in MODULES if name.startswith("thoughtcycle.memory.")])
def test_packages_of_memory_import_only_earlier_ones(name: str) -> None:
    parts = name.split(".")
    if len(parts) < 4:
        return  # the facade and what stands beside the packages
    for target in imported(name):
        if not target.startswith("thoughtcycle.memory"):
            continue
        package = (*target.split("."), "", "")[2]
        assert package in MEMORY_FLOORS, f"{name} imports {target}"
        assert MEMORY_FLOORS.index(package) <= MEMORY_FLOORS.index(parts[2]), f"{name} imports {target}"


@pytest.mark.parametrize("name", list(MODULES))
def test_packages_are_entered_by_their_facade(name: str) -> None:
    own = name.split(".")[1:3]
    for target in imported(name):
        parts = target.split(".")
        if len(parts) > 3 and parts[1] in FACADES and parts[1:3] != own:
            facade = ".".join(parts[:3])
            assert parts[3] in import_module(facade).__all__, f"{name} imports {target}, not {facade}"


@pytest.mark.parametrize("name", list(MODULES))
def test_no_file_is_longer_than_a_story(name: str) -> None:
    assert len(MODULES[name].read_text().splitlines()) <= LIMIT


@pytest.mark.parametrize("name", list(MODULES))
def test_no_former_name_comes_back(name: str) -> None:
    if name.removeprefix("thoughtcycle.memory.").split(".")[0] in RENAMED_LATER:
        return
    classes = [node.name for node in ast.walk(tree(name)) if isinstance(node, ast.ClassDef)]
    for one in (*name.split(".")[1:], *classes):
        assert not FORMER_NAMES.match(one.strip("_")), f"{one} in {name}"


def test_memory_imports_neither_langgraph_nor_a_model() -> None:
    for name in MODULES:
        if not name.startswith("thoughtcycle.memory."):
            continue
        for node in ast.walk(tree(name)):
            found = [node.module or ""] if isinstance(node, ast.ImportFrom) else []
            found += [alias.name for alias in node.names] if isinstance(node, ast.Import) else []
            assert not [one for one in found if one.startswith(("langgraph", "langchain"))], name


def test_one_file_tunes_the_process() -> None:
    """An app that embeds the package keeps its garbage collector, threads and event loop."""
    touching = re.compile(r"^\s*(?:import|from) (?:gc|uvloop)\b|setswitchinterval|malloc_trim", re.MULTILINE)
    found = [name for name, path in MODULES.items() if touching.search(path.read_text())]
    assert found == ["thoughtcycle.web.server.tuning"]

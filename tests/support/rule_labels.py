"""The labels in which messages of the language rules are judged: those of `thoughtcycle/evals/rules.py`."""

import sys
import tomllib
from importlib.util import module_from_spec, spec_from_file_location
from pathlib import Path
from types import ModuleType

ROOT = Path(__file__).parents[2]


def evaluation() -> ModuleType:
    """The module `thoughtcycle/evals/rules.py`, which is not installed."""
    found = spec_from_file_location("evals_rules", ROOT / "thoughtcycle" / "evals" / "rules.py")
    assert found and found.loader
    module = module_from_spec(found)
    sys.modules["evals_rules"] = module
    found.loader.exec_module(module)
    return module


def messages(language: str) -> list[tuple[str, frozenset[str]]]:
    """The labelled messages of the tests in one language."""
    path = Path(__file__).parent / "language" / f"{language}.toml"
    data = tomllib.loads(path.read_text(encoding="utf-8"))
    return [(message, frozenset(wanted.split())) for message, wanted in data["messages"]]

"""The public names of docs/api.md exist and explain themselves."""

import re
from importlib import import_module
from inspect import getdoc, isfunction
from pathlib import Path

import pytest

NAMES = re.findall(
    r"^\| `([\w.]+)` \|", (Path(__file__).parents[2] / "docs" / "api.md").read_text(), re.MULTILINE
)


@pytest.mark.parametrize("name", NAMES)
def test_a_public_name_exists_and_is_documented(name: str) -> None:
    module, _, attribute = name.rpartition(".")
    public = getattr(import_module(module), attribute)
    assert getdoc(public)
    for member, value in vars(public).items() if isinstance(public, type) else ():
        if isfunction(value) and not member.startswith("_") and value.__name__ != "<lambda>":
            assert getdoc(getattr(public, member)), member

"""Every code of an error has its text and one type, and what code tells apart is a type."""

import ast
from collections import defaultdict
from collections.abc import Iterator
from functools import cache
from pathlib import Path
from typing import get_args

import pytest

from support.modules import modules
from thoughtcycle import errors
from thoughtcycle.errors import Code
from thoughtcycle.prompts.loader import LANGUAGES, Language, texts

CODES: frozenset[str] = frozenset(get_args(Code))
WITHOUT_ERROR = {"internal", "worker_lost", "http.400", "http.404", "http.405", "http.413"}
"""Texts of what no exception of ours carries: answers of the web framework, jobs whose worker is gone."""
TYPES = {name for name, value in vars(errors).items() if isinstance(value, type)} - {"FieldRefused"}
"""FieldRefused is the InputRefused of what pydantic refused, in other words."""


@cache
def trees() -> dict[Path, ast.Module]:
    """Every module of the product."""
    return {path.resolve(): ast.parse(path.read_text()) for path in modules().values()}


@pytest.mark.parametrize("language", LANGUAGES)
def test_every_code_has_its_text_and_every_text_its_code(language: Language) -> None:
    assert texts(language, "errors").sections.keys() == CODES | WITHOUT_ERROR


def test_a_code_is_raised_by_one_type_only() -> None:
    raised = defaultdict[str, set[str]](set)
    for tree in trees().values():
        for error, code in made(tree):
            raised[code].add(error)
    assert len(raised) > 100
    assert {code: types for code, types in raised.items() if len(types) > 1} == {}


def test_every_code_is_in_use() -> None:
    here = Path(errors.__file__).resolve()
    used = {code for path, tree in trees().items() if path != here for code in constants(tree)}
    fixed = {code for _, code in made(trees()[here])}
    assert CODES - used - fixed == set()


def test_nothing_branches_on_the_code_of_an_error() -> None:
    found = [f"{path}:{node.lineno}" for path, tree in trees().items() for node in told_apart(tree)]
    assert found == []


def made(tree: ast.AST) -> Iterator[tuple[str, str]]:
    """Each type of errors that is made in a module, and the code that it is given."""
    for node in ast.walk(tree):
        if isinstance(node, ast.ClassDef) and node.name in TYPES:
            inner = (call for call in ast.walk(node) if isinstance(call, ast.Call))
            fixed = (call for call in inner if ast.unparse(call.func) == "super().__init__" and call.args)
            yield from ((node.name, code) for call in fixed for code in constants(call.args[0]))
        elif isinstance(node, ast.Call) and node.args:
            error, *given = node.args if ast.unparse(node.func) == "partial" else (node.func, *node.args)
            if isinstance(error, ast.Name) and error.id in TYPES:
                yield from ((error.id, code) for one in given[:1] for code in constants(one))


def constants(tree: ast.AST) -> set[str]:
    """The codes that are named in `tree`."""
    named = (node.value for node in ast.walk(tree) if isinstance(node, ast.Constant))
    return {value for value in named if isinstance(value, str)} & CODES


def told_apart(tree: ast.AST) -> Iterator[ast.expr]:
    """Comparisons with the code of a caught error, or with one of our codes, and look-ups of it in a table."""
    caught = {node.name for node in ast.walk(tree) if isinstance(node, ast.ExceptHandler)}
    for node in ast.walk(tree):
        parts: list[ast.expr] = []
        if isinstance(node, ast.Compare):
            parts = [node.left, *node.comparators]
        elif isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute) and node.func.attr == "get":
            parts = node.args
        elif isinstance(node, ast.Subscript):
            parts = [node.slice]
        for part in parts:
            whose = part.value if isinstance(part, ast.Attribute) and part.attr == "code" else None
            if isinstance(whose, ast.Name) and (whose.id in caught or any(map(constants, parts))):
                yield part

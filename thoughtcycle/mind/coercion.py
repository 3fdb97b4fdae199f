"""Fits the values of an answer to a schema: coerces what leaves no doubt, leaves out what does not fit."""

import json
import re
from types import UnionType
from typing import Annotated, Any, Union, get_args, get_origin

from pydantic import BaseModel, TypeAdapter, ValidationError

from thoughtcycle.memory.model import without_null
from thoughtcycle.mind.json_reader import NoJson, read_values

_BULLET = re.compile(r"^(?:[-*•]|\d+[.)])\s+")
_NOTHING = ("null", "none")
_ARGUMENTS = ("arguments", "parameters", "args", "input")
_LEVELS = 4
"""Wrappers around an answer that are taken off."""
_WORDS = 8
"""Most words of a text that is an item of a list without being written as one."""


class UnusableAnswer(Exception):
    """The answer does not fit the schema; the text says why, for the model."""


def value_of(text: str) -> tuple[Any, bool]:
    """The value of `text`, and whether it is cut off; several values as a list, text without JSON as text."""
    if text.startswith('"') and (inner := _plain(text)) != text:
        again = isinstance(inner, str) and inner.startswith(("[", "{"))
        return value_of(inner) if again else (inner, False)
    try:
        values, cut = read_values(text)
    except NoJson as problem:
        if "[" in text or "{" in text:
            raise UnusableAnswer(str(problem)) from None
        return _plain(text), False
    if len(values) == 1:
        return values[0], cut
    return [item for value in values for item in (value if isinstance(value, list) else [value])], cut


def _plain(text: str) -> Any:
    if text.casefold() in _NOTHING:
        return None
    try:
        return without_null(json.loads(text))
    except ValueError:
        return without_null(text)


def fit(value: Any, schema: Any, reasons: list[str]) -> Any:
    """`value` as `schema` wants it; `reasons` takes those for which items of a list are left out.

    Raises UnusableAnswer.
    """
    origin = get_origin(schema)
    if origin in (Union, UnionType):
        return _fitted_to_one(value, get_args(schema), reasons)
    if origin is list:
        return _fitted_items(value, get_args(schema)[0], reasons)
    problem: UnusableAnswer | None = None
    for candidate in _unwrapped(value):
        try:
            return TypeAdapter(schema).validate_python(candidate)
        except ValidationError as error:
            problem = problem or UnusableAnswer(_describe(error))
    raise problem or UnusableAnswer("the answer is empty")


def _fitted_to_one(value: Any, schemas: tuple[Any, ...], reasons: list[str]) -> Any:
    """`value` by the first schema that takes it; an object is no list where a schema of objects fits."""
    problem: UnusableAnswer | None = None
    for schema in sorted(schemas, key=wants_list):
        noted: list[str] = []
        try:
            found = fit(value, schema, noted)
        except UnusableAnswer as error:
            problem = error
        else:
            reasons += noted
            return found
    raise problem or UnusableAnswer("the answer is empty")


def _fitted_items(value: Any, schema: Any, reasons: list[str]) -> list[Any]:
    adapter = TypeAdapter(schema)
    items, found, problems = _items(value, adapter, _fields(schema)), list[Any](), list[str]()
    for number, item in enumerate(items):
        try:
            found.append(adapter.validate_python(item))
        except ValidationError as error:
            problems.append(_describe(error, str(number)))
    if problems and not found:
        raise UnusableAnswer("; ".join(problems[:5]))
    reasons += problems
    return found


def _items(value: Any, item: TypeAdapter[Any], fields: frozenset[str]) -> list[Any]:
    """The items of a list that is wrapped, nested, written as text, or one item alone."""
    for _ in range(_LEVELS):
        if value is None or value == {}:
            return []
        if isinstance(value, list):
            return [inner for each in value for inner in (each if isinstance(each, list) else [each])]
        if isinstance(value, str):
            return _written(value, item, fields)
        if not isinstance(value, dict) or fields & value.keys() or _fits(value, item):
            break
        inner = _inside(value)
        if inner is None:
            break
        value = inner
    return [value]


def _written(text: str, item: TypeAdapter[Any], fields: frozenset[str]) -> list[Any]:
    """The items of a text: JSON in a string, else short texts on lines or between commas."""
    if text.lstrip().startswith(("[", "{")):
        return _items(value_of(text)[0], item, fields)
    lines = [_BULLET.sub("", line.strip()).strip(" \"'`,;.") for line in text.splitlines() if line.strip()]
    if len(lines) == 1:
        lines = [part.strip(" \"'`.") for part in re.split(r"[,;]", lines[0]) if part.strip()]
    if fields or any(len(line.split()) > _WORDS for line in lines):
        raise UnusableAnswer("the answer holds no JSON")
    return [*lines]


def _fits(value: Any, item: TypeAdapter[Any]) -> bool:
    try:
        item.validate_python(value)
    except ValidationError:
        return False
    return True


def _inside(value: dict[str, Any]) -> Any:
    """The answer inside a wrapper: a call's arguments, else the one list or object; None when in doubt."""
    if "name" in value or "function" in value:
        for name in _ARGUMENTS:
            if name in value:
                return value[name]
    inner = [each for each in value.values() if isinstance(each, list | dict)]
    return inner[0] if len(inner) == 1 else None


def _unwrapped(value: Any) -> list[Any]:
    """`value`, and what stands inside of it: an object alone in a list, or in a wrapper."""
    found = [value]
    for _ in range(_LEVELS):
        if isinstance(value, list) and len(value) == 1:
            value = value[0]
        elif isinstance(value, str) and value.lstrip().startswith("{"):
            value = value_of(value)[0]
        elif isinstance(value, dict):
            value = _inside(value)
        if value is None or value == found[-1]:
            break
        found.append(value)
    return found


def wants_list(schema: Any) -> bool:
    """Whether a schema is that of a list."""
    return get_origin(schema) is list


def _fields(schema: Any) -> frozenset[str]:
    """The names of an object's fields; none for a schema that is no object."""
    inner = get_args(schema)[0] if get_origin(schema) is Annotated else schema
    if not (isinstance(inner, type) and issubclass(inner, BaseModel)):
        return frozenset()
    aliases = {str(field.validation_alias) for field in inner.model_fields.values() if field.validation_alias}
    return frozenset({*inner.model_fields, *aliases})


def _describe(error: ValidationError, where: str = "") -> str:
    problems = error.errors(include_url=False, include_input=False, include_context=False)[:5]
    places = [(".".join(filter(None, (where, *map(str, each["loc"])))) or "answer") for each in problems]
    return "; ".join(f"{place}: {each['msg']}" for place, each in zip(places, problems, strict=True))

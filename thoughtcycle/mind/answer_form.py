"""The JSON schema of an answer: for tools, and for servers that keep an answer to one."""

from collections.abc import Mapping
from functools import cache
from typing import Any

from langchain_core.utils.json_schema import dereference_refs
from pydantic import TypeAdapter

from thoughtcycle.mind.base import Question

ITEMS = "items"
"""The one property of a form around a list; the reader takes such wrappers off."""


@cache
def json_schema(schema: Any) -> Mapping[str, Any]:
    """The JSON schema of a type, without references: not every server follows them."""
    whole = dereference_refs(TypeAdapter(schema).json_schema())
    return {name: value for name, value in whole.items() if name not in ("$defs", "title")}


def response_format(question: Question[Any]) -> Mapping[str, Any] | None:
    """The `response_format` that asks for the form of the question; None for text and for open forms.

    In OpenAI's strict subset: an object, every property required, nothing besides.
    """
    schema: Any = question.schema
    form = question.form if question.form is not None else _form(schema)
    if form is None:
        return None
    return {"type": "json_schema", "json_schema": {"name": "answer", "strict": True, "schema": form}}


@cache
def _form(schema: Any) -> Mapping[str, Any] | None:
    if schema is str:
        return None
    whole = json_schema(schema)
    arms = [whole, *whole.get("anyOf", ())]
    chosen = next((arm for arm in arms if arm.get("type") == "object"), None)
    listed = next((arm for arm in arms if arm.get("type") == "array"), None)
    if chosen is None and listed is not None:
        chosen = {"type": "object", "properties": {ITEMS: listed}}
    return _strict(chosen) if chosen is not None else None


def _strict(node: Mapping[str, Any]) -> dict[str, Any] | None:
    """`node` in the strict subset, a value of any type as text; None where it has items of any type."""
    if "anyOf" in node:
        arms = [_strict(arm) for arm in node["anyOf"]]
        return None if None in arms else {"anyOf": arms}
    if "enum" in node:
        texts = {"type": "string", "enum": [value for value in node["enum"] if value is not None]}
        return texts if None not in node["enum"] else {"anyOf": [texts, {"type": "null"}]}
    if node.get("type") == "array":
        items = _strict(node["items"]) if node.get("items") else None
        return None if items is None else {"type": "array", "items": items}
    if node.get("type") == "object":
        inner = {name: _strict(value) for name, value in node.get("properties", {}).items()}
        if not inner or None in inner.values():
            return None
        return {"type": "object", "properties": inner, "required": [*inner], "additionalProperties": False}
    return {"type": node.get("type", "string")}

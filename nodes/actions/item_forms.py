"""Reads the parts of a model's items in the forms that leave no doubt (pure)."""

import json
import re
from collections.abc import Mapping
from typing import Any

LONGEST_BINDING, MOST_BINDINGS = 200, 12
TYPE = r"^[\w.+/-]{1,40}$"
_CONTENTS = ("text", "fact", "memory", "value", "texto", "fato", "conteúdo", "conteudo", "memória", "memoria")
_IDS = ("_id", "id", "memory_id", "memoryId")
_SPLIT = re.compile(r"\s*[,;\n]\s*")


def item_in(value: Any) -> Any:
    """An item to keep: a text alone is its content, which may also stand under another name."""
    if isinstance(value, str):
        return {"content": value}
    if not isinstance(value, Mapping) or "content" in value:
        return _decoded(value)
    named = next((value[name] for name in _CONTENTS if isinstance(value.get(name), str)), None)
    return value if named is None else {**value, "content": named}


def change_in(value: Any) -> Any:
    """A change of a memory, whose id may stand under another name."""
    if not isinstance(value, Mapping) or "_id" in value:
        return item_in(value) if isinstance(value, Mapping) else value
    named = next((value[name] for name in _IDS if name in value), None)
    return item_in(value if named is None else {**value, "_id": named})


def _decoded(value: Any) -> Any:
    """JSON that stands in a string as content is the content."""
    if not isinstance(value, Mapping) or value.get("type") != "json" or not isinstance(value["content"], str):
        return value
    try:
        content = json.loads(value["content"])
    except ValueError:
        return value
    return {**value, "content": content} if isinstance(content, dict | list) else value


def type_in(value: Any) -> Any:
    """The name of a type; `text` for what is no name ("personal fact")."""
    name = value.strip() if isinstance(value, str) else ""
    return name if re.match(TYPE, name) else "text"


def bindings_in(value: Any) -> Any:
    """The usable bindings: texts of a list, or parts of one text."""
    if isinstance(value, str):
        value = _SPLIT.split(value)
    if not isinstance(value, list):
        return []
    texts = [each.strip() for each in value if isinstance(each, str)]
    return [text for text in texts if 0 < len(text) <= LONGEST_BINDING][:MOST_BINDINGS]


def id_in(value: Any) -> Any:
    """The id of a memory: bare, in the brackets of the prompt, or in an object."""
    if isinstance(value, Mapping):
        alone = next(iter(value.values())) if len(value) == 1 else value
        value = next((value[name] for name in _IDS if name in value), alone)
    return value.strip(" []\"'`") if isinstance(value, str) else value


def ids_in(value: Any) -> Any:
    """The ids of one memory or of several."""
    return _SPLIT.split(value.strip()) if isinstance(value, str) else value


def context_in(value: Any) -> Any:
    """A search context, which may stand alone in an object."""
    if not isinstance(value, Mapping):
        return value
    texts = [each for name, each in value.items() if isinstance(each, str) and name not in ("type", "name")]
    return texts[0] if len(texts) == 1 else value

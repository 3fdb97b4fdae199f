"""The forms in which sloppy models give an answer: a list of items, or the name of an action."""

import json
from collections.abc import Callable, Mapping
from typing import Any

from support.fake_openai import Behaviour, Reply, ToolCall

Items = list[Any]
Shape = Callable[[Items], Behaviour]


def plain(items: Items) -> str:
    return json.dumps(items, ensure_ascii=False)


def _called(given: Any) -> Reply:
    """A call that nobody offered: the content is null."""
    return Reply(calls=(ToolCall("Memory", given),), finish="tool_calls")


def _bare_keys(items: Items) -> str:
    text = plain(items)
    for key in ("type", "content", "bindings", "_id"):
        text = text.replace(f'"{key}":', f"{key}:")
    return text


LISTS: Mapping[str, Shape] = {
    "as asked": plain,
    "one object": lambda items: plain(items[0]),
    "memories": lambda items: plain({"memories": items}),
    "contexts": lambda items: plain({"contexts": items}),
    "items": lambda items: plain({"items": items}),
    "nested wrappers": lambda items: plain({"result": {"status": "ok", "data": items}}),
    "one in a wrapper": lambda items: plain({"answer": items[0]}),
    "nested list": lambda items: plain([items]),
    "fence": lambda items: f"```json\n{plain(items)}\n```",
    "fence without a name": lambda items: f"```\n{plain(items)}\n```",
    "words before": lambda items: f"Claro! Aqui está:\n{plain(items)}",
    "words around": lambda items: f"Sure, here you go: {plain(items)}\n\nI hope that helps!",
    "fence and words": lambda items: (
        f"Vi [isto].\n```json\n{plain(items)}\n```\nPosso ajudar (em algo) mais?"
    ),
    "thoughts": lambda items: f'<think>["isto não"] ou {{"a": 1}}?</think>\n{plain(items)}',
    "thoughts of a template": lambda items: f"so be it</think>{plain(items)}",
    "comma at the end": lambda items: f"{plain(items)[:-1]},]",
    "single quotes": repr,
    "Python's literals": lambda items: (
        repr([{**each, "x": True, "y": None} for each in items])
        if isinstance(items[0], dict)
        else repr(items)
    ),
    "tuple": lambda items: repr(tuple(items)).replace(",)", ", )"),
    "bare keys": _bare_keys,
    "curly quotes": lambda items: plain(items).replace('"', "”"),
    "on lines": lambda items: "\n".join(map(plain, items)),
    "lists on lines": lambda items: "\n".join(plain([each]) for each in items),
    "twice encoded": lambda items: json.dumps(plain(items)),
    "a bad item": lambda items: plain([*items, {"nada": 1}]),
    "null and numbers": lambda items: plain([None, *items, 7]),
    "pretty": lambda items: json.dumps(items, indent=4, ensure_ascii=False),
    "escaped": lambda items: json.dumps(items, ensure_ascii=True),
    "BOM and CRLF": lambda items: (
        "\ufeff" + json.dumps(items, indent=1, ensure_ascii=False).replace("\n", "\r\n")
    ),
    "a label": lambda items: f"JSON:\n{plain(items)}",
    "cut behind an item": lambda items: f"{plain(items)[:-1]}, ",
    "called": lambda items: _called({"items": items}),
    "called with one": lambda items: _called(
        items[0] if isinstance(items[0], dict) else {"context": items[0]}
    ),
    "called in text": lambda items: (
        f"<tool_call>{json.dumps({'name': 'Memory', 'arguments': {'items': items}})}</tool_call>"
    ),
    "called with text": lambda items: plain({"name": "Memory", "arguments": plain(items)}),
    "a function": lambda items: plain({"function": "Memory", "parameters": {"items": items}}),
}
"""Forms of a list that leave no doubt."""

KEPT: Mapping[str, Shape] = {
    "texts": lambda items: plain([each["content"] for each in items]),
    "bindings as text": lambda items: plain([{**each, "bindings": "saúde, comida"} for each in items]),
    "fato pessoal": lambda items: plain([{**each, "type": "fato pessoal"} for each in items]),
    "personal fact": lambda items: plain([{**each, "type": "personal fact"} for each in items]),
    "no type": lambda items: plain([{"content": each["content"]} for each in items]),
    "another name": lambda items: plain([{"fact": each["content"], "bindings": []} for each in items]),
    "one of several bad": lambda items: plain([*items, {"content": None}, {"bindings": ["x"]}, "", []]),
}
CHANGED: Mapping[str, Shape] = {
    "id": lambda items: plain([{"id": each["_id"], "content": each["content"]} for each in items]),
    "memory_id": lambda items: plain([{"memory_id": each["_id"], "text": each["content"]} for each in items]),
    "bindings as text": lambda items: plain([{**each, "bindings": "a, b"} for each in items]),
    "one without content": lambda items: plain([*items, {"_id": "x"}]),
}
GONE: Mapping[str, Shape] = {
    "bare id": lambda items: items[0],
    "quoted id": lambda items: f'"{items[0]}"',
    "id in brackets": lambda items: f"[{items[0]}]",
    "ids as objects": lambda items: plain([{"_id": each} for each in items]),
    "ids with content": lambda items: plain([{"_id": each, "content": "…"} for each in items]),
    "ids": lambda items: plain({"ids": items}),
    "ids and final": lambda items: plain({"ids": items, "final": False}),
    "one id in ids": lambda items: plain({"ids": items[0]}),
    "on lines with marks": lambda items: "\n".join(f"- {each}" for each in items),
}
SOUGHT: Mapping[str, Shape] = {
    "bare word": lambda items: items[0],
    "bare word with a stop": lambda items: f"{items[0]}.",
    "lines with marks": lambda items: "\n".join(f"- {each}" for each in items),
    "numbered": lambda items: "\n".join(f"{number}. {each}" for number, each in enumerate(items, 1)),
    "between commas": lambda items: ", ".join([*items, "trabalho"]),
    "objects": lambda items: plain([{"context": each} for each in items]),
    "query": lambda items: plain({"query": items[0]}),
    "bare words in a list": lambda items: f"[{', '.join(items)}]",
}

UNREADABLE: Mapping[str, Behaviour] = {
    "nothing": "",
    "half": '[{"type": "text", "content": "É al',
    "a brace": "{",
    "no commas": '[{"type": "text" "content": "x"}]',
    "quotes inside": '[{"content": "ele disse "oi" ontem"}]',
    "a promise": "Pode deixar, eu faço isso para você agora mesmo e com muito prazer, como sempre!",
    "a web page": "<html><body>Service {unavailable} [502]</body></html>",
    "deep": "[" * 2_000,
    "another object": '{"temperature": {"value": 20}, "wind": {"value": 3}}',
    "only thoughts": "<think>hmm</think>",
}
"""Answers that nothing can be read from, however often they are given."""

NAMES: Mapping[str, Callable[[str], Behaviour]] = {
    "as asked": lambda name: name,
    "lower case": str.lower,
    "snake case": lambda name: "memory_save",
    "quoted": lambda name: f'"{name}".',
    "bold": lambda name: f"**{name}**",
    "fence": lambda name: f"```\n{name}\n```",
    "Salvar memória": lambda name: "Salvar memória",
    "save": lambda name: "save",
    "guardar": lambda name: "Guardar.",
    "or": lambda name: f"{name} or MemorySearch",
    "not Finish": lambda name: f"{name}, not Finish",
    "not Finish but": lambda name: f"Not Finish but {name}",
    "ou": lambda name: f"{name} ou Finish",
    "label": lambda name: f"Ação: {name}",
    "sentence": lambda name: f"A próxima ação é {name}.",
    "reasons": lambda name: (
        f"A pessoa contou um fato novo sobre si mesma, então a ação é {name}, e depois Finish."
    ),
    "last line": lambda name: f"Nothing is missing, MemorySearch would not help.\n\n{name}",
    "thoughts": lambda name: f"<think>Finish?</think>{name}",
    "action": lambda name: plain([{"action": name}])[1:-1],
    "list": lambda name: plain([name]),
    "with input": lambda name: f'{name}([{{"content": "x"}}])',
    "called": lambda name: Reply(calls=(ToolCall(name, {"memories": ["x"]}),), finish="tool_calls"),
    "called badly": lambda name: Reply(calls=(ToolCall(name, '{"memories": ['),), finish="tool_calls"),
}
"""Forms of a decision that name one action, or one first."""

NAMELESS: Mapping[str, Behaviour] = {
    "chatter": "Claro, anotado! Vou me lembrar disso da próxima vez que conversarmos.",
    "nothing": "",
    "unknown": "Dance!",
    "a doubt": "Não sei o que fazer agora, pode me ajudar a escolher?",
    "a brace": "{",
    "no action": '{"action": "dance"}',
    "a question": "Que boa pergunta! Quer que eu guarde isso?",
}
"""Answers that name no action: the rules decide."""

SPEECHLESS: Mapping[str, Behaviour] = {
    "nothing": "",
    "blanks": " \n ",
    "only thoughts": "<think>Pedro.</think>",
    "a call": Reply(calls=(ToolCall("Finish", {}),), finish="tool_calls"),
}
"""Replies without a word."""

"""Reads the JSON values of a model's text, also in spellings that leave no doubt.

`ast` and `json` do it: a library that repairs anything (json-repair) guesses where nothing can be known. It
completes halves, keeps the last of several values, and joins what a quote has cut, without a word about it.
"""

import ast
import io
import json
import re
import tokenize
import warnings
from itertools import pairwise
from typing import Any

from pydantic_core import from_json

from thoughtcycle.memory.model import without_null

_START, _END, _BRACKET = re.compile(r"[\[{]"), re.compile(r"[\]}]"), re.compile(r"[\[{\]}]")
_FENCED = re.compile(r"```[\w-]*[ \t]*\n(.*?)\n?[ \t]*```", re.DOTALL)
_WORDS = re.compile(r"\[([^\[\]{}\"'“”:]+)\]")
"""A list of bare words that is the whole answer."""
_QUOTES = str.maketrans("“”„‘’", '"""\'\'')
_NAMES = {"true": True, "false": False, "null": None}
_STARTS, _ENDS = 40, 8
"""Places of one text at which a value may start, and for each may end, that are tried."""
LONGEST_LOOSE = 20_000
"""Most characters of a value in another spelling than JSON's."""


class NoJson(ValueError):
    """The text holds no readable value; the message says why, for the model."""


def read_values(text: str) -> tuple[list[Any], bool]:
    """The values of `text` in order, whatever stands around them, and whether it ends inside the last one.

    Besides JSON: single quotes, Python's literals, bare keys, a comma at the end. A fenced block counts, not
    the text around it. Of a value that is cut off, the whole parts. Raises NoJson.
    """
    fenced = [block for block in _FENCED.findall(text) if _START.search(block)]
    try:
        values, cut = _values("\n".join(fenced) or text)
        return [without_null(value) for value in values], cut
    except (RecursionError, MemoryError):
        raise NoJson("the JSON is nested too deeply") from None


def _values(text: str) -> tuple[list[Any], bool]:
    decoder, values = json.JSONDecoder(strict=False), list[Any]()
    at, problem = 0, "the answer holds no JSON"
    for _ in range(_STARTS):
        start = _START.search(text, at)
        if start is None:
            break
        begin = start.start()
        try:
            value, at = decoder.raw_decode(text, begin)
            values.append(value)
            continue
        except json.JSONDecodeError as error:
            problem = f"not valid JSON: {error.msg} at character {error.pos}"
        except ValueError:
            raise NoJson("a number has too many digits") from None
        if found := _loose(text, begin):
            value, at = found
            values.append(value)
        elif (begun := _begun(text[begin:])) is not None:
            return [*values, begun], True
        else:
            at = _past(text, begin)
    if not values:
        raise NoJson(problem)
    return values, False


def _past(text: str, begin: int) -> int:
    """The place behind the bracket that closes the one at `begin`: nothing inside is an answer of its own."""
    depth = 0
    for bracket in _BRACKET.finditer(text, begin):
        depth += 1 if bracket[0] in "[{" else -1
        if depth == 0:
            return bracket.end()
    return len(text)


def _begun(text: str) -> Any:
    """The whole parts of a JSON value in the middle of which the text ends; None for any other text."""
    try:
        return from_json(text)
    except ValueError as error:
        return from_json(text, allow_partial=True) if str(error).startswith("EOF") else None


def _loose(text: str, begin: int) -> tuple[Any, int] | None:
    """The value at `begin` as Python reads it, and its end."""
    part = text[begin : begin + LONGEST_LOOSE]
    ends = [found.end() for found in _END.finditer(part)]
    for end in reversed(ends[-_ENDS:]):
        try:
            return _python(part[:end]), begin + end
        except (SyntaxError, ValueError, tokenize.TokenError):
            continue
    if words := _WORDS.fullmatch(text.strip()):
        return [word.strip() for word in words[1].split(",") if word.strip()], len(text)
    return None


def _python(text: str) -> Any:
    """The value of a Python expression of literals.

    Raises ValueError for anything else, and for two strings side by side, which Python joins.
    """
    if '"' not in text:
        text = text.translate(_QUOTES)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # about escapes that only JSON knows
        tree = ast.parse(text, mode="eval").body
    kinds = [token.type for token in tokenize.generate_tokens(io.StringIO(text).readline)]
    if any(kind == after == tokenize.STRING for kind, after in pairwise(kinds)):
        raise ValueError("two strings side by side")
    return _literal(tree)


def _literal(node: ast.expr) -> Any:
    match node:
        case ast.List(elts=items) | ast.Tuple(elts=items) | ast.Set(elts=items):
            return [_literal(item) for item in items]
        case ast.Dict(keys=keys, values=values):
            pairs = zip(keys, values, strict=True)
            return {_key(key): _literal(value) for key, value in pairs if key is not None}
        case ast.Constant(value=str() as said):
            return said.encode("utf-16", "surrogatepass").decode("utf-16", "replace")
        case ast.Constant(value=bool() | int() | float() | None as plain):
            return plain
        case ast.UnaryOp(op=ast.USub(), operand=ast.Constant(value=int() | float() as number)):
            return -number
        case ast.Name(id=name) if name in _NAMES:
            return _NAMES[name]
    raise ValueError("no literal")


def _key(node: ast.expr) -> str:
    return node.id if isinstance(node, ast.Name) else str(_literal(node))

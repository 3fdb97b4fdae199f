"""Finds the code in a text, verbatim: fenced blocks, and runs of lines that are code (SM-4, pure)."""

import re
from collections.abc import Iterator

SHORTEST = 2
"""Lines in a row that look like code, where no fence says so."""

_FENCED = re.compile(r"^ {0,3}(`{3,}|~{3,})[^\n`]*\n(.*?)(?:^ {0,3}\1|\Z)", re.DOTALL | re.MULTILINE)
_LINE = re.compile(
    r"^\s*(?:(?:async )?def \w+ ?\(|class \w+[:(]|from [\w.]+ import |import [\w.{*]|#include|return\b"
    r"|(?:export |public |private |static |async )*(?:function|const|let|var|void|func|fn)\b.{1,200}[({=;]"
    r"|(?:if|for|while|elif|else if|switch|catch|except|try|else)\b.{0,200}[:{]\s*$|[})\]]+[;,)]*\s*$"
    r"|(?:SELECT|INSERT INTO|UPDATE|DELETE FROM|CREATE TABLE|ALTER TABLE|WHERE|JOIN)\s"
    r"|[\w.\[\]\"']{1,80} ?[-+*/]?= ?\S"
    r"|[\w.]{1,80}\([^()\n]{0,200}\);?\s*$|<\/?\w[^>\n]{0,200}>\s*$|(?:\$|>>>) \S|@\w+\(?|.{0,200}[;{]\s*$"
    r"|print\(|console\.log)"
)


def code_in(text: str) -> tuple[str, ...]:
    """The pieces of code in `text`, each as it stands there, in order; linear in its length."""
    blocks = [match[2].strip("\n") for match in _FENCED.finditer(text)]
    loose = () if blocks else _runs(text)
    return tuple(dict.fromkeys(block for block in [*blocks, *loose] if block.strip()))


def without_code(text: str) -> str:
    """`text` with its pieces of code taken out."""
    plain = _FENCED.sub("\n", text)
    for piece in code_in(plain):
        plain = plain.replace(piece, "\n")
    return plain


def _runs(text: str) -> Iterator[str]:
    run: list[str] = []
    coded = 0
    for line in [*text.split("\n"), "."]:
        looks = _LINE.match(line) is not None
        inside = bool(run) and (not line.strip() or line[:1] in " \t")
        if looks or inside:
            run.append(line)
            coded += looks
            continue
        if coded >= SHORTEST:
            yield "\n".join(run).strip("\n")
        run, coded = [], 0

"""Recognises and masks secrets: passwords and PINs said as such, card numbers, keys and tokens (BY-10, pure).

A CPF or another number of a document is no secret: it identifies, opens nothing, and people ask to keep it.
"""

import re
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache
from typing import Literal

from thoughtcycle.memory.model import MemoryRecord
from thoughtcycle.memory.text.analyzer import fold
from thoughtcycle.memory.text.spans import HIDDEN
from thoughtcycle.prompts.loader import LANGUAGES, word_lists

SecretKind = Literal["private_key", "key", "credentials", "card", "password"]

MARK = "••••"

_PRIVATE = re.compile(
    r"-----BEGIN [A-Z0-9 ]{0,40}PRIVATE KEY(?: BLOCK)?-----.*?"
    r"(?:-----END [A-Z0-9 ]{0,40}PRIVATE KEY(?: BLOCK)?-----|\Z)",
    re.DOTALL,
)
# Prefixes that the services document for their own keys; then JSON web tokens and bearer tokens.
_KEY = re.compile(
    r"(?<![\w-])(?:sk-[\w-]{16,200}|[sprk]{2}_(?:live|test)_\w{10,200}|gh[pousr]_\w{20,200}|github_pat_\w{20,200}"
    r"|glpat-[\w-]{16,200}|xox[abeoprs]-[\w-]{10,200}|(?:AKIA|ASIA)[0-9A-Z]{16}|AIza[\w-]{30,60}|hf_\w{20,100}"
    r"|npm_\w{30,60}|pypi-[\w-]{30,300}|SG\.[\w-]{16,40}\.[\w-]{16,60}|ya29\.[\w-]{20,300}"
    r"|eyJ[\w-]{8,2000}\.[\w-]{8,4000}\.[\w-]{8,2000})"
)
_BEARER = re.compile(r"\b[Bb]earer +(?P<value>[\w.~+/-]{16,2000}=*)")
_CREDENTIALS = re.compile(r"\b[a-z][a-z0-9+.-]{1,20}://[^\s:/@]{0,100}:(?P<value>[^\s@/]{1,200})@")
_CARD = re.compile(
    r"(?<![\w+.,-])[2-6](?:\d{12,18}|\d{3}([ -])\d{4}\1\d{4}\1\d{1,7}|\d{3}([ -])\d{6}\2\d{5})(?![\w-])"
)
_STARS = re.compile(r"[*•]{3,}")
_CLOSERS = ".,;!?)]}\"'”"


@dataclass(frozen=True)
class Secret:
    """Where a secret stands in a text."""

    kind: SecretKind
    start: int
    end: int


@dataclass(frozen=True)
class _Said:
    pattern: re.Pattern[str]
    whole: re.Pattern[str]
    plain: frozenset[str]


@cache
def _said() -> _Said:
    data = [word_lists(language, "language/secrets") for language in LANGUAGES]
    names, verbs, whole = ("|".join(f"(?:{each[name]})" for each in data) for name in ("said", "is", "whole"))
    return _Said(
        pattern=re.compile(
            rf"(?<!\w)(?P<name>{names})(?!\w)(?P<of>(?: [\w'’@.-]{{1,30}}){{0,5}}?)"
            rf" {{0,2}}(?P<is>(?<= )(?:{verbs})(?= )|[:=])\s{{0,3}}"
            r"(?P<value>\"[^\"\n]{1,100}\"|'[^'\n]{1,100}'|“[^”\n]{1,100}”|\S{1,100})"
        ),
        whole=re.compile(whole),
        plain=frozenset(word for each in data for word in each["plain"]),
    )


def secrets_in(text: str) -> tuple[Secret, ...]:
    """The secrets of a text, in order, none overlapping; linear in its length."""
    found: list[Secret] = []
    for secret in sorted(_all(text), key=lambda each: (each.start, -each.end)):
        if not found or secret.start >= found[-1].end:
            found.append(secret)
    return tuple(found)


def masked(text: str) -> str:
    """`text` with every secret replaced by a mark; the same again when it is masked twice."""
    parts, at = [], 0
    for secret in secrets_in(text):
        parts += [text[at : secret.start], MARK]
        at = secret.end
    return "".join([*parts, text[at:]])


def unasked(record: MemoryRecord) -> MemoryRecord:
    """A memory as it is shown when nobody searched for it: its secrets masked, the store keeps them."""
    text = masked(record.text)
    if text == record.text:
        return record
    key = record.key
    for value in values_in(record.text) if key is not None else ():
        key = key.replace(fold(value), MARK) if key is not None else None  # rules make keys of what is said
    return record.model_copy(update={"content": text, "key": key})


def masks_away(new: str, old: str) -> bool:
    """Whether `new` holds what stands in place of hidden words where `old` has the words themselves.

    Whoever was shown a masked text and writes it anew would lose them. Asterisks are a mask only in place of
    a secret: elsewhere they are emphasis.
    """
    if any(new.count(mark) > old.count(mark) for mark in (MARK, HIDDEN)):
        return True
    lost = (old[each.start : each.end] not in new for each in secrets_in(old))
    return _STARS.search(new) is not None and any(lost)


def values_in(text: str) -> list[str]:
    """The secrets themselves."""
    return [text[secret.start : secret.end] for secret in secrets_in(text)]


def holds_secret(text: str) -> bool:
    """Whether there is any secret in `text`."""
    return bool(secrets_in(text))


def _all(text: str) -> Iterator[Secret]:
    if "PRIVATE KEY" in text:
        yield from (Secret("private_key", *match.span()) for match in _PRIVATE.finditer(text))
    yield from (Secret("key", *match.span()) for match in _KEY.finditer(text))
    yield from (Secret("key", *match.span("value")) for match in _BEARER.finditer(text))
    for match in _CREDENTIALS.finditer(text):
        if match["value"] != MARK:
            yield Secret("credentials", *match.span("value"))
    yield from (Secret("card", *match.span()) for match in _CARD.finditer(text) if _luhn(match[0]))
    yield from _passwords(text)


def _luhn(number: str) -> bool:
    """The check digit of ISO/IEC 7812-1."""
    digits = [int(char) for char in reversed(number) if char.isdigit()]
    doubled = (sum(divmod(2 * digit, 10)) for digit in digits[1::2])
    return len(digits) >= 13 and (sum(digits[::2]) + sum(doubled)) % 10 == 0


def _passwords(text: str) -> Iterator[Secret]:
    """What is said to be a password; only where folding keeps every character in its place."""
    folded = "".join(char if len(char) == 1 else "?" for char in map(fold, text))
    for match in _said().pattern.finditer(folded):
        start, end = match.span("value")
        if text[start] in "\"'“":
            start, end = start + 1, end - 1
        elif _said().whole.match(match["name"]):
            end = min(end for end in (folded.find("\n", start), len(text)) if end >= 0)
        while end > start + 1 and text[end - 1] in _CLOSERS:
            end -= 1
        if MARK not in text[start:end] and _secret_like(text, folded, match, start, end):
            yield Secret("password", start, end)


def _secret_like(text: str, folded: str, match: re.Match[str], start: int, end: int) -> bool:
    """Whether what follows is a value and not a remark ("minha senha é difícil de lembrar")."""
    value = text[start:end]
    if folded[start:end] in _said().plain:
        return False
    quoted = match["value"][0] in "\"'“"
    marked = match["is"] in ":=" or quoted or _said().whole.match(match["name"]) is not None
    odd = any(char.isdigit() for char in value) or any(not char.isalnum() for char in value[:-1])
    ends = end >= len(text) or text[end] in "\n.,;!?"
    return marked or odd or (value.lower() != value and not value.istitle()) or (ends and len(value) > 3)

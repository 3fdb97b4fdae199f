"""Recognises and masks secrets: passwords and PINs said as such, card numbers, keys and tokens (BY-10, pure).

A CPF or another number of a document is no secret: it identifies, opens nothing, and people ask to keep it.
"""

import re
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache

from thoughtcycle.memory.model import MemoryRecord
from thoughtcycle.memory.text.analyzer import fold
from thoughtcycle.memory.text.spans import HIDDEN, Span
from thoughtcycle.prompts.loader import LANGUAGES, word_lists

MARK = "••••"
"""Replaces a secret."""

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
class _PasswordRules:
    pattern: re.Pattern[str]
    whole: re.Pattern[str]
    plain: frozenset[str]


@cache
def _password_rules() -> _PasswordRules:
    data = [word_lists(language, "language/secrets") for language in LANGUAGES]
    names, verbs, whole = ("|".join(f"(?:{each[name]})" for each in data) for name in ("said", "is", "whole"))
    return _PasswordRules(
        pattern=re.compile(
            rf"(?<!\w)(?P<name>{names})(?!\w)(?P<of>(?: [\w'’@.-]{{1,30}}){{0,5}}?)"
            rf" {{0,2}}(?P<is>(?<= )(?:{verbs})(?= )|[:=])\s{{0,3}}"
            r"(?P<value>\"[^\"\n]{1,100}\"|'[^'\n]{1,100}'|“[^”\n]{1,100}”|\S{1,100})"
        ),
        whole=re.compile(whole),
        plain=frozenset(word for each in data for word in each["plain"]),
    )


def secrets_in(text: str) -> list[Span]:
    """The secrets of a text, in order, none overlapping; linear in its length."""
    found: list[Span] = []
    for start, end in sorted(_candidates(text), key=lambda span: (span[0], -span[1])):
        if not found or start >= found[-1][1]:
            found.append((start, end))
    return found


def masked(text: str) -> str:
    """`text` with MARK in place of every secret; idempotent."""
    parts, at = [], 0
    for start, end in secrets_in(text):
        parts += [text[at:start], MARK]
        at = end
    return "".join([*parts, text[at:]])


def without_secrets(record: MemoryRecord) -> MemoryRecord:
    """A memory for display where nobody searched for it: its secrets are masked, the store has them."""
    text, key = masked(record.text), record.key
    if text == record.text:
        return record
    if key is not None:  # rules make keys of what is said
        for value in secret_values(record.text):
            key = key.replace(fold(value), MARK)
    return record.model_copy(update={"content": text, "key": key})


def writes_mask_over(new: str, old: str) -> bool:
    """Whether `new` has a mask in place of hidden words or secrets that `old` has.

    Storing a masked text would lose them. Asterisks are a mask only in place of a secret, else emphasis.
    """
    if any(new.count(mark) > old.count(mark) for mark in (MARK, HIDDEN)):
        return True
    return _STARS.search(new) is not None and any(value not in new for value in secret_values(old))


def secret_values(text: str) -> list[str]:
    """The secrets of a text, as they stand there."""
    return [text[start:end] for start, end in secrets_in(text)]


def holds_secret(text: str) -> bool:
    """Whether there is any secret in `text`."""
    return bool(secrets_in(text))


def _candidates(text: str) -> Iterator[Span]:
    if "PRIVATE KEY" in text:
        yield from (match.span() for match in _PRIVATE.finditer(text))
    yield from (match.span() for match in _KEY.finditer(text))
    yield from (match.span("value") for match in _BEARER.finditer(text))
    yield from (match.span("value") for match in _CREDENTIALS.finditer(text) if match["value"] != MARK)
    yield from (match.span() for match in _CARD.finditer(text) if _luhn(match[0]))
    yield from _passwords(text)


def _luhn(number: str) -> bool:
    """The check digit of ISO/IEC 7812-1."""
    digits = [int(char) for char in reversed(number) if char.isdigit()]
    doubled = (sum(divmod(2 * digit, 10)) for digit in digits[1::2])
    return len(digits) >= 13 and (sum(digits[::2]) + sum(doubled)) % 10 == 0


def _passwords(text: str) -> Iterator[Span]:
    """Values that are said to be a password; found where folding keeps every character in its place."""
    folded = "".join(char if len(char) == 1 else "?" for char in map(fold, text))
    for match in _password_rules().pattern.finditer(folded):
        start, end = match.span("value")
        if text[start] in "\"'“":
            start, end = start + 1, end - 1
        elif _password_rules().whole.match(match["name"]):
            end = min(end for end in (folded.find("\n", start), len(text)) if end >= 0)
        while end > start + 1 and text[end - 1] in _CLOSERS:
            end -= 1
        if MARK not in text[start:end] and _secret_like(text, folded, match, start, end):
            yield start, end


def _secret_like(text: str, folded: str, match: re.Match[str], start: int, end: int) -> bool:
    """Whether the text behind "is" is a value and not a remark ("minha senha é difícil de lembrar")."""
    value = text[start:end]
    if folded[start:end] in _password_rules().plain:
        return False
    quoted = match["value"][0] in "\"'“"
    marked = match["is"] in ":=" or quoted or _password_rules().whole.match(match["name"]) is not None
    odd = any(char.isdigit() for char in value) or any(not char.isalnum() for char in value[:-1])
    ends = end >= len(text) or text[end] in "\n.,;!?"
    return marked or odd or (value.lower() != value and not value.istitle()) or (ends and len(value) > 3)

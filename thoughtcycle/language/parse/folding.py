"""Folds text for matching – case, accents, misspellings –, mapped to the source; detects its language."""

import re
import unicodedata
from bisect import bisect_right
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cache, lru_cache

from thoughtcycle.prompts.loader import Language, word_lists

LIMIT = 20_000
"""Characters of a message that are read; what a person says of themself stands at its beginning."""

_QUOTES = str.maketrans("’‘`´“”«»„", '\'\'\'\'"""""')
# E-mail and web addresses, handles and telephone numbers: one word each, whatever stands in them.
_ATOM = (
    r"[\w.+-]{1,64}@[\w-]{1,63}(?:\.[\w-]{1,63}){1,5}"
    r"|(?:https?://|www\.)[^\s<>\"'()]{0,300}[^\s<>\"'().,;:!?]"
    r"|(?<!\w)@\w[\w.]{0,40}(?<!\.)"
    r"|(?<![\w.-])[\w-]{1,63}(?:\.[\w-]{1,63}){0,3}\.(?:com|org|net|info|dev|app|io|gov|edu)(?:\.[a-z]{2})?(?![\w-])"
    r"|(?<!\w)\+?(?:\d{1,3} )?\(?\d{2,4}\)?[ -]?\d{3,5}[ -]\d{4}(?!\w)"
)
_UNSEEN = "\u00ad\u200b-\u200f\u2060-\u2064\ufeff"
"""Characters without width, such as a soft hyphen: they part no word."""
_IN_WORD = re.compile(rf"(?<=[^\W_])[{_UNSEEN}]+(?=[^\W_])")
_TOKEN = re.compile(
    rf"(?P<atom>{_ATOM})|[^\W_]+(?:(?:['’‘`´]|[{_UNSEEN}]+)[^\W_]+)*|\s+|.", re.DOTALL | re.IGNORECASE
)
_APOSTROPHES = "'’‘`´"
_AHEAD = 20
"""Characters behind a word that tell what its ending stands for."""
_REPEATED = re.compile(r"([^\W\d_])\1{2,}")
LANGUAGE_READ = 2_000
"""Characters that decide the language of a text."""
_WORD = re.compile(r"[^\W\d_]+(?:['’][^\W\d_]+)?")
_PORTUGUESE_LETTERS = re.compile(r"[ãõçâêôáéíóúà]", re.IGNORECASE)
_SILENT = ("So", "Cs", "Co", "Cn", "Cc", "Cf", "Sk", "Mn", "Me")


@dataclass(frozen=True)
class Folded:
    """Folded text; `starts[i]` and `ends[i]` bound the original characters behind folded character `i`."""

    source: str
    text: str
    starts: Sequence[int]
    ends: Sequence[int]
    atoms: Sequence[tuple[int, int]] = ()
    """Folded spans that nothing may cut: addresses, handles, telephone numbers."""

    def whole(self, position: int) -> bool:
        """Whether `text` may not be cut at `position`, because it lies inside an address or the like."""
        at = bisect_right(self.atoms, (position, len(self.text))) - 1
        return at >= 0 and self.atoms[at][0] <= position < self.atoms[at][1]

    def original(self, start: int, end: int) -> str:
        """The verbatim piece of the source behind `text[start:end]`."""
        return self.source[self.starts[start] : self.ends[end - 1]] if start < end else ""


@lru_cache(maxsize=8_192)
def fold_character(char: str) -> str:
    """`char` in lower case without accents: one character, a space for what is no text."""
    if char in "\t\n\r\v\f":
        return char
    if unicodedata.category(char) in _SILENT:
        return " "
    return unicodedata.normalize("NFD", char.translate(_QUOTES).lower())[0]


def fold_word(word: str) -> str:
    """A word or phrase in lower case without accents (no spelling is corrected)."""
    composed = _IN_WORD.sub("", unicodedata.normalize("NFC", word))
    return " ".join("".join(map(fold_character, composed)).split())


@cache
def _spelling(language: Language) -> Mapping[str, str]:
    words: dict[str, str] = word_lists(language, "language/spelling")["words"]
    return words


@cache
def _endings(language: Language) -> tuple[tuple[str, str], ...]:
    endings: dict[str, str] = word_lists(language, "language/spelling").get("endings", {})
    return tuple(endings.items())


@cache
def _clitics(language: Language) -> tuple[tuple[str, str, re.Pattern[str]], ...]:
    """(ending, what it stands for, what must follow): "my wife's a pilot", but not "my wife's bike"."""
    entries = word_lists(language, "language/spelling").get("clitics", [])
    return tuple((ending, full, re.compile(rf" (?:{after})\b")) for ending, full, after in entries)


def _clitic(token: str, follows: str, language: Language) -> tuple[str, str]:
    """(ending, written out) of a word whose ending is a verb, by what follows; else nothing."""
    raw = token.translate(_QUOTES).lower()
    found = (each for each in _clitics(language) if raw.endswith(each[0]) and each[2].match(follows.lower()))
    return next(((ending, full) for ending, full, _ in found), ("", ""))


def _respell(token: str, language: Language) -> str | None:
    words = _spelling(language)
    raw = token.translate(_QUOTES).lower()
    folded = "".join(map(fold_character, token))
    short = _REPEATED.sub(r"\1", folded)
    for candidate in (raw, folded, short):
        if candidate in words:
            return words[candidate]
    for ending, replacement in _endings(language):
        if short.endswith(ending) and len(short) > len(ending):
            return short[: -len(ending)] + replacement
    return short if short != folded else None


@lru_cache(maxsize=16_384)
def _respell_short(token: str, language: Language) -> str | None:
    return _respell(token, language)


@lru_cache(maxsize=16)  # every step of a turn reads the same message
def fold(text: str, language: Language, limit: int = LIMIT) -> Folded:
    """Folds the first `limit` characters of `text`: one space for a run, known misspellings put right.

    Runs in linear time; combining marks, emoji and control characters become spaces or vanish.
    """
    source = text[:limit]
    characters: list[str] = []
    starts: list[int] = []
    ends: list[int] = []
    atoms: list[tuple[int, int]] = []
    for match in _TOKEN.finditer(source):
        token, start, end = match[0], match.start(), match.end()
        verb = ""
        if match["atom"]:
            atoms.append((len(starts), len(starts) + len(token)))
            token, per_character = "".join(map(fold_character, token)), True
        elif token.isspace():
            token, per_character = ("\n" if "\n" in token else " "), False
            if characters and characters[-1] in " \n":
                continue
        elif unicodedata.combining(token[0]):
            if ends:
                ends[-1] = end
            continue
        else:
            unparted = (seen := _IN_WORD.sub("", token)) == token
            token = seen
            respelled = (_respell_short if len(token) <= 24 else _respell)(token, language)
            if respelled is None and len(token) > 2 and token[-2] in _APOSTROPHES:
                ending, verb = _clitic(token, source[end : end + _AHEAD], language)
                token = token[: len(token) - len(ending)]
            per_character = respelled is None and unparted
            token = respelled if respelled is not None else "".join(map(fold_character, token))
            if token == " " and characters and characters[-1] == " ":
                continue
        characters.append(token)
        for offset in range(len(token)):
            starts.append(start + offset if per_character else start)
            ends.append(start + offset + 1 if per_character else end)
        if verb:
            characters.append(verb)
            starts += [start + len(token)] * len(verb)
            ends += [end] * len(verb)
    return Folded(source, "".join(characters), starts, ends, atoms)


@cache
def _function_words(language: Language) -> frozenset[str]:
    return frozenset(word_lists(language, "language/detect")["words"])


def detect_language(text: str, default: Language) -> Language:
    """The language of `text` by its function words; `default` when they do not decide."""
    beginning = text[:LANGUAGE_READ]
    score = 2 * len(_PORTUGUESE_LETTERS.findall(beginning)[:1])
    for match in _WORD.finditer(beginning):
        word = fold_word(match[0].replace("’", "'"))
        score += (word in _function_words("pt")) - (word in _function_words("en"))
    return default if score == 0 else "pt" if score > 0 else "en"

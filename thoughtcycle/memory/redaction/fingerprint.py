"""The words and values of a memory that have to go from messages (pure)."""

import re
import unicodedata
from collections import defaultdict
from collections.abc import Collection, Container, Iterable, Iterator
from dataclasses import dataclass
from datetime import datetime
from functools import cache
from typing import Any

from thoughtcycle.memory.model import MemoryRecord, as_json, as_text, file_of
from thoughtcycle.memory.text.analyzer import fold, stop_words, word_forms
from thoughtcycle.memory.text.spans import Tokens, key, sentences, tokens
from thoughtcycle.prompts.loader import LANGUAGES, word_lists

LONGEST_PHRASE = 600
"""Characters that are looked for in one piece; of a longer content each line is."""
_LABEL = re.compile(r"^\s*[^\W\d][^:\n]{0,40}:\s+(?=\S)")
_ADDRESS = re.compile(r"[\w.+-]+@[\w-]+(?:\.[\w-]+)+|(?:https?://|www\.)\S+")
_NUMBER = re.compile(r"\+?\d[\d .,/()-]{2,}\d")
_CAPITAL = r"[^\W\d_a-zß-öø-ÿ]\w*"
_NAME = re.compile(rf"{_CAPITAL}(?:\s+(?:(?:d[aeo]s?|of|van|von|del|la|le)\s+)?{_CAPITAL})+")
_YEAR = re.compile(r"(?:19|20)\d\d")
_FEWEST_IN_FILE = 6
"""A sentence of a file is looked for when it has so many words: shorter ones are anybody's."""
_FEWEST_WORDS = 3
"""A phrase without a value of its own is looked for when it has so many words."""


@dataclass(frozen=True)
class Value:
    """A word, or several in a row, by which a memory is told from others."""

    words: str
    """As `Tokens.find` looks for it."""
    stems: frozenset[str] = frozenset()
    """Of a single common noun or adjective: its other endings count too. Empty for a name or a number."""


@dataclass(frozen=True)
class Trace:
    """The words and values searched for one memory."""

    memory: str
    sources: frozenset[str]
    """Cycles in which it was told."""
    requests: frozenset[str]
    """Cycles that are known to have asked for its deletion."""
    until: datetime
    """Later messages are left alone: they say it anew."""
    told: tuple[str, ...]
    """The words it came from and its contents, as typed."""
    phrases: tuple[str, ...]
    """The parts of `told` that are searched everywhere, as `Tokens.find` takes them."""
    signs: tuple[str, ...]
    """Contents without any word, such as an emoji."""
    values: tuple[Value, ...]
    core: tuple[frozenset[str], ...]
    """The stem forms of each word of its contents, without label and topic words if others are left."""
    terms: frozenset[str]
    """Stems of its content words."""
    topics: frozenset[str]
    """Stems of the words of its labels and search contexts."""
    files: frozenset[str] = frozenset()
    """Hashes of the files that it is."""


class Spared:
    """The words of texts that stay: found without going through all that they say."""

    def __init__(self) -> None:
        self._holders: defaultdict[str, list[str]] = defaultdict(list)

    def add(self, text: str) -> None:
        """Adds a text as `matching.key` gives it."""
        for word in set(text.split()):
            self._holders[word].append(text)

    def __contains__(self, words: object) -> bool:
        """Whether one of the texts has these words in a row."""
        holders = [self._holders.get(word, []) for word in str(words).split()]
        return any(str(words) in text for text in min(holders, key=len, default=[]))


@cache
def common_words() -> frozenset[str]:
    """Words that tell nobody apart, folded: of all languages, beside the stop words."""
    found = set(stop_words())
    for language in LANGUAGES:
        found.update(fold(word) for word in word_lists(language, "common_words")["words"].split())
        topics, dates = word_lists(language, "language/topics"), word_lists(language, "language/dates")
        names = [*topics["labels"].values(), *(name for row in topics["bindings"].values() for name in row)]
        names += [*dates["months"], *dates["weekdays"]]
        found.update(fold(word) for name in names for word in re.findall(r"\w+", name))
    return frozenset(found)


def trace(
    record: MemoryRecord,
    *,
    until: datetime,
    former: Iterable[MemoryRecord] = (),
    requests: Iterable[str] = (),
    spared: Container[str] = "",
) -> Trace:
    """The trace of `record`.

    `former` is what the same memory said before. `spared` holds the words (see `matching.key`) of texts
    that stay, such as the user's other memories: a value that they have too tells nobody apart.
    """
    states = _different((record, *former))
    files = [one for one in states if file_of(one.content) is not None]
    records = tuple(map(_spoken, states))
    record = records[0]
    told = tuple(dict.fromkeys(text for one in records for text in _told(one) if text.strip()))
    labels = {word for one in records for text in one.bindings for word in _label_words(text)}
    values = [value for one in records for value in _values(one, labels) if value.words not in spared]
    contents = [text for one in records for text in _lines(one.content)]
    topics = stems(word for text in (*labels, *map(_label, contents)) for word in tokens(text).words)
    says = {as_text(one.content) for one in records}
    phrases = dict.fromkeys(piece for text in told for piece in _phrases(text, values, whole=text in says))
    phrases |= dict.fromkeys(phrase for one in files for phrase in _of_file(one))
    return Trace(
        memory=record.id,
        sources=frozenset(one.source.cycle for one in records if one.source.cycle is not None),
        requests=frozenset(requests),
        until=until,
        told=told,
        phrases=tuple(phrases),
        signs=tuple(text.strip() for text in told if is_sign(text)),
        values=tuple(dict.fromkeys(values)),
        core=_core(_lines(record.content), topics),
        terms=stems(word for text in contents for word in tokens(text).words),
        topics=topics,
        files=frozenset(sha256 for one in files if (sha256 := file_of(one.content)) is not None),
    )


def _different(records: Iterable[MemoryRecord]) -> list[MemoryRecord]:
    """The first of those that say the same with the same words: a journal repeats what did not change."""
    found: dict[object, MemoryRecord] = {}
    for one in records:
        found.setdefault((as_json(one.content), one.bindings, one.source), one)
    return list(found.values())


def _spoken(record: MemoryRecord) -> MemoryRecord:
    """`record` as what was said: of a file that is its caption, name and text are looked for as they are."""
    if file_of(record.content) is None:
        return record
    return record.model_copy(update={"content": record.content.get("caption", ""), "bindings": ()})


def _of_file(record: MemoryRecord) -> Iterator[str]:
    """The name of a file, the pieces of its text as they are shown, and their sentences."""
    yield key(record.content["name"])
    for piece in record.bindings:
        for start, end in ((0, len(piece)), *sentences(piece)):
            phrase = key(piece[start:end])
            if len(phrase.split()) >= _FEWEST_IN_FILE:
                yield phrase


def stems(words: Iterable[str]) -> frozenset[str]:
    """The stem forms of folded words, stop words aside."""
    stops = stop_words()
    return frozenset(form for word in words if word not in stops for form in word_forms(word))


def _core(lines: Iterable[str], topics: Collection[str]) -> tuple[frozenset[str], ...]:
    said = [
        frozenset(word_forms(word))
        for line in lines
        for word in tokens(line).words
        if word not in stop_words()
    ]
    rest = [word for word in said if not word & frozenset(topics)]
    return tuple(dict.fromkeys(rest or said))


def _told(record: MemoryRecord) -> Iterator[str]:
    yield record.source.words
    yield as_text(record.content) if record.content is not None else ""
    if not isinstance(record.content, str):
        yield from _leaves(record.content)


def _lines(content: Any) -> list[str]:
    """Any content as lines; what has a name is `name: value`."""
    if isinstance(content, dict):
        return [line for name, item in content.items() for line in _named(name, item)]
    if isinstance(content, list):
        return [line for item in content for line in _lines(item)]
    return str(content).splitlines() if content is not None else []


def _named(name: str, item: Any) -> list[str]:
    return _lines(item) if isinstance(item, (dict, list)) else [f"{name}: {item}"]


def _leaves(content: Any) -> Iterator[str]:
    inner = content.values() if isinstance(content, dict) else content if isinstance(content, list) else ()
    for item in inner:
        if isinstance(item, str):
            yield item
        else:
            yield from _leaves(item)


def _label(line: str) -> str:
    found = _LABEL.match(line)
    return found[0] if found else ""


def _label_words(binding: str) -> Iterator[str]:
    """The words of a search context that name a topic; a name among them is a value."""
    return (fold(word) for word in re.findall(r"\w+", binding) if not word[0].isupper() and word.isalpha())


def _phrases(text: str, values: Collection[Value], *, whole: bool) -> Iterator[str]:
    """`text` as it is looked for everywhere; nothing where that would take what everybody says.

    With `whole` it is all that a memory says, and one word of its own is enough.
    """
    pieces = [text] if len(text) <= LONGEST_PHRASE else text.splitlines()
    for piece in pieces:
        phrase = key(piece)
        words = phrase.split()
        said = set(words) - stop_words()
        if len(words) >= _FEWEST_WORDS or (whole and said) or any(value.words in phrase for value in values):
            yield phrase


def is_sign(text: str) -> bool:
    """Whether a text without words shows something, as an emoji does; punctuation does not."""
    return not key(text).strip() and any(unicodedata.category(character) == "So" for character in text)


def _values(record: MemoryRecord, labels: Collection[str]) -> list[Value]:
    """Names, addresses, numbers, uncommon words of the content; those that are no topic, if there are any."""
    names = _names(record)
    found: list[Value] = []
    for line in _lines(record.content):
        label = _label(line)
        rest = line[len(label) :]
        whole = list(_whole(rest, labelled=bool(label)))
        found += [Value(words) for words in (*whole, *_full_names(rest))]
        rest = _ADDRESS.sub(" ", rest)
        said = tokens(rest)
        single = [word for word in said.words if _tells_apart(word, names)]
        parts = {word: said.words[first : last + 1] for first, last, word in said.compounds}
        single += [word for word, of in parts.items() if all(_tells_apart(part, names) for part in of)]
        found += [_single(word, names) for word in dict.fromkeys(single)]
    telling = [value for value in found if value.words.strip() not in labels]
    return telling or found


def _whole(rest: str, *, labelled: bool) -> Iterator[str]:
    """Addresses and numbers in one piece, and what stands after a label as a whole."""
    for pattern in (_ADDRESS, _NUMBER):
        for match in pattern.finditer(rest):
            digits = re.sub(r"\D", "", match[0])
            if pattern is _NUMBER and (len(digits) < 4 or _YEAR.fullmatch(match[0])):
                continue
            yield key(match[0])
            if len(digits) >= 6 and pattern is _NUMBER:
                yield key(digits)
    words = tokens(rest).words
    content = [word for word in words if word not in stop_words()]
    if labelled and (len(content) > 1 or any(_code(word) for word in content)):
        yield key(rest)


def _full_names(text: str) -> Iterator[str]:
    """Names of several words."""
    for match in _NAME.finditer(text):
        yield key(match[0])


def _code(word: str) -> bool:
    """A number that is no year and no count, or letters and digits mixed."""
    digits = sum(character.isdigit() for character in word)
    if word.isdigit():
        return digits >= 4 and not _YEAR.fullmatch(word)
    return digits > 0 and len(word) >= 4


def _tells_apart(word: str, names: Collection[str]) -> bool:
    if any(character.isdigit() for character in word):
        return _code(word) and len(word) >= 5
    if word in common_words():
        return False
    return len(word) >= (2 if word in names or not word.isascii() else 3)


def _single(word: str, names: Collection[str]) -> Value:
    plain = word.isalpha() and word not in names
    return Value(f" {word} ", frozenset(word_forms(word)) if plain else frozenset())


def _names(record: MemoryRecord) -> frozenset[str]:
    """Words with a capital letter inside a sentence, folded."""
    found = set()
    lines = _lines(record.content)
    for text in (record.source.words, *lines, *record.bindings):
        rest = text[len(_label(text)) :]
        after_label = rest != text or text in record.bindings
        at = _folded(rest)
        for number, span in enumerate(at.spans):
            typed = rest[slice(*span)]
            before = rest[: span[0]].rstrip()
            inside = (number > 0 and before[-1:] not in tuple(".!?…")) or after_label
            if inside and typed[:1].isupper():
                found.add(at.words[number])
    return frozenset(found)


def _folded(text: str) -> Tokens:
    return tokens(text[:20_000])

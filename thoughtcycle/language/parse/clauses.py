"""Splits a message into sentences and clauses, each with its offsets and its mood."""

import re
from dataclasses import dataclass, replace
from functools import cache
from typing import Any, Literal

from thoughtcycle.language.parse.folding import Folded, fold
from thoughtcycle.language.parse.patterns import compiled
from thoughtcycle.prompts.loader import Language, word_lists

Mood = Literal["statement", "question", "hypothetical", "reported"]

MAX_CLAUSES = 1_000
MAX_CLAUSE = 400
"""Characters of a clause that patterns look at: nobody states a fact in more."""

MAX_TAIL = 80
"""Characters at the end of a clause in which an excuse is looked for."""

MASK = "\x01"
_QUOTED = re.compile(r"\"([^\"\n]{1,600})\"|(?<!\w)'([^'\n]{2,300})'(?!\w)")
_SENTENCE_END = re.compile(r"[.!?…;]+(?=\s|$)|\n|[!?]+|\.(?=[a-z]{3})")
_ABBREVIATION = re.compile(r"(?<![a-z])([a-z]{1,4})$")
_INITIALS = frozenset("ABCDEFGHJKLMNOPQRSTUVWXYZ")
"""Capitals that shorten a name; "I" is a word."""
_SEPARATORS = " \n,;:()-–—.!?…*\"'#>~" + MASK


@dataclass(frozen=True)
class Clause:
    """A piece of a sentence with one verb, as folded offsets without what leads in (`oi, então …`)."""

    start: int
    end: int
    mood: Mood
    lead: str = ""
    other_subject: bool = False
    """Whether the clause lacks a subject and continues one about somebody else."""


@dataclass(frozen=True)
class Sentence:
    """A sentence and its clauses; `question` tells that it asks something."""

    start: int
    end: int
    question: bool
    clauses: tuple[Clause, ...]


@dataclass(frozen=True)
class Message:
    """A folded message in its sentences."""

    folded: Folded
    sentences: tuple[Sentence, ...]
    unsaid: bool
    """Whether the message as a whole is a joke or not to be kept."""

    def text(self, part: Sentence | Clause) -> str:
        """The folded text of a part."""
        return self.folded.text[part.start : part.end]


@cache
def _data(language: Language) -> dict[str, Any]:
    return dict(word_lists(language, "language/clauses"))


def _pattern(name: str, language: Language) -> re.Pattern[str]:
    return compiled(_data(language)[name], language)


@cache
def _boundary(language: Language) -> re.Pattern[str]:
    data = _data(language)
    starters, breaks, joins = data["starters"], data["breaks"], data["joins"]
    marked = rf" ?[,:(] ?(?=(?:{joins} )?(?:{starters}|(?!(?:is|eh)\b){data['third_person']})\b)"
    joined = rf"(?<!\beu) (?={joins} (?:{starters}|{data['third_person']})\b)| (?={breaks}\b)"
    return re.compile(rf"{marked}|{joined}| [-–—] |[{MASK}]+|[()]")


def parse(text: str, language: Language) -> Message:
    """The sentences and clauses of the beginning of `text` (`fold.LIMIT` characters), in linear time."""
    folded = _mask(fold(text, language), language)
    sentences: list[Sentence] = []
    count = 0
    for start, end, mark in _sentences(folded, language):
        sentence = _sentence(folded, start, end, mark, language)
        count += len(sentence.clauses)
        if count > MAX_CLAUSES:
            break
        sentences.append(sentence)
    joke = _pattern("joke", language).search(folded.text)
    serious = _pattern("not_joke", language).search(folded.text)
    secret = _pattern("not_kept", language).search(folded.text)
    return Message(folded, tuple(sentences), unsaid=bool(secret or (joke and not serious)))


def _mask(folded: Folded, language: Language) -> Folded:
    """Other people's quoted words are masked; quotation marks around a mere name are taken off."""
    spoken = _pattern("speech_verb", language)

    def cover(match: re.Match[str]) -> str:
        inside = match[1] or match[2]
        before = folded.text[max(0, match.start() - 30) : match.start()]
        if len(inside.split()) >= 3 or spoken.search(before):
            return MASK * len(match[0])
        return " " + inside + " "

    return replace(folded, text=_QUOTED.sub(cover, folded.text))


def _sentences(folded: Folded, language: Language) -> list[tuple[int, int, str]]:
    """(start, end, closing mark) of each sentence."""
    text = folded.text
    found: list[tuple[int, int, str]] = []
    start = 0
    for match in _SENTENCE_END.finditer(text):
        if folded.whole(match.start()):
            continue
        if match[0] == "." and _goes_on(folded, start, match.start(), language):
            continue
        if text[start : match.start()].strip(_SEPARATORS):
            found.append((start, match.start(), match[0]))
        start = match.end()
    if text[start:].strip(_SEPARATORS):
        found.append((start, len(text), ""))
    return found


def _goes_on(folded: Folded, start: int, dot: int, language: Language) -> bool:
    """Whether a full stop ends no sentence but an abbreviation or an initial ("John F. K.")."""
    before = _ABBREVIATION.search(folded.text, max(start, dot - 5), dot)
    if before is None:
        return False
    if before[1] in _data(language)["abbreviations"]:
        return True
    after = folded.original(dot + 2, dot + 3) if dot + 3 <= len(folded.text) else ""
    return len(before[1]) == 1 and folded.original(*before.span(1)) in _INITIALS and after.isupper()


def _sentence(folded: Folded, start: int, end: int, mark: str, language: Language) -> Sentence:
    text = folded.text
    spans = _spans(folded, start, end, language)
    pieces = [strip_lead(folded, a, b, language) for a, b in spans]
    question_from = _question_from(text, start, end, mark, pieces, language)
    sentence = text[start:end]
    unsaid = _first(_pattern("hypothetical", language), sentence, start, end)
    reported = _first(_pattern("reporting", language), sentence, start, end)
    other = False
    clauses: list[Clause] = []
    for (a, b, lead), (raw, _) in zip(pieces, spans, strict=True):
        own = _pattern("own_subject", language).match(text, a, b) is not None
        foreign = _pattern("other_subject", language).match(text, a, b) is not None
        other = foreign or (other and not own)
        mood: Mood = "statement"
        if raw >= reported or a >= reported:
            mood = "reported"
        elif a >= unsaid or raw >= unsaid:
            mood = "hypothetical"
        elif a >= question_from:
            mood = "question"
        elided = _data(language)["inherit_subject"] and other and not own
        b = min(b, reported) if a < reported else b
        clauses.append(Clause(a, b, mood, lead, other_subject=elided and not foreign))
    return Sentence(start, end, question_from < end, tuple(clauses))


def _first(pattern: re.Pattern[str], sentence: str, start: int, end: int) -> int:
    match = pattern.search(sentence)
    return start + match.start() if match else end


def _spans(folded: Folded, start: int, end: int, language: Language) -> list[tuple[int, int]]:
    text = folded.text
    found = (match.span() for match in _boundary(language).finditer(text, start, end))
    cuts = [(a, b) for a, b in found if not folded.whole(a)]
    starts = [start, *(b for _, b in cuts)]
    ends = [*(a for a, _ in cuts), end]
    spans = [(a, b) for a, b in zip(starts, ends, strict=True) if text[a:b].strip(_SEPARATORS)]
    return spans or [(start, end)]


def strip_lead(folded: Folded, start: int, end: int, language: Language) -> tuple[int, int, str]:
    """(start, end, lead): the span without separators at its ends and without what merely leads in or out."""
    text = folded.text
    end = strip_tail(text, start, end, language)
    while end > start and text[end - 1] in _SEPARATORS:
        end -= 1
    begin = start
    leads = _pattern("leads", language)
    while True:
        while start < end and text[start] in _SEPARATORS:
            start += 1
        match = leads.match(text, start, end)
        if not match or match.end() == start or (match.end() < end and text[match.end()].isalnum()):
            return start, min(end, start + MAX_CLAUSE), text[begin:start]
        start = match.end()


def strip_tail(text: str, start: int, end: int, language: Language) -> int:
    """The end of a span without an excuse that closes it ("…, I mean", "…, falei errado")."""
    tail = _pattern("tails", language).search(text, max(start, end - MAX_TAIL), end)
    return tail.start() if tail and text[start : tail.start()].strip(_SEPARATORS) else end


def _question_from(
    text: str, start: int, end: int, mark: str, pieces: list[tuple[int, int, str]], language: Language
) -> int:
    """The beginning of the question in a sentence; `end` when it asks nothing."""
    asks = _pattern("interrogative", language)
    if "?" not in mark:
        words = _pattern("question_words", language)
        return next((a for a, b, _ in pieces if words.match(text, a, b)), end)
    if _pattern("tag", language).search(text, max(start, end - 30), end):
        return end
    return next((a for a, b, _ in pieces if asks.match(text, a, b)), start)

"""Cleans what a pattern captured: names, lists of things, phrases – and makes the slugs of memory keys."""

import re
from functools import lru_cache

from thoughtcycle.language.parse.folding import Folded, fold_word
from thoughtcycle.language.parse.patterns import compiled, vocabulary
from thoughtcycle.prompts.loader import Language, word_lists

MAX_NAME = 5
MAX_SLUG_WORDS = 6
MAX_VALUE = 200
"""Characters of a value in a memory's text."""
MAX_LIST = 400
"""Characters of a list."""
MAX_ITEMS = 20
"""Things of a list, each a memory of its own."""

_EDGES = " \n,;:.!?…-–—()\"'*~\x01"
_LIST = re.compile(
    r"(?: ?, (?:e |and |or |ou )?| (?:e|and|&|as well as|bem como|assim como) | ?/ ?)(?:(?:tambem|also) )?"
)
_WORD = re.compile(r"[^\W_]+(?:[.,]\d+)*")
_NAME = re.compile(r"[^\W\d_]+(?:['.-][^\W\d_]+)*\.?|[^\W\d_]-\d{1,2}")
_NUMBER = re.compile(r"\d.*")
_CURRENCY = re.compile(r"(?:r|us|u)?[$€£]")


def _list(name: str, language: Language) -> frozenset[str]:
    return frozenset(vocabulary(language)[name])


def trim(folded: Folded, start: int, end: int) -> tuple[int, int]:
    """The span without separators at its edges."""
    while start < end and folded.text[start] in _EDGES:
        start += 1
    while end > start and folded.text[end - 1] in _EDGES:
        end -= 1
    return start, end


def phrase(
    folded: Folded, start: int, end: int, language: Language, cut: str = "cut", longest: int = MAX_VALUE
) -> tuple[int, int]:
    """The span up to where another thought begins, without fillers at its end."""
    words = vocabulary(language)
    for name in ("cut", "cut_place") if cut == "cut_place" else (cut,):
        match = compiled(words[name], language).search(folded.text, start, end)
        if match and match.start() > start:
            end = match.start()
    start, end = trim(folded, start, end)
    match = compiled(words["trailing"], language).search(folded.text, start, end)
    if match and match.start() > start:
        end = match.start()
    return trim(folded, start, min(end, start + longest))


def is_cut(start: int, end: int) -> bool:
    """Whether `phrase` has shortened a value to its longest (less a space at its end)."""
    return end - start >= MAX_VALUE - 1


def repaired(folded: Folded, start: int, end: int, language: Language) -> tuple[int, int]:
    """The span after a slip is put right in passing: "Leeds, I mean Bradford" is "Bradford"."""
    slips = list(compiled(vocabulary(language)["slip"], language).finditer(folded.text, start, end))
    return (slips[-1].end(), end) if slips and slips[-1].end() < end else (start, end)


def since(folded: Folded, start: int, end: int, language: Language) -> str:
    """ " (since 2021)" where a year or month follows a value, else nothing."""
    words = vocabulary(language)
    match = compiled(words["since"], language).match(folded.text, start, end)
    return f" ({words['since_word']} {folded.original(*match.span('when'))})" if match else ""


def without_time(folded: Folded, start: int, end: int, language: Language) -> tuple[tuple[int, int], str]:
    """The span without when it began, at its end, and that: "at Boeing two weeks ago"."""
    words = vocabulary(language)
    stop = strip_words(folded, start, end, rf",? {words['when']}[^\w]*$", language)
    when = folded.original(*trim(folded, stop, end))
    return (start, stop), f", {words['began_word']} {when}" if when else ""


def name_span(folded: Folded, start: int, end: int, language: Language) -> tuple[int, int] | None:
    """The span of a person's or animal's name at the beginning of the span; None when it is none."""
    cut = compiled(vocabulary(language)["cut_name"], language)
    start, end = trim(folded, start, end)
    if match := cut.search(folded.text, start, end):
        end = match.start()
    start, end = trim(folded, start, end)
    words = folded.text[start:end].split()
    if not words or len(words) > MAX_NAME or words[0] in _list("not_name", language) or end - start > 60:
        return None
    if words[-1] in _list("stopwords", language):
        return None
    if not all(_NAME.fullmatch(word) for word in words):
        return None
    return start, end


def items(folded: Folded, start: int, end: int, language: Language) -> list[tuple[int, int]]:
    """The parts of "pão, queijo e vinho"; a phrase that is no list stays whole, empty objects fall out."""
    limit = end
    start, end = phrase(folded, start, end, language, longest=MAX_LIST)
    end = _last_item(folded, start, end, limit, language)
    spans: list[tuple[int, int]] = []
    begin = start
    for match in _LIST.finditer(folded.text, start, end):
        spans.append((begin, match.start()))
        begin = match.end()
    spans.append((begin, end))
    narrower = compiled(vocabulary(language)["narrower"], language)
    spans = [spans[0], *((a, b) for a, b in spans[1:] if not narrower.fullmatch(folded.text, a, b))]
    if any(len(folded.text[a:b].split()) > 4 for a, b in spans):
        spans = [(start, end)]
    empty = compiled(vocabulary(language)["empty_object"], language)
    joint = compiled(vocabulary(language)["joint"], language)
    later = [(found.end() if (found := joint.match(folded.text, a, b)) else a, b) for a, b in spans[1:]]
    cleaned = [trim(folded, a, min(b, a + MAX_VALUE)) for a, b in (*spans[:1], *later)]
    return [(a, b) for a, b in cleaned if a < b and not empty.match(folded.text, a, b)]


def _last_item(folded: Folded, start: int, end: int, limit: int, language: Language) -> int:
    """The end of ", e também de forró" behind a list, where the phrase would stop at its comma."""
    more = compiled(vocabulary(language)["more_items"], language).match(folded.text, end, limit)
    if more is None or not (more["also"] or _LIST.search(folded.text, start, end)):
        return end
    starters = compiled(word_lists(language, "language/clauses")["starters"] + r"\b", language)
    if starters.match(folded.text, more.start("rest")):
        return end
    return phrase(folded, more.start("rest"), more.end("rest"), language)[1]


def without_article(folded: Folded, start: int, end: int, language: Language) -> tuple[int, int]:
    """The span without an article or possessive in front."""
    match = compiled(vocabulary(language)["article"], language).match(folded.text, start, end)
    return (match.end(), end) if match and match.end() < end else (start, end)


def strip_words(folded: Folded, start: int, end: int, pattern: str, language: Language) -> int:
    """The end of the span without what `pattern` finds behind its first word."""
    match = compiled(pattern, language).search(folded.text, start, end)
    return match.start() if match and match.start() > start else end


@lru_cache(maxsize=4_096)
def singular(word: str, language: Language) -> str:
    """A folded noun in the singular, by its ending (a rule of thumb, the same for a word at all times)."""
    if len(word) < 4 or not word.endswith("s"):
        return word
    rules = {
        "pt": (
            ("oes", "ao"),
            ("aes", "ao"),
            ("ais", "al"),
            ("eis", "el"),
            ("ns", "m"),
            ("res", "r"),
            ("zes", "z"),
            ("s", ""),
        ),
        "en": (
            ("ies", "y"),
            ("ches", "ch"),
            ("shes", "sh"),
            ("xes", "x"),
            ("sses", "ss"),
            ("oes", "o"),
            ("ss", "ss"),
            ("us", "us"),
            ("is", "is"),
            ("s", ""),
        ),
    }
    for ending, replacement in rules[language]:
        if word.endswith(ending):
            return word[: -len(ending)] + replacement
    return word


def slug(text: str, language: Language, words: int = MAX_SLUG_WORDS) -> str:
    """The stable short form of a phrase for a key: folded content words in the singular, no numbers."""
    folded = _CURRENCY.sub(" ", fold_word(text))
    tokens = [token for token in _WORD.findall(folded) if not _NUMBER.fullmatch(token)]
    content = [token for token in tokens if token not in _list("stopwords", language)]
    return " ".join(singular(token, language) for token in (content or tokens)[:words])[:80]


def conjugated(word: str, language: Language, *, verb: bool = False) -> str:
    """A lone verb of the first person in the third: "jogo" → "joga", "have" → "has".

    Any other word as it is; one that is known to be a verb by the regular endings of its language.
    """
    known = vocabulary(language)["third_person"].get(fold_word(word))
    if known is not None or not verb:
        return str(known or word)
    for pattern, ending in vocabulary(language)["third_person_endings"]:
        if re.search(pattern, word):
            return re.sub(pattern, ending, word, count=1)
    return word


def third_person(text: str, language: Language) -> str:
    """`text` as somebody else says it: "vender meu carro" → "vender seu carro"."""
    return _rewritten(text, "person", language)


def told(text: str, language: Language) -> str:
    """`text` with the verb that begins it as told of somebody else: "passei na prova" → "passou na prova"."""
    return _rewritten(text, "told", language)


def _rewritten(text: str, name: str, language: Language) -> str:
    for pattern, replacement in vocabulary(language)[name]:
        text = re.sub(pattern, replacement, text, flags=re.IGNORECASE)
    return text

"""Secrets that people tell in words: "minha senha é …", "the 3 digits on the back are …" (pure)."""

import re
from bisect import bisect_left, bisect_right
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cache
from itertools import accumulate

from thoughtcycle.memory.text.secret_shapes import URL, is_expression, oddness
from thoughtcycle.memory.text.spans import Span
from thoughtcycle.prompts.loader import LANGUAGES, word_lists

NEAR, BEFORE = 16, 10
"""Words after a name, and before one, within which what looks like a secret is one."""
LINKS = 3
"""Verbs and signs after a name that are tried: "a senha pra entrar é …"."""
PHRASE_WORDS, LONGEST_PHRASE = 10, 200
"""Most words, and characters, of a secret that is a phrase."""
_CLOSERS = ".,;!?)]}\"'”’*_"
_QUOTED = re.compile(r"\"([^\"\n]{1,100})\"|'([^'\n]{1,100})'|“([^”\n]{1,100})”|«([^»\n]{1,100})»")
_TOKEN = re.compile(r"[^\s\"“”«»]{1,400}")
_NUMBER = re.compile(
    r"(?<![\w.,:/$€£+-])(?:\d?[#*])?(?P<digits>\d{1,2}(?:[ ]?[-–][ ]?\d{1,2}|[ ]\d{1,2}){2,8}"
    r"|\d{3,8}(?:[ -]\d{3,8}){0,8}|\d{1,12})"
    r"[#*]{0,2}(?![\w/:%€$°*+²³-]|[.,]\d|[ ]?[x×=][ ]?\d)"
)
_LISTED = re.compile(r"[^\W\d_]{4,40}(?=[.,;)\n]|$)")
_LETTER, _DIGIT = re.compile(r"[^\W\d_]"), re.compile(r"\d")
_SHOUTED = re.compile(r"[!?]+")
_LEAST = {"": 3, "place": 2, "code": 2}
"""How odd a word must be beside a name of this class; 1 beside all others."""
SHORT_KEY = 12
"""Characters under which a word beside a key's name has to be odder: "key signature", "gpt-4o"."""
_YEAR = re.compile(r"(?:19|20)\d\d$")
_TOWARDS = ("to", "para", "pra", "por")
"""Links of change ("mudei a senha para"), or else of purpose ("a senha para entrar")."""
_UUID = re.compile(r"[0-9a-fA-F]{8}-(?:[0-9a-fA-F]{4}-){3}[0-9a-fA-F]{12}")
_PERSONAL = re.compile(r"(?:19|20)\d\d-\d\d-\d\d$|\d{3}-\d{2}-\d{4}$|\d{3}[ -]\d{3}[ -]\d{4}$|\d{4,5}-\d{4}$")


@dataclass(frozen=True)
class _Speech:
    """The patterns of `language/secrets` in all languages: people mix them."""

    names: re.Pattern[str]
    """With a group per class of secrets."""
    places: re.Pattern[str]
    link: re.Pattern[str]
    """After a name: "of something is"."""
    enters: re.Pattern[str]
    typed: re.Pattern[str]
    sets: re.Pattern[str]
    as_name: re.Pattern[str]
    """After a value: "as my password"."""
    remark: re.Pattern[str]
    until: re.Pattern[str]
    counted: re.Pattern[str]
    meant: re.Pattern[str]
    handle: re.Pattern[str]
    turn: re.Pattern[str]
    changes: re.Pattern[str]
    own: re.Pattern[str]
    answered: re.Pattern[str]
    listed: re.Pattern[str]
    number: re.Pattern[str]
    remarks: frozenset[str]
    judged: frozenset[str]


@cache
def _speech() -> _Speech:
    data = [word_lists(language, "language/secrets") for language in LANGUAGES]

    def either(name: str) -> str:
        return "|".join(dict.fromkeys(one for each in data for one in each[name]))

    def words(name: str) -> frozenset[str]:
        return frozenset(word for each in data for word in each[name].split())

    def before(name: str, sign: str = "") -> re.Pattern[str]:
        return re.compile(rf"(?<!\w)(?:{either(name)}){sign}$")

    names = "|".join(
        f"(?P<{name}>{either(name)})"
        for name in ("question", "phrase", "password", "pin", "card", "key", "code")
    )
    digit = either("number")
    return _Speech(
        names=re.compile(rf"(?<![\w$/.=-])(?:{names})(?![\w/]|[.-]\w)"),
        places=re.compile(rf"(?<!\w)(?:{either('place')})(?!\w)"),
        link=re.compile(
            r"(?:[ \t]{1,2}[\w'’@./&+()-]{1,30}){0,7}?"
            rf"(?:[ \t,(]{{1,3}}(?P<verb>{either('is')})(?![\w-])|[ \t]{{0,2}}(?:['’]s\b|:|=|->|=>|→))"
            r"\s{0,3}(?=\S)"
        ),
        enters=re.compile(rf"(?<!\w)(?:{either('enters')})(?!\w)|[:>]"),
        typed=re.compile(rf"(?<!\w)(?:{either('typed')})[ ](?=\w)"),
        sets=re.compile(rf"(?<!\w)(?:{either('sets')})[ ]{{1,2}}(?=\w)"),
        as_name=re.compile(rf"[ ](?:{either('as')})(?:\w{{1,12}}[ ])?(?:{either('password')})(?!\w)"),
        remark=re.compile(rf"(?:{either('remark')})$"),
        until=re.compile(rf"[.,;!?)](?!\w)|\n|[ ](?:-|–|—|{either('until')})(?!\w)"),
        counted=re.compile(rf"[ ]?(?:{either('counted')})(?!\w)"),
        meant=re.compile(rf"(?:(?<!\w)(?:{either('meant')})|[$€£])[ .:#(]{{0,3}}$"),
        handle=re.compile(rf"(?<!\w)(?:{either('handle')})(?!\w)"),
        turn=before("turn", "[ ]{1,2}"),
        changes=re.compile(rf"(?<!\w)(?:{either('changes')})(?!\w)"),
        own=re.compile(rf"(?<!\w)(?:{either('own')})(?!\w)"),
        answered=re.compile(rf"(?<![\w'])(?:{either('answered')})[ ]{{1,2}}(?=\S)"),
        listed=re.compile(r"[,;:/|(\n][ ]?\w?[ ]?$"),
        number=re.compile(rf"(?:{digit})(?:[ ,-]{{1,2}}(?:{digit})){{2,11}}(?!\w)"),
        remarks=words("remarks"),
        judged=words("judged"),
    )


def told_secrets(text: str, folded: str, taken: Sequence[Span]) -> Iterator[Span]:
    """The secrets that a text tells; `folded`: the text in lower case without accents, of the same length.

    `taken`: secrets that are known already, in any order.
    """
    speech = _speech()
    names = [
        name
        for name in speech.names.finditer(folded)
        if name.lastgroup != "code"
        or not speech.meant.search(folded, max(0, name.start() - 30), name.start())
    ]
    found = [*_announced(text, folded, names), *_set_or_typed(text, folded, names)]
    yield from found
    yield from _near(text, folded, names, [*taken, *found])


def _announced(text: str, folded: str, names: Sequence[re.Match[str]]) -> Iterator[Span]:
    """Values behind "NAME of something is", and the answers to a bank's questions."""
    speech = _speech()
    for name in names:
        kind, at = name.lastgroup or "", name.end()
        if kind == "question":
            continue
        if kind in ("password", "phrase") and (span := _directly(text, folded, name)) is not None:
            yield span
            continue
        changed = speech.changes.search(folded, max(0, name.start() - 40), name.start()) is not None
        for tried in range(LINKS):
            link = speech.link.match(folded, at)
            if link is None or (tried and "," in link[0]):
                break
            at, verb = link.end(), link["verb"]
            plain = changed or verb not in _TOWARDS
            if verb == "e":  # "and", or "is" without its accent
                plain = text[link.start("verb")] not in "eE"
            if (span := _value(text, folded, at, kind, said=verb is None, plain=plain)) is not None:
                yield span
                break
            at -= 1
    if any(name.lastgroup == "question" for name in names):
        for answer in speech.answered.finditer(folded):
            said = answer[0].rstrip()[-1] == ":"
            if (span := _value(text, folded, answer.end(), "question", said=said)) is not None:
                yield span


def _directly(text: str, folded: str, name: re.Match[str]) -> Span | None:
    """A value right behind its name: quoted, or a word that ends a part of a list ("wifi Mar, senha sol")."""
    speech, start = _speech(), name.end() + 1
    if text[name.end() : start] != " " or start == len(text):
        return None
    if quoted := _QUOTED.match(text, start):
        start, end = quoted.span(quoted.lastindex or 0)
    elif speech.listed.search(folded, max(0, name.start() - 4), name.start()):
        token = _LISTED.match(text, start)
        if token is None or not speech.places.search(folded, max(0, name.start() - 60), name.start()):
            return None
        end = token.end()
    else:
        return None
    first = folded[start:end].split()[:1]
    usual = not first or first[0] in speech.remarks | speech.judged or speech.remark.match(first[0])
    return None if usual else (start, end)


def _set_or_typed(text: str, folded: str, names: Sequence[re.Match[str]]) -> Iterator[Span]:
    """Phrases that are typed where one is asked for, and what is taken "as my password"."""
    speech = _speech()
    if any(name.lastgroup == "phrase" for name in names):
        for verb in speech.typed.finditer(folded):
            span = _value(text, folded, verb.end(), "phrase", said=False)
            if span is not None and len(text[slice(*span)].split()) > 2:
                yield span
    for match in speech.as_name.finditer(folded) if names else ():
        verbs = list(speech.sets.finditer(folded, max(0, match.start() - 80), match.start()))
        if verbs and not speech.names.search(folded, verbs[-1].end(), match.start()):
            yield verbs[-1].end(), match.start()


def _value(text: str, folded: str, start: int, kind: str, *, said: bool, plain: bool = True) -> Span | None:
    """The value that begins at `start`; None where the words only talk about the secret.

    `said`: it stands behind a sign, not a verb; without `plain` it is none of mere words.
    """
    speech = _speech()
    if quoted := _QUOTED.match(text, start):
        return quoted.span(quoted.lastindex or 0)
    if spelt := speech.number.match(folded, start):
        return spelt.span()
    if number := _NUMBER.match(text, start):
        digits, groups = _size(number)
        least = {"key": 6, "code": 4, "password": 4}.get(kind, 3)
        fits = (digits >= least or groups >= 3) and not speech.counted.match(folded, number.end())
        return number.span() if fits else None
    token = _TOKEN.match(text, start)
    if token is None or URL.match(text, start):
        return None
    end = start + len(token[0].rstrip(_CLOSERS))
    value = text[start:end]
    if is_expression(text, start, end):
        return None
    if oddness(value) or (len(value) > 3 and _LETTER.search(value) and _DIGIT.search(value)):
        return start, end
    if not plain or kind in ("pin", "card", "key", "code") or value.isdigit():
        return None
    return _phrase(text, folded, start, kind, said=said)


def _phrase(text: str, folded: str, start: int, kind: str, *, said: bool) -> Span | None:
    """A secret of mere words, to the end of its clause; None for a remark ("é difícil de lembrar")."""
    speech = _speech()
    stop = speech.until.search(folded, start, start + LONGEST_PHRASE)
    end = stop.start() if stop else min(len(text), start + LONGEST_PHRASE)
    words = folded[start:end].split()
    if not 0 < len(words) <= PHRASE_WORDS:
        return None
    if kind == "phrase" and len(words) > 3 and len(words[0]) < 4 and words[0] in speech.remarks:
        words = words[1:]  # "the cat sat on …"
    follows = words[1] if len(words) > 2 else ""
    if words[0] in speech.remarks or (
        words[0] in speech.judged and (not follows or follows in speech.remarks)
    ):
        return None
    name = text[start].isupper() and text[start + 1 : start + 2].islower()
    if not (said or name) and (len(words) > 1 or kind == "question") and speech.remark.match(words[0]):
        return None
    closed = end == len(text) or text[end] in "\n.,;!?)"
    if not said and kind != "question" and len(words) == 1 and (len(words[0]) < 4 or not closed):
        return None
    return start, start + len(text[start:end].rstrip())


def _size(number: re.Match[str]) -> tuple[int, int]:
    """How many digits and how many groups a number has."""
    return sum(map(str.isdigit, number["digits"])), len(re.split(r"\D+", number["digits"]))


def _near(text: str, folded: str, names: Sequence[re.Match[str]], taken: Sequence[Span]) -> Iterator[Span]:
    """Values that look like a secret, near a name, or near a system that asks for one."""
    speech = _speech()
    words = [match.start() for match in re.finditer(r"\S+", text)]
    starts = [bisect_left(words, each.start()) for each in names]
    ends = [bisect_left(words, each.end()) for each in names]
    places = [bisect_left(words, match.start()) for match in speech.places.finditer(folded)]
    closed = sorted([*taken, *(match.span() for match in URL.finditer(text))])
    begins = [start for start, _ in closed]
    reach = list(accumulate((end for _, end in closed), max))
    for start, end, number in _candidates(text):
        before = bisect_left(begins, end)
        if before and reach[before - 1] > start:
            continue
        first, last = bisect_left(words, start), bisect_left(words, end)
        behind, ahead = bisect_right(ends, first) - 1, bisect_left(starts, last)
        away, kind = NEAR + 1, ""
        if behind >= 0 and first - ends[behind] < away:
            away, kind = first - ends[behind], names[behind].lastgroup or ""
        nearer = ahead < len(names) and starts[ahead] - last < min(away - 1, BEFORE)
        if nearer and (number is None or speech.own.search(folded, end, names[ahead].start())):
            kind, away = names[ahead].lastgroup or "", starts[ahead] - last + 1
        at = bisect_left(places, first - NEAR)
        placed = at < len(places) and places[at] < first + NEAR
        kind = kind or ("place" if placed else "")
        head = folded[max(0, start - 30) : start]
        if number is None:
            odd = oddness(text[start:end]) or int(
                kind == "key" and away < 2 and bool(_UUID.fullmatch(text, start, end))
            )
            least = 1 if placed and head.endswith(" / ") else _LEAST.get(kind, 1)
            if kind == "key" and end - start < SHORT_KEY:
                least = 2
            if odd >= least and not speech.handle.search(head.rpartition("\n")[2][-16:]):
                yield start, end
        elif kind and _is_code(folded, number, "pin" if kind == "code" and placed else kind, head, away):
            yield start, end


def _candidates(text: str) -> Iterator[tuple[int, int, re.Match[str] | None]]:
    """Numbers, and words that are more than letters."""
    end = 0
    for token in _TOKEN.finditer(text):
        start = token.start() + len(token[0]) - len(token[0].lstrip("([{'*_"))
        bare = start + len(text[start : token.end()].rstrip(_CLOSERS))
        if start < end or text[start:bare].isalpha():
            continue
        if (number := _NUMBER.match(text, start)) and (
            number.end() >= token.end() - 2 or number.end() > bare
        ):
            end = number.end()
            yield *number.span(), number
        elif oddness(text[start:bare]) or _UUID.fullmatch(text, start, bare):
            signs = _SHOUTED.match(text, bare, token.end())
            yield start, signs.end() if signs else bare, None


def _is_code(folded: str, number: re.Match[str], kind: str, head: str, away: int) -> bool:
    """Whether a number beside a name or a place is the code that is meant."""
    speech = _speech()
    digits, groups = _size(number)
    if (
        speech.counted.match(folded, number.end())
        or speech.meant.search(head)
        or _PERSONAL.match(number["digits"])
    ):
        return False
    if speech.turn.search(head):
        return kind in ("pin", "place", "key")
    if groups > 2:
        return kind in ("pin", "place", "password")
    if _YEAR.match(number["digits"]) and (away > 0 or kind == "place"):
        return False
    if kind in ("place", "key") and away > 0 and speech.enters.search(head) is None:
        return False
    least = {"card": 3, "pin": 4, "place": 4, "password": 4, "key": 6, "code": 5}
    return digits in range(least.get(kind, 9), 9) and (kind != "code" or away < 2)

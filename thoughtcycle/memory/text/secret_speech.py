"""Secrets that people tell in words: "minha senha é …", "the 3 digits on the back are …" (pure)."""

import re
from bisect import bisect_left, bisect_right
from collections.abc import Iterator, Mapping, Sequence
from functools import cache
from itertools import accumulate, zip_longest
from typing import Any

from thoughtcycle.memory.text.secret_shapes import URL, is_expression, is_strong, oddness
from thoughtcycle.memory.text.spans import Span
from thoughtcycle.prompts.loader import LANGUAGES, word_lists

NEAR, BEFORE = 16, 10
"""Words after a name, and before one, within which what looks like a secret is one."""
LINKS = 3
"""Verbs and signs after a name that are tried: "a senha pra entrar é …"."""
PHRASE_WORDS, SEED_WORDS, LONGEST_PHRASE = 10, 25, 220
"""Most words of a password, words of a phrase, and characters, of a secret that is mere words."""
_SEED = re.compile(
    r"(?:\d{1,2}[.)]?[ ])?[a-z]{3,10}(?:[ ]?[,\n][ ]?(?:\d{1,2}[.)]?[ ]?)?[a-z]{3,10}(?!\w)){7,24}"
)
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
_END = r"[.,;!?)](?!\w)(?<!\bmr\.)(?<!\bmrs\.)(?<!\bms\.)(?<!\bdr\.)(?<!\bst\.)(?<!\bsr\.)(?<!\bsra\.)"
"""Signs that end a phrase; a title's dot does not."""
_ALSO = re.compile(r"[ ]?(?:[,/&]|and|or|e|ou|then|depois)?[ ](?:and |or |e |ou )?")
_WORDS = re.compile(r"[A-Za-z._]+")
_ROUND = re.compile(r"[1-9]0{3,}$")
_CODE = re.compile(r"(?=[A-Z]*\d)(?=\d*[A-Z])[A-Z0-9]{4,10}")
_UUID = re.compile(r"[0-9a-fA-F]{8}-(?:[0-9a-fA-F]{4}-){3}[0-9a-fA-F]{12}")
_PERSONAL = re.compile(r"(?:19|20)\d\d-\d\d-\d\d$|\d{3}-\d{2}-\d{4}$|\d{3}[ -]\d{3}[ -]\d{4}$|\d{4,5}-\d{4}$")


class _Speech:
    """The patterns of `language/secrets` in all languages: people mix them."""

    def __init__(self) -> None:
        names = "|".join(
            f"(?P<{name}>{_either(name)})"  # a group per class of secrets
            for name in ("question", "phrase", "password", "pin", "card", "key", "code")
        )
        password, handle, digit = _either("password"), _either("handle"), _either("number")
        links = r"(?:is|was|eh?|era|do|da|de|n[ro]|number|name|id)"
        self.names = re.compile(rf"(?<![\w$/.=-])(?:{names})(?![\w/]|[.-]\w)")
        self.link = re.compile(  # "of something is"
            r"(?:[ \t]{1,2}[\w'’@./&+()-]{1,30}){0,7}?"
            rf"(?:[ \t,(]{{1,3}}(?P<verb>{_either('is')})(?![\w-])|[ \t]{{0,2}}(?:['’]s\b|:|=|->|=>|→))"
            rf"\s{{0,3}}(?:(?:{_either('adverb')}),?[ ]){{0,3}}(?:(?:o|a|the)[ ](?=[\"'“\d]))?(?=\S)"
        )
        self.places, self.changes, self.own = _word("place"), _word("changes"), _word("own")
        self.topic, self.account = _word("topic"), _word("account")
        self.wallet, self.other = _word("wallet"), _word("other")
        self.enters = re.compile(rf"(?<!\w)(?:{_either('enters')})(?!\w)|[:>]|['’]s[ ]$")
        self.typed = re.compile(rf"(?<!\w)(?:{_either('typed')})[ ](?=\w)")
        self.sets = re.compile(rf"(?<!\w)(?:{_either('sets')})[ ]{{1,2}}(?=\w)")
        self.put = re.compile(rf"(?<!\w)(?:{_either('sets')})[ ]{{1,2}}$")
        self.as_name = re.compile(rf"[ ](?:{_either('as')})(?:\w{{1,12}}[ ])?(?:{password})(?!\w)")
        self.called = re.compile(rf"[ ](?:(?:{_either('called')})[ ]){{1,4}}(?:{password})(?!\w)")
        self.remark = re.compile(rf"(?:{_either('remark')})$")
        self.until_strong = re.compile(rf"{_END}|\n|[ ](?:-|–|—|{_either('until_strong')})(?!\w)")
        self.until = re.compile(rf"{self.until_strong.pattern}|[ ](?:{_either('until')})(?!\w)")
        self.counted = re.compile(rf"[ ]?(?:{_either('counted')})(?!\w)")
        self.meant = re.compile(rf"(?:(?<!\w)(?:{_either('meant')})|[$€£])[ .:#(]{{0,3}}$")
        self.handles = re.compile(rf"(?<!\w)(?:{handle})(?!\w).{{0,12}}$")
        self.handle = re.compile(  # right before a value
            rf"(?<!\w)(?:{handle})(?:[ :=#@(\"']{{0,3}}{links}?[ :=#@(\"']{{1,3}}){{1,2}}$"
        )
        self.given = re.compile(  # before a name: "user ana and the"
            rf"(?:(?<!\w)(?:{handle}|wi-?fi)(?:[ ]\w{{1,12}}){{0,2}}(?:[ ]?[:=]|[ ](?:is|e|eh))?[ ]\S{{2,60}}"
            r"|\S@\S{3,60})[ ,;]{1,2}(?:(?:with|and|com|e|w/)[ ])?(?:(?:the|a|o)[ ])?$"
        )
        self.turn = re.compile(rf"(?<!\w)(?:{_either('turn')})[ ]{{1,2}}$")
        self.turned = re.compile(rf"[ ](?:{_either('turn')})(?=[,.;]|\s*$|[ ](?:then|and|depois|e)\b)")
        self.answered = re.compile(rf"(?<![\w'])(?:{_either('answered')})[ ]{{1,2}}(?=\S)")
        self.told = re.compile(  # between the subject of a question and its answer
            r"[ \w]{0,30}?[\"']?(?:[ ]?[:=,?–][ \n]{1,2}|[ ](?:-|is|was|eh?|era|foi)[ ])(?=\S)"
        )
        self.made = re.compile(  # what a secret is made of, before it: "a sentence:"
            rf"[^.?!:\"\n•]{{0,60}}?\b(?:{_either('made')})\b[^.?!:,(\"\n]{{0,24}}"
            r"(?:[:,(][ \n]{0,2}(?=\S)|[ ](?=\d{4}))"
        )
        self.using = re.compile(
            rf"(?:(?<!\w)(?:{_either('using')})[ ]|[\w@)][ ]?[:=>|–-]{{1,2}}[ ]|[ ]/[ ])[\"']?$"
        )
        self.listed = re.compile(r"[,;:/|(\n][ ]?\w?[ ]?$")
        self.number = re.compile(
            rf"(?:{digit})(?:(?:[ ,-]{{1,2}}(?:e[ ])?|[ ]?[>→-]{{1,2}}[ ]?)(?:{digit})){{2,11}}(?!\w)"
        )
        self.remarks, self.judged = listed_words("remarks"), listed_words("judged")


_speech = cache(_Speech)


def _either(name: str) -> str:
    return "|".join(dict.fromkeys(one for each in _lists() for one in each[name]))


def _word(name: str) -> re.Pattern[str]:
    return re.compile(rf"(?<!\w)(?:{_either(name)})(?!\w)")


def names_wallet(folded: str) -> bool:
    """Whether a folded text speaks of a wallet for coins."""
    return _speech().wallet.search(folded) is not None


@cache
def listed_words(name: str) -> frozenset[str]:
    """The words of one list of `language/secrets` in all languages."""
    return frozenset(word for each in _lists() for word in each[name].split())


def _lists() -> list[Mapping[str, Any]]:
    return [word_lists(language, "language/secrets") for language in LANGUAGES]


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
    for name, following in zip_longest(names, names[1:]):
        kind, at = name.lastgroup or "", name.end()
        if kind == "question":
            continue
        if name[0][-1] in "/|:":  # "login: ana / …"
            yield from filter(None, [_value(text, folded, at + 1, kind, said=True)])
            continue
        if (span := _directly(text, folded, name, kind)) is not None:
            yield span
            continue
        changed = speech.changes.search(folded, max(0, name.start() - 40), name.start()) is not None
        for tried in range(LINKS):
            link = speech.link.match(folded, at)
            if link is None or (tried and ("," in link[0] or (following and at + 1 >= following.start()))):
                break
            at, verb = link.end(), link["verb"]
            until = link.start("verb") if verb else at
            if kind == "code" and speech.meant.search(folded, name.end(), until):
                break
            plain = text[until] not in "eE" if verb == "e" else changed or verb not in _TOWARDS
            plain = plain and not speech.other.search(folded, name.end(), until)  # "e": "and", or "is"
            span = _value(text, folded, at, kind, said=verb is None, plain=plain)
            made = speech.made.match(folded, at) if kind in ("password", "phrase", "pin") else None
            if made and (span is None or 0 < made.end() - span[1] < 4):
                inner = _value(text, folded, made.end(), "made" if ":" in made[0] else kind, said=True)
                span = inner or (None if is_expression(text, made.end(), len(text)) else span)
            if span is not None:
                yield span
                break
            at -= 1
    asked = any(name.lastgroup == "question" for name in names)
    topics = list(speech.topic.finditer(folded)) if asked or speech.account.search(folded) else []
    for answer in speech.answered.finditer(folded) if asked or topics else ():
        said = answer[0].rstrip()[-1] in ":.)"
        if (span := _value(text, folded, answer.end(), "question", said=said)) is not None:
            yield span
    for told in (speech.told.match(folded, topic.end()) for topic in topics):
        if told and "?" in told[0] and not text[told.end()].isupper():
            continue
        if told and (span := _value(text, folded, told.end(), "question", said=told[0][-2] in ":=-–")):
            yield span


def _directly(text: str, folded: str, name: re.Match[str], kind: str) -> Span | None:
    """A value right behind its name: spelt, quoted, or a word that ends a part of a list ("wifi A, pw b")."""
    speech, start = _speech(), name.end() + 1
    if text[name.end() : start] != " " or start == len(text):
        return None
    if kind != "key" and (spelt := speech.number.match(folded, start)):
        return spelt.span()
    if kind not in ("password", "phrase"):
        return None
    if quoted := _QUOTED.match(text, start):
        start, end = quoted.span(quoted.lastindex or 0)
    elif token := _LISTED.match(text, start):
        listed = speech.listed.search(folded, max(0, name.start() - 4), name.start())
        around = max(0, name.start() - 80), name.start()
        last = text[token.end() : token.end() + 1] in ("", "\n") and name[0][-1] != "s"
        placed = (listed or last) and speech.places.search(folded, around[0], name.end())
        if not placed and not speech.given.search(folded, *around):
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
    words = any(name.lastgroup in ("password", "phrase") for name in names)
    for quoted in _QUOTED.finditer(text) if words else ():
        value = quoted.span(quoted.lastindex or 0)
        put = speech.put.search(folded, max(0, quoted.start() - 16), quoted.start())
        if (
            put and value[1] - value[0] > 4 and folded[slice(*value)] not in speech.remarks
        ) or speech.called.match(folded, quoted.end()):
            yield value
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
    if kind == "phrase" and (seed := _SEED.match(folded, start)):
        return seed.span()
    if kind == "question":
        return _phrase(text, folded, start, kind, said=said)
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
    if kind != "made" and is_expression(text, start, end):
        return None
    if oddness(value) or (len(value) > 3 and _LETTER.search(value) and _DIGIT.search(value)):
        return start, end
    if not plain or kind in ("pin", "card", "key", "code") or value.isdigit():
        return None
    return _phrase(text, folded, start, kind, said=said)


def _phrase(text: str, folded: str, start: int, kind: str, *, said: bool) -> Span | None:
    """A secret of mere words, to the end of its clause; None for a remark ("é difícil de lembrar")."""
    speech = _speech()
    until = speech.until_strong if kind in ("phrase", "made") else speech.until
    stop = until.search(folded, start, start + LONGEST_PHRASE)
    if stop is None and start + LONGEST_PHRASE < len(text):
        return None
    end = stop.start() if stop else len(text)
    words = folded[start:end].split()
    if not 0 < len(words) <= (SEED_WORDS if kind == "phrase" else PHRASE_WORDS):
        return None
    if kind == "phrase" and len(words) > 3 and len(words[0]) < 4 and words[0] in speech.remarks:
        words = words[1:]  # "the cat sat on …"
    follows = words[1] if len(words) > 2 else ""
    if (words[0] in speech.remarks and kind != "made") or (
        words[0] in speech.judged and (not follows or follows in speech.remarks)
    ):
        return None
    name = text[start].isupper() and text[start + 1 : start + 2].islower()
    if not (said or name) and (len(words) > 1 or kind == "question") and speech.remark.match(words[0]):
        return None
    closed = end == len(text) or stop is not None
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
    latest = 0
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
        own = nearer and speech.own.search(folded, end, names[ahead].start())
        if nearer and (number is None or own or speech.using.search(folded, max(0, start - 30), start)):
            kind, away = names[ahead].lastgroup or "", starts[ahead] - last
        at = bisect_left(places, first - NEAR)
        placed = at < len(places) and places[at] < first + NEAR
        kind = kind or ("place" if placed else "")
        head = folded[max(0, start - 30) : start]
        if number is None:
            short = kind == "pin" and away < 3 and _CODE.fullmatch(text, start, end)
            whole = kind == "key" and away < 2 and _UUID.fullmatch(text, start, end)
            odd = oddness(text[start:end]) or int(bool(short or whole))
            again = 0 < latest < start and _ALSO.fullmatch(folded, latest, start)
            least = 1 if again or (placed and speech.using.search(head)) else _LEAST.get(kind, 1)
            if kind == "key" and (end - start < SHORT_KEY or _WORDS.fullmatch(text, start, end)):
                least = 2
            named = speech.handle if kind in ("password", "pin", "phrase") else speech.handles
            if odd >= least and (not named.search(head.rpartition("\n")[2]) or is_strong(text[start:end])):
                latest = end
                yield start, end
        elif kind:
            marked = head[-1:] in ("#", "*") or text[end - 1] in "#*"
            kind = "pin" if placed and (kind == "code" or (kind == "key" and marked)) else kind
            if _is_code(folded, number, kind, head, away, marked=marked):
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
        elif oddness(text[start:bare]) or any(form.fullmatch(text, start, bare) for form in (_CODE, _UUID)):
            signs = _SHOUTED.match(text, bare, token.end())
            yield start, signs.end() if signs else bare, None


def _is_code(
    folded: str, number: re.Match[str], kind: str, head: str, away: int, *, marked: bool = False
) -> bool:
    """Whether a number beside a name or a place is the code that is meant."""
    speech = _speech()
    digits, groups = _size(number)
    if (
        speech.counted.match(folded, number.end())
        or speech.meant.search(head)
        or _PERSONAL.match(number["digits"])
        or _ROUND.match(number["digits"])
    ):
        return False
    if speech.turn.search(head) or speech.turned.match(folded, number.end()):
        return kind in ("pin", "place", "key")
    if groups > 2:
        return kind in ("pin", "place", "password")
    if _YEAR.match(number["digits"]) and (away > 2 * (kind == "pin") or kind == "place"):
        return False
    if kind in ("place", "key") and away > 0 and not marked and speech.enters.search(head) is None:
        return False
    least = {"card": 3, "pin": 4 if away else 3, "place": 4, "password": 4, "key": 6, "code": 5}
    return digits in range(least.get(kind, 9), 9) and (kind != "code" or away < 2)

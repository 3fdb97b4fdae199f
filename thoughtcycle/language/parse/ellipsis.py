"""Completes clauses that lean on what was said before: "she is a nurse", "but not dogs"."""

import re
from bisect import bisect_left
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import cache
from itertools import chain
from typing import Any

from thoughtcycle.language.parse.clauses import Clause, Message, Sentence
from thoughtcycle.language.parse.folding import Folded, fold_word
from thoughtcycle.language.parse.patterns import compiled, vocabulary
from thoughtcycle.prompts.loader import Language, word_lists

WINDOW = 240
"""Characters before a clause in which the one is looked for whom its pronoun means."""


@dataclass(frozen=True)
class CompletedClause:
    """A clause written out, to be read as if it had been said so."""

    text: str
    start: int
    end: int
    """The folded span whose words say it."""
    about: tuple[str, ...] = ()
    """The only key prefixes that it may fill; empty for any."""
    together: bool = False
    """One of a list that is only split where each of it tells something."""


@cache
def _data(language: Language) -> Mapping[str, Any]:
    return word_lists(language, "language/ellipsis")


def _pattern(name: str, language: Language) -> re.Pattern[str]:
    return compiled(_data(language)[name], language)


def resolve_ellipsis(
    message: Message, sentence: Sentence, clause: Clause, language: Language
) -> tuple[CompletedClause, ...]:
    """The clause written out in full; nothing when it stands for itself or cannot be completed."""
    before = _before(sentence, clause)
    found = _of_somebody(message, sentence, clause, language)
    if not found and before is not None:
        found = _contrasted(message, before, clause, language)
    if not found and (said := _last_said(message, sentence, clause, language)):
        found = _with_object(message, said, clause, language)
    found = found or _without_aside(message.folded, clause, language)
    if not found and before is not None:
        found = _moved(message, before, clause, language)
    if not found and (listed := _each_had(message.folded, clause, language)):
        return listed
    if not found and (home := _shared_home(message.folded, clause, language)):
        return home
    return (found,) if found else tuple(_introduced(message.folded, clause, language))


def _last_said(message: Message, sentence: Sentence, clause: Clause, language: Language) -> Clause | None:
    """The clause before this one, in this sentence or the one before, mere fillers aside."""
    leads = compiled(word_lists(language, "language/clauses")["leads"], language)
    at = bisect_left(message.sentences, sentence.start, key=lambda each: each.start)
    previous = message.sentences[at - 1].clauses if at else ()
    for each in chain(_earlier(sentence, clause), reversed(previous)):
        if each.start < each.end and not leads.fullmatch(message.text(each)):
            return each
    return None


def _earlier(sentence: Sentence, clause: Clause) -> Iterator[Clause]:
    """The clauses of the sentence that end before this one begins, the last first."""
    at = bisect_left(sentence.clauses, clause.start, key=lambda each: each.start)
    raw = _raw(clause)
    return (each for each in reversed(sentence.clauses[max(0, at - 5) : at]) if each.end <= raw)


def _each_had(folded: Folded, clause: Clause, language: Language) -> tuple[CompletedClause, ...]:
    """ "I have a dog called Rex and a cat called Tom": each with the verb."""
    for pattern in _data(language)["each_had"]:
        if match := compiled(pattern, language).match(folded.text, clause.start, clause.end):
            head = folded.original(*match.span("head"))
            return tuple(
                CompletedClause(
                    f"{head} {folded.original(*match.span(part))}", *match.span(part), together=True
                )
                for part in ("first", "rest")
            )
    return ()


def _moved(message: Message, before: Clause, clause: Clause, language: Language) -> CompletedClause | None:
    """ "I don't live in Leeds anymore, I'm in York now": being there is living there."""
    folded = message.folded
    for denied, said, written, about in _data(language)["moved"]:
        if not compiled(denied, language).match(folded.text, before.start, before.end):
            continue
        for start in (_raw(clause), clause.start):
            match = compiled(said, language).match(folded.text, start, clause.end)
            if match is None:
                continue
            where = folded.original(*match.span("x"))
            lower = folded.source == folded.source.lower() and len(where.split()) <= 2
            if where[:1].isupper() or (lower and not _pattern("no_place", language).match(match["x"])):
                text = written.replace("{p}", match["p"]).replace("{x}", where)
                return CompletedClause(text, clause.start, clause.end, (about,))
    return None


def _shared_home(folded: Folded, clause: Clause, language: Language) -> tuple[CompletedClause, ...]:
    """ "I live in Leeds with my girlfriend Julia": where, with whom, and who that is."""
    for pattern in _data(language)["lives_with"]:
        match = compiled(pattern, language).match(folded.text, clause.start, clause.end)
        if match is None:
            continue
        head = folded.original(*match.span("head"))
        parts = [
            CompletedClause(f"{head} {folded.original(*match.span(part))}", *match.span(part), together=True)
            for part in ("place", "with")
        ]
        name = folded.original(*match.span("name")) if match["name"] else ""
        if name[:1].isupper():
            text = _data(language)["named"].replace("{name}", name)
            for part in ("whose", "kin"):
                text = text.replace("{" + part + "}", folded.original(*match.span(part)))
            parts.append(CompletedClause(text, *match.span("with"), ("family",)))
        return tuple(parts)
    return ()


def _without_aside(folded: Folded, clause: Clause, language: Language) -> CompletedClause | None:
    """ "My dog is actually called Loki": the clause without what was said in passing."""
    match = _pattern("aside", language).search(folded.text, clause.start, clause.end)
    if match is None:
        return None
    text = folded.original(clause.start, match.start()) + folded.original(match.end(), clause.end)
    return CompletedClause(text, clause.start, clause.end)


def _raw(clause: Clause) -> int:
    """The beginning of a clause with its lead."""
    return clause.start - len(clause.lead.lstrip(" \n,;:-–—"))


def _before(sentence: Sentence, clause: Clause) -> Clause | None:
    return next(_earlier(sentence, clause), None)


def _of_somebody(
    message: Message, sentence: Sentence, clause: Clause, language: Language
) -> CompletedClause | None:
    """ "… and she's allergic": what is said of the one of the family or the pet named last."""
    folded = message.folded
    said = _pattern("pronoun", language).match(folded.text, _raw(clause), clause.end)
    begin = max(0, _raw(clause) - WINDOW)
    template = "{subject} {rest}"
    if said is None:
        said = _pattern("possessive", language).match(folded.text, _raw(clause), clause.end)
        template = _data(language)["possessed"] if said else template
    if said is None:
        said = _pattern("third_person", language).match(folded.text, _raw(clause), clause.end)
        begin = sentence.start
        if said is None or not _tells_of_somebody(message, sentence, clause, language):
            return None
    subject = _subject(folded, begin, _raw(clause), language)
    if subject is None:
        return None
    rest = _split_off(folded, *said.span("rest"))
    text = template.replace("{subject}", subject).replace("{rest}", rest)
    return CompletedClause(text, clause.start, clause.end, about=("family", "pet"))


def _tells_of_somebody(message: Message, sentence: Sentence, clause: Clause, language: Language) -> bool:
    """Whether the clauses right before are about one of the family or a pet."""
    someone, pronoun = _pattern("someone", language), _pattern("pronoun", language)
    for each in reversed([each for each in sentence.clauses if each.end <= _raw(clause)]):
        if someone.match(message.folded.text, each.start) or pronoun.match(message.folded.text, _raw(each)):
            return True
        if not _pattern("third_person", language).match(message.folded.text, _raw(each), each.end):
            return False
    return False


def _subject(folded: Folded, start: int, end: int, language: Language) -> str | None:
    """The one named last before `end`, as a subject ("my wife Sarah")."""
    last = None
    for match in _pattern("someone", language).finditer(folded.text, start, end):
        name = _name(folded, match, language)
        if match["whose"] or name:
            last = (match, name)
    if last is None:
        return None
    match, name = last
    whose = folded.original(*match.span("whose")) if match["whose"] else _data(language)["whose"]
    return " ".join(filter(None, (whose, folded.original(*match.span("who")), name)))


def _name(folded: Folded, match: re.Match[str], language: Language) -> str:
    """The name that a match gives to somebody; empty when the word is none."""
    if not match["name"]:
        return ""
    typed = folded.original(*match.span("name"))
    if typed[:1].isupper():
        return typed
    verb = _pattern("third_person", language).match(folded.text, match.end("name") + 1)
    known = match["name"] in {*vocabulary(language)["not_name"], *vocabulary(language)["stopwords"]}
    return typed if verb and not known and folded.source == folded.source.lower() else ""


def _split_off(folded: Folded, start: int, end: int) -> str:
    """The words from `start`; the first as folded where it was contracted with the pronoun ("she's")."""
    first, _, _ = folded.text[start:end].partition(" ")
    if start and folded.starts[start] == folded.starts[start - 1]:
        return f"{first} {folded.original(start + len(first) + 1, end)}"
    return folded.original(start, end)


def _contrasted(
    message: Message, before: Clause, clause: Clause, language: Language
) -> CompletedClause | None:
    """ "I like cats but not dogs"."""
    text = message.folded.text
    liked = _pattern("liked", language).match(text, before.start, before.end)
    but = _pattern("but_not", language).match(text, _raw(clause), clause.end)
    if liked is None or but is None or len(but["rest"].split()) > 4:
        return None
    rest = message.folded.original(*but.span("rest"))
    return CompletedClause(
        f"{_data(language)['not']} {liked['verb']} {rest}", clause.start, clause.end, ("taste", "diet")
    )


def _with_object(
    message: Message, before: Clause, clause: Clause, language: Language
) -> CompletedClause | None:
    """ "I don't hate mushrooms, I love them"."""
    folded = message.folded
    told = _pattern("told_object", language).match(folded.text, before.start, before.end)
    if told is None:
        return None
    if _pattern("bare_verb", language).match(folded.text, _raw(clause), clause.end):
        what = folded.original(told.start("verb"), told.end("x"))
        return CompletedClause(f"{_data(language)['i']} {what}", clause.start, clause.end, ("taste",))
    bare = _pattern("bare_object", language).match(folded.text, clause.start, clause.end)
    if bare is None:
        return None
    joint = _data(language)["joint"] if fold_word(bare["head"]).split()[0] == "gosto" else ""
    what = folded.original(*told.span("x"))
    return CompletedClause(f"{bare['head']} {joint}{what}", clause.start, clause.end, ("taste",))


def _introduced(folded: Folded, clause: Clause, language: Language) -> Iterator[CompletedClause]:
    """ "I'm Tom, 34, from Leeds": who one is, in commas."""
    intro = _pattern("intro", language).match(folded.text, clause.start, clause.end)
    if intro is None:
        return
    if not folded.original(*intro.span("name"))[:1].isupper() and folded.source != folded.source.lower():
        return
    written = []
    for part in re.finditer(r"[^,]+", folded.text[intro.end() : clause.end]):
        a, b = intro.end() + part.start(), intro.end() + part.end()
        a += len(part[0]) - len(part[0].lstrip())
        for pattern, template in _data(language)["parts"]:
            if match := compiled(pattern, language).match(folded.text, a, b):
                what = folded.original(*match.span("x"))
                written.append(CompletedClause(template.replace("{x}", what), a, b))
                break
    if written or _pattern("courtesy", language).match(folded.text, intro.end()):
        head = folded.original(clause.start, intro.end() - 1)
        yield CompletedClause(head, clause.start, intro.end() - 1)
        yield from written

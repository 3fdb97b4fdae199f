"""Facts a user states about themself: the rules of the rulebook on one clause (HM-4, HM-8)."""

import re
from collections.abc import Container, Iterator
from dataclasses import dataclass, field, replace
from datetime import datetime
from functools import cache
from typing import cast

from thoughtcycle.language.facts.feelings import feeling_topic, intensity, momentary
from thoughtcycle.language.parse import (
    Clause,
    Folded,
    MemoryKind,
    Message,
    Rule,
    Sentence,
    additional_topics,
    amounts_in,
    annotate,
    begins_with_date,
    compiled,
    dates_in,
    fold,
    fold_word,
    is_food,
    neutral_name,
    parse,
    phrases,
    resolve_ellipsis,
    rule_batches,
    topic_bindings,
    undated,
)
from thoughtcycle.prompts.loader import LANGUAGES, Language, word_lists

MAX_KEY = 120
MAX_BINDING = 200
"""Characters of a search context."""
_SLOT = re.compile(r"\{(\w+)\}")
_TABLES = {"kin": "kin", "pet": "pets", "mood": "moods", "category": "categories"}


@dataclass(frozen=True)
class Fact:
    """Something the user says about themself, as it is to be remembered."""

    content: str
    """Short neutral text in the message's language; amounts and dates as said, relative dates resolved."""
    kind: MemoryKind | None
    key: str
    """Language-neutral slot of what is told; a later fact of the same key replaces it."""
    topic: str
    bindings: tuple[str, ...]
    """Short search contexts in both languages."""
    words: str
    """The clause of the message that says so, verbatim."""
    weight: float
    shortened: bool = False
    """Whether it was told in more words than are kept; its text then ends with an ellipsis."""
    replaces: str = ""
    """Words by which a memory under another key is known that this changes, where the message corrects or
    moves something: the kind of somebody renamed ("cachorro"), the appointment moved ("consulta")."""


@dataclass(frozen=True)
class Found:
    """The facts of one match, the folded span it used, and whether its wording corrects an earlier fact."""

    facts: tuple[Fact, ...]
    start: int
    end: int
    correction: bool


def facts_in(
    message: Message, sentence: Sentence, language: Language, now: datetime, *, without: Container[int] = ()
) -> Iterator[Found]:
    """The facts in the statements of a sentence; `without`: offsets of clauses to skip."""
    done = sentence.start
    left = replace(sentence, clauses=tuple(each for each in sentence.clauses if each.start not in without))
    for clause in left.clauses:
        if clause.mood != "statement" or clause.start < done or clause.start >= clause.end:
            continue
        found = _written_out(message, sentence, clause, language, now)
        if found is None and not clause.other_subject:
            found = read(message, left, clause, language, now)
        if found is not None:
            done = found.end
            yield found


def _written_out(
    message: Message, sentence: Sentence, clause: Clause, language: Language, now: datetime
) -> Found | None:
    """The facts of a clause that says only with those before it what it means."""
    facts: list[Fact] = []
    for said in resolve_ellipsis(message, sentence, clause, language):
        words = message.folded.original(said.start, said.end)
        read = [replace(fact, words=words) for fact in facts_of(said.text, language, now)]
        if said.together and not read:
            return None
        facts += [fact for fact in read if not said.about or fact.key.startswith(said.about)]
    return Found(tuple(facts), clause.start, clause.end, correction=False) if facts else None


def facts_of(text: str, language: Language, now: datetime) -> tuple[Fact, ...]:
    """The facts that `text` states."""
    message = parse(text, language)
    return tuple(
        fact
        for sentence in message.sentences
        for found in facts_in(message, sentence, language, now)
        for fact in found.facts
    )


def read(
    message: Message, sentence: Sentence, clause: Clause, language: Language, now: datetime
) -> Found | None:
    """Applies the first rule that matches a clause."""
    ends = _ends(message, sentence, clause, language)
    for batch in rule_batches(language):
        if not batch.may_match(message.folded.text, clause.start, (clause.end, *ends)):
            continue
        for rule in batch.rules:
            found = _by_rule(rule, message, clause, ends, language, now)
            if found is not None:
                return found
    return None


def _by_rule(
    rule: Rule, message: Message, clause: Clause, ends: tuple[int, ...], language: Language, now: datetime
) -> Found | None:
    start = message.sentences[0].start if "alone" in rule.flags else clause.start
    if "alone" in rule.flags and len(message.sentences) > 1:
        return None
    for end in ends if "whole" in rule.flags else (clause.end,):
        for match in rule.matches(message.folded.text, start, end):
            facts = _Reading(message.folded, clause, match, rule, language, now).facts()
            if facts:
                # What makes somebody feel so may be a fact of its own ("… because my cat died").
                done = clause.end if rule.kind == "emo" else max(end, clause.end)
                return Found(facts, clause.start, done, "correction" in rule.flags)
    return None


def _ends(message: Message, sentence: Sentence, clause: Clause, language: Language) -> tuple[int, ...]:
    """The ends to try for a rule that reads on: of the clauses that continue, and of the sentence."""
    continues = compiled(word_lists(language, "language/clauses")["continues"], language)
    end = clause.end
    for later in sentence.clauses:
        if later.start <= clause.start:
            continue
        if not continues.match(message.folded.text, later.start - len(later.lead), later.end):
            break
        end = later.end
    last = max(each.end for each in sentence.clauses if each.mood != "reported")
    return (end,) if last == end else (end, last)


@dataclass
class _Reading:
    """Turns one match into facts."""

    folded: Folded
    clause: Clause
    match: re.Match[str]
    rule: Rule
    language: Language
    now: datetime
    spans: dict[str, tuple[int, int]] = field(default_factory=dict)
    since: str = ""

    def facts(self) -> tuple[Fact, ...]:
        """The facts of the match; none when what it captured turns out to be something else."""
        if not self._capture() or not self._allowed():
            return ()
        if "items" not in self.match.groupdict():
            return (self._fact(),)
        spans = phrases.items(self.folded, *self.match.span("items"), self.language)
        facts = []
        for span in spans[: phrases.MAX_ITEMS]:
            self.spans["items"] = span
            facts.append(self._fact())
        if len(spans) > phrases.MAX_ITEMS:
            facts[-1] = replace(facts[-1], shortened=True)
        return tuple(facts)

    def _capture(self) -> bool:
        for group, said in self.match.groupdict().items():
            if said is None:
                continue
            span: tuple[int, int] | None = self.match.span(group)
            if group == "name":
                span = phrases.name_span(self.folded, *self.match.span(group), self.language)
                if span is None or not self._typed_as_name(span):
                    return False
            elif group in ("x", "y", "why"):
                place = "place" in self.rule.flags and group == "x"
                cut = "cut_place" if place else "cut_feeling" if self.rule.kind == "emo" else "cut"
                cut = "cut_listed" if "listed" in self.rule.flags else cut
                begin, end = phrases.repaired(self.folded, *self.match.span(group), self.language)
                span = phrases.phrase(self.folded, begin, end, self.language, cut)
                if "timeless" in self.rule.flags:
                    span, self.since = phrases.without_time(self.folded, *span, self.language)
                if "since" in self.rule.flags:
                    self.since = phrases.since(self.folded, span[1], end, self.language)
                if said and span[0] >= span[1]:
                    return False
            if span is not None:
                self.spans[group] = span
        self._end_with_name()
        return True

    def _typed_as_name(self, span: tuple[int, int]) -> bool:
        """ "Minha irmã Ana mora …": between kin and verb a name is capitalised, where anything is."""
        between = ":{name}:" in self.rule.key
        typed = self.folded.original(*span)
        return not between or typed[:1].isupper() or self.folded.source == self.folded.source.lower()

    def _end_with_name(self) -> None:
        """A phrase that contains the name at its end stops where the name does."""
        whole, name = self.match.groupdict().get("x"), self.spans.get("name")
        if whole and name and self.match.end("x") == self.match.end("name"):
            self.spans["x"] = (self.match.start("x"), name[1])

    def _allowed(self) -> bool:
        rule = self.rule
        if rule.capital and rule.capital in self.spans:
            typed = self._text(rule.capital)
            lower = "loose" in rule.flags and self.folded.source == self.folded.source.lower()
            words = typed.split() if rule.capital == "names" else [typed]
            if not any(word[:1].isupper() for word in words) and not lower:
                return False
        if "dated" in rule.flags:
            group = "y" if "y" in self.spans and "{y}" in rule.content else "x"
            return bool(dates_in(fold(self._text(group), self.language), self.language, self.now))
        if "place" in rule.flags and begins_with_date(self._text("x"), self.language, self.now):
            return False
        if rule.kind == "emo" and rule.content == "{x}" and self._passes():
            return False
        return "category" not in self.spans or len(self._text("category")) > 2

    def _passes(self) -> bool:
        """Whether a state such as tiredness is gone tomorrow: nothing causes it, nothing makes it last."""
        folded = self.folded.text[self.clause.start : self.spans["x"][1]]
        return momentary(self._slot("mood"), folded, self._feeling_topic(), self.language)

    def _text(self, group: str) -> str:
        span = self.spans.get(group)
        text = " ".join(self.folded.original(*span).split()) if span else ""
        text += ")" * (text.count("(") > text.count(")"))
        return f"{text}…" if span and phrases.is_cut(*span) else text

    def _slot(self, group: str) -> str:
        """A group as it stands in a key."""
        folded = self.folded.text[slice(*self.spans[group])] if group in self.spans else ""
        if group in _TABLES:
            return neutral_name(folded, _TABLES[group], self.language) or phrases.slug(folded, self.language)
        if group == "name":
            return folded
        if group == "items":
            return phrases.slug(self._without_article("items"), self.language)
        if self.rule.topic == "date":
            return self._event(folded)
        return phrases.slug(folded, self.language)

    def _event(self, folded: str) -> str:
        """An appointment without its date, the kind first: "consulta:dentista"."""
        text = folded
        for mention in reversed(dates_in(fold(folded, self.language), self.language, self.now)):
            text = text[: mention.start] + " " + text[mention.end :]
        kind, _, rest = phrases.slug(text, self.language).partition(" ")
        return f"{kind}:{rest}"

    def _key(self) -> str:
        if self.rule.key == "feeling":
            return f"feeling:{self._feeling_topic() or self._slot('mood')}"[:MAX_KEY]
        filled = _SLOT.sub(lambda match: self._slot(match[1]), self.rule.key)
        return re.sub(":+", ":", filled).strip(": ")[:MAX_KEY]

    def _feeling_topic(self) -> str:
        if "why" in self.spans:
            return phrases.slug(self._without_article("why"), self.language, words=4)
        end = self.spans["x"][1] if "x" in self.spans else self.match.end()
        return feeling_topic(self.folded, self.spans["mood"][1], end, self.language)

    def _without_article(self, group: str) -> str:
        span = phrases.without_article(self.folded, *self.spans[group], self.language)
        return self.folded.original(*span)

    def _content(self) -> str:
        def fill(match: re.Match[str]) -> str:
            group = match[1]
            text = self._text(group.lower())
            if group.lower() not in ("name", "kin", "pet") and "verbatim" not in self.rule.flags:
                text = phrases.third_person(text, self.language)
            if "told" in self.rule.flags:
                text = phrases.told(text, self.language)
            if group.lower() in ("v", "y"):
                text = phrases.conjugated(text, self.language, verb=group in ("v", "V"))
            return text[:1].upper() + text[1:] if group[0].isupper() else text

        content = " ".join(_SLOT.sub(fill, self.rule.content).split())
        if self.rule.kind == "emo":
            content = self._today(content)
        content = content.replace(" :", ":") + self.since
        past = self.rule.topic == "event" or "timeless" in self.rule.flags
        return annotate(content[:1].upper() + content[1:], self.language, self.now, past=past)

    def _today(self, content: str) -> str:
        """Adds the day that led in and would be lost: "hoje estou ansioso"."""
        words = word_lists(self.language, "language/feelings")
        begin = min(self.match.start(group) for group in ("x", "why", "mood") if group in self.spans)
        before = self.clause.lead + self.folded.text[self.match.start() : begin]
        day = words["today"]
        lost = re.search(rf"\b{day}\b", before) and day not in fold_word(content)
        return f"{content} {day}" if lost else content

    def _weight(self) -> float:
        if self.rule.kind == "emo":
            end = max(b for _, b in self.spans.values())
            return intensity(self.folded.text[self.clause.start : end], self.language)
        return self.rule.weight

    def _fact(self) -> Fact:
        end = max([self.clause.end, *(b for _, b in self.spans.values())])
        words = self.folded.original(*phrases.trim(self.folded, self.clause.start, end))
        return Fact(
            content=self._content(),
            kind=self.rule.kind,
            key=self._key(),
            topic=self.rule.topic,
            bindings=self._bindings(words),
            words=words,
            weight=self._weight(),
            shortened=any(phrases.is_cut(*span) for span in self.spans.values()),
            replaces=self._replaces(),
        )

    def _replaces(self) -> str:
        if "moves" in self.rule.flags or (self.rule.key.startswith("date:") and "{y}" in self.rule.content):
            return undated(self._text("x"), self.language, self.now)
        return self._text("kin") or self._text("pet") if "renames" in self.rule.flags else ""

    def _bindings(self, words: str) -> tuple[str, ...]:
        own: list[str] = []
        for group in ("items", "name", "category"):
            if group in self.spans:
                own.append(" ".join(self._without_article(group).split()))
        for group in ("kin", "pet"):
            if group in self.spans:
                own += _names(_TABLES[group], self._slot(group))
        topics = [self.rule.topic]
        if self.rule.topic == "taste" and is_food(self._text("items"), self.language):
            topics.insert(0, "food")
        if self.rule.topic not in ("money", "salary", "debt") and amounts_in(words, self.language):
            topics.append("money")
        topics += additional_topics(words, self.language)
        contexts = [context for topic in topics for context in topic_bindings(topic)]
        short = [binding[:MAX_BINDING].strip() for binding in [*contexts, *own]]
        return tuple(dict.fromkeys(binding for binding in short if binding))[:12]


@cache
def _names(table: str, name: str) -> tuple[str, ...]:
    """The words of each language for a neutral name of a table."""
    labels = [word_lists(language, "language/topics")["labels"].get(name) for language in LANGUAGES]
    return tuple(cast("list[str]", [label for label in labels if label]))

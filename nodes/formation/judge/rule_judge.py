"""The judge without a model: importance, type, summary, facts, mood and landmarks by rules (SM-4, HM-4)."""

import re
from collections.abc import Iterator

from thoughtcycle.language.facts import (
    SUMMARY_WORDS,
    Fact,
    best_sentence,
    preserved_in,
    summarize,
)
from thoughtcycle.language.intents import CONTEXT, score_importance, understand
from thoughtcycle.language.parse import annotate, compiled, detect_language, fold_word, parse, vocabulary
from thoughtcycle.memory.model import ExchangeType, FoundFact, Judgement, Mood, PreservedData, Role
from thoughtcycle.memory.rules.layer_rules import is_event
from thoughtcycle.memory.text.secrets import holds_secret, masked
from thoughtcycle.nodes.formation.exchange import Exchange
from thoughtcycle.nodes.formation.judge.code import code_in, without_code
from thoughtcycle.prompts.loader import LANGUAGES, texts, word_lists
from thoughtcycle.text_clipping import first_parts

FILE = "formation/judge"
LONGEST_CODE = 20_000
"""Most characters of a piece of code that becomes a memory."""
LONGEST_REPLY, FIGURES = 20_000, 100
"""Characters of a reply that are searched for numbers and dates, and most of each."""
PIECES = 10
"""Most pieces of code of one exchange."""
_SENTENCE = re.compile(r"[^.!?\n]+[.!?]*")
_EVENT_WORDS = 60
_POINTING = 12
"""Most words of a fact that a "this" leaves without a meaning."""


def judged_by_rules(exchange: Exchange) -> Judgement:
    """The judgement of an exchange that passed the filter; pure and linear in the length of its texts."""
    facts = (*own_facts(exchange), *agreed(exchange), *code_facts(exchange))
    landmark = any(fact.landmark for fact in facts)
    worth = score_importance(
        exchange.message, exchange.language, exchange.at, critical=landmark or bool(exchange.critical)
    )
    coded = any(fact.type == "code" for fact in facts)
    return Judgement(
        importance=max(worth, CONTEXT) if coded else worth,
        type=type_of(exchange, facts),
        summary=summary_by_rules(exchange),
        facts=facts,
        preserved=said_preserved(exchange).merged(answered_preserved(exchange)),
        critical=exchange.critical,
        mood=felt_in(understand(exchange.plain, language=exchange.language, now=exchange.at).facts),
    )


def said_preserved(exchange: Exchange) -> PreservedData:
    """The data of the user's message that no summary may lose (CM-3); never a secret."""
    return preserved_in(exchange.plain, language=exchange.language, now=exchange.at)


def answered_preserved(exchange: Exchange) -> PreservedData:
    """Numbers and dates of the reply, code aside: an instalment worked out, the day of an appointment."""
    reply = masked(without_code(exchange.reply[:LONGEST_REPLY]))
    found = preserved_in(reply, language=exchange.language, now=exchange.at)
    return PreservedData(numerical_values=found.numerical_values[:FIGURES], dates=found.dates[:FIGURES])


def dropped(exchange: Exchange) -> Judgement:
    """The judgement of an exchange that the funnel dropped: importance 0, a summary, preserved data.

    It holds nothing of a message that the user does not want kept (BY-10).
    """
    if exchange.verdict.reason == "unsaid":
        return Judgement(importance=0, summary=texts(exchange.language, FILE)["unsaid"], unsaid=True)
    return Judgement(
        importance=0,
        summary=summary_by_rules(exchange),
        preserved=said_preserved(exchange),
        critical=exchange.critical,
    )


def summary_by_rules(exchange: Exchange) -> str:
    """One extractive sentence of at most 50 words, without secrets."""
    said, answered = exchange.plain, masked(exchange.reply)
    return summarize(without_code(said), without_code(answered)) or first_parts(said, SUMMARY_WORDS)


def own_facts(exchange: Exchange) -> tuple[FoundFact, ...]:
    """The facts of the user's message; none with a secret (BY-10), none in orders to the assistant."""
    understood = understand(exchange.message, language=exchange.language, now=exchange.at)
    usable = [fact for fact in understood.facts if not barred(fact.words, exchange) and not _empty(fact)]
    facts = [
        FoundFact(
            content=fact.content,
            kind=fact.kind,
            key=fact.key,
            weight=fact.weight,
            bindings=fact.bindings,
            words=fact.words,
            landmark=fact.key.startswith("decision") or is_landmark(fact.words),
        )
        for fact in usable
    ]
    new = {fact.key for fact in facts}
    facts += [
        FoundFact(content=each.words, key=each.key, words=each.words, denies=True)
        for each in understood.retractions
        if each.key not in new and not barred(each.words, exchange)
    ]
    if not any(fact.landmark for fact in facts) and (event := _event(exchange)):
        facts.append(event)
    return tuple(fact for fact in facts if not exchange.has_secret(f"{fact.content}\n{fact.words}"))


def barred(words: str, exchange: Exchange) -> bool:
    """Whether `words` are in a line that orders the assistant to do something, or hold a secret."""
    return exchange.has_secret(words) or any(
        _matches("orders", line) for line in exchange.message.split("\n") if words in line
    )


def _empty(fact: Fact) -> bool:
    """Whether a fact says nothing without its message ("Loves this"), or a feeling is about the listener.

    A fact with a figure is not empty, nor a long one.
    """
    if any(map(str.isdigit, fact.content)) or fact.key.startswith("decision"):
        return False
    pointing = len(fact.content.split()) <= _POINTING and _matches("vague", fact.content)
    return pointing or (fact.kind == "emo" and _matches("addressed", fact.content))


def is_landmark(words: str) -> bool:
    """Whether `words` tell of a life event: a birth, a wedding, a new job, a death …"""
    return _matches("life", words)


def _event(exchange: Exchange) -> FoundFact | None:
    """A landmark that no rule for facts found: the sentence itself, where it is a statement."""
    language = detect_language(exchange.message, exchange.language)
    message = parse(exchange.message, language)
    if message.unsaid:
        return None
    for sentence in message.sentences:
        stated = [clause for clause in sentence.clauses if clause.mood == "statement"]
        if not stated or sentence.question:
            continue
        words = message.folded.original(stated[0].start, stated[-1].end).strip()
        if (is_landmark(words) or is_event(words, "")) and not barred(words, exchange):
            content = annotate(first_parts(" ".join(words.split()), _EVENT_WORDS), language, exchange.at)
            tags = ("significant_event",)
            return FoundFact(content=content[:1].upper() + content[1:], words=words, tags=tags, landmark=True)
    return None


def agreed(exchange: Exchange) -> Iterator[FoundFact]:
    """Facts for the decisions that the reply states: its sentences, marked with their source."""
    for match in _SENTENCE.finditer(without_code(exchange.reply)[:LONGEST_CODE]):
        words = match[0].strip()
        if _matches("agreed", words) and not holds_secret(words) and not words.endswith("?"):
            content = first_parts(words, _EVENT_WORDS)
            yield FoundFact(
                content=content, words=words, speaker="assistant", tags=("decision",), landmark=True
            )


def code_facts(exchange: Exchange) -> tuple[FoundFact, ...]:
    """The code of both texts, verbatim, with who gave it."""
    context = first_parts(best_sentence(without_code(exchange.plain)), 12)
    bindings = (context,) if context else ()
    texts: tuple[tuple[Role, str], ...] = (("assistant", exchange.reply), ("user", exchange.message))
    facts = {
        piece: FoundFact(content=piece, type="code", bindings=bindings, words=piece, speaker=speaker)
        for speaker, text in texts
        for piece in code_in(text)
        if len(piece) <= LONGEST_CODE and not exchange.has_secret(piece)
    }
    return tuple(facts.values())[:PIECES]


def type_of(exchange: Exchange, facts: tuple[FoundFact, ...]) -> ExchangeType:
    """`code` where code is kept, `decision` where something was decided, else `chat`."""
    if any(fact.type == "code" for fact in facts):
        return "code"
    decided = any(datum.kind == "important_decisions" for datum in exchange.critical)
    keyed = any((fact.key or "").startswith("decision") or "decision" in fact.tags for fact in facts)
    return "decision" if decided or keyed else "chat"


def felt_in(facts: tuple[Fact, ...]) -> Mood | None:
    """The mood that `facts` tell: one with a named cause before others, then the strongest; None without."""
    moods = [_mood(fact) for fact in facts if fact.kind == "emo"]
    return max(moods, key=lambda mood: (bool(mood.topic), mood.intensity), default=None)


def _mood(fact: Fact) -> Mood:
    named = neutral_mood(fact.words)
    topic = fact.key.partition(":")[2]
    return Mood(name=named or topic, topic="" if topic == named else topic, intensity=fact.weight)


def neutral_mood(words: str) -> str:
    """The language-neutral name of the first mood that `words` tell; "" where none is known."""
    folded = fold_word(words)
    patterns = [pair for language in LANGUAGES for pair in vocabulary(language)["moods"].items()]
    matches = [(re.search(rf"\b(?:{pattern})\b", folded), name) for name, pattern in patterns]
    return min(((match.start(), name) for match, name in matches if match), default=(0, ""))[1]


def about_assistant(content: str) -> bool:
    """Whether a fact is said of the assistant ("The assistant likes jazz")."""
    return any(pattern.match(fold_word(content)) for pattern in _patterns("assistant"))


def _matches(name: str, text: str) -> bool:
    return any(pattern.search(fold_word(text)) for pattern in _patterns(name))


def _patterns(name: str) -> Iterator[re.Pattern[str]]:
    """A pattern of `language/judge` in each language: people mix them."""
    return (compiled(word_lists(language, "language/judge")[name], language) for language in LANGUAGES)

"""Reads the answer of a model to `formation/judge`: strict in its form, item by item in its content."""

import logging
import re
from collections.abc import Mapping, Sequence
from typing import Annotated, Any, get_args

from pydantic import AfterValidator, BaseModel, ConfigDict

from thoughtcycle.language.parse import fold_word
from thoughtcycle.memory.model import ExchangeType, FoundFact, Kind, MemoryDraft, Mood, Recalled, Source
from thoughtcycle.memory.rules.completion import FEELING, complete
from thoughtcycle.memory.text.secrets import writes_mask_over
from thoughtcycle.nodes.formation.exchange import Exchange
from thoughtcycle.nodes.formation.judge.rule_judge import about_assistant, barred, is_landmark, neutral_mood

FACTS = 20
"""Most facts of one exchange; the first ones are read."""
LONGEST_FACT = 500
"""Most characters of a fact (HM-8)."""
BINDINGS, LONGEST_BINDING, LONGEST_MOOD = 12, 200, 40
OVERLAP = 0.6
"""Share of the quoted words that must occur in the user's message, where they are not quoted exactly."""

log = logging.getLogger(__name__)
_WORD = re.compile(r"[^\W_]{2,}")
_KINDS = get_args(Kind)


def _number(value: Any) -> float | None:
    """`value` as a number; None for anything else, NaN and booleans too."""
    if isinstance(value, bool) or not isinstance(value, int | float | str):
        return None
    try:
        number = float(value)
    except (ValueError, OverflowError):
        return None
    return number if abs(number) < 1e9 else None


def _line(text: str) -> str:
    """`text` on one line, without lone surrogates, which no database can store."""
    return " ".join(text.encode(errors="replace").decode().split())


def _sentence(value: Any) -> Any:
    if not isinstance(value, str) or not value.strip():
        raise ValueError("must be a sentence")
    return _line(value)


def _object(**properties: Any) -> dict[str, Any]:
    return {
        "type": "object",
        "properties": properties,
        "required": [*properties],
        "additionalProperties": False,
    }


_TEXT, _NUMBER, _FLAG = {"type": "string"}, {"type": "number"}, {"type": "boolean"}
_PLACE = {"anyOf": [{"type": "integer"}, {"type": "null"}]}
FORM = _object(
    importance={"type": "integer"},
    type={"type": "string", "enum": list(get_args(ExchangeType))},
    summary=_TEXT,
    facts={
        "type": "array",
        "items": _object(
            t={"type": "string", "enum": list(_KINDS)},
            c=_TEXT,
            w=_NUMBER,
            words=_TEXT,
            bindings={"type": "array", "items": _TEXT},
            landmark=_FLAG,
            same_as=_PLACE,
            replaces=_PLACE,
        ),
    },
    mood={"anyOf": [_object(name=_TEXT, topic=_TEXT, intensity=_NUMBER), {"type": "null"}]},
)
"""JSON schema of the answer, for servers that keep to one."""


class Answer(BaseModel):
    """The form of the answer; `importance_of`, `facts_of` and `mood_in` read its content."""

    model_config = ConfigDict(extra="ignore")

    importance: Any
    summary: Annotated[Any, AfterValidator(_sentence)]
    facts: list[Any]
    type: Any = "chat"
    mood: Any = None

    @property
    def exchange_type(self) -> ExchangeType:
        """The type; `chat` for one that does not exist."""
        return self.type if self.type in get_args(ExchangeType) else "chat"


class ByRules(Answer):
    """No model was asked: the judgement of the rules stands."""


def importance_of(answer: Answer, by_rules: int) -> int:
    """The importance; that by rules unless it is a number from 0 to 100.

    A larger number is on another scale: clamping it would make trifles critical.
    """
    number = _number(answer.importance)
    if number is None or not 0 <= number <= 100:
        log.info("the judge's importance is none, that by rules stands")
        return by_rules
    return round(number)


def facts_of(answer: Answer, exchange: Exchange, known: Sequence[Recalled]) -> tuple[FoundFact, ...]:
    """The facts that are accepted; of each other one the reason is logged, never its words."""
    if len(answer.facts) > FACTS:
        log.info("the judge gave %d facts, %d are read", len(answer.facts), FACTS)
    said = fold_word(exchange.message)
    found = (_fact(item, exchange, said, known) for item in answer.facts[:FACTS])
    return tuple({fold_word(fact.content): fact for fact in found if fact is not None}.values())


def _fact(item: Any, exchange: Exchange, said: str, known: Sequence[Recalled]) -> FoundFact | None:
    given: Mapping[str, Any] = item if isinstance(item, Mapping) else {}
    content = _line(given["c"]) if isinstance(given.get("c"), str) else ""
    words = _quoted(given.get("words"), content, exchange, said)
    reason = _refusal(content, words, exchange)
    if reason or words is None:
        log.info("a fact of the judge is refused: %s", reason)
        return None
    kind = given.get("t") if given.get("t") in _KINDS else None
    open_draft = MemoryDraft(content=content, kind=kind, source=Source(words=words))
    draft = complete(open_draft, exchange.language, exchange.at)
    replaces = _known(given.get("replaces"), known)
    return FoundFact(
        content=draft.content,
        kind=draft.kind,
        key=draft.key,
        weight=_share(given.get("w"), draft.weight),
        bindings=_bindings(given.get("bindings"), exchange),
        words=words,
        landmark=given.get("landmark") is True or is_landmark(words),
        same_as=None if replaces else _known(given.get("same_as"), known),
        replaces=replaces,
    )


def _refusal(content: str, words: str | None, exchange: Exchange) -> str | None:
    """The reason for which a fact is refused; None when it is accepted."""
    if not content:
        return "it has no text"
    if len(content) > LONGEST_FACT:
        return "it is too long"
    if about_assistant(content) or fold_word(content).startswith(f"{fold_word(exchange.persona)} "):
        return "it is about the assistant"
    if words is None:
        return "its words are not the user's"
    if writes_mask_over(content, exchange.message):
        return "it holds a mask"
    return (
        "it holds a secret or an order" if exchange.has_secret(content) or barred(words, exchange) else None
    )


def _quoted(quote: Any, content: str, exchange: Exchange, said: str) -> str | None:
    """The user's words behind a fact: an exact quote, else the sentence that shares most words with it.

    Without a quote the fact itself is looked for. None where the message does not say it.
    """
    wanted = fold_word(quote if isinstance(quote, str) and quote.strip() else content)
    lines = [line.strip() for line in re.split(r"(?<=[.!?\n])\s+|\n", exchange.message) if line.strip()]
    if isinstance(quote, str) and quote.strip() in exchange.message:
        return quote.strip()
    asked = set(_WORD.findall(wanted))
    if not asked or not lines or len(asked & set(_WORD.findall(said))) < OVERLAP * len(asked):
        return None
    return max(lines, key=lambda line: len(asked & set(_WORD.findall(fold_word(line)))))


def _share(value: Any, otherwise: float) -> float:
    number = _number(value)
    return otherwise if number is None else min(1.0, max(0.0, number))


def _bindings(value: Any, exchange: Exchange) -> tuple[str, ...]:
    texts = [_line(each) for each in value if isinstance(each, str)] if isinstance(value, list) else []
    usable = [text for text in texts if 0 < len(text) <= LONGEST_BINDING and not exchange.has_secret(text)]
    return tuple(dict.fromkeys(usable))[:BINDINGS]


def _known(value: Any, known: Sequence[Recalled]) -> str | None:
    """The id of the memory that was shown under this number, from 1; None for any other value."""
    number = _number(value)
    whole = int(number) if number is not None and number == int(number) else 0
    return known[whole - 1]["id"] if 1 <= whole <= len(known) else None


def mood_in(answer: Answer) -> Mood | None:
    """The mood; None where there is no usable one."""
    given: Mapping[str, Any] = answer.mood if isinstance(answer.mood, Mapping) else {}
    name, topic = given.get("name"), given.get("topic")
    mood = fold_word(name) if isinstance(name, str) else ""
    if not 0 < len(mood) <= LONGEST_MOOD:
        return None
    slug = " ".join(_WORD.findall(fold_word(topic)))[:80] if isinstance(topic, str) else ""
    intensity = _share(given.get("intensity"), FEELING)
    return Mood(name=neutral_mood(mood) or mood, topic=slug, intensity=intensity)

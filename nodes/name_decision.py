"""Decides the next action by its name, which it reads out of what a model says (TC-4)."""

import json
import logging
import re
import unicodedata
from collections.abc import Mapping, Sequence
from dataclasses import replace
from itertools import pairwise

from thoughtcycle.errors import ModelUnreadable
from thoughtcycle.mind.base import ActionCard, Question, View
from thoughtcycle.mind.coercion import UnusableAnswer
from thoughtcycle.nodes.actions.view_queries import meaning_of
from thoughtcycle.nodes.base.turn import Turn

log = logging.getLogger(__name__)

Names = Mapping[str, Sequence[str]]
"""The names of actions, and how else each is called."""
_SHORT = 6
"""Most words of an answer in which other words than the names themselves count."""
_KEYS = ("action", "name", "next_action", "next", "decision", "answer", "ação", "acao", "tool", "function")
_WORD = re.compile(r"[^\W_]+(?:_[^\W_]+)*")
_LABEL = re.compile(r"^\W*(?:[\w ]{1,24}:)?\W*([\w -]+?)\W*$")
_NEGATED = re.compile(
    r"\b(?:not|no|never|nor|than|without|instead of|\w+n't|n[aã]o|nem|nunca|sem|em vez de|ao inv[eé]s de)"
    r"(?:\s+(?:use|choose|call|run|do|a|an|the|to|usar?|escolher?|chamar?|fazer|o))*[\s\"'*`]*$",
    re.IGNORECASE,
)
_UNNEEDED = re.compile(
    r"^[\s\"'*`]*(?:is|was|are|would be|é|foi|seria)?\s*(?:not|n't|n[aã]o|unnecessary|desnecess)",
    re.IGNORECASE,
)


def decide_by_rules(view: View) -> str:
    """The enabled action that the rules call for most, the first of equals; "" where they call for none."""
    urgency = {card.name: card.urgency(view) for card in view.actions}
    most = max(urgency, key=lambda name: urgency[name], default="")
    return most if urgency.get(most, 0.0) > 0 else ""


DECIDE = Question(name="router#ask", role="reasoning_heavy", schema=str, by_rules=decide_by_rules)


async def decide_by_name(turn: Turn, view: View) -> str:
    """The next of the view's actions; where a model names none, twice, that of the rules.

    No model is asked where nothing is left to do, unless each action explains itself. "" where the rules have
    none either.
    """
    if turn.explain != "on" and not turn.mind.by_rules and _nothing_left(view):
        return "Finish"
    try:
        return await turn.mind.ask(decision(view.actions), view)
    except ModelUnreadable as failure:
        name = decide_by_rules(view)
        log.warning("the rules decide, for %s: %s", name or "nothing", failure.code)
        return name


def _nothing_left(view: View) -> bool:
    """Whether memory was just changed, the rules understand the message, and they see nothing else to do."""
    changed = bool(view.steps) and view.steps[-1]["action"] in ("MemorySave", "MemoryUpdate", "MemoryDelete")
    if not changed or view.steps[-1]["status"] != "done":
        return False
    meaning = meaning_of(view)
    understood = meaning.facts or meaning.forget or meaning.retractions
    return bool(understood) and decide_by_rules(view) == "Finish"


def decision(cards: Sequence[ActionCard]) -> Question[str]:
    """The question for one of these actions."""
    names = {card.name: card.called for card in cards}
    action = {"type": "string", "enum": [*names]}
    form = {
        "type": "object",
        "properties": {"action": action},
        "required": ["action"],
        "additionalProperties": False,
    }
    return replace(DECIDE, read=lambda answer: _read(answer, names), form=form)


def _read(answer: str, names: Names) -> str:
    if name := parse_action(answer, names):
        return name
    raise UnusableAnswer("it names no action")


def parse_action(answer: str, names: Names) -> str | None:
    """The action that an answer names, whatever its case, quotes, punctuation and other words.

    A name alone on a line or in JSON counts before one inside a sentence, of several the first that is not
    negated. A short answer may call the action otherwise ("save", "salvar memória"). None for no action.
    """
    forms = {_form(called): name for name, other in names.items() for called in (*other, name)}
    for candidate in (answer, *_in_json(answer)):
        if exact := forms.get(_form(candidate)):
            return exact
    lines = [label[1] for line in answer.splitlines() if (label := _LABEL.match(line))]
    own = {_form(name): name for name in names}
    alone = [own[_form(line)] for line in lines if _form(line) in own]
    if len(set(alone)) == 1:
        return alone[0]
    return _in_sentence(answer, own) or (
        _in_sentence(answer, forms) if len(answer.split()) <= _SHORT else None
    )


def _in_json(answer: str) -> list[str]:
    """The values of a JSON object under the keys that name an action."""
    start, end = answer.find("{"), answer.rfind("}")
    try:
        value = json.loads(answer[start : end + 1]) if start >= 0 else None
    except (ValueError, RecursionError):
        return []
    found = [value.get(key) for key in _KEYS] if isinstance(value, dict) else []
    return [each for each in found if isinstance(each, str)]


def _in_sentence(answer: str, forms: Mapping[str, str]) -> str | None:
    """The first name in a text that is not negated; in a long text "a question" is none, "Question" is."""
    text = unicodedata.normalize("NFKC", answer)
    words = list(_WORD.finditer(text))
    pairs = [(first.start(), second.end()) for first, second in pairwise(words)]
    for start, end in sorted([*pairs, *(word.span() for word in words)]):
        name, said = forms.get(_form(text[start:end])), text[start:end]
        if name is None or (len(words) > _SHORT and name.istitle() and said != name):
            continue
        if not _NEGATED.search(text[:start]) and not _UNNEEDED.match(text[end:]):
            return name
    return None


def _form(text: str) -> str:
    return re.sub(r"[\W_]+", "", unicodedata.normalize("NFKD", text)).casefold()

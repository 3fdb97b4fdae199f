"""Queries on a view that the rules of several actions share (pure)."""

from collections.abc import Iterable
from dataclasses import replace

from thoughtcycle.language.facts import Fact
from thoughtcycle.language.intents import (
    Target,
    Understanding,
    offered_fact,
    parse_choice,
    parse_consent,
    understand,
)
from thoughtcycle.memory.model import Recalled
from thoughtcycle.memory.text.analyzer import terms
from thoughtcycle.memory.text.secrets import holds_secret
from thoughtcycle.mind.base import View
from thoughtcycle.nodes.actions.answer_filter import answering_memories
from thoughtcycle.nodes.base.message import tells_in_passing, with_whole_secrets
from thoughtcycle.prompts.loader import LANGUAGES, texts

EVERYTHING, LAST = "*", "@last"
"""Search contexts for all that is known, and for what was last kept in this chat."""
ALL_OR_LAST = (EVERYTHING, LAST)


def meaning_of(view: View) -> Understanding:
    """The user's message as the rules understand it, without the secrets that are told in passing (BY-10).

    "The first one" may answer the rules' own question.
    """
    meaning = understand(view.message, language=view.language, now=view.now)
    if holds_secret(view.message):
        whole = [
            replace(
                fact,
                content=with_whole_secrets(fact.content, view.message),
                words=with_whole_secrets(fact.words, view.message),
            )
            for fact in meaning.facts
        ]
        kept = (fact for fact in whole if not tells_in_passing(f"{fact.words}\n{fact.content}", view.message))
        meaning = replace(meaning, facts=tuple(kept))
    if parse_consent(view.message) and (fact := _offered(view)):
        return replace(meaning, facts=(replace(fact, words=view.message),), social=None, beyond=False)
    options = () if meaning.facts or meaning.asked or meaning.forget else offered_choices(view)
    place = parse_choice(view.message, len(options), view.language) if options else None
    if place is None:
        return meaning
    named = view.message.strip(" .,!?;:")
    target = Target(named, words=options[place], one=True)
    return replace(meaning, forget=(named,), targets=(target,), social=None, beyond=False)


def _offered(view: View) -> Fact | None:
    """The fact that the last reply offers to keep."""
    last = view.history[-1] if view.history else None
    return offered_fact(last["content"], view.now) if last and last["role"] == "assistant" else None


def offered_choices(view: View) -> tuple[str, ...]:
    """The memories between which the last reply asked the user to choose, as it named them."""
    last = next((each for each in reversed(view.history) if each["chat_history"]), None)
    if last is None or last["role"] != "assistant":
        return ()
    for language in LANGUAGES:
        before, after = texts(language, "actions/question")["rules.which"].split("{{memories}}")
        said = last["content"].strip()
        if said.startswith(before) and said.endswith(after):
            return tuple(said.removeprefix(before).removesuffix(after).split("; "))
    return ()


def needs_search(meaning: Understanding) -> bool:
    """Whether memory has to be searched before anything else can be done."""
    return bool(meaning.asked or meaning.forget or meaning.correction or meaning.retractions)


def asks_beyond_rules(view: View) -> bool:
    """Whether the message is a question that the rules do not understand; memory may hold the answer."""
    meaning = meaning_of(view)
    return meaning.beyond and "?" in view.message and not meaning.social


def has_key(memory: Recalled, keys: Iterable[str]) -> bool:
    """Whether a memory's key is one of `keys` or lies below one (`taste` covers `taste:coentro`)."""
    return under(memory["key"], keys)


def under(own: str | None, keys: Iterable[str]) -> bool:
    """Whether a key is one of `keys` or lies below one."""
    return own is not None and any(own == key or own.startswith(f"{key}:") for key in keys)


def says_of(own: str | None, keys: Iterable[str]) -> bool:
    """Whether a key is under one of `keys` or says more of it ("badminton on Sundays")."""
    return own is not None and any(
        under(own, (key,)) or (":" in key and own.startswith(f"{key} ")) for key in keys
    )


def has_words(memory: Recalled, words: str) -> bool:
    """Whether the memory's text has all of the words, whatever their endings."""
    own = {form for term in terms(memory["content"]) for form in term}
    return all(own & set(term) for term in terms(words))


def subject_of(memory: Recalled) -> str:
    """The part of a memory's key that names one of the family or a pet; of any other the whole key."""
    key = memory["key"] or memory["id"]
    parts = key.split(":")
    return ":".join(parts[:3]) if parts[0] in ("family", "pet") else key


def found_by_search(view: View) -> list[Recalled]:
    """The memories that this cycle's searches found, whatever they are about."""
    return _found_in(view, "MemorySearch")


def found_answers(view: View) -> list[Recalled]:
    """The memories that this cycle's searches found and that answer what was asked.

    Where the topic is known by its keys, a memory with another key is no answer.
    """
    found, meaning = found_by_search(view), meaning_of(view)
    if EVERYTHING in meaning.asked:
        return found
    keys = meaning.asked_keys
    fitting = [memory for memory in found if not keys or memory["key"] is None or has_key(memory, keys)]
    return answering_memories(view.message, fitting, meaning.language, keys)


def written(view: View) -> list[Recalled]:
    """The memories that this cycle saved or changed."""
    return _found_in(view, "MemorySave", "MemoryUpdate")


def _found_in(view: View, *actions: str) -> list[Recalled]:
    ids = {id for step in view.steps if step["action"] in actions for id in step.get("found", ())}
    return [memory for memory in view.recalled if memory["id"] in ids]


def has_run(view: View, action: str) -> bool:
    """Whether that action has already run in this cycle."""
    return any(step["action"] == action for step in view.steps)


def searched_in_vain(view: View) -> bool:
    """Whether this cycle's last search found nothing."""
    searches = [step for step in view.steps if step["action"] == "MemorySearch"]
    return bool(searches) and searches[-1]["status"] == "nothing"


def topics(view: View) -> str:
    """The topics that the user asked about, as a phrase."""
    meaning = meaning_of(view)
    wanted = [topic for topic in (*meaning.asked, *meaning.forget) if topic not in ALL_OR_LAST]
    return ", ".join(dict.fromkeys(wanted))


def brief_list(memories: Iterable[Recalled]) -> str:
    """Memories on one line."""
    return "; ".join(memory["content"].rstrip(".").replace("; ", ", ") for memory in memories)

"""What is remembered of texts stays within bounds, however many different words people say."""

import gc
from collections import Counter
from datetime import UTC, datetime
from functools import _lru_cache_wrapper
from itertools import product

from thoughtcycle.language.facts.critical import critical_in
from thoughtcycle.language.facts.statements import parse_statement
from thoughtcycle.language.intents.understanding import understand
from thoughtcycle.memory.rules import relevance_filter as funnel
from thoughtcycle.memory.text.analyzer import terms
from thoughtcycle.mind.lexical import LexicalEmbeddings
from thoughtcycle.prompts.loader import LANGUAGES

SAYINGS = (
    "Gosto de {0} e odeio {1}s.",
    "I love {0} and I am allergic to {1}s.",
    "Meu {0} se chama {1}.",
    "My {0}'s name is {1}, my wife is a {1}.",
    "Esqueça o que eu disse sobre {0}s. Quero economizar 50 {1}s até maio.",
    "What do you know about my {0}? Where are my {1}s?",
)
NOW = datetime(2026, 3, 1, tzinfo=UTC)


def invented(number: int) -> str:
    """A word that no list knows, another one for each number below 8,000."""
    first, second, third = list(product(range(20), repeat=3))[number]
    return "".join("bcdfghjklmnpqrstvwxz"[one] + "aeiou"[one % 5] for one in (first, second, third))


def listen(numbers: range) -> None:
    for number in numbers:
        for saying, language in product(SAYINGS, LANGUAGES):
            text = saying.format(invented(number), invented(number + 4_000))
            understand(text, language=language, now=NOW)
            critical_in(text, language=language, now=NOW, cycle="c")
            parse_statement(text, language)
            funnel.filter_message(text)
            terms(text)
            LexicalEmbeddings().embed_query(text)


def remembered() -> Counter[str]:
    """How much each of our caches that has no bound holds."""
    caches = [one for one in gc.get_objects() if isinstance(one, _lru_cache_wrapper)]
    ours = [one for one in caches if str(one.__module__).startswith("thoughtcycle.")]
    unbounded = [one for one in ours if one.cache_info().maxsize is None]
    return Counter({f"{one.__module__}.{one.__qualname__}": one.cache_info().currsize for one in unbounded})


def test_no_cache_without_a_bound_grows_with_what_is_said() -> None:
    listen(range(5))
    before = remembered()
    listen(range(5, 25))
    assert sum(before.values()) > 100
    assert {name: size for name, size in (remembered() - before).items() if size >= 20} == {}

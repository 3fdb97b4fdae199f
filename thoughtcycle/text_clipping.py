"""Token estimate, and clippers that fit texts into a budget: by words, by lines, in the middle (pure)."""

from collections.abc import Iterable
from functools import lru_cache
from itertools import accumulate

from thoughtcycle.prompts.loader import Language, texts

CHARACTERS_PER_TOKEN = 4
"""English has 4 to 4.5 with the vocabularies now in use, Portuguese 3.5 to 4; scripts that need a token per
character are underestimated. The models' own tokenizers are not at hand without a network."""
ELLIPSIS = "…"
_CACHED = 500
"""Characters up to which the word count of a text is cached: summaries of a chat are counted often."""


def estimate_tokens(text: str) -> int:
    """About how many tokens `text` is, rounded up."""
    return -(-len(text) // CHARACTERS_PER_TOKEN)


def clip_middle(text: str, longest: int, mark: str = "[…]") -> str:
    """`text` in `longest` characters; of a longer one two thirds head and one third tail around `mark`."""
    if len(text) <= longest:
        return text
    room = max(0, longest - len(mark) - 2)
    tail = room // 3
    return f"{text[: room - tail].rstrip()} {mark} {text[len(text) - tail :].lstrip()}"


def clip_for_prompt(text: str, tokens: int, language: Language) -> str:
    """`text` within `tokens`; the mark in its middle says how many characters are left out."""
    longest = tokens * CHARACTERS_PER_TOKEN
    mark = texts(language, "frame").fill("clipped", left=max(0, len(text) - longest))
    return clip_middle(text, longest, mark)


def clip_at_word(text: str, longest: int) -> str:
    """`text` in `longest` characters; a longer one ends with an ellipsis.

    It is cut between words, unless that would drop half of it.
    """
    if len(text) <= longest:
        return text
    head = text[: longest - len(ELLIPSIS)]
    words = head.rpartition(" ")[0]
    return (words if len(words) > len(head) // 2 else head).rstrip() + ELLIPSIS


def last_lines(lines: Iterable[str], tokens: int) -> list[str]:
    """The last of `lines` that fit into `tokens` together, in their order."""
    fitting: list[str] = []
    for line in reversed(list(lines)):
        tokens -= estimate_tokens(line)
        if tokens < 0:
            break
        fitting.append(line)
    return fitting[::-1]


def count_words(text: str) -> int:
    """Words of a text: parts between blanks that have a letter or a digit.

    "R$ 5.000" is two words, "bem-vindo" one, "—" none.
    """
    return _cached_count(text) if len(text) <= _CACHED else sum(map(_is_word, text.split()))


@lru_cache(maxsize=8_192)
def _cached_count(text: str) -> int:
    return sum(map(_is_word, text.split()))


def _is_word(part: str) -> bool:
    return part.isalnum() or any(map(str.isalnum, part))


def first_words(text: str, words: int) -> str:
    """The beginning of a text with `words` words (`count_words`), with an ellipsis where it was longer."""
    parts = text.split()
    counts = accumulate(map(_is_word, parts))
    return first_parts(text, sum(count <= words for count in counts))


def first_parts(text: str, count: int) -> str:
    """The first `count` parts between blanks of a text, with an ellipsis where it was longer."""
    parts = text.split()
    return " ".join(parts) if len(parts) <= count else " ".join(parts[:count]).rstrip(",;:.") + ELLIPSIS

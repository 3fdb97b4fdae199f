"""What the questions about summaries share: how pieces are shown, and how a model's text is cleaned."""

import re
from collections.abc import Sequence

from thoughtcycle.memory.compression import Piece
from thoughtcycle.memory.records import PreservedData
from thoughtcycle.memory.volume import cut
from thoughtcycle.mind.answers import without_thoughts
from thoughtcycle.mind.prompting import clip, estimate_tokens
from thoughtcycle.prompts.loader import Language, texts

FILE = "formation/summaries"
PIECE_TOKENS = 150
KEPT_TOKENS = 60
"""Of what must not be lost, as far as a model is shown it; the ledger has it all."""

_FENCE = re.compile(r"```[\w-]*")
_QUOTES = "\"'“”«»` "


def listed(pieces: Sequence[Piece], language: Language) -> str:
    """The pieces, numbered from 1, each with its day and what it must keep."""
    said = texts(language, FILE)
    return "\n".join(
        said.fill(
            "piece",
            number=number,
            date=f"{piece.since:%Y-%m-%d}",
            summary=clip(" ".join(piece.summary.split()), PIECE_TOKENS, language),
            keep=clip(kept(piece.preserved), KEPT_TOKENS, language) or "–",
        )
        for number, piece in enumerate(pieces, 1)
    )


def kept(preserved: PreservedData) -> str:
    """What must not be lost, as it was said, separated by semicolons."""
    said = [one.said for one in (*preserved.numerical_values, *preserved.dates)]
    return "; ".join([*said, *preserved.decisions, *preserved.essential_context])


def cleaned(answer: str, language: Language) -> str:
    """A model's text on one line, without thoughts, fences, quotation marks and a label before it."""
    text = " ".join(_FENCE.sub(" ", without_thoughts(answer)).split()).strip(_QUOTES)
    labels = texts(language, FILE)["labels"].replace(", ", "|")
    return re.sub(rf"^(?:{labels})[^:]{{0,40}}: *", "", text, flags=re.IGNORECASE).strip(_QUOTES)


def within(text: str, tokens: int) -> str:
    """The beginning of `text` within `tokens`, ending at a word."""
    words = len(text.split())
    while words > 1 and estimate_tokens(text) > tokens:
        words -= 1
        text = cut(text.rstrip("…"), words)
    return text[: int(tokens * 3)] if estimate_tokens(text) > tokens else text

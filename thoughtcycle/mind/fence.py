"""Keeps data in a prompt from ending the marks that stand around it, however it spells them (BY-5)."""

import re
import unicodedata

MARKS = ("data", "exchange")
"""Names of the marks that stand around data in our prompts."""
_OPENING = re.compile(
    r"(?:[<＜﹤˂‹〈⟨《❮≺]|&lt;?|&#0*60;?|&#x0*3c;?|\\u003c|\\x3c|%3c)(?=([^<>＜＞]{0,60}))", re.IGNORECASE
)
_LIKE = str.maketrans("аαетτсхχһԁɡո", "aaettcxxhdgn")
"""Letters of other scripts that look like those of the marks."""
_WORD = re.compile(r"[^\W\d_]+")


def fence(text: str) -> str:
    """`text` in which nothing reads as one of our marks: its bracket becomes "‹"."""
    return _OPENING.sub(lambda match: "‹" if _names_mark(match[1]) else match[0], text)


def _names_mark(behind: str) -> bool:
    """Whether the text behind a bracket begins with a mark's name, or spells it in single letters."""
    folded = unicodedata.normalize("NFKD", behind).casefold().translate(_LIKE)
    words = _WORD.findall("".join(sign for sign in folded if unicodedata.category(sign) not in ("Cf", "Mn")))
    return bool(words) and (words[0] in MARKS or "".join(words) in MARKS)

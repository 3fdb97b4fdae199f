"""Joins characters that a server has split into surrogate halves; a half alone cannot be stored or sent."""

import re

_HIGH, _LOW = r"\\u[dD][89abAB][0-9a-fA-F][0-9a-fA-F]", r"\\u[dD][c-fC-F][0-9a-fA-F][0-9a-fA-F]"
_LONE_ESCAPE = re.compile(rf"{_HIGH}(?!{_LOW})|(?<!{_HIGH}){_LOW}")


def join_surrogates(text: str) -> str:
    """`text` with its halves joined; one without its other half becomes U+FFFD."""
    return (
        text if text.isascii() else text.encode("utf-16-le", "surrogatepass").decode("utf-16-le", "replace")
    )


def join_escapes(text: str) -> str:
    """JSON text in which no escape stands for half a character."""
    return _LONE_ESCAPE.sub(r"\\ufffd", text)


class SurrogateJoiner:
    """Joins halves in a text that arrives in pieces."""

    def __init__(self) -> None:
        self._high = ""

    def feed(self, piece: str) -> str:
        """`piece` without a half at its end, which waits for the other one."""
        text, self._high = self._high + piece, ""
        if text and "\ud800" <= text[-1] <= "\udbff":
            text, self._high = text[:-1], text[-1]
        return join_surrogates(text)

    def finish(self) -> str:
        """U+FFFD for a half that is left; else nothing."""
        left, self._high = self._high, ""
        return join_surrogates(left)

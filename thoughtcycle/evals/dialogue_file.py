"""The evaluation file of `thoughtcycle metrics`: messages, and what must and must not come back (LM-14)."""

import json
from datetime import UTC, datetime
from pathlib import Path
from typing import Annotated

from pydantic import AfterValidator, BaseModel, ConfigDict, Field, StringConstraints, ValidationError

from thoughtcycle.errors import InputRefused

EXAMPLE = '{"user": "ana", "chat": "work", "at": "2026-05-01T10:00:00", "message": "…", "expect": ["…"]}'

Text = Annotated[str, StringConstraints(strip_whitespace=True, min_length=1)]
Name = Annotated[str, StringConstraints(strip_whitespace=True, min_length=1, max_length=200)]


class Line(BaseModel):
    """A message of a user, when and where it was said, and the words to be looked for in what comes back."""

    model_config = ConfigDict(frozen=True, extra="forbid", strict=True)

    user: Name
    chat: Name
    at: Annotated[
        datetime, Field(strict=False), AfterValidator(lambda at: at if at.tzinfo else at.replace(tzinfo=UTC))
    ]
    """UTC where it names no zone."""
    message: Text
    expect: tuple[Text, ...] = Field(default=(), strict=False)
    """Words that must be in the briefing or the reply."""
    forbid: tuple[Text, ...] = Field(default=(), strict=False)
    """Words that must be in neither."""


def read_dialogue(path: Path) -> list[Line]:
    """The messages of a file in JSON Lines, in their order.

    Raises InputRefused: 'dialogue_unreadable', 'dialogue_line' with its number, 'dialogue_order' where time
    goes back, 'dialogue_empty'.
    """
    try:
        text = path.read_text(encoding="utf-8-sig")
    except (OSError, UnicodeDecodeError) as error:
        cause = error if isinstance(error, OSError) else "UTF-8"
        raise InputRefused("dialogue_unreadable", path=repr(str(path)), cause=cause) from error
    found: list[Line] = []
    for number, raw in enumerate(text.split("\n"), start=1):
        if raw.strip():
            found.append(_line(path, number, raw))
            if found[-1].at < found[max(0, len(found) - 2)].at:
                raise InputRefused("dialogue_order", path=repr(str(path)), line=number)
    if not found:
        raise InputRefused("dialogue_empty", path=repr(str(path)), example=EXAMPLE)
    return found


def _line(path: Path, number: int, raw: str) -> Line:
    def refused(what: str) -> InputRefused:
        return InputRefused("dialogue_line", path=repr(str(path)), line=number, what=what, example=EXAMPLE)

    try:
        return Line.model_validate(json.loads(raw))
    except ValidationError as error:
        place = error.errors(include_input=False, include_url=False)[0]["loc"]
        raise refused(".".join(map(str, place)) or "JSON") from error
    except (ValueError, RecursionError) as error:
        raise refused("JSON") from error

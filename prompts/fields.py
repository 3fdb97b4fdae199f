"""What was expected of a field that pydantic refused, in the reader's language: its own words are English."""

from collections.abc import Mapping, Sequence
from typing import Any

from thoughtcycle.prompts.errors import InputRefused
from thoughtcycle.prompts.loader import Language, placeholders, texts


class FieldRefused(InputRefused):
    """A field that cannot be used as it is: the first that pydantic names, as its `errors()` tell it.

    `above` parts of the place are left out; a failure of the whole (JSON that cannot be read, no object)
    names none.
    """

    def __init__(self, error: Mapping[str, Any], above: int = 0) -> None:
        self._type: str = error["type"]
        self._limits: dict[str, Any] = dict(error.get("ctx") or {})
        place: Sequence[int | str] = error["loc"][above:]
        whole = self._type == "json_invalid"  # what follows is an offset in bytes
        super().__init__("bad_field", name="" if whole else ".".join(map(str, place)))

    def text(self, language: Language = "en") -> str:
        words = texts(language, "fields")
        name = self.values["name"] or words["whole"]
        section = next((known for known in (self._type, self._type.split("_")[0]) if known in words), "other")
        if placeholders(words[section]) - self._limits.keys():
            section = "other"
        limits = self._limits | {"expected": str(self._limits.get("expected", "")).replace(" or ", ", ")}
        expected = words.fill(section, **limits)
        return texts(language, "errors").fill("bad_field", name=name, expected=expected)

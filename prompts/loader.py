"""Reads texts and word lists of a language; a missing file, section or placeholder raises."""

import re
import tomllib
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from importlib.resources import files
from importlib.resources.abc import Traversable
from typing import Any, Literal, get_args

Language = Literal["pt", "en"]
LANGUAGES: tuple[Language, ...] = get_args(Language)

_HEADING = re.compile(r"^## (\S+)\s*$", re.MULTILINE)
_PLACEHOLDER = re.compile(r"\{\{(\w+)\}\}")


@dataclass(frozen=True)
class Texts:
    """The named sections of one text file (`## name` starts a section)."""

    where: str
    sections: Mapping[str, str]

    def __getitem__(self, section: str) -> str:
        """The text of `section`; KeyError names the file when it has none."""
        try:
            return self.sections[section]
        except KeyError:
            raise KeyError(f"{self.where} has no section {section!r}") from None

    def __contains__(self, section: object) -> bool:
        return section in self.sections

    def fill(self, section: str, **values: object) -> str:
        """`section` with each `{{name}}` replaced; KeyError when a value is missing.

        A value that looks like a placeholder stays text.
        """
        text = self[section]
        missing = sorted(placeholders(text) - values.keys())
        if missing:
            raise KeyError(f"{self.where} section {section!r} needs {missing}")
        return _PLACEHOLDER.sub(lambda match: str(values[match[1]]), text)


def placeholders(text: str) -> set[str]:
    """The names of all `{{name}}` in `text`."""
    return set(_PLACEHOLDER.findall(text))


def parse(where: str, text: str) -> Texts:
    """Splits a text file into its sections; a note before the first heading is dropped."""
    parts = _HEADING.split(text)
    names, bodies = parts[1::2], parts[2::2]
    return Texts(where, {name: body.strip() for name, body in zip(names, bodies, strict=True)})


def _path(package: str, language: Language, name: str, suffix: str) -> Traversable:
    return files(package).joinpath(language, *f"{name}{suffix}".split("/"))


@cache
def texts(language: Language, name: str, package: str = "thoughtcycle.prompts") -> Texts:
    """The sections of `<package>/<language>/<name>.md`, read when first used.

    Raises FileNotFoundError when the language lacks the file.
    """
    path = _path(package, language, name, ".md")
    return parse(f"{language}/{name}.md", path.read_text(encoding="utf-8"))


@cache
def word_lists(language: Language, name: str, package: str = "thoughtcycle.prompts") -> Mapping[str, Any]:
    """The data of `<package>/<language>/<name>.toml`: word lists and patterns of the rules."""
    return tomllib.loads(_path(package, language, name, ".toml").read_text(encoding="utf-8"))


@cache
def joined_pattern(name: str, entry: str) -> re.Pattern[str]:
    """The pattern `entry` of a word list, of all languages in one."""
    return re.compile("|".join(f"(?:{word_lists(language, name)[entry]})" for language in LANGUAGES))

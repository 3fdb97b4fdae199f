"""Formats numbers and dates for a language (pure)."""

from datetime import datetime

from thoughtcycle.prompts.loader import Language, texts

_SIZES = ("kB", "MB", "GB", "TB")
"""Powers of 1000 (SI)."""


def number(value: float, language: Language, digits: int = 0) -> str:
    """`value` with `digits` behind the decimal sign: 1,234.5 or 1.234,5."""
    words = texts(language, "forms")
    signs = str.maketrans({",": words["thousands"], ".": words["decimal"]})
    return f"{value:,.{digits}f}".translate(signs)


def size(count: int, language: Language) -> str:
    """A number of bytes in a suitable unit."""
    if count < 1000:
        return f"{number(count, language)} {texts(language, 'forms')['bytes']}"
    value, unit = count / 1000, _SIZES[0]
    for bigger in _SIZES[1:]:
        if value >= 999.95:
            value, unit = value / 1000, bigger
    return f"{number(value, language, 1)} {unit}"


def day(at: datetime, language: Language) -> str:
    """The date of `at` in its own zone: 03 Mar 2026 or 03/03/2026."""
    words = texts(language, "forms")
    month = words["months"].split(", ")[at.month - 1]
    return words.fill("day", day=f"{at.day:02}", month=month, year=f"{at.year:04}")


def moment(at: datetime, language: Language) -> str:
    """Date and time of `at` in its own zone."""
    return texts(language, "forms").fill("moment", date=day(at, language), time=f"{at:%H:%M}")

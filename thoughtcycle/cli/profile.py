"""`thoughtcycle profile`: a user's habits with their confidence, and the last moods."""

from typing import TYPE_CHECKING

import typer

from thoughtcycle.cli.call import Call
from thoughtcycle.cli.display import print_table
from thoughtcycle.cli.options import TEXTS, one_line, print_json, ui_language

if TYPE_CHECKING:
    from thoughtcycle.memory.model import Profile


def profile(call: Call) -> None:
    known = call.with_memory(lambda memory, user: memory.profile(user))
    if call.as_json:
        plain = known.model_dump(mode="json", exclude={"revision"})
        moods = [{"cycle": cycle} | mood.model_dump(mode="json") for cycle, mood in known.moods]
        print_json(plain | {"moods": moods})
        return
    if not (known.entries or known.moods):
        typer.echo(TEXTS["profile.none"])
        return
    _print(known)


def _print(known: "Profile") -> None:
    from thoughtcycle.memory.text import label_of
    from thoughtcycle.prompts.forms import number

    language = ui_language()
    rows = [
        (
            one_line(label_of("habit", one.key, language)),
            one_line(label_of("habit", one.value, language)),
            number(one.confidence, language, 2),
            str(one.observations),
            f"{one.updated:%Y-%m-%d}",
        )
        for one in sorted(known.entries, key=lambda one: -one.confidence)
    ]
    if rows:
        print_table(TEXTS["profile.columns"], rows)
    felt = [
        (
            label_of("mood", mood.name, language),
            one_line(mood.topic) or "–",
            number(mood.intensity, language, 2),
            f"{mood.at:%Y-%m-%d}" if mood.at else "–",
        )
        for _, mood in reversed(known.moods)
    ]
    if rows and felt:
        typer.echo()
    if felt:
        print_table(TEXTS["profile.mood_columns"], felt)

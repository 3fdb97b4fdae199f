"""`thoughtcycle memories erase`: deletes for good, once a person has said yes."""

from typing import TYPE_CHECKING

import typer

from thoughtcycle.cli.memories import Ids, find
from thoughtcycle.cli.options import TEXTS, Db, Json, User, Yes, print_json, reports_failures, ui_language
from thoughtcycle.cli.resources import confirm, with_threads

if TYPE_CHECKING:
    from thoughtcycle.checkpoints.factory import Saver
    from thoughtcycle.memory.erasure import Receipt
    from thoughtcycle.memory.memory import Memory


@reports_failures
def erase(
    ids: Ids,
    user: User = None,
    db: Db = None,
    as_json: Json = False,
    yes: Yes = False,
) -> None:
    async def work(memory: "Memory", saver: "Saver", who: str) -> "Receipt":
        from thoughtcycle.checkpoints.erasure import bound

        bound(memory, saver)
        found = [(await find(memory, who, id)).id for id in ids]
        confirm(TEXTS.fill("erase.ask", count=len(found)), yes)
        return await memory.erase(who, found)

    receipt = with_threads(db, user, work)
    if as_json:
        print_json(receipt.model_dump(mode="json"))
    else:
        typer.echo(receipt.text(ui_language()))

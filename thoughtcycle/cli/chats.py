"""`thoughtcycle chats`: list, rename and delete."""

from typing import TYPE_CHECKING, Annotated

import typer

from thoughtcycle.cli.display import print_table
from thoughtcycle.cli.options import TEXTS, Db, Json, User, Yes, one_line, print_json, reports_failures
from thoughtcycle.cli.resources import confirm, find_chat, with_memory, with_threads

if TYPE_CHECKING:
    from thoughtcycle.checkpoints.factory import Saver
    from thoughtcycle.memory.chats import Removed
    from thoughtcycle.memory.memory import Memory

app = typer.Typer(help=TEXTS["help.chats"], no_args_is_help=True)

Name = Annotated[str, typer.Argument(metavar="CHAT", help=TEXTS["argument.chat"])]


@app.command("list", help=TEXTS["help.chats_list"])
@reports_failures
def list_(
    user: User = None,
    db: Db = None,
    as_json: Json = False,
    limit: Annotated[int, typer.Option("--limit", min=1, help=TEXTS["option.limit"])] = 100,
) -> None:
    chats = with_memory(db, user, lambda memory, who: memory.chats(who, limit=limit), embeddings=False)
    if as_json:
        for chat in chats:
            print_json(chat.model_dump(mode="json"))
        return
    rows = [
        (chat.id[:8], one_line(chat.title or "–"), f"{chat.used:%Y-%m-%d %H:%M}", str(chat.cycles))
        for chat in chats
    ]
    print_table(TEXTS["chats.columns"], rows, TEXTS["chats.none"])


@app.command(help=TEXTS["help.chats_rename"])
@reports_failures
def rename(
    chat: Name,
    title: Annotated[str, typer.Argument(metavar="TITLE", help=TEXTS["argument.title"])],
    user: User = None,
    db: Db = None,
    as_json: Json = False,
) -> None:
    async def work(memory: "Memory", who: str) -> str:
        id = await find_chat(memory, who, chat)
        await memory.rename_chat(who, id, title)
        return id

    id = with_memory(db, user, work, embeddings=False)
    if as_json:
        print_json({"id": id, "title": title})
    else:
        typer.echo(TEXTS.fill("chats.renamed", id=id[:8], title=one_line(title)))


@app.command(help=TEXTS["help.chats_delete"])
@reports_failures
def delete(
    chat: Name,
    user: User = None,
    db: Db = None,
    as_json: Json = False,
    yes: Yes = False,
) -> None:
    async def work(memory: "Memory", saver: "Saver", who: str) -> "tuple[str, Removed]":
        from thoughtcycle.runtime.forgetting import delete_chat

        id = await find_chat(memory, who, chat)
        confirm(TEXTS.fill("chats.ask", name=one_line(chat)), yes)
        return id, await delete_chat(memory, saver, who, id)

    id, removed = with_threads(db, user, work)
    if as_json:
        print_json({"id": id, **removed.model_dump()})
    else:
        typer.echo(TEXTS.fill("chats.deleted", id=id[:8], **removed.model_dump()))

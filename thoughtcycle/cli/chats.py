"""`thoughtcycle chats`: list, rename and delete."""

from typing import TYPE_CHECKING, Annotated

import typer

from thoughtcycle.cli.call import Call, CommandGroup, confirm, find_chat
from thoughtcycle.cli.display import print_table
from thoughtcycle.cli.options import TEXTS, Yes, one_line, print_json

if TYPE_CHECKING:
    from thoughtcycle.checkpoints.factory import Saver
    from thoughtcycle.memory.chats import Removed
    from thoughtcycle.memory.memory import Memory

app = CommandGroup(help=TEXTS["help.chats"], no_args_is_help=True)

Name = Annotated[str, typer.Argument(metavar="CHAT", help=TEXTS["argument.chat"])]


@app.command("list", help=TEXTS["help.chats_list"])
def list_(
    call: Call, limit: Annotated[int, typer.Option("--limit", min=1, help=TEXTS["option.limit"])] = 100
) -> None:
    chats = call.with_memory(lambda memory, user: memory.chats(user, limit=limit))
    if call.as_json:
        for chat in chats:
            print_json(chat.model_dump(mode="json"))
        return
    rows = [
        (chat.id[:8], one_line(chat.title or "–"), f"{chat.used:%Y-%m-%d %H:%M}", str(chat.cycles))
        for chat in chats
    ]
    print_table(TEXTS["chats.columns"], rows, TEXTS["chats.none"])


@app.command(help=TEXTS["help.chats_rename"])
def rename(
    chat: Name,
    title: Annotated[str, typer.Argument(metavar="TITLE", help=TEXTS["argument.title"])],
    call: Call,
) -> None:
    async def work(memory: "Memory", user: str) -> str:
        id = await find_chat(memory, user, chat)
        await memory.rename_chat(user, id, title)
        return id

    id = call.with_memory(work)
    text = TEXTS.fill("chats.renamed", id=id[:8], title=one_line(title))
    call.print({"id": id, "title": title}, text)


@app.command(help=TEXTS["help.chats_delete"])
def delete(chat: Name, call: Call, yes: Yes = False) -> None:
    async def work(memory: "Memory", saver: "Saver", user: str) -> "tuple[str, Removed]":
        from thoughtcycle.runtime.forgetting import delete_chat

        id = await find_chat(memory, user, chat)
        confirm(TEXTS.fill("chats.ask", name=one_line(chat)), yes)
        return id, await delete_chat(memory, saver, user, id)

    id, removed = call.with_threads(work)
    counts = removed.model_dump()
    call.print({"id": id, **counts}, TEXTS.fill("chats.deleted", id=id[:8], **counts))

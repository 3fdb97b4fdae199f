"""`thoughtcycle conversations`: what is kept of each chat – summaries, critical data, counts."""

from typing import TYPE_CHECKING, Annotated, Any

import typer

from thoughtcycle.cli.display import print_table
from thoughtcycle.cli.opening import find_chat, settings_for, with_memory
from thoughtcycle.cli.options import (
    TEXTS,
    Db,
    Json,
    User,
    one_line,
    printable,
    put_json,
    reported,
    ui_language,
)

if TYPE_CHECKING:
    from thoughtcycle.memory.formed import ConversationMemory
    from thoughtcycle.memory.memory import Memory
    from thoughtcycle.memory.records import Cycle

app = typer.Typer(help=TEXTS["help.conversations"], no_args_is_help=True)


@app.command("list", help=TEXTS["help.conversations_list"])
@reported
def list_(
    user: User = None,
    db: Db = None,
    as_json: Json = False,
    limit: Annotated[int, typer.Option("--limit", min=1, help=TEXTS["option.limit"])] = 100,
) -> None:
    from thoughtcycle.memory.volume import usage

    volume = settings_for(db).limits.volume

    async def work(memory: "Memory", who: str) -> "list[tuple[ConversationMemory, str]]":
        found = await memory.conversation_memories(who, limit=limit)
        titles = {chat.id: chat.title or "" for chat in await memory.chats(who)}
        return [(one, titles[one.chat_id]) for one in found if one.chat_id in titles]

    found = with_memory(db, user, work, embeddings=False)
    if as_json:
        for one, title in found:
            put_json(_counts(one, title) | {"usage_percent": usage(one, volume)})
        return
    rows = [
        (
            one.chat_id[:8],
            one_line(title) or "–",
            f"{one.updated_at:%Y-%m-%d %H:%M}",
            str(one.total_cycles),
            f"{one.total_word_count} ({usage(one, volume):g}%)",
            str(len(one.old_memory) + len(one.periods)),
            str(len(one.critical_data)),
        )
        for one, title in found
    ]
    print_table(TEXTS["conversations.columns"], rows, TEXTS["conversations.none"])


def _counts(one: "ConversationMemory", title: str) -> dict[str, Any]:
    plain = one.model_dump(
        mode="json",
        include={
            "chat_id",
            "total_cycles",
            "total_word_count",
            "last_compression",
            "compression_count",
            "created_at",
            "updated_at",
        },
    )
    return {
        **plain,
        "title": title or None,
        "summaries": len(one.old_memory) + len(one.periods),
        "critical_data": len(one.critical_data),
    }


@app.command(help=TEXTS["help.conversations_show"])
@reported
def show(
    chat: Annotated[str, typer.Argument(metavar="CHAT", help=TEXTS["argument.chat"])],
    user: User = None,
    db: Db = None,
    as_json: Json = False,
) -> None:
    from thoughtcycle.memory.ageing import WINDOW
    from thoughtcycle.memory.formatted import as_object, as_text
    from thoughtcycle.memory.secrets import masked

    volume = settings_for(db).limits.volume

    async def work(memory: "Memory", who: str) -> "tuple[ConversationMemory, list[Cycle]]":
        id = await find_chat(memory, who, chat)
        return await memory.conversation_memory(who, id), await memory.conversation(who, id, limit=WINDOW)

    known, recent = with_memory(db, user, work, embeddings=False)
    if as_json:
        put_json(as_object(known, recent, volume))
    else:
        typer.echo(printable(masked(as_text(known, recent, volume, ui_language()))))

"""`thoughtcycle conversations`: the memory of each chat – summaries, critical data, counts."""

from typing import TYPE_CHECKING, Annotated, Any

import typer

from thoughtcycle.cli.display import print_table
from thoughtcycle.cli.options import (
    TEXTS,
    Db,
    Json,
    User,
    one_line,
    print_json,
    printable,
    reports_failures,
    ui_language,
)
from thoughtcycle.cli.resources import find_chat, settings_for, with_memory

if TYPE_CHECKING:
    from thoughtcycle.memory.chats import KeptChat
    from thoughtcycle.memory.memory import Memory

app = typer.Typer(help=TEXTS["help.conversations"], no_args_is_help=True)


@app.command("list", help=TEXTS["help.conversations_list"])
@reports_failures
def list_(
    user: User = None,
    db: Db = None,
    as_json: Json = False,
    limit: Annotated[int, typer.Option("--limit", min=1, help=TEXTS["option.limit"])] = 100,
) -> None:
    from thoughtcycle.memory.rules import usage

    volume = settings_for(db).limits.volume
    found = with_memory(db, user, lambda memory, who: memory.kept_chats(who, limit=limit), embeddings=False)
    if as_json:
        for one in found:
            print_json(_counts(one) | {"usage_percent": usage(one.memory, volume)})
        return
    rows = [
        (
            one.chat.id[:8],
            one_line(one.chat.title or "") or "–",
            f"{one.memory.updated_at:%Y-%m-%d %H:%M}",
            str(one.memory.total_cycles),
            f"{one.memory.total_word_count} ({usage(one.memory, volume):g}%)",
            str(len(one.memory.old_memory) + len(one.memory.periods)),
            str(len(one.memory.critical_data)),
        )
        for one in found
    ]
    print_table(TEXTS["conversations.columns"], rows, TEXTS["chats.none"])


def _counts(one: "KeptChat") -> dict[str, Any]:
    plain = one.memory.model_dump(
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
        "title": one.chat.title or None,
        "summaries": len(one.memory.old_memory) + len(one.memory.periods),
        "critical_data": len(one.memory.critical_data),
    }


@app.command(help=TEXTS["help.conversations_show"])
@reports_failures
def show(
    chat: Annotated[str, typer.Argument(metavar="CHAT", help=TEXTS["argument.chat"])],
    user: User = None,
    db: Db = None,
    as_json: Json = False,
) -> None:
    from thoughtcycle.memory.rules import as_object, as_text
    from thoughtcycle.memory.text import masked

    volume = settings_for(db).limits.volume

    async def work(memory: "Memory", who: str) -> "KeptChat":
        return await memory.kept_chat(who, await find_chat(memory, who, chat))

    kept = with_memory(db, user, work, embeddings=False)
    if as_json:
        print_json(as_object(kept.memory, kept.recent, volume))
    else:
        typer.echo(printable(masked(as_text(kept.memory, kept.recent, volume, ui_language()))))

"""`thoughtcycle chats` lists, renames and deletes; `conversations` shows the memory of each chat."""

from typing import TYPE_CHECKING, Annotated, Any

import typer

from thoughtcycle.cli.call import Call, CommandGroup, confirm, find_chat
from thoughtcycle.cli.options import TEXTS, Yes, one_line, printable, ui_language

if TYPE_CHECKING:
    from thoughtcycle.checkpoints.factory import Saver
    from thoughtcycle.memory.chats import KeptChat, Removed
    from thoughtcycle.memory.memory import Memory

app = CommandGroup(help=TEXTS["help.chats"], no_args_is_help=True)
conversations = CommandGroup(help=TEXTS["help.conversations"], no_args_is_help=True)

Name = Annotated[str, typer.Argument(metavar="CHAT", help=TEXTS["argument.chat"])]
Limit = Annotated[int, typer.Option("--limit", min=1, help=TEXTS["option.limit"])]


@app.command("list", help=TEXTS["help.chats_list"])
def list_(call: Call, limit: Limit = 100) -> None:
    chats = call.with_memory(lambda memory, user: memory.chats(user, limit=limit))
    rows = [
        (chat.id[:8], one_line(chat.title or "–"), f"{chat.used:%Y-%m-%d %H:%M}", str(chat.cycles))
        for chat in chats
    ]
    values = (chat.model_dump(mode="json") for chat in chats)
    call.print_list(values, TEXTS["chats.columns"], rows, TEXTS["chats.none"])


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


@conversations.command("list", help=TEXTS["help.conversations_list"])
def list_conversations(call: Call, limit: Limit = 100) -> None:
    from thoughtcycle.memory.rules.word_budget import usage_percent

    budget = call.settings.limits.word_budget
    found = call.with_memory(lambda memory, user: memory.kept_chats(user, limit=limit))
    rows = [
        (
            one.chat.id[:8],
            one_line(one.chat.title or "") or "–",
            f"{one.memory.updated_at:%Y-%m-%d %H:%M}",
            str(one.memory.total_cycles),
            f"{one.memory.total_word_count} ({usage_percent(one.memory, budget):g}%)",
            str(len(one.memory.old_memory) + len(one.memory.periods)),
            str(len(one.memory.critical_data)),
        )
        for one in found
    ]
    values = (_counts(one) | {"usage_percent": usage_percent(one.memory, budget)} for one in found)
    call.print_list(values, TEXTS["conversations.columns"], rows, TEXTS["chats.none"])


def _counts(one: "KeptChat") -> dict[str, Any]:
    counts = {"chat_id", "total_cycles", "total_word_count", "compression_count"}
    times = {"last_compression", "created_at", "updated_at"}
    return {
        **one.memory.model_dump(mode="json", include=counts | times),
        "title": one.chat.title or None,
        "summaries": len(one.memory.old_memory) + len(one.memory.periods),
        "critical_data": len(one.memory.critical_data),
    }


@conversations.command(help=TEXTS["help.conversations_show"])
def show(chat: Name, call: Call) -> None:
    from thoughtcycle.memory.rules.rendering import render_object, render_text
    from thoughtcycle.memory.text.secrets import masked, masked_object

    budget = call.settings.limits.word_budget

    async def work(memory: "Memory", user: str) -> "KeptChat":
        return await memory.kept_chat(user, await find_chat(memory, user, chat))

    kept = call.with_memory(work)
    text = render_text(kept.memory, kept.recent, budget, ui_language())
    shown = masked_object(render_object(kept.memory, kept.recent, budget))
    call.print(shown, printable(masked(text)))

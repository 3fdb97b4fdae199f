"""`thoughtcycle conversations`: the memory of each chat – summaries, critical data, counts."""

from typing import TYPE_CHECKING, Annotated, Any

import typer

from thoughtcycle.cli.call import Call, CommandGroup, find_chat
from thoughtcycle.cli.display import print_table
from thoughtcycle.cli.options import TEXTS, one_line, print_json, printable, ui_language

if TYPE_CHECKING:
    from thoughtcycle.memory.chats import KeptChat
    from thoughtcycle.memory.memory import Memory

app = CommandGroup(help=TEXTS["help.conversations"], no_args_is_help=True)


@app.command("list", help=TEXTS["help.conversations_list"])
def list_(
    call: Call, limit: Annotated[int, typer.Option("--limit", min=1, help=TEXTS["option.limit"])] = 100
) -> None:
    from thoughtcycle.memory.rules import usage_percent

    budget = call.settings.limits.word_budget
    found = call.with_memory(lambda memory, user: memory.kept_chats(user, limit=limit))
    if call.as_json:
        for one in found:
            print_json(_counts(one) | {"usage_percent": usage_percent(one.memory, budget)})
        return
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
    print_table(TEXTS["conversations.columns"], rows, TEXTS["chats.none"])


def _counts(one: "KeptChat") -> dict[str, Any]:
    counts = {"chat_id", "total_cycles", "total_word_count", "compression_count"}
    times = {"last_compression", "created_at", "updated_at"}
    return {
        **one.memory.model_dump(mode="json", include=counts | times),
        "title": one.chat.title or None,
        "summaries": len(one.memory.old_memory) + len(one.memory.periods),
        "critical_data": len(one.memory.critical_data),
    }


@app.command(help=TEXTS["help.conversations_show"])
def show(
    chat: Annotated[str, typer.Argument(metavar="CHAT", help=TEXTS["argument.chat"])], call: Call
) -> None:
    from thoughtcycle.memory.rules import render_object, render_text
    from thoughtcycle.memory.text import masked

    budget = call.settings.limits.word_budget

    async def work(memory: "Memory", user: str) -> "KeptChat":
        return await memory.kept_chat(user, await find_chat(memory, user, chat))

    kept = call.with_memory(work)
    text = render_text(kept.memory, kept.recent, budget, ui_language())
    call.print(render_object(kept.memory, kept.recent, budget), printable(masked(text)))

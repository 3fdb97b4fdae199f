"""`thoughtcycle channels`: links to messaging channels."""

from typing import Annotated

import typer

from thoughtcycle.cli.call import Call, CommandGroup
from thoughtcycle.cli.options import TEXTS, one_line
from thoughtcycle.errors import NotAllowed

app = CommandGroup(help=TEXTS["help.channels"], no_args_is_help=True)


@app.command(help=TEXTS["help.channels_link"])
def link(call: Call) -> None:
    code = call.with_memory(lambda memory, user: memory.link_code(user))
    call.print({"code": code}, TEXTS.fill("channels.code", code=code))


@app.command("list", help=TEXTS["help.channels_list"])
def list_(call: Call) -> None:
    links = call.with_memory(lambda memory, user: memory.channel_links(user))
    rows = [(link.channel, one_line(link.sender), f"{link.at:%Y-%m-%d %H:%M}") for link in links]
    values = (link.model_dump(mode="json") for link in links)
    call.print_list(values, TEXTS["channels.columns"], rows, TEXTS["channels.none"])


@app.command(help=TEXTS["help.channels_unlink"])
def unlink(
    channel: Annotated[str, typer.Argument(metavar="CHANNEL", help=TEXTS["argument.channel"])],
    sender: Annotated[str, typer.Argument(metavar="SENDER", help=TEXTS["argument.sender"])],
    call: Call,
) -> None:
    if not call.with_memory(lambda memory, user: memory.unlink_channel(user, channel, sender)):
        raise NotAllowed("link_unknown", channel=repr(channel), sender=repr(sender))
    text = TEXTS.fill("channels.unlinked", channel=one_line(channel), sender=one_line(sender))
    call.print({"channel": channel, "sender": sender}, text)

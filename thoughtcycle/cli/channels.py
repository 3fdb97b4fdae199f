"""`thoughtcycle channels`: links to messaging channels."""

from typing import Annotated

import typer

from thoughtcycle.cli.display import print_table
from thoughtcycle.cli.options import TEXTS, Db, Json, User, one_line, print_json, reports_failures
from thoughtcycle.cli.resources import with_memory
from thoughtcycle.errors import NotAllowed

app = typer.Typer(help=TEXTS["help.channels"], no_args_is_help=True)


@app.command(help=TEXTS["help.channels_link"])
@reports_failures
def link(user: User = None, db: Db = None, as_json: Json = False) -> None:
    code = with_memory(db, user, lambda memory, who: memory.link_code(who), embeddings=False)
    if as_json:
        print_json({"code": code})
    else:
        typer.echo(TEXTS.fill("channels.code", code=code))


@app.command("list", help=TEXTS["help.channels_list"])
@reports_failures
def list_(user: User = None, db: Db = None, as_json: Json = False) -> None:
    links = with_memory(db, user, lambda memory, who: memory.channel_links(who), embeddings=False)
    if as_json:
        for link in links:
            print_json(link.model_dump(mode="json"))
        return
    rows = [(link.channel, one_line(link.sender), f"{link.at:%Y-%m-%d %H:%M}") for link in links]
    print_table(TEXTS["channels.columns"], rows, TEXTS["channels.none"])


@app.command(help=TEXTS["help.channels_unlink"])
@reports_failures
def unlink(
    channel: Annotated[str, typer.Argument(metavar="CHANNEL", help=TEXTS["argument.channel"])],
    sender: Annotated[str, typer.Argument(metavar="SENDER", help=TEXTS["argument.sender"])],
    user: User = None,
    db: Db = None,
    as_json: Json = False,
) -> None:
    found = with_memory(
        db, user, lambda memory, who: memory.unlink_channel(who, channel, sender), embeddings=False
    )
    if not found:
        raise NotAllowed("link_unknown", channel=repr(channel), sender=repr(sender))
    if as_json:
        print_json({"channel": channel, "sender": sender})
    else:
        typer.echo(TEXTS.fill("channels.unlinked", channel=one_line(channel), sender=one_line(sender)))

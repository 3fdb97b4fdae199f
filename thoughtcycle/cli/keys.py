"""`thoughtcycle keys`: API keys for the servers."""

from typing import Annotated

import typer

from thoughtcycle.cli.options import TEXTS, Db, Json, User, check_user, print_json, reports_failures

app = typer.Typer(help=TEXTS["help.keys"], no_args_is_help=True)


@app.callback()
def keys() -> None:
    """The group of these commands."""


@app.command(help=TEXTS["help.keys_new"])
@reports_failures
def new(
    owner: Annotated[str, typer.Argument(metavar="USER", help=TEXTS["argument.key_user"])],
    user: User = None,
    db: Db = None,
    as_json: Json = False,
) -> None:
    from thoughtcycle.errors import InputRefused
    from thoughtcycle.runtime.auth_settings import digest_of, new_key
    from thoughtcycle.runtime.settings import load_settings

    if "," in check_user(owner, None):
        raise InputRefused("bad_option", option="USER", value=repr(owner), expected=TEXTS["key.no_comma"])
    known = [f"{key.user}:{key.digest}" for key in load_settings().auth.api_keys]
    key = new_key()
    line = "THOUGHTCYCLE_AUTH__API_KEYS=" + ",".join([*known, f"{owner}:{digest_of(key)}"])
    if as_json:
        print_json({"user": owner, "key": key, "setting": line})
    else:
        typer.echo(TEXTS.fill("key.made", key=key, setting=line))

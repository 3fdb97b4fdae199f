"""`thoughtcycle web`: the page and the API, on this machine."""

from typing import Annotated

import typer

from thoughtcycle.cli.opening import settings_for
from thoughtcycle.cli.options import TEXTS, Db, Json, User, check_user, put_json, reported
from thoughtcycle.prompts.errors import InputRefused
from thoughtcycle.web.heap import growing


@reported
def web(
    user: User = None,
    db: Db = None,
    as_json: Json = False,
    host: Annotated[str | None, typer.Option("--host", help=TEXTS["option.host"])] = None,
    port: Annotated[int | None, typer.Option("--port", min=0, max=65_535, help=TEXTS["option.port"])] = None,
) -> None:
    settings = settings_for(db)
    with growing():
        try:
            from thoughtcycle.mind.roles import ModelSettings
            from thoughtcycle.web.listening import listen
        except ModuleNotFoundError as missing:
            raise InputRefused("extra_missing", name=missing.name, extra="web") from None
        given = {name: value for name, value in (("host", host), ("port", port)) if value is not None}
        settings = settings.model_copy(
            update={"user": check_user(user, settings.user), "web": settings.web.model_copy(update=given)}
        )

        def told(address: str) -> None:
            if as_json:
                put_json({"url": address})
            else:
                typer.echo(TEXTS.fill("web.listening", url=address))

        listen(settings, ModelSettings(), told)

"""`thoughtcycle web`: the page and the API, on this machine."""

from typing import Annotated

import typer

from thoughtcycle.cli.options import TEXTS, Db, Json, User, check_user, print_json, reports_failures
from thoughtcycle.cli.resources import settings_for
from thoughtcycle.extras import extra_missing
from thoughtcycle.web.server.tuning import starting


@reports_failures
def web(
    user: User = None,
    db: Db = None,
    as_json: Json = False,
    host: Annotated[str | None, typer.Option("--host", help=TEXTS["option.host"])] = None,
    port: Annotated[int | None, typer.Option("--port", min=0, max=65_535, help=TEXTS["option.port"])] = None,
) -> None:
    settings = settings_for(db)
    with starting(settings.web.tuning):
        try:
            from thoughtcycle.mind.model_settings import ModelSettings
            from thoughtcycle.web.server.server import listen
        except ModuleNotFoundError:
            raise extra_missing("web", "thoughtcycle web") from None
        given = {name: value for name, value in (("host", host), ("port", port)) if value is not None}
        settings = settings.model_copy(
            update={"user": check_user(user, settings.user), "web": settings.web.model_copy(update=given)}
        )

        def told(address: str) -> None:
            if as_json:
                print_json({"url": address})
            else:
                typer.echo(TEXTS.fill("web.listening", url=address))

        listen(settings, ModelSettings(), told)

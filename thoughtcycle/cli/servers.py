"""`thoughtcycle web`, `mcp` and `keys`: the page and the API, the MCP server, keys for the API."""

import asyncio
import signal
from typing import Annotated

import typer

from thoughtcycle.cli.call import Call, CommandGroup
from thoughtcycle.cli.options import TEXTS, ui_language
from thoughtcycle.errors import InputRefused
from thoughtcycle.extras import extra_missing
from thoughtcycle.web.server.tuning import starting

keys = CommandGroup(help=TEXTS["help.keys"], no_args_is_help=True)


def web(
    call: Call,
    host: Annotated[str | None, typer.Option("--host", help=TEXTS["option.host"])] = None,
    port: Annotated[int | None, typer.Option("--port", min=0, max=65_535, help=TEXTS["option.port"])] = None,
) -> None:
    settings = call.settings
    with starting(settings.web.tuning):
        try:
            from thoughtcycle.cli.local_hint import local_hint
            from thoughtcycle.mind.model_settings import ModelSettings
            from thoughtcycle.web.server.server import listen
        except ModuleNotFoundError:
            raise extra_missing("web", "thoughtcycle web") from None
        given = {name: value for name, value in (("host", host), ("port", port)) if value is not None}
        configured = {"user": call.owner, "web": settings.web.model_copy(update=given)}

        models = ModelSettings()
        hint = "" if call.as_json else local_hint(settings, models)

        def announce(address: str) -> None:
            call.print(
                {"url": address}, "\n".join(filter(None, (TEXTS.fill("web.listening", url=address), hint)))
            )

        listen(settings.model_copy(update=configured), models, announce)


def mcp(call: Call) -> None:
    """Serves until the client closes stdin; nothing but the protocol is written to stdout.

    A signal ends it at once: acknowledged writes are stored.
    """
    try:
        from thoughtcycle.integrations.mcp import create_server
    except ModuleNotFoundError:
        raise extra_missing("mcp", "thoughtcycle mcp") from None
    from thoughtcycle.integrations.caller import Setup
    from thoughtcycle.nodes.base.context import Context
    from thoughtcycle.runtime.resources import hold

    settings = call.settings
    setup = Setup(language=ui_language(), time_zone=settings.time_zone, limits=settings.limits)
    context = Context(user_id=call.owner, channel="mcp")

    async def run() -> None:
        async with hold(settings) as resources:
            await create_server(resources.services.memory, context, setup).run_stdio_async()

    signal.signal(signal.SIGINT, signal.SIG_DFL)  # a thread that reads stdin would hold up a cancelled loop
    asyncio.run(run())


@keys.callback()
def key_commands() -> None:
    """Makes `keys` a group although it has a single command."""


@keys.command("new", help=TEXTS["help.keys_new"])
def new_key(
    owner: Annotated[str, typer.Argument(metavar="USER", help=TEXTS["argument.key_user"])], call: Call
) -> None:
    from thoughtcycle.runtime import auth_settings

    if "," in Call(owner).owner:
        raise InputRefused("bad_option", option="USER", value=repr(owner), expected=TEXTS["key.no_comma"])
    known = [f"{key.user}:{key.digest}" for key in call.settings.auth.api_keys]
    key = auth_settings.new_key()
    line = "THOUGHTCYCLE_AUTH__API_KEYS=" + ",".join([*known, f"{owner}:{auth_settings.digest_of(key)}"])
    call.print({"user": owner, "key": key, "setting": line}, TEXTS.fill("key.made", key=key, setting=line))

"""`thoughtcycle mcp`: the memory of one user for an MCP client, over stdin and stdout."""

import asyncio
import signal

from thoughtcycle.cli.options import Db, Json, User, check_user, reports_failures, ui_language
from thoughtcycle.cli.resources import settings_for
from thoughtcycle.extras import extra_missing


@reports_failures
def mcp(user: User = None, db: Db = None, as_json: Json = False) -> None:
    """Serves until the client closes stdin; nothing but the protocol is written to stdout.

    A signal ends it at once: what was acknowledged is stored.
    """
    try:
        from thoughtcycle.integrations.mcp import create_server
    except ModuleNotFoundError:
        raise extra_missing("mcp", "thoughtcycle mcp") from None
    from thoughtcycle.integrations.caller import Setup
    from thoughtcycle.nodes.base.context import Context
    from thoughtcycle.runtime.resources import hold

    settings = settings_for(db)
    setup = Setup(language=ui_language(), time_zone=settings.time_zone, limits=settings.limits)
    context = Context(user_id=check_user(user, settings.user), channel="mcp")

    async def run() -> None:
        async with hold(settings) as resources:
            await create_server(resources.services.memory, context, setup).run_stdio_async()

    signal.signal(signal.SIGINT, signal.SIG_DFL)  # a thread that reads stdin would hold up a cancelled loop
    asyncio.run(run())

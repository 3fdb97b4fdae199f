"""Tells a first start without a model which model servers run on this computer."""

import asyncio

from thoughtcycle.cli.options import TEXTS
from thoughtcycle.memory.storage import parse_url
from thoughtcycle.mind.model_settings import ModelSettings
from thoughtcycle.runtime.local_servers import find_local_servers
from thoughtcycle.runtime.settings import Settings


def local_hint(settings: Settings, models: ModelSettings) -> str:
    """The servers, their models and the two lines of .env that use one; "" where there is nothing to tell.

    A first start is one whose SQLite file does not exist yet. Looks once, on the loopback interface only.
    """
    path = parse_url(settings.url()).path
    if models.configured or settings.auth.on or path is None or path.exists():
        return ""
    found = asyncio.run(find_local_servers(settings.local_ports))
    if not found:
        return ""
    servers = "; ".join(f"{server.name} ({', '.join(server.models)})" for server in found)
    return TEXTS.fill("local.found", servers=servers, lines="\n".join(found[0].settings))

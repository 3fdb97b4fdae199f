"""Entry point of langgraph.json: three graphs, and the checkpointer that holds the resources."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

from langgraph.checkpoint.base import BaseCheckpointSaver

from thoughtcycle.graph import formation as formations
from thoughtcycle.graph import garden as gardens
from thoughtcycle.graph.thought_cycle import builder, compile_cycle
from thoughtcycle.nodes.actions.registry import discover
from thoughtcycle.runtime.agent_server import ServerRecords, make_files_private
from thoughtcycle.runtime.env_file import read_env_file
from thoughtcycle.runtime.resources import borrow, hold
from thoughtcycle.runtime.settings import load_settings
from thoughtcycle.runtime.tracing import set_up

read_env_file()
set_up(load_settings().trace_key)  # the server's first run begins before the resources are opened

thought_cycle = compile_cycle(builder(borrow, actions=discover(load_settings().disabled_actions)))
formation = formations.builder(borrow).compile(name=formations.NAME)
garden = gardens.builder(borrow).compile(name=gardens.NAME)


@asynccontextmanager
async def checkpointer() -> AsyncIterator[BaseCheckpointSaver[str]]:
    """The saver of the configured database; memory and mind are open as long as it is."""
    await asyncio.to_thread(make_files_private)
    async with hold() as resources:
        memory = resources.services.memory
        memory.erasure.erase_also(ServerRecords(memory, resources.checkpointer))
        yield resources.checkpointer

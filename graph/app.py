"""What langgraph.json names: the three graphs, and the checkpointer that holds the process's resources."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

from langgraph.checkpoint.base import BaseCheckpointSaver

from thoughtcycle.graph import formation as formations
from thoughtcycle.graph import garden as gardens
from thoughtcycle.graph.env_file import read_env_file
from thoughtcycle.graph.resources import borrow, hold
from thoughtcycle.graph.settings import load_settings
from thoughtcycle.graph.thought_cycle import builder, compile_cycle
from thoughtcycle.graph.tracing import set_up
from thoughtcycle.nodes.actions.registry import discover

read_env_file()
set_up(load_settings().trace_key)  # the server's first run begins before the resources are opened

thought_cycle = compile_cycle(builder(borrow, actions=discover(load_settings().disabled_actions)))
formation = formations.builder(borrow).compile(name=formations.NAME)
garden = gardens.builder(borrow).compile(name=gardens.NAME)


@asynccontextmanager
async def checkpointer() -> AsyncIterator[BaseCheckpointSaver[str]]:
    """The saver of the configured database; memory and mind stay open as long as it does."""
    async with hold() as resources:
        yield resources.checkpointer

"""Opens the memory for a command, without graph and chat models."""

import asyncio
import sys
from collections.abc import Awaitable, Callable
from typing import TYPE_CHECKING, TypeVar

import typer
from pydantic import SecretStr

from thoughtcycle.cli.options import check_user
from thoughtcycle.errors import ChatUnknown, InputRefused

if TYPE_CHECKING:
    from thoughtcycle.checkpoints.factory import Saver
    from thoughtcycle.memory.memory import Memory
    from thoughtcycle.runtime.settings import Settings

T = TypeVar("T")


def settings_for(db: str | None) -> "Settings":
    """The settings in force, with the database of --db where it was given."""
    from thoughtcycle.runtime.settings import load_settings

    settings = load_settings()
    return settings if db is None else settings.model_copy(update={"db": SecretStr(db)})


def with_memory(
    db: str | None,
    user: str | None,
    work: "Callable[[Memory, str], Awaitable[T]]",
    *,
    embeddings: bool = True,
) -> T:
    """Runs `work` on the memory for the user; without `embeddings` nothing new can be embedded."""
    from thoughtcycle.memory.memory import Memory
    from thoughtcycle.mind.embeddings import build_embeddings
    from thoughtcycle.mind.model_settings import ModelSettings
    from thoughtcycle.runtime.settings import load_settings

    settings = load_settings()
    owner = check_user(user, settings.user)

    async def run() -> T:
        model = build_embeddings(ModelSettings()) if embeddings else None
        opening = Memory.open(
            settings.url(db),
            embeddings=model,
            index_bytes=settings.index_bytes,
        )
        async with opening as memory:
            return await work(memory, owner)

    return asyncio.run(run())


def with_threads(db: str | None, user: str | None, work: "Callable[[Memory, Saver, str], Awaitable[T]]") -> T:
    """Runs `work` on the memory and the checkpoints for the user."""
    from thoughtcycle.checkpoints.factory import open_checkpointer
    from thoughtcycle.runtime.settings import load_settings

    url = load_settings().url(db)

    async def run(memory: "Memory", owner: str) -> T:
        async with open_checkpointer(url) as saver:
            return await work(memory, saver, owner)

    return with_memory(url, user, run, embeddings=False)


def confirm(question: str, yes: bool) -> None:
    """Asks at a terminal whether to go on; InputRefused('confirm') where nobody can be asked.

    Ends the command with exit code 1 when the answer is no. `yes`: asks nobody.
    """
    if yes:
        return
    if not sys.stdin.isatty():
        raise InputRefused("confirm")
    typer.confirm(question, abort=True, err=True)


async def find_chat(memory: "Memory", user: str, name: str) -> str:
    """The id of the user's chat of this id, title or beginning of an id; NotAllowed when there is none."""
    if (id := await memory.find_chat(user, name)) is None:
        raise ChatUnknown(name)
    return id

"""A command's call: user, database and output form; opens the memory without graph and chat models."""

import asyncio
import inspect
import sys
from collections.abc import Awaitable, Callable, Iterable, Sequence
from dataclasses import dataclass
from functools import cached_property, wraps
from typing import TYPE_CHECKING, Any, TypeVar

import typer
from pydantic import SecretStr

from thoughtcycle.cli.display import print_table
from thoughtcycle.cli.options import Db, Json, User, print_error, print_json, print_result
from thoughtcycle.errors import ChatUnknown, InputRefused

if TYPE_CHECKING:
    from thoughtcycle.checkpoints.factory import Saver
    from thoughtcycle.memory.memory import Memory
    from thoughtcycle.runtime.settings import Settings

T = TypeVar("T")
Command = TypeVar("Command", bound=Callable[..., Any])


@dataclass(frozen=True)
class Call:
    """The common options of a command: --user, --db, --json."""

    user: str | None = None
    db: str | None = None
    as_json: bool = False

    @cached_property
    def settings(self) -> "Settings":
        """The settings in force, with the database of --db where it was given."""
        from thoughtcycle.runtime.settings import load_settings

        settings = load_settings()
        return settings if self.db is None else settings.model_copy(update={"db": SecretStr(self.db)})

    @cached_property
    def owner(self) -> str:
        """The user of this command; NotAllowed for an empty name."""
        from thoughtcycle.nodes.base.context import Context, check
        from thoughtcycle.runtime.settings import login_name

        chosen = self.user if self.user is not None else self.settings.user or login_name()
        return check(Context(user_id=chosen)).user_id

    def print(self, value: Any, text: str) -> None:
        """Prints a result: `value` with --json, else its `text`."""
        print_result(value, text, self.as_json)

    def print_list(
        self, values: Iterable[Any], columns: str, rows: Sequence[Sequence[str]], nothing: str
    ) -> None:
        """Prints a list: with --json its `values`, else a table of `rows`, or `nothing` without one."""
        if not self.as_json:
            print_table(columns, rows, nothing)
            return
        for value in values:
            print_json(value)

    def with_memory(self, work: "Callable[[Memory, str], Awaitable[T]]", *, embeddings: bool = False) -> T:
        """Runs `work` on the memory for the user; without `embeddings` nothing new can be embedded."""
        from thoughtcycle.memory.memory import Memory
        from thoughtcycle.mind.embeddings import build_embeddings
        from thoughtcycle.mind.model_settings import ModelSettings

        settings, owner = self.settings, self.owner

        async def run() -> T:
            model = build_embeddings(ModelSettings()) if embeddings else None
            opening = Memory.open(settings.url(), embeddings=model, index_bytes=settings.index_bytes)
            async with opening as memory:
                done = await work(memory, owner)
                if notice := memory.embedding_notice():
                    print_error(notice)
                return done

        return asyncio.run(run())

    def with_threads(self, work: "Callable[[Memory, Saver, str], Awaitable[T]]") -> T:
        """Runs `work` on the memory and the checkpoints for the user."""
        from thoughtcycle.checkpoints.factory import open_checkpointer

        url = self.settings.url()

        async def run(memory: "Memory", owner: str) -> T:
            async with open_checkpointer(url) as saver:
                return await work(memory, saver, owner)

        return self.with_memory(run)


class CommandGroup(typer.Typer):
    """A group of commands. Their parameter `call: Call` stands for the options --user, --db and --json."""

    def command(self, name: str | None = None, **options: Any) -> Callable[[Command], Command]:
        """Registers a command under its name (None: the function's)."""

        def register(command: Command) -> Command:
            super(CommandGroup, self).command(name, **options)(with_common_options(command))
            return command

        return register


def with_common_options(command: Callable[..., None]) -> Callable[..., None]:
    """The command with --user, --db and --json in the place of its parameter `call: Call`, if it has one."""
    if Call not in command.__annotations__.values():
        return command
    common = {"user": (User, None), "db": (Db, None), "as_json": (Json, False)}
    parameters: list[inspect.Parameter] = []
    for parameter in inspect.signature(command).parameters.values():
        if parameter.annotation is Call:
            parameters += [
                inspect.Parameter(name, inspect.Parameter.KEYWORD_ONLY, annotation=option, default=default)
                for name, (option, default) in common.items()
            ]
        else:
            parameters.append(parameter.replace(kind=inspect.Parameter.KEYWORD_ONLY))

    @wraps(command)
    def run(**given: Any) -> None:
        call = Call(**{name: given.pop(name) for name in common})
        command(call=call, **given)

    run.__annotations__ = {parameter.name: parameter.annotation for parameter in parameters}
    run.__signature__ = inspect.Signature(parameters)  # type: ignore[attr-defined]
    return run


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

"""`thoughtcycle chat`: the conversation, on a terminal or line by line through a pipe."""

import sys
from collections.abc import Iterator
from contextlib import AsyncExitStack, aclosing

import typer
from langchain_core.messages import HumanMessage

from thoughtcycle.cli.attachments import ATTACH, describe_file, parse_attach, store_file
from thoughtcycle.cli.display import Display, JsonDisplay, PipeDisplay, TerminalDisplay
from thoughtcycle.cli.local_hint import local_hint
from thoughtcycle.cli.options import TEXTS, one_line, print_error, ui_language
from thoughtcycle.errors import InputRefused, StorageUnusable, ThoughtcycleError
from thoughtcycle.memory.model import named_id, new_id
from thoughtcycle.mind.model_settings import ModelSettings
from thoughtcycle.nodes.base.context import Context
from thoughtcycle.nodes.commands.parse import command_in
from thoughtcycle.runtime.background_loop import BackgroundLoop
from thoughtcycle.runtime.resources import Resources, hold
from thoughtcycle.runtime.settings import Settings
from thoughtcycle.runtime.tracing import set_up
from thoughtcycle.runtime.turn_runner import TurnRunner


def run_chat(
    settings: Settings, models: ModelSettings, context: Context, name: str | None, *, as_json: bool
) -> None:
    """Talks until the input ends. Ctrl-C during a reply stops the reply, not the program.

    Piped, a refused line has the refusal as its reply and the next is read, unless nothing can be kept any
    more; the command fails at the end when a line did: a script reads no replies.
    """
    if (notice := set_up(settings.trace_key)) is not None:
        print_error(notice)
    terminal = sys.stdin.isatty()
    display: Display = JsonDisplay() if as_json else TerminalDisplay() if terminal else PipeDisplay()
    hint = local_hint(settings, models) if terminal and not as_json else ""
    with BackgroundLoop() as runner:
        stack = AsyncExitStack()
        resources = runner.run(stack.enter_async_context(hold(settings, models)))
        try:
            session = runner.run(Session.open(resources, context, name))
            if terminal and not as_json:
                section = "welcome.model" if models.configured else "welcome.rules"
                display.line(TEXTS.fill(section, persona=context.persona))
                if hint:
                    display.line(hint)
            for line in read_lines(terminal):
                if not _converse(runner, session, display, line):
                    break
            if session.failed and not terminal:
                raise typer.Exit(1)
        finally:
            runner.run(stack.aclose())


def _converse(
    runner: BackgroundLoop, session: "Session", display: Display, line: str | ThoughtcycleError
) -> bool:
    """One line of input: a local command or a turn of the cycle. False ends the chat."""
    if isinstance(line, ThoughtcycleError):
        display.refuse(line.text(ui_language()))
        session.failed = True
        return True
    word = line.strip().casefold().partition(" ")[0]
    if word in ("/quit", "/exit", "/sair"):
        return False
    try:
        if word in ("/help", "/ajuda"):
            display.line(TEXTS["chat.help"])
        elif word in ("/memories", "/memorias", "/memórias"):
            display.line(runner.run(session.memories()))
        elif word in ATTACH:
            display.line(runner.run(session.attach(line)))
        elif word.startswith("/") and command_in(line.strip()) is None:
            display.line(TEXTS.fill("chat.unknown", command=word))
        else:
            runner.run(session.turn(line, display))
    except KeyboardInterrupt:
        display.end(TEXTS["stopped"])
    except ThoughtcycleError as error:
        display.end()
        if isinstance(error, StorageUnusable) and not sys.stdin.isatty():
            raise  # the next piped line could not be kept either
        display.refuse(error.text(ui_language()))
        session.failed = True
    return True


def read_lines(terminal: bool) -> Iterator[str | ThoughtcycleError]:
    """Lines of standard input; one that is not UTF-8 comes as the error to report."""
    if not terminal:
        for raw in sys.stdin.buffer:
            try:
                yield raw.decode("utf-8-sig").rstrip("\r\n")
            except UnicodeDecodeError:
                yield InputRefused("message_binary")
        return
    import readline  # noqa: F401  (line editing and history for input())

    while True:
        try:
            line = input(f"{TEXTS['prompt']} ")
        except (EOFError, KeyboardInterrupt):
            sys.stdout.write("\n")
            return
        if line.strip():
            yield line


class Session:
    """One chat of one user with the graph."""

    @classmethod
    async def open(cls, resources: Resources, context: Context, name: str | None) -> "Session":
        """The chat called `name`, by its title or its id, else a new one of that name; None: a new one."""
        if not name:
            return cls(resources, context, new_id())
        user = context.user_id
        thread = await resources.services.memory.find_chat(user, name, whole=True)
        return cls(resources, context, thread or named_id(user, name), title=None if thread else name)

    def __init__(self, resources: Resources, context: Context, thread: str, title: str | None = None) -> None:
        self.failed = False
        """Whether any turn so far ended in a failure."""
        self.memory = resources.services.memory
        self._files = resources.settings.limits.files
        self.context = context
        self.thread = thread
        self.title = None if context.incognito else title
        """To be given to the chat once there is one."""
        self._runner = TurnRunner(resources)

    async def turn(self, text: str, display: Display) -> None:
        """Sends a message and shows what comes back."""
        failures: list[str] = []
        said = HumanMessage(text, id=new_id())
        turn = self._runner.turn(self.context, self.thread, said, failures=failures)
        async with aclosing(turn) as messages:
            async for message in messages:
                display.show(message)
        display.end()
        self.failed = self.failed or bool(failures)
        if self.title is not None and await self.memory.chat_service.name_chat(
            self.context.user_id, self.thread, self.title
        ):
            self.title = None

    async def attach(self, line: str) -> str:
        """Keeps the file that the line names; InputRefused('file_incognito') where nothing may be kept."""
        if self.context.incognito:
            raise InputRefused("file_incognito")
        path, caption = parse_attach(line)
        return describe_file(await store_file(self.memory, self.context.user_id, path, caption, self._files))

    async def memories(self) -> str:
        """The saved memories as lines, newest first."""
        records = await self.memory.list(self.context.user_id, limit=100)
        return "\n".join(f"- {one_line(record.text)}" for record in records) or TEXTS["none"]
